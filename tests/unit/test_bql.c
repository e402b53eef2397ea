/*
 * drivers/vnet/bql: the limit follows what the device needs. Every figure is
 * worked out by hand in the comment beside it.
 */
#include "check.h"
#include "vnet/bql.h"

#define MS UINT64_C(1000000)

static struct bql b;

static void start(uint32_t limit)
{
    b = (struct bql){0};
    bql_restart(&b, limit, 100, 10000, 0);
}

/* As many frames of `len` as the limit lets pass, at most `most`. */
static unsigned fill(uint32_t len, unsigned most)
{
    unsigned n = 0;

    while (n < most && !bql_full(&b)) {
        bql_queue(&b, len);
        n++;
    }
    return n;
}

static bool finish(uint32_t bytes, uint64_t now)
{
    bql_done(&b, bytes);
    return bql_adapt(&b, now);
}

TEST(one_frame_may_go_above)
{
    start(1000);
    CHECK_EQ(fill(300, 100), 4); /* 300, 600, 900, 1200 > 1000 */
    CHECK(bql_full(&b));
    CHECK_EQ(bql_in_flight(&b), 1200);
    bql_done(&b, 300);
    CHECK(!bql_full(&b));
}

TEST(exactly_the_limit_is_not_full)
{
    start(600);
    CHECK_EQ(fill(300, 100), 3);
}

/* Nobody was held back: a device that runs dry says nothing. */
TEST(dry_without_a_waiting_sender_changes_nothing)
{
    start(1000);
    for (unsigned i = 0; i < 100; i++) {
        CHECK_EQ(fill(300, 2), 2);
        CHECK(!finish(600, i * MS));
    }
    CHECK_EQ(b.limit, 1000);
}

/*
 * Held back and dry in one go: 1200 were queued from nothing, all done.
 * Since the last look 1200 - 0 more were done than had been queued then, and
 * nothing was above the limit then: 1000 + 1200.
 */
TEST(grows_when_it_ran_dry)
{
    start(1000);
    fill(300, 100);
    CHECK(finish(1200, MS));
    CHECK_EQ(b.limit, 2200);
}

/*
 * Held back (200 above), 900 done, 300 left; then, before anything is
 * queued, the last 300: the device is dry, and 200 had been above the limit.
 * done 1200 is not ahead of the queued 1200: 1000 + 0 + 200.
 */
TEST(grows_by_what_was_above)
{
    start(1000);
    fill(300, 100);
    CHECK(!finish(900, MS));
    CHECK_EQ(b.seen_over, 200);
    CHECK(finish(300, 2 * MS));
    CHECK_EQ(b.limit, 1200);
}

/*
 * 1200 queued; 300 done (200 above is remembered). The sender adds 300 when
 * 900 are on the way (900 <= 1000): 1200. Then 900 done: all of those that
 * were queued at the last look, and 0 ahead of them: 1000 + 0 + 200.
 */
TEST(grows_when_all_that_was_there_is_done)
{
    start(1000);
    fill(300, 100);
    CHECK(!finish(300, MS));
    CHECK_EQ(fill(300, 100), 1);
    CHECK(finish(900, 2 * MS));
    CHECK_EQ(b.limit, 1200);
}

TEST(grows_to_the_most_and_no_further)
{
    start(1000);
    for (unsigned i = 0; i < 50; i++) {
        fill(300, 1000);
        finish(bql_in_flight(&b), i * MS);
    }
    CHECK_EQ(b.limit, 10000);
}

/*
 * A device that finishes 100 at a time never lets the ring run dry under a
 * limit of 5000. First look: 5100 queued, nothing seen before: no slack is
 * worked out. From then on each look: 100 done, 100 above the limit before.
 * Slack: (5000 + 100) - 2 * 100 = 4900; of the newest frame nothing lay
 * under the limit (100 - 100). After a second: 5000 - 4900 = 100.
 */
