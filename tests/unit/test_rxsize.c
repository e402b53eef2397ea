/*
 * drivers/vnet/rxsize.c: the average and the sizes. The table of traces was
 * printed by rxsize_traces.py, which reckons with exact fractions.
 */
#include <string.h>

#include "check.h"
#include "vnet/rxsize.h"

#define HDR 12u
#define LONGEST 65549u

static struct rxsize s;

static void add(uint32_t len, unsigned n)
{
    while (n--)
        rxsize_add(&s, len);
}

/* ---- the average -------------------------------------------------------- */

enum trace_kind { KIND_STEP, KIND_TURNS, KIND_RANDOM };

struct trace {
    enum trace_kind kind;
    uint32_t a;
    uint32_t b;
    unsigned n;
};

#define STEP(a, b, n) {KIND_STEP, a, b, n}
#define TURNS(a, b, n) {KIND_TURNS, a, b, n}
#define RANDOM(n) {KIND_RANDOM, 0, 0, n}

static const struct {
    struct trace trace;
    uint32_t avg; /* times 256, never rounded but at the end */
} traces[] = {
    {STEP(64, 1514, 1), 22184},
    {STEP(64, 1514, 10), 70471},
    {STEP(64, 1514, 44), 201943},
    {STEP(64, 1514, 64), 252101},
    {STEP(64, 1514, 200), 371672},
    {STEP(64, 1514, 500), 387442},
    {STEP(64, 1514, 1500), 387583},
    {STEP(1514, 64, 1), 381784},
    {STEP(1514, 64, 10), 333496},
    {STEP(1514, 64, 44), 202024},
    {STEP(1514, 64, 64), 151866},
    {STEP(1514, 64, 200), 32295},
    {STEP(1514, 64, 500), 16525},
    {STEP(1514, 64, 1500), 16384},
    {STEP(1514, 65549, 1), 643724},
    {STEP(1514, 65549, 10), 2776188},
    {STEP(1514, 65549, 44), 8582264},
    {STEP(1514, 65549, 64), 10797334},
    {STEP(1514, 65549, 200), 16077839},
    {STEP(1514, 65549, 500), 16774307},
    {STEP(1514, 65549, 1500), 16780543},
    {STEP(65549, 1514, 1), 16524404},
    {STEP(65549, 1514, 10), 14391939},
    {STEP(65549, 1514, 44), 8585863},
    {STEP(65549, 1514, 64), 6370793},
    {STEP(65549, 1514, 200), 1090288},
    {STEP(65549, 1514, 500), 393820},
    {STEP(65549, 1514, 1500), 387584},
    {STEP(64, 65549, 1), 278324},
    {STEP(64, 65549, 10), 2459075},
    {STEP(64, 65549, 44), 8396624},
    {STEP(64, 65549, 64), 10661851},
    {STEP(64, 65549, 200), 16061927},
    {STEP(64, 65549, 500), 16774166},
    {STEP(64, 65549, 1500), 16780543},
    {STEP(65549, 64, 1), 16518604},
    {STEP(65549, 64, 10), 14337852},
    {STEP(65549, 64, 44), 8400303},
    {STEP(65549, 64, 64), 6135076},
    {STEP(65549, 64, 200), 735000},
    {STEP(65549, 64, 500), 22761},
    {STEP(65549, 64, 1500), 16384},
    {TURNS(64, 1514, 1), 16384},
    {TURNS(64, 1514, 2), 22184},
    {TURNS(64, 1514, 3), 22093},
    {TURNS(64, 1514, 64), 135170},
    {TURNS(64, 1514, 1000), 203445},
    {TURNS(64, 1514, 1001), 200522},
    {TURNS(1514, 65549, 1), 387584},
    {TURNS(1514, 65549, 2), 643724},
    {TURNS(1514, 65549, 3), 639721},
    {TURNS(1514, 65549, 64), 5633442},
    {TURNS(1514, 65549, 1000), 8648602},
    {TURNS(1514, 65549, 1001), 8519523},
    {RANDOM(1), 14427136},
    {RANDOM(2), 14206020},
    {RANDOM(64), 10322849},
    {RANDOM(1000), 8247224},
    {RANDOM(5000), 8555637},
};

