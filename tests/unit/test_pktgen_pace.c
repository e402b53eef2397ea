/*
 * net/pktgen_pace.c: as many frames as a rate makes, for any rate and any
 * pattern of calls.
 */
#include "check.h"
#include "pktgen_pace.h"

#define S UINT64_C(1000000000)

/* Calls every `step` ns for `ns`; how many frames. */
static uint64_t frames(struct pktgen_pace *p, uint64_t now, uint64_t ns,
                       uint64_t step, uint64_t burst)
{
    uint64_t sent = 0;

    for (uint64_t t = 0; t < ns; t += step) {
        uint64_t n = pktgen_pace_due(p, now + t, burst);

        n = n < burst ? n : burst;
        p->sent += n;
        sent += n;
    }
    return sent;
}

TEST(any_rate_in_small_steps)
{
    static const uint64_t rates[] = {1, 2, 3, 7, 999, 1000, 1001, 65537,
                                     1000000, 14880952, 100000000};
    struct pktgen_pace p;

    for (unsigned i = 0; i < 11; i++) {
        uint64_t n;

        pktgen_pace_start(&p, rates[i], 12345);
        n = frames(&p, 12345, 5 * S, S / 1000, UINT64_MAX);
        /* The last call is a step before the end. */
        CHECK_EQ(n, (5 * S - S / 1000) * rates[i] / S + 1);
        CHECK_EQ(p.late, 0);
    }
}

TEST(next_is_when_one_is_due)
{
    static const uint64_t rates[] = {1, 3, 7, 1000, 12345, 99999999};
    struct pktgen_pace p;

    for (unsigned i = 0; i < 6; i++) {
        uint64_t now = 777;

        pktgen_pace_start(&p, rates[i], now);
        for (unsigned n = 0; n < 10000; n++) {
            now = pktgen_pace_next(&p);
            CHECK_EQ(pktgen_pace_due(&p, now - (n > 0), 64), n == 0);
            CHECK_EQ(pktgen_pace_due(&p, now, 64), 1);
            p.sent++;
        }
        CHECK_EQ(now, 777 + (9999 * S + rates[i] - 1) / rates[i]);
    }
}

/* A year's pause, at the highest rate: nothing overflows. */
TEST(pauses_are_left_out)
{
    struct pktgen_pace p;
    uint64_t now = 1;

    pktgen_pace_start(&p, 100000000, now);
    CHECK_EQ(frames(&p, now, S, S / 1000, UINT64_MAX), 99900001);
    now += 365 * 86400 * S;
    CHECK_EQ(pktgen_pace_due(&p, now, 64), 1);
    CHECK_EQ(p.late, 1000000000); /* of ten seconds: more is not counted */
    p.sent++;
    CHECK_EQ(pktgen_pace_due(&p, now, 64), 0);
    CHECK_EQ(pktgen_pace_due(&p, now + S / 1000, 64), 100000);
}

/* Too slow a sender: it gets its bursts, the rest counts as late. */
TEST(a_sender_that_cannot_follow)
{
    struct pktgen_pace p;
    uint64_t sent;

    pktgen_pace_start(&p, 1000000, 0);
    sent = frames(&p, 0, 10 * S, S / 1000, 64);
    CHECK(sent >= 620000);
    CHECK(sent <= 640000);
    CHECK(sent + p.late >= 9700000);
    CHECK(sent + p.late <= 10000000);
}

/* Few frames are made up for, however long it took. */
TEST(slow_rates_lose_nothing)
{
    struct pktgen_pace p;

    pktgen_pace_start(&p, 2, 0);
    CHECK_EQ(pktgen_pace_due(&p, 0, 64), 1);
    p.sent++;
    CHECK_EQ(pktgen_pace_due(&p, 20 * S, 64), 40);
    CHECK_EQ(p.late, 0);
}