TEST(shrinks_after_a_second_without_need)
{
    unsigned i;

    start(5000);
    fill(100, 1000);
    CHECK_EQ(bql_in_flight(&b), 5100);
    for (i = 1; i <= 1000; i++) {
        CHECK(!finish(100, i * MS));
        CHECK_EQ(b.limit, 5000);
        CHECK_EQ(fill(100, 1000), 1);
    }
    CHECK(finish(100, 1001 * MS));
    CHECK_EQ(b.limit, 100);
}

/*
 * The same, but once in the second 2500 are done at a time: slack then is
 * 5000 + 100 - 5000 = 100, the least, and 5000 - 100 remain.
 */
TEST(one_busy_moment_keeps_the_limit)
{
    unsigned i;

    start(5000);
    fill(100, 1000);
    for (i = 1; i <= 1000; i++) {
        CHECK(!finish(i == 500 ? 2500 : 100, i * MS));
        fill(100, 1000);
    }
    CHECK(finish(100, 1001 * MS));
    CHECK_EQ(b.limit, 4900);
}

/*
 * 100 and then frames of 1000 under a limit of 3900: 4100 queued, 200 above.
 * Each look: 2000 done, two more frames. Slack: 3900 + 200 - 4000 = 100, but
 * 1000 - 200 = 800 of the newest frame lay under the limit: 3900 - 800.
 */
TEST(part_of_the_newest_frame_is_slack)
{
    unsigned i;

    start(3900);
    bql_queue(&b, 100);
    CHECK_EQ(fill(1000, 100), 4);
    for (i = 1; i <= 1001; i++) {
        if (finish(2000, i * MS))
            break;
        CHECK_EQ(fill(1000, 100), 2);
    }
    CHECK_EQ(i, 1001);
    CHECK_EQ(b.limit, 3100);
}

TEST(never_below_the_least)
{
    start(150);
    for (unsigned i = 1; i < 5000; i++) {
        fill(1000, 2);
        finish(1, i * MS);
    }
    CHECK(b.limit >= 100);
}

TEST(nothing_done_is_no_news)
{
    struct bql before;

    start(1000);
    fill(300, 100);
    before = b;
    CHECK(!bql_adapt(&b, 5000 * MS));
    CHECK_MEM_EQ(&b, &before, sizeof(b));
}

/* The counts run over 32 bits: the same answers on both sides. */
TEST(counters_wrap)
{
    b = (struct bql){.queued = UINT32_MAX - 500, .done = UINT32_MAX - 500};
    bql_restart(&b, 1000, 100, 10000, 0);
    CHECK_EQ(fill(300, 100), 4);
    CHECK(finish(1200, MS));
    CHECK_EQ(b.limit, 2200);
}

/* A new beginning while bytes are on the way: they stay counted. */
TEST(restart_keeps_what_is_on_the_way)
{
    start(1000);
    fill(300, 100);
    bql_restart(&b, 500, 100, 10000, MS);
    CHECK_EQ(bql_in_flight(&b), 1200);
    CHECK(bql_full(&b));
    finish(1200, 2 * MS);
    CHECK(!bql_full(&b));
}

/*
 * Whatever happens the limit stays in its bounds, and a sender that is held
 * back is let go when the device has finished everything.
 */
TEST(any_order_of_events)
{
    uint32_t x = 1;
    uint64_t now = 0;

    start(1000);
    for (unsigned i = 0; i < 200000; i++) {
        x = x * 1664525u + 1013904223u;
        now += x >> 12;
        if (x & 0x100)
            fill(1 + (x >> 20), 1 + (x >> 28));
        else
            finish(bql_in_flight(&b) >> (x >> 30), now);
        CHECK(b.limit >= 100 && b.limit <= 10000);
        CHECK(bql_in_flight(&b) <= 10000 + 4096);
    }
    finish(bql_in_flight(&b), now);
    CHECK(!bql_full(&b));
}
