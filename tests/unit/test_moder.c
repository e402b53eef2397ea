/*
 * drivers/vnet/moder.c: the search against traces, and what must hold for
 * any load. The table of traces was printed by moder_traces.py, which was
 * written from the description of the algorithm.
 */
#include <string.h>

#include "check.h"
#include "vnet/moder.h"

#define ROUNDS 40u

static struct moder m;
static struct moder_sample now;
static uint32_t lcg;

static uint32_t rnd(uint32_t n)
{
    lcg = (lcg * 1103515245u + 12345u) & 0x7fffffffu;
    return (lcg >> 8) % n;
}

static void begin(enum moder_dir dir)
{
    moder_init(&m, dir);
    memset(&now, 0, sizeof(now));
    lcg = 12345;
    CHECK(!moder_add(&m, &now));
}

/* One measurement, in samples as a driver takes them: one a wake-up. True
 * when the profile changed; the next measurement has begun then, too. */
static bool measure(uint64_t packets, uint64_t bytes, uint64_t us)
{
    struct moder_sample s = now;
    uint64_t decisions = m.decisions;
    bool changed;

    for (unsigned i = 1; i < MODER_EVENTS; i++) {
        s.events = now.events + i;
        s.ns = now.ns + us * i * 1000 / MODER_EVENTS;
        s.packets = now.packets + packets * i / MODER_EVENTS;
        s.bytes = now.bytes + bytes * i / MODER_EVENTS;
        CHECK(!moder_add(&m, &s));
        CHECK_EQ(m.decisions, decisions);
    }
    now.events += MODER_EVENTS;
    now.ns += us * 1000;
    now.packets += packets;
    now.bytes += bytes;
    changed = moder_add(&m, &now);
    CHECK_EQ(m.decisions, decisions + 1);
    if (changed) {
        CHECK_EQ(m.phase, MODER_APPLY);
        CHECK(!moder_add(&m, &now));
        moder_applied(&m);
        CHECK(!moder_add(&m, &now));
    }
    return changed;
}

/* ---- traces ------------------------------------------------------------- */

enum kind { STEADY, STEP, HILL, FLOW, NOISE, CHAOS };

static const struct trace {
    enum moder_dir dir;
    enum kind kind;
    uint32_t a;
    uint32_t b;
    const char *answer;
} traces[] = {
#include "moder_traces.h"
};

static uint32_t distance(uint32_t a, uint32_t b)
{
    return a > b ? a - b : b - a;
}

/* The loads of moder_traces.py. */
static void round_of(const struct trace *t, unsigned i)
{
    uint32_t n, len, us;

    switch (t->kind) {
    case STEADY:
        measure(t->a, (uint64_t)t->a * t->b, 10000);
        break;
    case STEP:
        n = i < 20 ? t->a : t->b;
        measure(n, n * 700u, 10000);
        break;
    case HILL:
        n = 100000 - distance(m.index, t->a) * t->b * 100;
        measure(n, n * UINT64_C(1448), 64000);
        break;
    case FLOW:
        us = 64u * (moder_profile(&m).usecs + t->b);
        n = t->a * us / 1000;
        measure(n, n * 100u, us);
        break;
    case NOISE:
        n = (t->a * (1000 + rnd(2 * t->b + 1) - t->b)) / 1000;
        measure(n, n * 1000u, 5000);
        break;
    case CHAOS:
        n = 1 + rnd(t->a);
        len = 60 + rnd(t->b);
        us = 1 + rnd(100000);
        measure(n, len, us);
        break;
    }
}

TEST(agrees_with_the_traces)
{
    char got[2 * ROUNDS + 1];

    for (unsigned k = 0; k < sizeof(traces) / sizeof(traces[0]); k++) {
        const struct trace *t = &traces[k];

        begin(t->dir);
        for (unsigned i = 0; i < ROUNDS; i++) {
            round_of(t, i);
            got[2 * i] = (char)('0' + m.index);
            got[2 * i + 1] = moder_state_name(m.state)[0];
        }
        got[2 * ROUNDS] = '\0';
        if (strcmp(got, t->answer) != 0)
            check_fail(__FILE__, __LINE__, "trace %u (%u, %u):\n%s\n%s", k,
                       t->a, t->b, got, t->answer);
    }
}