static void run(const struct trace *t)
{
    uint32_t x = 12345;

    memset(&s, 0, sizeof(s));
    if (t->kind == KIND_STEP) {
        add(t->a, 100);
        add(t->b, t->n);
        return;
    }
    for (unsigned i = 0; i < t->n; i++) {
        x = (x * 1103515245u + 12345u) & 0x7fffffffu;
        if (t->kind == KIND_TURNS)
            rxsize_add(&s, i % 2 ? t->b : t->a);
        else
            rxsize_add(&s, 14 + (x >> 8) % 65536);
    }
}

/* The driver's rounding costs less than a quarter of a byte, downwards. */
TEST(average_of_traces)
{
    for (unsigned i = 0; i < sizeof(traces) / sizeof(traces[0]); i++) {
        run(&traces[i].trace);
        CHECK(s.avg <= traces[i].avg);
        CHECK(s.avg + 64 > traces[i].avg);
    }
}

/* A constant stream is its own average, from the first frame on. */
TEST(average_of_a_constant)
{
    for (uint32_t len = 1; len <= LONGEST; len += len < 2000 ? 1 : 631) {
        memset(&s, 0, sizeof(s));
        for (unsigned i = 0; i < 200; i++) {
            rxsize_add(&s, len);
            CHECK_EQ(rxsize_avg(&s), len);
        }
    }
}

/*
 * 64 frames of a new length do 1 - (63/64)^64 = 63.5 % of the way.
 */
TEST(average_is_most_of_the_way_after_64_frames)
{
    memset(&s, 0, sizeof(s));
    add(64, 10);
    add(LONGEST, 64);
    CHECK(rxsize_avg(&s) >= 64 + 65485u * 634 / 1000);
    CHECK(rxsize_avg(&s) <= 64 + 65485u * 636 / 1000);
}

/*
 * From below the cut-off stops the average where 1/64 of what is missing is
 * less than 1/256: a quarter of a byte short, which rounds to the length.
 * From above it gets there exactly.
 */
TEST(average_converges_from_both_sides)
{
    static const uint32_t len[] = {14, 64, 590, 1514, 4084, 9014, LONGEST};

    for (unsigned i = 0; i < sizeof(len) / sizeof(len[0]); i++) {
        memset(&s, 0, sizeof(s));
        add(1, 1);
        add(len[i], 2000);
        CHECK_EQ(rxsize_avg(&s), len[i]);
        memset(&s, 0, sizeof(s));
        add(LONGEST, 1);
        add(len[i], 2000);
        CHECK_EQ(rxsize_avg(&s), len[i]);
        CHECK_EQ(s.avg, len[i] * 256);
    }
}

/* Never outside of what was seen, and no overflow at the longest. */
TEST(average_stays_between_the_extremes)
{
    uint32_t x = 7;

    memset(&s, 0, sizeof(s));
    for (unsigned i = 0; i < 100000; i++) {
        x = x * 1664525u + 1013904223u;
        rxsize_add(&s, x >> 31 ? LONGEST : 64 + (x >> 20) % 100);
        CHECK(rxsize_avg(&s) >= 64 && rxsize_avg(&s) <= LONGEST);
    }
}

/* ---- S1: the size for an MTU -------------------------------------------- */

static unsigned buffers(uint32_t bytes, uint32_t size)
{
    return (bytes + size - 1) / size;
}

/* Header, Ethernet with a tag, MTU: one buffer, and no cache line to spare. */
TEST(mtu_frame_takes_one_buffer)
{
    static const uint32_t hdr[] = {10, 12, 20};

    for (unsigned i = 0; i < 3; i++)
        for (uint32_t mtu = 68; mtu <= 65535; mtu++) {
            uint32_t size = rxsize_mtu(hdr[i], mtu);

            CHECK_EQ(buffers(hdr[i] + 14 + mtu, size), 1);
            CHECK_EQ(buffers(hdr[i] + 18 + mtu, size), 1);
            CHECK_EQ(size % RXSIZE_ALIGN, 0);
            CHECK(size - RXSIZE_ALIGN < hdr[i] + 18 + mtu);
        }
}

