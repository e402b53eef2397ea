/*
 * drivers/vnet/rxfrag.c: cutting blocks up, and getting them back.
 */
#include "frag_rig.h"

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
    CHECK_EQ(f.large, 69632);
    CHECK(cut(65600, 65600));
    CHECK_EQ(out[0].len, 69632); /* not room for two */
    check_account();
    rxfrag_largest(&f, 64);
    CHECK_EQ(f.large, 69632);
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
    CHECK_EQ(out[2].block->size, 69632);
    give(0);
    give(1);
    check_account();
    CHECK_EQ(f.bytes, 69632);
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
