/*
 * Page allocator: a binary buddy system. Pure; also in a unit test.
 *
 * A block of 2^k pages starts at a page number divisible by 2^k. Its buddy
 * is the block whose number differs in bit k only; two free buddies become
 * one block. A request that is not a power of two gives its tail back at
 * once, so a run may be freed page by page, or all of it in one call.
 */
#include "kmem.h"

#include <string.h>

/* State of a page. */
enum {
    PAGE_ABSENT,      /* not memory of ours */
    PAGE_USED,        /* allocated */
    PAGE_FREE,        /* in a free block, but not its first page */
    PAGE_HEAD = 0x80, /* first page of a free block; order in the low bits */
};

struct kmem_block {
    struct kmem_block *next;
    struct kmem_block **link; /* what points to us */
};

static struct kmem_block *block_at(const struct kmem *k, size_t page)
{
    return (struct kmem_block *)(k->base + page * KMEM_PAGE);
}

static size_t page_of(const struct kmem *k, uintptr_t addr)
{
    return (addr - k->base) / KMEM_PAGE;
}

static void mark(struct kmem *k, size_t page, size_t n, uint8_t state)
{
    memset(k->state + page, state, n);
}

static void list_add(struct kmem *k, size_t page, unsigned order)
{
    struct kmem_block *b = block_at(k, page);

    b->next = k->free[order];
    b->link = &k->free[order];
    if (b->next)
        b->next->link = &b->next;
    k->free[order] = b;
    k->state[page] = (uint8_t)(PAGE_HEAD | order);
}

static void list_del(struct kmem *k, size_t page)
{
    struct kmem_block *b = block_at(k, page);

    *b->link = b->next;
    if (b->next)
        b->next->link = b->link;
    k->state[page] = PAGE_FREE;
}

/* Puts a block, whose pages are marked free, in its list; merges upwards. */
static void block_free(struct kmem *k, size_t page, unsigned order)
{
    while (order + 1 < KMEM_ORDERS) {
        size_t buddy = page ^ (size_t)1 << order;

        if (buddy >= k->pages || k->state[buddy] != (PAGE_HEAD | order))
            break;
        list_del(k, buddy);
        page &= ~((size_t)1 << order);
        order++;
    }
    list_add(k, page, order);
}

/* Frees any run of pages as the largest aligned blocks it consists of. */
static void run_free(struct kmem *k, size_t page, size_t n)
{
    k->pages_free += n;
    mark(k, page, n, PAGE_FREE);
    while (n > 0) {
        unsigned order = 0;

        while (order + 1 < KMEM_ORDERS && (page >> order & 1) == 0 &&
               (size_t)2 << order <= n)
            order++;
        block_free(k, page, order);
        page += (size_t)1 << order;
        n -= (size_t)1 << order;
    }
}

void kmem_init(struct kmem *k, uintptr_t base, size_t pages, uint8_t *state)
{
    *k = (struct kmem){.base = base, .state = state, .pages = pages};
    mark(k, 0, pages, PAGE_ABSENT);
}

void kmem_give(struct kmem *k, uintptr_t addr, size_t n)
{
    size_t page = page_of(k, addr), run = 0;

    if (addr < k->base || addr % KMEM_PAGE != 0 || page >= k->pages)
        return;
    if (n > k->pages - page)
        n = k->pages - page;
    for (size_t i = 0; i <= n; i++) {
        if (i < n && k->state[page + i] == PAGE_ABSENT) {
            run++;
            continue;
        }
        k->pages_total += run;
        run_free(k, page + i - run, run);
        run = 0;
    }
}

/* The smallest order whose blocks are big and aligned enough. */
static unsigned order_for(size_t n, size_t align)
{
    unsigned order = 0;

    while ((size_t)1 << order < n || (size_t)1 << order < align)
        order++;
    return order;
}

uintptr_t kmem_alloc(struct kmem *k, size_t n, size_t align)
{
    unsigned want, order;
    size_t page;

    if (n == 0 || n > KMEM_PAGES_MAX || align > KMEM_PAGES_MAX)
        return 0;
    want = order_for(n, align);
    for (order = want; order < KMEM_ORDERS && !k->free[order]; order++)
        ;
    if (order == KMEM_ORDERS) {
        k->failures++;
        return 0;
    }
    page = page_of(k, (uintptr_t)k->free[order]);
    list_del(k, page);
    while (order > want) {
        order--;
        list_add(k, page + ((size_t)1 << order), order);
    }
    k->pages_free -= (size_t)1 << want;
    mark(k, page, n, PAGE_USED);
    if (n < (size_t)1 << want)
        run_free(k, page + n, ((size_t)1 << want) - n);
    return k->base + page * KMEM_PAGE;
}

bool kmem_free(struct kmem *k, uintptr_t addr, size_t n)
{
    size_t page = page_of(k, addr);

    if (addr < k->base || addr % KMEM_PAGE != 0 || page >= k->pages ||
        n == 0 || n > k->pages - page)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (k->state[page + i] != PAGE_USED)
            return false;
    }
    run_free(k, page, n);
    return true;
}

size_t kmem_largest(const struct kmem *k)
{
    for (unsigned order = KMEM_ORDERS; order-- > 0;) {
        if (k->free[order])
            return (size_t)1 << order;
    }
    return 0;
}
