/*
 * drivers/vnet/rxfrag.c: blocks and fragments, against a simple model: which
 * bytes are out is known, and no two fragments share one.
 */
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

/* ---- the account -------------------------------------------------------- */

static bool live(const struct rxblock *b)
{
    return b->refs > 0;
}

static unsigned refs_known(const struct rxblock *b)
{
    unsigned n = f.cur == b;

    for (unsigned i = 0; i < outs; i++)
        n += out[i].block == b;
    return n;
}

static void check_account(void)
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

static void check_seg(const struct rxseg *s)
{
    CHECK(s->len > 0 && s->block->refs > 0);
    CHECK(s->mem >= s->block->mem);
    CHECK(s->mem + s->len <= s->block->mem + s->block->size);
    CHECK_EQ(s->block->dma, plat_dma_addr(s->block->mem));
}

static void keep(const struct rxseg *s)
{
    CHECK(outs < OUT_MAX);
    check_seg(s);
    mark[outs] = (uint8_t)rand();
    memset(s->mem, mark[outs], s->len);
    out[outs++] = *s;
}

static bool cut(uint32_t size, uint32_t least)
{
    struct rxseg s;

    if (!rxfrag_cut(&f, size, least, &s))
        return false;
    keep(&s);
    return true;
}

static bool whole(void)
{
    struct rxseg s;

    if (!rxfrag_whole(&f, &s))
        return false;
    CHECK_EQ(s.len, s.block->size);
    keep(&s);
    return true;
}

/* Gives one back, whose bytes nobody else has touched. */
static void give(unsigned i)
{
    for (uint32_t k = 0; k < out[i].len; k++)
        CHECK_EQ(out[i].mem[k], mark[i]);
    rxfrag_put(&f, out[i].block);
    outs--;
    out[i] = out[outs];
    mark[i] = mark[outs];
}

static void begin(uint64_t bytes_max)
{
    outs = 0;
    CHECK_EQ(rxfrag_init(&f, bytes_max), V_OK);
}

static void end(void)
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

/* ---- cutting ------------------------------------------------------------ */

/* 32768 = 21 * 1536 + 512: the last one gets what is left. */
TEST(tail_goes_to_the_last_fragment)
{
    begin(1 << 20);
    for (unsigned i = 0; i < 21; i++) {
        CHECK(cut(1536, 1536));
        CHECK_EQ(out[i].mem - out[0].mem, i * 1536);
        CHECK_EQ(out[i].len, i < 20 ? 1536 : 1536 + 512);
    }
    CHECK_EQ(out[0].block->refs, 22);
    CHECK(cut(1536, 1536));
    CHECK(out[21].block != out[0].block);
    CHECK_EQ(out[0].block->refs, 21);
    end();
}

/* Every size: fragments follow one another and use all of the block. */
TEST(every_size_uses_the_whole_block)
{
    begin(4 << 20);
    for (uint32_t size = 64; size <= BLOCK; size += 64) {
        uint32_t sum = 0;

        do {
            CHECK(cut(size, size));
            CHECK(out[outs - 1].len >= size && out[outs - 1].len < 2 * size);
            sum += out[outs - 1].len;
        } while (f.off < BLOCK);
        CHECK_EQ(sum, BLOCK);
        CHECK_EQ(outs, BLOCK / size);
        while (outs)
            give(0);
        check_account();
    }
    CHECK(f.blocks_len <= 2); /* no more than the one and the next */
    end();
}

/* A larger size than what is left begins a new block. */
TEST(sizes_that_change)
{
    begin(1 << 20);
    CHECK(cut(12032, PAGE));
    CHECK_EQ(out[0].len, 12032);
    CHECK(cut(25600, PAGE));
    CHECK(out[1].block != out[0].block);
    CHECK_EQ(out[1].len, BLOCK); /* the rest is too little for another */
    CHECK(cut(12032, PAGE));
    CHECK(cut(64, 64));
    CHECK(out[3].block == out[2].block);
    CHECK_EQ(out[3].mem - out[2].mem, 12032);
    CHECK_EQ(out[0].block->refs, 1);
    CHECK_EQ(out[2].block->refs, 3);
    end();
}

