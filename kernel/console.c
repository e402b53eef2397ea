/*
 * The console: text out, command lines in. Owns the serial line (uart.c).
 *
 * A received byte raises an interrupt, which only sets a flag; the bytes are
 * read and lines are run from the main loop. Anything may arrive here:
 * a line has a bounded length, other bytes than printable ones are dropped.
 */
#include "console.h"

#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include "acpi.h"
#include "apic.h"
#include "format.h"
#include "irq.h"
#include "netstack.h"
#include "uart.h"

#define LINE_MAX 128u
#define PROMPT "> "
/* Bytes taken in one turn of the main loop. */
#define INPUT_BUDGET 64

enum key { KEY_CTRL_C = 3, KEY_BACKSPACE = 8, KEY_CTRL_U = 21, KEY_DEL = 127 };

static char line[LINE_MAX];
static unsigned line_len;
static bool have_uart;
static bool have_irq;
static _Atomic bool arrived = true; /* look once at the beginning */

void console_init(void)
{
    have_uart = uart_init();
}

static void uart_interrupt(void *arg, unsigned n)
{
    (void)arg;
    (void)n;
    arrived = true;
}

bool console_irq_init(void)
{
    const struct acpi_info *a = acpi_info();
    unsigned vector;

    if (!have_uart || !a->uart_pin)
        return false;
    vector = irq_alloc(uart_interrupt, NULL, 0);
    if (vector == 0)
        return false;
    if (!ioapic_route(&a->uart, vector)) {
        irq_free(vector);
        return false;
    }
    uart_irq_enable();
    have_irq = true;
    return true;
}

bool console_polled(void)
{
    return have_uart && !have_irq;
}

bool console_pending(void)
{
    return arrived;
}

void console_write(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\n')
            uart_put('\r');
        uart_put(text[i]);
    }
}

void console_printf(const char *fmt, ...)
{
    char text[512];
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = format_v(text, sizeof(text), fmt, ap);
    va_end(ap);
    console_write(text, (size_t)n < sizeof(text) ? (size_t)n
                                                 : sizeof(text) - 1);
}

/* Cuts the line into words in place. */
static int split(char *text, char *argv[COMMAND_WORDS])
{
    int argc = 0;

    while (argc < COMMAND_WORDS) {
        while (*text == ' ')
            text++;
        if (*text == '\0')
            break;
        argv[argc++] = text;
        while (*text != ' ' && *text != '\0')
            text++;
        if (*text != '\0')
            *text++ = '\0';
    }
    return argc;
}

static void run_line(char *text)
{
    char *argv[COMMAND_WORDS];
    int argc = split(text, argv);

    if (argc == 0)
        return;
    for (unsigned i = 0; i < command_count; i++) {
        if (strcmp(argv[0], command_table[i].name) == 0) {
            command_table[i].run(argc, argv);
            return;
        }
    }
    for (unsigned i = 0; i < netstack_command_count; i++) {
        if (strcmp(argv[0], netstack_commands[i].name) == 0) {
            netstack_commands[i].run(argc, argv);
            return;
        }
    }
    console_printf("unknown command '%s'; try help\n", argv[0]);
}

static void end_line(void)
{
    console_write("\n", 1);
    line[line_len] = '\0';
    line_len = 0;
    run_line(line);
    console_write(PROMPT, sizeof(PROMPT) - 1);
}

static void input(char c)
{
    switch (c) {
    case '\r':
    case '\n':
        end_line();
        break;
    case KEY_BACKSPACE:
    case KEY_DEL:
        if (line_len > 0) {
            line_len--;
            console_write("\b \b", 3);
        }
        break;
    case KEY_CTRL_C:
    case KEY_CTRL_U:
        line_len = 0;
        console_write("\n" PROMPT, sizeof(PROMPT));
        break;
    default:
        if (c >= ' ' && c < KEY_DEL && line_len < LINE_MAX - 1) {
            line[line_len++] = c;
            console_write(&c, 1);
        }
    }
}

/* Takes out everything first: a UART with unread bytes may interrupt again
 * for every byte that is printed. */
static int take_input(char *buf)
{
    int n = 0, c;

    while (n < INPUT_BUDGET && (c = uart_get()) >= 0)
        buf[n++] = (char)c;
    return n;
}

bool console_poll(void)
{
    char buf[INPUT_BUDGET];
    int n;

    if (have_irq && !arrived)
        return false;
    /* Cleared before looking, so that a byte that arrives after the last
     * look is not forgotten. */
    arrived = false;
    n = take_input(buf);
    for (int i = 0; i < n; i++)
        input(buf[i]);
    if (n == INPUT_BUDGET)
        arrived = true;
    return n > 0;
}
