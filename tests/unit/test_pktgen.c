/*
 * net/pktgen.c: what it sends, how much, and how fast.
 */
#include <stdio.h>

#include "check.h"
#include "host.h"
#include "pktgen_rig.h"

#define MS UINT64_C(1000000)

TEST(count_is_exact)
{
    pg_begin(MODEL_FEATURES, NULL);
    pg_command("pktgen 10.0.2.2 count=1000");
    pg_until("pktgen: done", MS);
    pg_run(20, MS);
    CHECK_EQ(pg.frames, 1000);
    CHECK_EQ(pg.bytes, 60000);
    CHECK_EQ(rig_stat("pktgen_sent"), 1000);
    CHECK_EQ(rig_stat("pktgen_bytes"), 60000);
    CHECK_EQ(rig_stat("pktgen_refused"), 0);
    CHECK_EQ(host_log_count("done: 1000 packets, 60000 bytes, "), 1);
    rig_end();
}

/* The shortest of each kind, around what the driver copies, the longest. */
TEST(all_lengths)
{
    static const unsigned lens[] = {60, 61, 77, 78, 79, 127, 128, 129, 243,
                                    244, 245, 246, 1000, 1513, 1514};
    char line[64];

    pg_begin(MODEL_FEATURES, NULL);
    for (unsigned i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
        snprintf(line, sizeof(line), "pktgen 10.0.2.2:9009 len=%u count=70",
                 lens[i]);
        pg.next = 0;
        pg_command(line);
        pg_until("pktgen: done", MS);
        CHECK_EQ(pg.next, 70);
        CHECK_EQ(pg.len, lens[i]);
        CHECK(!pg.ip6);
        CHECK_EQ(pg.sport, 49152 + i);
        host_log_clear();
    }
    rig_end();
}

TEST(ipv6)
{
    static const unsigned lens[] = {78, 79, 128, 244, 245, 1514};
    char line[64];

    pg_begin(MODEL_FEATURES, NULL);
    pg_run(40, 50 * MS); /* our own address is being verified */
    for (unsigned i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
        snprintf(line, sizeof(line), "pktgen [" PG_PEER6 "]:9009 len=%u "
                 "count=70", lens[i]);
        pg.next = 0;
        pg_command(line);
        pg_until("pktgen: done", MS);
        CHECK_EQ(pg.next, 70);
        CHECK_EQ(pg.len, lens[i]);
        CHECK(pg.ip6);
        host_log_clear();
    }
    CHECK(pg.questions > 0);
    pg.next = 0;
    pg_command("pktgen " PG_PEER6 " count=1");
    pg_until("pktgen: done", MS);
    CHECK_EQ(pg.len, 78);
    rig_end();
}

/* At every moment as many frames as are due, whatever the steps of time. */
TEST(rate_is_kept)
{
    static const uint64_t steps[] = {MS, 300 * 1000, 777 * 1000, 3 * MS};
    const uint64_t rate = 12345;

    pg_begin(MODEL_FEATURES, NULL);
    for (unsigned i = 0; i < 4; i++) {
        uint64_t start, due = 0;

        pg.next = 0;
        pg.frames = 0;
        host_log_clear();
        pg_command("pktgen 10.0.2.2 rate=12345 time=3s");
        pg_turn();
        start = host_now;
        CHECK_EQ(pg.frames, 1);
        while (host_now + steps[i] < start + 3000 * MS) {
            pg_run(1, steps[i]);
            due = (host_now - start) * rate / 1000000000 + 1;
            CHECK_EQ(pg.frames, due);
        }
        pg_run(1, 10 * MS);
        CHECK_EQ(pg.frames, 3 * rate);
        CHECK_EQ(host_log_count("done: 37035 packets, 2222100 bytes, "
                                "3.000 s, 12345 packets/s, 5.9 Mbit/s, "
                                "0 ring full, 0 refused, 0 late"), 1);
        CHECK_EQ(host_log_count("pktgen: 1.0"), 1);
        CHECK_EQ(host_log_count("pktgen: 2.0"), 1);
    }
    rig_end();
}