/* 12 + 18 + 1500 = 1530 = 23 * 64 + 58; 12 + 18 + 9000 = 141 * 64 + 6. */
TEST(mtu_sizes_by_hand)
{
    CHECK_EQ(rxsize_mtu(HDR, 68), 128);
    CHECK_EQ(rxsize_mtu(HDR, 576), 640);
    CHECK_EQ(rxsize_mtu(HDR, 1500), 1536);
    CHECK_EQ(rxsize_mtu(HDR, 1506), 1536);
    CHECK_EQ(rxsize_mtu(HDR, 1507), 1600);
    CHECK_EQ(rxsize_mtu(HDR, 9000), 9088);
    CHECK_EQ(rxsize_mtu(HDR, 65535), 65600);
}

/* The fault: 1518 bytes for 12 + 14 + 1500, and at any other MTU. */
TEST(faulty_size_takes_two_buffers)
{
    CHECK_EQ(rxsize_mtu_faulty(1500), 1518);
    for (uint32_t mtu = 68; mtu <= 65535; mtu++)
        CHECK_EQ(buffers(HDR + 14 + mtu, rxsize_mtu_faulty(mtu)), 2);
    CHECK_EQ(buffers(HDR + 14 + 1480, rxsize_mtu_faulty(1500)), 1);
}

/* ---- S2: the size that follows ------------------------------------------ */

static uint32_t autosize(void)
{
    return rxsize_auto(&s, HDR, 1536, 4096);
}

TEST(auto_size_of_constant_streams)
{
    static const struct {
        uint32_t len;
        uint32_t size;
    } t[] = {
        {14, 1536}, {64, 1536}, {1514, 1536}, {1524, 1536}, {1525, 1600},
        {2036, 2048}, {2037, 2112}, {4084, 4096}, {4085, 4096},
        {LONGEST, 4096},
    };

    memset(&s, 0, sizeof(s));
    CHECK_EQ(autosize(), 1536); /* nothing is known yet */
    for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
        memset(&s, 0, sizeof(s));
        add(t[i].len, 100);
        CHECK_EQ(autosize(), t[i].size);
        /* Coming from either end. */
        add(LONGEST, 500);
        CHECK_EQ(autosize(), 4096);
        add(t[i].len, 2000);
        CHECK_EQ(autosize(), t[i].size);
        add(14, 2000);
        add(t[i].len, 2000);
        CHECK_EQ(autosize(), t[i].size);
    }
}

/*
 * After MTU frames, bulk: 1514 + 64035 / 64 = 2514 after one, 3499 after two,
 * 4469 after three. Back: (65549 - 1514) * (63/64)^n < 11 takes 551 frames.
 */
TEST(auto_size_follows_a_step)
{
    unsigned n = 0;

    memset(&s, 0, sizeof(s));
    add(1514, 1000);
    CHECK_EQ(autosize(), 1536);
    add(LONGEST, 1);
    CHECK_EQ(autosize(), 2560);
    add(LONGEST, 1);
    CHECK_EQ(autosize(), 3520);
    add(LONGEST, 1);
    CHECK_EQ(autosize(), 4096);
    add(LONGEST, 2000);
    while (autosize() > 1536) {
        add(1514, 1);
        n++;
    }
    CHECK(n >= 545 && n <= 555);
}

/* Limits hold for whatever average; the lower one wins. */
TEST(auto_size_limits)
{
    memset(&s, 0, sizeof(s));
    for (uint32_t len = 1; len <= LONGEST; len += 97) {
        add(len, 40);
        CHECK(rxsize_auto(&s, HDR, 64, 4096) <= 4096);
        CHECK(rxsize_auto(&s, HDR, 64, 4096) >= 64);
        CHECK_EQ(rxsize_auto(&s, HDR, 64, 4096) % 64, 0);
        CHECK_EQ(rxsize_auto(&s, HDR, 9088, 4096), 9088);
        CHECK_EQ(rxsize_auto(&s, HDR, 65600, 4096), 65600);
        CHECK_EQ(rxsize_auto(&s, HDR, 4096, 4096), 4096);
    }
}