TEST(block_is_free_when_its_last_fragment_is)
{
    struct rxblock *b;

    begin(1 << 20);
    for (unsigned i = 0; i < 8; i++)
        CHECK(cut(PAGE, PAGE));
    b = out[0].block;
    CHECK(cut(PAGE, PAGE)); /* the next block; the first is no longer cut */
    CHECK_EQ(b->refs, 8);
    for (unsigned i = 8; i > 0; i--) {
        CHECK(b->refs == i && f.bytes_free == 0);
        give(i == 8 ? 3 : 0); /* not in the order they were cut */
        if (out[0].block != b && i > 1)
            give(0);
    }
    end();
}

/* What came back is used again: no block more than there were at once. */
TEST(blocks_are_used_again)
{
    begin(8 << 20);
    for (unsigned i = 0; i < 20000; i++) {
        CHECK(cut(1536, 1536));
        if (outs > 256)
            give(0);
    }
    CHECK(host_allocs() <= 300);
    while (outs)
        give(0);
    for (unsigned i = 0; i < 256; i++)
        CHECK(cut(1536, 1536));
    check_account();
    end();
}

/* ---- larger than a block ------------------------------------------------ */

TEST(fragments_above_a_block)
{
    begin(4 << 20);
    rxfrag_largest(&f, 65600);
    CHECK_EQ(f.large, 131072);
    CHECK(cut(65600, 65600));
    CHECK_EQ(out[0].len, 131072); /* not room for two */
    check_account();
    rxfrag_largest(&f, 64);
    CHECK_EQ(f.large, 131072);
    CHECK(cut(9088, 9088));
    CHECK_EQ(out[1].len, 9088);
    end();
}

/* Blocks that are too small are given up at once, or when they come back. */
TEST(blocks_grow)
{
    begin(1 << 20);
    CHECK(whole() && whole());
    CHECK(cut(1536, 1536));
    give(1);
    CHECK_EQ(f.bytes, 3 * BLOCK);
    rxfrag_largest(&f, 65600);
    CHECK_EQ(f.bytes, 2 * BLOCK);
    check_account();
    CHECK(cut(65600, 65600)); /* never out of an old one */
    CHECK_EQ(out[2].block->size, 131072);
    give(0);
    give(1);
    check_account();
    CHECK_EQ(f.bytes, 131072);
    end();
}

/* Pages that nobody uses do not stand in the way of a block. */
TEST(pages_give_way)
{
    begin(8 * PAGE);
    for (unsigned i = 0; i < 8; i++) {
        if (i == 0) /* of the others, a block is more than there may be */
            host_fail_alloc(1);
        CHECK(whole());
        CHECK_EQ(out[i].len, PAGE);
    }
    CHECK(!cut(BLOCK, BLOCK));
    while (outs)
        give(0);
    CHECK_EQ(f.bytes_free, 8 * PAGE);
    CHECK(cut(BLOCK, BLOCK));
    check_account();
    end();
}

/* ---- short of memory ---------------------------------------------------- */

TEST(limit_is_kept)
{
    unsigned n = 0;

    begin(5 * BLOCK + 3 * PAGE + 100);
    CHECK_EQ(f.bytes_max, 5 * BLOCK + 3 * PAGE);
    while (whole())
        n++;
    CHECK_EQ(n, 5 + 3); /* pages, where no block fits any more */
    CHECK_EQ(f.bytes, f.bytes_max);
    CHECK_EQ(rxfrag_left(&f), 0);
    check_account();
    give(0);
    CHECK_EQ(rxfrag_left(&f), BLOCK);
    CHECK(whole());
    CHECK_EQ(out[outs - 1].len, BLOCK);
    CHECK(!whole());
    CHECK(!cut(64, 64));
    end();
}

