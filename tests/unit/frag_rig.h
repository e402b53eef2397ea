/*
 * rxfrag.c under a simple model: which bytes are out is known, and no two
 * fragments share one.
 */
#ifndef FRAG_RIG_H
#define FRAG_RIG_H

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "host.h"
#include "verr.h"
#include "vnet/rxfrag.h"

#define BLOCK RXFRAG_BLOCK
#define PAGE RXFRAG_PAGE
#define OUT_MAX 4096u

static struct rxfrag f;
static struct rxseg out[OUT_MAX];
static uint8_t mark[OUT_MAX]; /* what the bytes of out[i] hold */
static unsigned outs;

static inline bool live(const struct rxblock *b)
{
    return b->refs > 0;
}

static inline unsigned refs_known(const struct rxblock *b)
{
    unsigned n = f.cur == b;

    for (unsigned i = 0; i < outs; i++)
        n += out[i].block == b;
    return n;
}

static inline void check_account(void)
{
    uint64_t bytes = 0, idle = 0;
    unsigned lists = 0;

    for (uint32_t i = 0; i < f.blocks_len; i++) {
        const struct rxblock *b = &f.blocks[i];

        CHECK_EQ(b->refs, refs_known(b));
        bytes += b->size;
        idle += live(b) ? 0 : b->size;
        lists += b->mem && !live(b);
    }
    for (struct rxblock *b = f.free_large; b; b = b->next, lists--)
        CHECK(!live(b) && b->size > PAGE);
    for (struct rxblock *b = f.free_page; b; b = b->next, lists--)
        CHECK(!live(b) && b->size == PAGE);
    CHECK_EQ(lists, 0);
    CHECK_EQ(bytes, f.bytes);
    CHECK_EQ(idle, f.bytes_free);
    CHECK(f.bytes <= f.bytes_max);
}

static inline void check_seg(const struct rxseg *s)
{
    CHECK(s->len > 0 && s->block->refs > 0);
    CHECK(s->mem >= s->block->mem);
    CHECK(s->mem + s->len <= s->block->mem + s->block->size);
    CHECK_EQ(s->block->dma, plat_dma_addr(s->block->mem));
}

static inline void keep(const struct rxseg *s)
{
    CHECK(outs < OUT_MAX);
    check_seg(s);
    mark[outs] = (uint8_t)rand();
    memset(s->mem, mark[outs], s->len);
    out[outs++] = *s;
}

static inline bool cut(uint32_t size, uint32_t least)
{
    struct rxseg s;

    if (!rxfrag_cut(&f, size, least, &s))
        return false;
    keep(&s);
    return true;
}

static inline bool whole(void)
{
    struct rxseg s;

    if (!rxfrag_whole(&f, &s))
        return false;
    CHECK_EQ(s.len, s.block->size);
    keep(&s);
    return true;
}

/* Gives one back, whose bytes nobody else has touched. */
static inline void give(unsigned i)
{
    for (uint32_t k = 0; k < out[i].len; k++)
        CHECK_EQ(out[i].mem[k], mark[i]);
    rxfrag_put(&f, out[i].block);
    outs--;
    out[i] = out[outs];
    mark[i] = mark[outs];
}

static inline void begin(uint64_t bytes_max)
{
    outs = 0;
    CHECK_EQ(rxfrag_init(&f, bytes_max), V_OK);
}

static inline void end(void)
{
    while (outs)
        give(outs - 1);
    if (f.cur)
        rxfrag_put(&f, f.cur);
    f.cur = NULL;
    check_account();
    CHECK_EQ(f.bytes_free, f.bytes);
    rxfrag_destroy(&f);
    CHECK_EQ(host_dma_live(), 0);
}

#endif
