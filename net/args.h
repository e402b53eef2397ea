/*
 * Arguments of console commands: numbers with units, and words KEY=VALUE.
 * Pure but for the log line that says what is wrong with one.
 */
#ifndef ARGS_H
#define ARGS_H

#include <stdbool.h>
#include <stdint.h>

enum arg_kind {
    ARG_NUMBER, /* 20, 20k, 3M, 1G: powers of ten */
    ARG_TIME,   /* 5, 5s, 300ms, 20us, 2m; kept in nanoseconds */
};

/* One KEY= that a command understands. */
struct arg {
    const char *key;
    enum arg_kind kind;
    uint64_t min;
    uint64_t max;
    uint64_t *value; /* left alone when the key is not given */
};

/*
 * Reads a whole text as a number of that kind. False: it is none, or it does
 * not fit 64 bits; *out is then left alone.
 */
bool args_number(const char *text, enum arg_kind kind, uint64_t *out);

/*
 * Reads argc words KEY=VALUE. False after logging what is wrong, by the
 * command's name: not such a word, an unknown key, a key given twice, no
 * number, or one that is out of its range. Then some values may be set.
 */
bool args_read(const char *command, int argc, char *const argv[],
               const struct arg *args, unsigned count);

/*
 * Reads a port, 1 .. 65535. False after logging what is wrong.
 */
bool args_port(const char *command, const char *text, uint16_t *port);

#endif