/* No large block to be had: pages, if a page is enough. */
TEST(pages_when_a_block_fails)
{
    begin(1 << 20);
    host_fail_alloc(1);
    CHECK(cut(1536, PAGE));
    CHECK_EQ(out[0].block->size, PAGE);
    CHECK_EQ(out[0].len, 1536);
    CHECK(cut(1536, PAGE)); /* and the tail: 4096 = 1536 + 2560 */
    CHECK(out[1].block == out[0].block);
    CHECK_EQ(out[1].len, 2560);
    CHECK(cut(1536, PAGE));
    CHECK_EQ(out[2].block->size, BLOCK);
    end();
}

/* Not a whole frame, but a page will do; or it will not. */
TEST(page_is_less_than_was_asked_for)
{
    begin(1 << 20);
    host_fail_alloc(1);
    CHECK(cut(9088, PAGE));
    CHECK_EQ(out[0].len, PAGE);
    host_fail_alloc(1);
    CHECK(!cut(9088, 9088));
    check_account();
    CHECK_EQ(f.bytes_free, PAGE); /* it was not lost */
    CHECK(cut(9088, 9088));
    CHECK_EQ(out[1].len, 9088);
    end();
}

TEST(no_memory_at_all)
{
    begin(1 << 20);
    host_fail_alloc_all(true);
    CHECK(!cut(1536, 1536));
    CHECK(!whole());
    CHECK_EQ(f.bytes, 0);
    CHECK_EQ(rxfrag_left(&f), 0); /* nothing to be counted on */
    rxfrag_probe(&f);
    CHECK_EQ(rxfrag_left(&f), 0);
    host_fail_alloc_all(false);
    rxfrag_probe(&f);
    CHECK_EQ(f.bytes_free, BLOCK);
    CHECK_EQ(rxfrag_left(&f), 1 << 20);
    rxfrag_probe(&f); /* nothing failed since: not another one */
    CHECK_EQ(f.bytes, BLOCK);
    CHECK(cut(1536, 1536));
    check_account();
    end();
}

TEST(no_memory_for_the_table)
{
    host_fail_alloc(1);
    CHECK_EQ(rxfrag_init(&f, 1 << 20), V_NOMEM);
    rxfrag_destroy(&f);
    CHECK_EQ(host_dma_live(), 0);
}

/* Whichever allocation fails, the others serve, and all come back. */
TEST(each_allocation_fails_in_turn)
{
    unsigned n = 0, failed;

    do {
        begin(1 << 20);
        failed = host_allocs_failed();
        host_fail_alloc(++n);
        for (unsigned i = 0; i < 200; i++)
            CHECK(cut(1536, PAGE));
        failed = host_allocs_failed() - failed;
        host_fail_alloc(0);
        check_account();
        end();
    } while (failed);
    CHECK_EQ(n, 11); /* 200 / 21 blocks, and one more */
}

/* ---- anything ----------------------------------------------------------- */

static void random_step(bool merge)
{
    uint64_t r = plat_random();
    uint32_t size = (1 + (uint32_t)(r >> 8) % (f.large / 64)) * 64;

    if (r % 8 < 4) {
        cut(r & 64 ? size : 1536, merge ? PAGE : r & 64 ? size : 1536);
    } else if (r % 8 == 4) {
        whole();
    } else {
        for (uint64_t n = r >> 40 & 3; n && outs; n--)
            give((unsigned)(plat_random() % outs));
    }
    if (r >> 50 == 0)
        host_fail_alloc_all(true);
    if (r >> 55 == 1)
        host_fail_alloc_all(false);
    if (r >> 56 == 2)
        rxfrag_probe(&f);
}

TEST(random_cuts_and_returns)
{
    for (unsigned seed = 1; seed <= 12; seed++) {
        host_seed(seed);
        begin(seed % 3 == 0 ? 10 * PAGE : 2 << 20);
        if (seed % 4 == 0)
            rxfrag_largest(&f, 65600);
        for (unsigned i = 0; i < 5000; i++) {
            random_step(seed & 1);
            if (i % 16 == 0)
                check_account();
        }
        host_fail_alloc_all(false);
        CHECK(seed % 3 == 0 || f.blocks_len > 10);
        end();
    }
}
