/*
 * Where the bytes of receive buffers come from: blocks of memory that are
 * contiguous for the device, cut into fragments, and counted.
 *
 * A block is in use for as long as one of its fragments is; then all of it
 * is free at once. Large blocks are tried first, single pages when there are
 * none. One instance for each receive queue.
 */
#ifndef VNET_RXFRAG_H
#define VNET_RXFRAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RXFRAG_PAGE 4096u
#define RXFRAG_BLOCK 32768u /* a large block, unless a fragment needs more */

struct rxblock {
    struct rxblock *next; /* free list */
    uint8_t *mem;
    uint64_t dma;
    uint32_t size;
    uint32_t refs; /* fragments out, and one while it is being cut up */
};

/* A part of a block, which it holds by one reference. */
struct rxseg {
    struct rxblock *block;
    uint8_t *mem;
    uint64_t dma;
    uint32_t len;
};

struct rxfrag {
    struct rxblock *cur; /* being cut up, or NULL */
    uint32_t off;        /* where its free part begins */
    bool tails;          /* a rest too short for another is added */
    struct rxblock *free_large;
    struct rxblock *free_page;
    struct rxblock *slots;  /* of blocks that were given up */
    struct rxblock *blocks; /* all there are */
    uint32_t blocks_len;
    uint32_t blocks_max;
    uint32_t large;      /* size of a large block */
    uint64_t bytes;      /* in all blocks */
    uint64_t bytes_free; /* in blocks that nobody uses */
    uint64_t bytes_max;
    bool exhausted;      /* the platform had no memory when last asked */
};

/* V_OK or V_NOMEM. bytes_max is rounded down to whole pages. */
int rxfrag_init(struct rxfrag *f, uint64_t bytes_max);

/* Frees everything; no fragment may be out. */
void rxfrag_destroy(struct rxfrag *f);

/* From now on a fragment may have up to `size` bytes. Blocks that are too
 * small for it are given up, those in use when they come back. */
void rxfrag_largest(struct rxfrag *f, uint32_t size);

/* Memory that a fragment of `size` bytes takes, its share of the waste
 * included. */
uint32_t rxfrag_cost(const struct rxfrag *f, uint32_t size);

/* The next block to cut up, when cur has no `size` bytes left. Lowers *size
 * where only a page could be had. NULL: no memory. */
struct rxblock *rxfrag_renew(struct rxfrag *f, uint32_t *size,
                             uint32_t least);

/*
 * A fragment of `size` bytes; what is left of its block is added when it is
 * too little for another one like it. At least `least` bytes when the block
 * is a page. False: no memory.
 */
static inline bool rxfrag_cut(struct rxfrag *f, uint32_t size, uint32_t least,
                              struct rxseg *seg)
{
    struct rxblock *b = f->cur;
    uint32_t left;

    if (!b || b->size - f->off < size) {
        b = rxfrag_renew(f, &size, least);
        if (!b)
            return false;
    }
    left = b->size - f->off;
    seg->block = b;
    seg->mem = b->mem + f->off;
    seg->dma = b->dma + f->off;
    seg->len = left - size < size && f->tails ? left : size;
    f->off += seg->len;
    b->refs++;
    return true;
}

/* A whole block as one fragment. False: no memory. */
bool rxfrag_whole(struct rxfrag *f, struct rxseg *seg);

/* Bytes in whole blocks that can be had, as far as is known. */
uint64_t rxfrag_left(const struct rxfrag *f);

/* Asks for a block again if there was no memory, to see if there is now. */
void rxfrag_probe(struct rxfrag *f);

/* Takes back a block that nobody uses. */
void rxfrag_idle(struct rxfrag *f, struct rxblock *b);

/* Gives back one reference. */
static inline void rxfrag_put(struct rxfrag *f, struct rxblock *b)
{
    if (--b->refs == 0)
        rxfrag_idle(f, b);
}

#endif
