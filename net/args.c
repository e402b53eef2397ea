/*
 * Arguments of console commands. See args.h. Any text may come in.
 */
#include "args.h"

#include <stddef.h>
#include <string.h>

#include "plat.h"

typedef unsigned long long ull;

struct unit {
    const char *name;
    uint64_t factor;
};

static const struct unit number_units[] = {
    {"", 1}, {"k", 1000}, {"M", 1000000}, {"G", 1000000000}, {NULL, 0},
};

static const struct unit time_units[] = {
    {"", 1000000000}, {"s", 1000000000}, {"ms", 1000000}, {"us", 1000},
    {"m", UINT64_C(60) * 1000000000}, {NULL, 0},
};

/* Digits up to the first other character; steps behind them. */
static bool read_digits(const char **text, uint64_t *out)
{
    const char *p = *text;
    uint64_t val = 0;

    if (*p < '0' || *p > '9')
        return false;
    for (; *p >= '0' && *p <= '9'; p++) {
        unsigned d = (unsigned)(*p - '0');

        if (val > (UINT64_MAX - d) / 10)
            return false;
        val = val * 10 + d;
    }
    *text = p;
    *out = val;
    return true;
}

bool args_number(const char *text, enum arg_kind kind, uint64_t *out)
{
    const struct unit *u = kind == ARG_TIME ? time_units : number_units;
    uint64_t val;

    if (!read_digits(&text, &val))
        return false;
    while (u->name && strcmp(u->name, text) != 0)
        u++;
    if (!u->name || val > UINT64_MAX / u->factor)
        return false;
    *out = val * u->factor;
    return true;
}

/* The argument whose key stands in front of the word's '='; or NULL. */
static const struct arg *find(const char *word, const struct arg *args,
                              unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        size_t len = strlen(args[i].key);

        if (strncmp(word, args[i].key, len) == 0 && word[len] == '=')
            return &args[i];
    }
    return NULL;
}

/* "lots of ns" is no help: the largest unit that leaves a whole number. */
static const char *shorten(uint64_t *value, enum arg_kind kind)
{
    static const struct unit shown[] = {
        {" s", 1000000000}, {" ms", 1000000}, {" us", 1000}, {" ns", 1},
    };
    unsigned i = 0;

    if (kind == ARG_NUMBER)
        return "";
    while (*value % shown[i].factor != 0)
        i++;
    *value /= shown[i].factor;
    return shown[i].name;
}

static void log_range(const char *command, const char *word,
                      const struct arg *a)
{
    uint64_t min = a->min, max = a->max;
    const char *min_unit = shorten(&min, a->kind);
    const char *max_unit = shorten(&max, a->kind);

    plat_log(LOG_ERR, "%s: '%s': %llu%s to %llu%s expected", command, word,
             (ull)min, min_unit, (ull)max, max_unit);
}

static bool read_word(const char *command, const char *word,
                      const struct arg *a)
{
    uint64_t val;

    if (!args_number(word + strlen(a->key) + 1, a->kind, &val)) {
        plat_log(LOG_ERR, "%s: '%s': not a %s", command, word,
                 a->kind == ARG_TIME ? "time" : "number");
        return false;
    }
    if (val < a->min || val > a->max) {
        log_range(command, word, a);
        return false;
    }
    *a->value = val;
    return true;
}

bool args_read(const char *command, int argc, char *const argv[],
               const struct arg *args, unsigned count)
{
    uint64_t seen = 0;

    for (int i = 0; i < argc; i++) {
        const struct arg *a = find(argv[i], args, count);
        uint64_t bit = a ? UINT64_C(1) << (a - args) : 0;

        if (!a) {
            plat_log(LOG_ERR, "%s: '%s' not understood", command, argv[i]);
            return false;
        }
        if (seen & bit) {
            plat_log(LOG_ERR, "%s: %s= given twice", command, a->key);
            return false;
        }
        seen |= bit;
        if (!read_word(command, argv[i], a))
            return false;
    }
    return true;
}

bool args_port(const char *command, const char *text, uint16_t *port)
{
    uint64_t val;

    if (!args_number(text, ARG_NUMBER, &val) || val < 1 || val > 65535) {
        plat_log(LOG_ERR, "%s: '%s' is not a port", command, text);
        return false;
    }
    *port = (uint16_t)val;
    return true;
}
