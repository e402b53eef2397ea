/*
 * net/apps: echo, discard and chargen over TCP and UDP, and what a peer may
 * do to them.
 */
#include <stdlib.h>
#include <string.h>

#include "apps/apps.h"
#include "check.h"
#include "host.h"
#include "lwip/memp.h"
#include "lwip/priv/tcp_priv.h"
#include "lwip/udp.h"
#include "net_rig.h"
#include "netstack.h"

static char wanted[64];
static uint64_t found;

static void match(const char *name, uint64_t value)
{
    if (strcmp(name, wanted) == 0)
        found = value;
}

/* The counter of this name. */
static uint64_t stat(const char *name)
{
    strncpy(wanted, name, sizeof(wanted) - 1);
    found = UINT64_MAX;
    netstack_stats(match);
    CHECK(found != UINT64_MAX);
    return found;
}

static void pattern(uint8_t *p, uint32_t len, uint32_t seed)
{
    for (uint32_t i = 0; i < len; i++)
        p[i] = (uint8_t)(i * 31 + seed + (i >> 8));
}

TEST(echo_returns_what_it_gets)
{
    struct peer p;
    uint8_t data[5000];

    pattern(data, sizeof(data), 1);
    rig_begin(MODEL_FEATURES, NULL);
    peer_open(&p, 7);
    CHECK(p.connected);
    for (uint32_t at = 0; at < sizeof(data); at += 1000)
        peer_send(&p, data + at, 1000);
    rig_run(20);
    CHECK_EQ(p.got_len, sizeof(data));
    CHECK_MEM_EQ(p.got, data, sizeof(data));
    CHECK_EQ(p.acked, p.seq);
    CHECK_EQ(stat("echo_rx_bytes"), sizeof(data));
    CHECK_EQ(stat("echo_tx_bytes"), sizeof(data));
    rig_end();
}

/* Data behind our FIN must still arrive; then the FIN comes back. */
TEST(echo_half_close)
{
    struct peer p;

    rig_begin(MODEL_FEATURES, NULL);
    peer_open(&p, 7);
    peer_send(&p, "last words", 10);
    peer_fin(&p);
    rig_run(30);
    CHECK_EQ(p.got_len, 10);
    CHECK_MEM_EQ(p.got, "last words", 10);
    CHECK(p.got_fin);
    CHECK(!p.got_rst);
    CHECK_EQ(stat("echo_closed"), 1);
    rig_run(3000);
    CHECK(!tcp_active_pcbs);
    rig_end();
}

/* Frames of 64 KiB, as the device merges them. */
TEST(echo_merged_segments)
{
    static uint8_t data[300000];
    struct peer p;
    uint32_t at = 0;

    pattern(data, sizeof(data), 3);
    rig_begin(MODEL_FEATURES, NULL);
    peer_open(&p, 7);
    while (at < sizeof(data)) {
        uint32_t room = p.their_wnd - (p.seq - p.acked);
        uint32_t len = sizeof(data) - at < 40000 ? sizeof(data) - at : 40000;

        if (len > room)
            len = room;
        if (len > 0)
            peer_send(&p, data + at, len);
        at += len;
        rig_run(5);
    }
    rig_run(50);
    CHECK_EQ(p.got_len, sizeof(data));
    CHECK_MEM_EQ(p.got, data, sizeof(data));
    rig_end();
}

/* The peer sends and does not read: memory is bounded, and when it reads
 * again, everything is there. */
TEST(echo_back_pressure)
{
    static uint8_t data[400000];
    struct peer p;
    uint32_t at = 0;

    pattern(data, sizeof(data), 9);
    rig_begin(MODEL_FEATURES, NULL);
    peer_open(&p, 7);
    p.deaf = true;
    for (unsigned i = 0; i < 1000; i++) {
        uint32_t room = p.their_wnd - (p.seq - p.acked);
        uint32_t len = room < 1000 ? room : 1000;

        if (len == 0 || at + len > sizeof(data))
            break;
        peer_send(&p, data + at, len);
        at += len;
        rig_turn();
    }
    CHECK(at >= 65535);
    CHECK(at <= 2 * 65536 + 1000);
    CHECK(vnet_bufs_held(rig.v) <= 33);
    p.deaf = false;
    peer_ack(&p);
    rig_run(1500);
    CHECK_EQ(p.got_len, at);
    CHECK_MEM_EQ(p.got, data, at);
    CHECK(p.their_wnd >= 65504 - TCP_MSS); /* all of it, bar a segment */
    rig_end();
}

