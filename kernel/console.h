/* The console: text out, command lines in, both on the serial line. */
#ifndef CONSOLE_H
#define CONSOLE_H

#include <stdbool.h>
#include <stddef.h>

/* Readies the serial line. Output works from here on. */
void console_init(void);

/* Routes the interrupt of the serial line. False: input must be polled. */
bool console_irq_init(void);

void console_write(const char *text, size_t len);
void console_printf(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));

/* Reads what has arrived and runs finished lines. True when it did. */
bool console_poll(void);

/* Has something arrived? To be asked with interrupts off before a halt. */
bool console_pending(void);

/* Can input wake the processor, or must it be looked for by timer? */
bool console_polled(void);

/* The words of a command line; argv[0] is the command. */
#define COMMAND_WORDS 8
struct command {
    const char *name;
    const char *args; /* for help: "" when there are none */
    const char *help;
    void (*run)(int argc, char *argv[]);
};

/* kernel/commands.c */
extern const struct command command_table[];
extern const unsigned command_count;

#endif
