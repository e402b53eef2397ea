/*
 * Page allocator: a binary buddy system over one span of pages with holes.
 *
 * The caller owns the storage: struct kmem, and one byte of state per page.
 * Free blocks carry their list links inside, so the pages must be mapped
 * when they are given in. Pure; the machine's instance is in kernel/mem.c.
 */
#ifndef KMEM_H
#define KMEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KMEM_PAGE 4096u
#define KMEM_ORDERS 11u /* blocks of 1, 2, 4 .. 1024 pages: up to 4 MiB */
#define KMEM_PAGES_MAX (1u << (KMEM_ORDERS - 1))

struct kmem_block;

struct kmem {
    uintptr_t base; /* address of page 0; alignment counts from address 0 */
    uint8_t *state; /* one byte per page, private */
    size_t pages;
    struct kmem_block *free[KMEM_ORDERS];

    size_t pages_total; /* given in by kmem_give */
    size_t pages_free;
    uint64_t failures; /* requests that found nothing */
};

/* An empty allocator for pages base .. base + pages * 4096. base is a
 * multiple of 4 MiB. */
void kmem_init(struct kmem *k, uintptr_t base, size_t pages, uint8_t *state);

/* Gives n pages from address `addr` on, for the first time. Pages outside the
 * span, or given already, are left out. */
void kmem_give(struct kmem *k, uintptr_t addr, size_t n);

/* n pages in a row, 1 .. 1024, aligned to `align` pages (a power of two up to
 * 1024); 0 when there are none. Contents are undefined. */
uintptr_t kmem_alloc(struct kmem *k, size_t n, size_t align);

/* Gives back n pages. False, and nothing happens, when one of them is not
 * allocated. */
bool kmem_free(struct kmem *k, uintptr_t addr, size_t n);

/* Pages of the largest block that is free. */
size_t kmem_largest(const struct kmem *k);

#endif
