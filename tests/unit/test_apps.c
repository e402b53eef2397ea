/*
 * net/apps: echo, discard and chargen over TCP and UDP.
 */
#include <string.h>

#include "check.h"
#include "lwip/priv/tcp_priv.h"
#include "net_rig.h"

TEST(echo_returns_what_it_gets)
{
    struct peer p;
    uint8_t data[5000];

    rig_pattern(data, sizeof(data), 1);
    rig_begin(MODEL_FEATURES, NULL);
    peer_open(&p, 7);
    CHECK(p.connected);
    for (uint32_t at = 0; at < sizeof(data); at += 1000)
        peer_send(&p, data + at, 1000);
    rig_run(20);
    CHECK_EQ(p.got_len, sizeof(data));
    CHECK_MEM_EQ(p.got, data, sizeof(data));
    CHECK_EQ(p.acked, p.seq);
    CHECK_EQ(rig_stat("echo_rx_bytes"), sizeof(data));
    CHECK_EQ(rig_stat("echo_tx_bytes"), sizeof(data));
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
    CHECK_EQ(rig_stat("echo_closed"), 1);
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

    rig_pattern(data, sizeof(data), 3);
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

    rig_pattern(data, sizeof(data), 9);
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
    CHECK_EQ(rig_stat("discard_rx_bytes"), 500 * sizeof(data));
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

    rig_pattern(data, sizeof(data), 4);
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
    CHECK_EQ(rig_stat("echo_udp_ignored"), 7);
    CHECK_EQ(rig_stat("chargen_udp_ignored"), 7);
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
    CHECK_EQ(rig_stat("discard_udp_in"), 1);
    CHECK_EQ(rig_stat("discard_rx_bytes"), 10);
    rig_end();
}