/* The loop is woken when a frame is due, not before and not much later. */
TEST(sleeps_between_frames)
{
    uint64_t start;

    pg_begin(MODEL_FEATURES, NULL);
    pg_command("pktgen 10.0.2.2 rate=10 time=1");
    pg_turn();
    start = host_now;
    for (unsigned i = 1; i < 10; i++) {
        unsigned turns = 0;

        while (pg.frames == i) {
            uint64_t wake;

            CHECK(!pg.busy);
            host_wakeup_take();
            pg_turn();
            wake = host_wakeup_take();
            CHECK(wake > host_now);
            CHECK(wake <= start + i * 100 * MS);
            host_now = wake;
            pg_turn();
            CHECK(turns++ < 1000);
        }
        CHECK_EQ(host_now, start + i * 100 * MS);
    }
    pg_run(2, 100 * MS);
    CHECK_EQ(pg.frames, 10);
    rig_end();
}

/* A pause of the loop is not made up for by a long burst. */
TEST(what_is_too_late_is_left_out)
{
    pg_begin(MODEL_FEATURES, NULL);
    pg_command("pktgen 10.0.2.2 rate=10000 time=2");
    pg_run(100, MS);
    CHECK_EQ(pg.frames, 991);
    pg_run(1, 500 * MS);
    pg_run(10, MS);
    CHECK(pg.frames >= 1090 && pg.frames <= 1100);
    pg_until("pktgen: done", MS);
    CHECK(rig_stat("pktgen_late") >= 4900);
    CHECK(rig_stat("pktgen_late") <= 5000);
    CHECK_EQ(rig_stat("pktgen_late") + pg.frames, 20000);
    rig_end();
}

/* Full speed: a burst in every turn, and others have theirs. */
TEST(full_speed_leaves_room_for_others)
{
    pg_begin(MODEL_FEATURES, NULL);
    pg_command("pktgen 10.0.2.2 time=100ms");
    pg_turn();
    for (unsigned i = 0; i < 50; i++) {
        CHECK(pg.busy);
        rig_ping(100);
        pg_run(1, MS);
    }
    CHECK_EQ(pg.pongs, 50);
    CHECK_EQ(pg.frames, 51 * 64);
    pg_run(60, MS);
    CHECK(!pg.busy);
    CHECK_EQ(host_log_count("done: 6400 packets"), 1);
    CHECK_EQ(host_log_count(" 0.100 s, 64000 packets/s, 30.7 Mbit/s"), 1);
    rig_end();
}

TEST(stop_ends_it)
{
    uint64_t sent;

    pg_begin(MODEL_FEATURES, NULL);
    pg_command("pktgen 10.0.2.2 time=3600s");
    pg_run(10, MS);
    pg_command("pktgen 10.0.2.2");
    CHECK_EQ(host_log_count("pktgen: running"), 1);
    sent = pg.frames;
    pg_command("pktgen stop");
    CHECK_EQ(host_log_count("pktgen: done (stopped): 640 packets"), 1);
    pg_run(10, MS);
    CHECK_EQ(pg.frames, sent);
    CHECK(!pg.busy);
    pg_command("pktgen stop");
    CHECK_EQ(host_log_count("pktgen: not running"), 1);
    pg.next = 0;
    pg_command("pktgen 10.0.2.2 count=5");
    pg_run(3, MS);
    CHECK_EQ(pg.frames, sent + 5);
    rig_end();
}

/* A time is of the moment at which its burst was made. */
TEST(time_stamps)
{
    pg_begin(MODEL_FEATURES, NULL);
    pg_command("pktgen 10.0.2.2 rate=1000 count=20");
    for (unsigned i = 0; i < 20; i++) {
        pg_turn();
        CHECK_EQ(pg.time_ns, host_now);
        host_now += MS;
    }
    CHECK_EQ(pg.frames, 20);
    rig_end();
}
