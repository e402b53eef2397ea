/*
 * drivers/vnet/rxfrag.c: short of memory, and anything in any order.
 */
#include "frag_rig.h"

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