/* ---- properties --------------------------------------------------------- */

TEST(profiles_are_as_published)
{
    static const uint16_t rx[] = {1, 8, 64, 128, 256};
    static const uint16_t tx[] = {1, 8, 32, 64, 128};

    for (uint8_t i = 0; i < MODER_PROFILES; i++) {
        moder_init(&m, MODER_RX);
        m.index = i;
        CHECK_EQ(moder_profile(&m).usecs, rx[i]);
        CHECK_EQ(moder_profile(&m).packets, 256);
        moder_init(&m, MODER_TX);
        m.index = i;
        CHECK_EQ(moder_profile(&m).usecs, tx[i]);
        CHECK_EQ(moder_profile(&m).packets, 128);
    }
    moder_init(&m, MODER_RX);
    CHECK_EQ(m.index, 1);
}

/* Whatever comes: in range, and one step at a time. */
TEST(index_stays_in_range)
{
    begin(MODER_RX);
    for (unsigned i = 0; i < 20000; i++) {
        uint8_t old = m.index;
        bool changed = measure(rnd(1u << rnd(23)), rnd(1u << rnd(23)),
                               rnd(1u << rnd(20)) + 1);

        CHECK(m.index < MODER_PROFILES);
        CHECK_EQ(changed, m.index != old);
        CHECK(distance(m.index, old) <= 1);
        CHECK(m.state < MODER_STATES);
        CHECK(m.tired <= 2 * MODER_PROFILES);
    }
    CHECK(m.changes > 1000 && m.changes < m.decisions);
}

/* A profile that is better than its neighbours is found within ten
 * decisions, and stays. */
TEST(finds_the_top_and_parks)
{
    for (uint32_t top = 0; top < MODER_PROFILES; top++) {
        begin(MODER_RX);
        for (unsigned i = 0; i < 1000; i++) {
            measure(10000 - 1200 * distance(m.index, top), 1000000, 10000);
            if (i < 10)
                continue;
            CHECK_EQ(m.index, top);
            CHECK_EQ(m.state, MODER_PARKED);
        }
    }
}

/* Where nothing makes a difference it rests at least half of the time. */
TEST(rests_when_nothing_matters)
{
    unsigned at_rest = 0;

    begin(MODER_TX);
    for (unsigned i = 0; i < 1000; i++) {
        measure(1000, 1000000, 10000);
        at_rest += m.state == MODER_TIRED || m.state == MODER_PARKED;
    }
    CHECK(at_rest >= 450);
    CHECK(m.changes < 550);
}

/* Parked, it takes the first decision to see that the load has changed, and
 * a dozen to be at the new top. */
TEST(follows_a_step)
{
    begin(MODER_RX);
    for (uint32_t top = 0, k = 0; k < 50; k++, top = (top * 3 + 2) % 5) {
        for (unsigned i = 0; i < 40; i++) {
            uint8_t old = m.index;
            bool was_parked = m.state == MODER_PARKED;

            measure((10000 - 1200 * distance(m.index, top)) * (1 + k % 2),
                    1000000 * (1 + k % 2), 10000);
            if (i == 0 && k > 0 && was_parked)
                CHECK(m.index != old);
            if (i > 12)
                CHECK_EQ(m.index, top);
        }
    }
}

/* A load that drifts by less than a tenth each time is noticed all the
 * same: the mark is what it was when it parked. */
TEST(notices_a_drift)
{
    uint64_t bytes = 1000000;

    begin(MODER_RX);
    for (unsigned i = 0; i < 12; i++)
        measure(10000 - 1200 * distance(m.index, 2), bytes, 10000);
    CHECK_EQ(m.state, MODER_PARKED);
    for (unsigned i = 0; i < 4 && m.state == MODER_PARKED; i++)
        measure(10000, bytes += 40000, 10000);
    CHECK(m.state != MODER_PARKED);
}

/* More than a tenth, in whole hundredths, is what counts. */
TEST(a_tenth_is_no_difference)
{
    for (unsigned extra = 0; extra < 200; extra++) {
        moder_init(&m, MODER_RX);
        memset(&now, 0, sizeof(now));
        m.before = (struct moder_rates){1000, 100, 64};
        m.state = MODER_PARKED;
        moder_add(&m, &now);
        measure(100, 1000 + extra, 1000);
        CHECK_EQ(m.state != MODER_PARKED, extra >= 110);
    }
}

