/*
 * Text built up in a fixed buffer: what the iperf3 server reports. Without
 * floating point, and without the formats of printf, which numbers of
 * arbitrary size would only make longer. Pure.
 */
#ifndef APPS_IPERF3_TEXT_H
#define APPS_IPERF3_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
    char *start;
    char *at;  /* always holds a zero */
    char *end; /* of the buffer */
    bool cut;  /* something did not fit, and was left out */
};

/* size must not be 0. */
void text_begin(struct text *t, char *buf, size_t size);

size_t text_len(const struct text *t);

/* What does not fit as a whole is left out, and so is all behind it. */
void text_str(struct text *t, const char *s);
void text_u64(struct text *t, uint64_t v);

/* v / 10^decimals, with all its decimals; at most 18 of them. */
void text_fixed(struct text *t, uint64_t v, unsigned decimals);

#endif
