/*
 * net/apps: what peers do to the servers: too many connections, resets at
 * every point, windows that are overrun or hardly open, memory that runs out.
 */
#include <string.h>

#include "check.h"
#include "host.h"
#include "lwip/memp.h"
#include "lwip/stats.h"
#include "net_rig.h"

/* ---- many connections, and their ends ------------------------------------ */

TEST(connections_are_limited_and_idle_ones_evicted)
{
    static struct peer p[70];

    rig_begin(MODEL_FEATURES, NULL);
    for (unsigned i = 0; i < 64; i++)
        peer_open(&p[i], 7);
    peer_open(&p[64], 7);
    CHECK(p[64].got_rst);
    CHECK_EQ(rig_stat("echo_refused"), 1);
    rig_run(6000);
    for (unsigned i = 1; i < 64; i++)
        peer_send(&p[i], "still here", 10);
    rig_run(20);
    peer_open(&p[65], 7);
    CHECK(p[65].connected);
    CHECK(p[0].got_rst);
    peer_send(&p[65], "hello", 5);
    rig_run(20);
    CHECK_EQ(p[65].got_len, 5);
    CHECK_EQ(rig_stat("echo_evicted"), 1);
    rig_end();
}

TEST(stalled_connection_is_ended)
{
    struct peer p;

    rig_begin(MODEL_FEATURES, NULL);
    peer_open(&p, 19);
    p.deaf = true;
    p.wnd = 0;
    peer_ack(&p);
    rig_run(59000);
    CHECK(!p.got_rst);
    rig_run(3000);
    CHECK(p.got_rst);
    CHECK_EQ(rig_stat("chargen_stalled"), 1);
    rig_end();
}

static void reset_in(void (*before)(struct peer *p), uint16_t port)
{
    struct peer p;

    rig_begin(MODEL_FEATURES, NULL);
    peer_open(&p, port);
    before(&p);
    peer_reset(&p);
    rig_run(10);
    CHECK_EQ(MEMP_STATS_GET(used, MEMP_TCP_PCB), 0);
    CHECK_EQ(vnet_bufs_held(rig.v), 0);
    rig_end();
}

static void nothing(struct peer *p)
{
    (void)p;
}

static void in_middle(struct peer *p)
{
    p->deaf = true;
    peer_send(p, "half a message", 14);
    rig_run(10);
}

static void with_unread_data(struct peer *p)
{
    static const uint8_t data[1400];

    p->deaf = true;
    for (unsigned i = 0; i < 80; i++) {
        peer_send(p, data, sizeof(data));
        rig_turn();
    }
    CHECK(vnet_bufs_held(rig.v) > 0);
}

static void after_fin(struct peer *p)
{
    p->deaf = true;
    peer_send(p, "bye", 3);
    peer_fin(p);
    rig_run(10);
}

TEST(reset_when_established)
{
    reset_in(nothing, 7);
}

TEST(reset_in_mid_data)
{
    reset_in(in_middle, 7);
}

TEST(reset_with_unread_data)
{
    reset_in(with_unread_data, 7);
}

TEST(reset_after_fin)
{
    reset_in(after_fin, 7);
}

TEST(reset_chargen)
{
    reset_in(nothing, 19);
}

/* ---- peers that do not keep to the rules --------------------------------- */

/* The last byte of the window belongs to a segment that goes on far behind
 * it; then the gap is filled. */
TEST(peer_overruns_the_window)
{
    static const uint8_t data[20000];
    struct peer p;

    rig_begin(MODEL_FEATURES, NULL);
    peer_open(&p, 7);
    p.deaf = true;
    /* What the server takes without being able to pass it on. */
    for (unsigned i = 0; i < 65536; i += 1024) {
        peer_send(&p, data, 1024);
        rig_turn();
    }
    peer_segment(&p, 0x18, 60000, "", 0, data, 20000);
    rig_turn();
    for (unsigned i = 0; i < 60; i++) {
        peer_send(&p, data, 1400);
        rig_turn();
    }
    rig_ping(10);
    rig_run(10);
    CHECK_EQ(rig.icmp_replies, 1);
    rig_end();
}

/* Windows of nothing, then of a few bytes: lwIP must not trip over segments
 * that it made for more. */
TEST(peer_opens_a_tiny_window)
{
    rig_begin(MODEL_FEATURES, NULL);
    for (uint16_t wnd = 1; wnd <= 121; wnd += 30) {
        struct peer p;

        peer_open_window(&p, 19, 0);
        rig_run(300);
        p.wnd = wnd;
        peer_ack(&p);
        for (unsigned i = 0; i < 100 && p.got_len < 200; i++)
            rig_run(20);
        CHECK(p.got_len > 1);
        CHECK(!p.got_rst);
        peer_reset(&p);
        rig_run(5);
        peer_free(&p);
    }
    rig_end();
}

/* Memory comes and goes: every connection still comes to an end. */
TEST(out_of_memory_comes_and_goes)
{
    static struct peer p[40];
    static uint8_t data[3000];
    unsigned complete = 0;

    rig_pattern(data, sizeof(data), 5);
    rig_begin(MODEL_FEATURES, NULL);
    for (unsigned i = 0; i < 40; i++) {
        host_fail_alloc_all(i % 3 == 0);
        peer_open(&p[i], 7);
        if (p[i].connected && !p[i].got_rst)
            peer_send(&p[i], data, 1400);
        rig_run(20);
    }
    host_fail_alloc_all(false);
    rig_run(500);
    for (unsigned i = 0; i < 40; i++) {
        if (!p[i].connected || p[i].got_rst)
            continue;
        peer_fin(&p[i]);
        rig_run(1000);
        CHECK(p[i].got_fin);
        complete += p[i].got_len == 1400;
    }
    CHECK(complete >= 20);
    rig_run(5000);
    CHECK_EQ(MEMP_STATS_GET(used, MEMP_TCP_PCB), 0);
    rig_end();
}

/* More connections than lwIP has room for, none closed by the peer: the
 * oldest in TIME_WAIT make room, and nothing is lost for good. */
TEST(thousand_short_connections)
{
    rig_begin(MODEL_FEATURES, NULL);
    for (unsigned i = 0; i < 1000; i++) {
        struct peer p;

        peer_open(&p, 7);
        peer_send(&p, "ping", 4);
        peer_fin(&p);
        rig_run(5);
        CHECK_EQ(p.got_len, 4);
        CHECK(p.got_fin);
        peer_free(&p);
    }
    rig_run(5000);
    CHECK_EQ(MEMP_STATS_GET(used, MEMP_TCP_PCB), 0);
    rig_end();
}