/* No time has passed: no rate, no decision; the next sample makes it. */
TEST(waits_for_time_to_pass)
{
    struct moder_sample s = {0};

    begin(MODER_RX);
    for (unsigned i = 0; i < 1000; i++) {
        s.events++;
        s.packets += 7;
        s.bytes += 70;
        s.ns = 999;
        CHECK(!moder_add(&m, &s));
    }
    CHECK_EQ(m.decisions, 0);
    s.ns = 1000;
    CHECK(moder_add(&m, &s));
    CHECK_EQ(m.decisions, 1);
    CHECK_EQ(m.before.packets, 7000 * UINT64_C(1000));
}

/* Counters, and a clock, at their ends; a clock that goes back. */
TEST(extreme_numbers)
{
    static const uint64_t ns[] = {1000, UINT64_C(1) << 32, UINT64_MAX / 2,
                                  UINT64_MAX};
    static const uint64_t count[] = {0, 1, UINT32_MAX, UINT64_MAX / 2,
                                     UINT64_MAX};

    for (unsigned a = 0; a < 4; a++)
        for (unsigned b = 0; b < 5; b++)
            for (unsigned k = 0; k < 30; k++) {
                struct moder_sample s = {ns[a], count[b], count[4 - b],
                                         UINT64_MAX - k};

                if (k == 0)
                    moder_init(&m, MODER_TX);
                moder_add(&m, &(struct moder_sample){0});
                m.phase = MODER_MEASURE;
                m.start = (struct moder_sample){0};
                moder_add(&m, &s);
                CHECK_EQ(m.decisions, k + 1);
                CHECK(m.before.bytes < UINT64_MAX / 100);
                CHECK(m.before.packets < UINT64_MAX / 100);
                moder_applied(&m);
                CHECK(m.index < MODER_PROFILES);
            }
    begin(MODER_RX);
    now.ns = 1000000;
    m.start = now;
    CHECK(!moder_add(&m, &(struct moder_sample){500, 1, 1, 64}));
    CHECK_EQ(m.decisions, 0);
}

/* A measurement may last for longer than 32 bits of anything. */
TEST(long_measurements)
{
    begin(MODER_RX);
    measure(10 * (UINT64_C(1) << 40), UINT64_C(1) << 45, UINT64_C(1) << 40);
    CHECK_EQ(m.before.packets, 10000);
    CHECK_EQ(m.before.bytes, 32000);
    CHECK_EQ(m.before.events, 1);
}

/* Between the decision and its taking effect nothing is measured. */
TEST(measures_under_the_new_profile_only)
{
    begin(MODER_RX);
    now.events = MODER_EVENTS;
    now.ns = 1000000;
    now.packets = now.bytes = 100;
    CHECK(moder_add(&m, &now));
    for (unsigned i = 0; i < 1000; i++) {
        now.events++;
        now.ns += 1000000;
        CHECK(!moder_add(&m, &now));
    }
    CHECK_EQ(m.decisions, 1);
    moder_applied(&m);
    for (unsigned i = 0; i < MODER_EVENTS; i++) {
        CHECK_EQ(m.decisions, 1);
        now.events++;
        now.ns += 1000000;
        moder_add(&m, &now);
    }
    CHECK_EQ(m.decisions, 1);
    now.events++;
    now.ns += 1000000;
    moder_add(&m, &now);
    CHECK_EQ(m.decisions, 2);
    moder_applied(&m); /* of no effect now, or once too often */
    moder_applied(&m);
}

TEST(names_of_the_states)
{
    CHECK_STR_EQ(moder_state_name(MODER_PARKED), "parked");
    CHECK_STR_EQ(moder_state_name(MODER_TIRED), "tired");
    CHECK_STR_EQ(moder_state_name(MODER_RIGHT), "right");
    CHECK_STR_EQ(moder_state_name(MODER_LEFT), "left");
    CHECK_STR_EQ(moder_state_name(99), "?");
}