/* One byte a segment: the pieces must not keep a receive buffer each. */
TEST(echo_tiny_segments_do_not_hold_buffers)
{
    struct peer p;

    rig_begin(MODEL_FEATURES, NULL);
    peer_open(&p, 7);
    p.deaf = true;
    p.wnd = 0;
    peer_ack(&p);
    for (unsigned i = 0; i < 70000 && p.their_wnd > p.seq - p.acked; i++) {
        peer_send(&p, "x", 1);
        if (i % 64 == 0)
            rig_turn();
    }
    rig_turn();
    CHECK(vnet_bufs_held(rig.v) <= 33);
    rig_end();
}

TEST(discard_takes_everything)
{
    static uint8_t data[1460];
    struct peer p;

    rig_begin(MODEL_FEATURES, NULL);
    peer_open(&p, 9);
    for (unsigned i = 0; i < 500; i++) {
        peer_send(&p, data, sizeof(data));
        if (i % 16 == 0)
            rig_turn();
    }
    rig_run(60);
    CHECK_EQ(p.acked, p.seq);
    CHECK_EQ(p.got_len, 0);
    CHECK_EQ(stat("discard_rx_bytes"), 500 * sizeof(data));
    CHECK_EQ(vnet_bufs_held(rig.v), 0);
    peer_fin(&p);
    rig_run(20);
    CHECK(p.got_fin);
    rig_end();
}

TEST(chargen_pattern)
{
    struct peer p;

    rig_begin(MODEL_FEATURES, NULL);
    peer_open(&p, 19);
    for (unsigned i = 0; i < 60 && p.got_len < 200000; i++)
        rig_turn();
    CHECK(p.got_len >= 200000);
    for (uint32_t i = 0; i < 200000; i++) {
        uint32_t line = i / 74, col = i % 74;
        uint8_t want = col == 72   ? '\r'
                       : col == 73 ? '\n'
                                   : (uint8_t)(' ' + (line + col) % 95);

        CHECK_EQ(p.got[i], want);
    }
    peer_fin(&p);
    rig_run(50);
    CHECK(p.got_fin);
    rig_end();
}

/* ---- datagrams ----------------------------------------------------------- */

TEST(udp_echo_and_its_limits)
{
    static uint8_t data[1400];

    pattern(data, sizeof(data), 4);
    rig_begin(MODEL_FEATURES, NULL);
    rig_udp(5000, 7, data, sizeof(data));
    rig_run(10);
    CHECK_EQ(rig.udp_count, 1);
    CHECK_EQ(rig.udp_sport, 7);
    CHECK_EQ(rig.udp_len, sizeof(data));
    CHECK_MEM_EQ(rig.udp, data, sizeof(data));
    rig_udp(5000, 7, "", 0);
    rig_run(10);
    CHECK_EQ(rig.udp_count, 2);
    CHECK_EQ(rig.udp_len, 0);
    rig_end();
}

/* Two servers must not keep each other busy for ever. */
TEST(udp_no_answer_to_servers)
{
    static const uint16_t from[] = {7, 9, 19, 13, 17, 53, 1023};

    rig_begin(MODEL_FEATURES, NULL);
    for (unsigned i = 0; i < 7; i++) {
        rig_udp(from[i], 7, "x", 1);
        rig_udp(from[i], 19, "x", 1);
    }
    rig_run(10);
    CHECK_EQ(rig.udp_count, 0);
    CHECK_EQ(stat("echo_udp_ignored"), 7);
    CHECK_EQ(stat("chargen_udp_ignored"), 7);
    rig_end();
}

TEST(udp_chargen_sends_no_more_than_it_got)
{
    rig_begin(MODEL_FEATURES, NULL);
    rig_udp(5000, 19, "0123456789", 10);
    rig_run(10);
    CHECK_EQ(rig.udp_count, 1);
    CHECK_EQ(rig.udp_len, 10);
    CHECK_MEM_EQ(rig.udp, " !\"#$%&'()", 10);
    rig_end();
}

TEST(udp_discard_is_silent)
{
    rig_begin(MODEL_FEATURES, NULL);
    rig_udp(5000, 9, "0123456789", 10);
    rig_run(10);
    CHECK_EQ(rig.udp_count, 0);
    CHECK_EQ(stat("discard_udp_in"), 1);
    CHECK_EQ(stat("discard_rx_bytes"), 10);
    rig_end();
}

/* ---- many connections, and their ends ------------------------------------ */

TEST(connections_are_limited_and_idle_ones_evicted)
{
    static struct peer p[70];

    rig_begin(MODEL_FEATURES, NULL);
    for (unsigned i = 0; i < 64; i++)
        peer_open(&p[i], 7);
    peer_open(&p[64], 7);
    CHECK(p[64].got_rst);
    CHECK_EQ(stat("echo_refused"), 1);
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
    CHECK_EQ(stat("echo_evicted"), 1);
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
    CHECK_EQ(stat("chargen_stalled"), 1);
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

    pattern(data, sizeof(data), 5);
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
