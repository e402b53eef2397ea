/*
 * The machine's memory: which there is, and pages of it.
 *
 * Identity mapping: an address is the same for the processor's linear, the
 * physical and the device's view.
 */
#ifndef MEM_H
#define MEM_H

#include <stddef.h>
#include <stdint.h>

#include "bootinfo.h"
#include "ranges.h"

/*
 * In two steps. mem_init_low gives pages below 4 GiB, which the boot page
 * tables map; paging_init takes its tables from them and maps the rest;
 * mem_init_high adds it. Panics when there is no memory to work with.
 */
void mem_init_low(const struct bootinfo *b);
void mem_init_high(void);

/* All memory that is to be mapped: whole pages, the image included. */
const struct ranges *mem_ram(void);

/* n pages, aligned to `align` pages, zeroed; NULL when there are none. */
void *mem_pages_alloc(size_t n, size_t align);
void mem_pages_free(void *ptr, size_t n);

struct mem_info {
    uint64_t total;    /* bytes that the allocator manages */
    uint64_t free;     /* of them, not allocated */
    uint64_t largest;  /* bytes of the largest run */
    uint64_t failures; /* requests refused */
};
void mem_info(struct mem_info *info);

#endif
