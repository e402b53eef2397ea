/* How memcpy and memset go about large blocks; see kernel/string.c. */
#ifndef COPY_H
#define COPY_H

#include <stdbool.h>
#include <stddef.h>

/* Blocks of this size and more may be copied by rep movsb. */
#define COPY_REP_MIN 128u

/* False: 8-byte moves. */
extern bool copy_by_rep;

/* Sets it by measuring both; once, at start (kernel/copy.c). */
void copy_choose(void);

/* Both ways by name, for the measurement. */
void copy_words(void *dst, const void *src, size_t n);
void copy_rep(void *dst, const void *src, size_t n);

#endif
