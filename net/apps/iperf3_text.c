/*
 * Text built up in a fixed buffer. See iperf3_text.h.
 */
#include "apps/iperf3_text.h"

#include <string.h>

enum { DIGITS_MAX = 20, DECIMALS_MAX = 18 };

void text_begin(struct text *t, char *buf, size_t size)
{
    t->start = t->at = buf;
    t->end = buf + size;
    t->cut = false;
    *t->at = '\0';
}

size_t text_len(const struct text *t)
{
    return (size_t)(t->at - t->start);
}

static void add(struct text *t, const char *s, size_t len)
{
    if (t->cut || (size_t)(t->end - t->at) <= len) {
        t->cut = true;
        return;
    }
    memcpy(t->at, s, len);
    t->at += len;
    *t->at = '\0';
}

void text_str(struct text *t, const char *s)
{
    add(t, s, strlen(s));
}

void text_u64(struct text *t, uint64_t v)
{
    text_fixed(t, v, 0);
}

void text_fixed(struct text *t, uint64_t v, unsigned decimals)
{
    char buf[DIGITS_MAX + 1];
    char *p = buf + sizeof(buf);
    unsigned n = 0;

    if (decimals > DECIMALS_MAX)
        decimals = DECIMALS_MAX;
    do {
        if (decimals > 0 && n == decimals)
            *--p = '.';
        *--p = (char)('0' + v % 10);
        v /= 10;
        n++;
    } while (v > 0 || n <= decimals);
    add(t, p, (size_t)(buf + sizeof(buf) - p));
}
