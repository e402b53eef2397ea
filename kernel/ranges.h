/*
 * A short sorted list of address ranges: what memory there is. Pure.
 */
#ifndef RANGES_H
#define RANGES_H

#include <stdbool.h>
#include <stdint.h>

#define RANGES_MAX 64u

struct range {
    uint64_t start;
    uint64_t end; /* one past the last byte */
};

/* Sorted, disjoint, not touching each other. */
struct ranges {
    struct range r[RANGES_MAX];
    unsigned count;
};

/* Adds start .. end. False when the list is full: nothing was added. */
bool ranges_add(struct ranges *rs, uint64_t start, uint64_t end);

/*
 * Takes start .. end out. When the list is too full to split a range, the
 * part above the hole is given up.
 */
void ranges_remove(struct ranges *rs, uint64_t start, uint64_t end);

/* Shrinks every range to whole pages of 4096. */
void ranges_to_pages(struct ranges *rs);

/* Is all (any) of start .. end in the list? */
bool ranges_contain(const struct ranges *rs, uint64_t start, uint64_t end);
bool ranges_touch(const struct ranges *rs, uint64_t start, uint64_t end);

uint64_t ranges_bytes(const struct ranges *rs);

#endif
