/*
 * net/pbuf_rx.c and the receive half of net/netif_vnet.c: frames become
 * chains without a copy, every buffer comes back, and what must not reach the
 * stack does not.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "host.h"
#include "lwip/stats.h"
#include "net_rig.h"

/* Puts itself between the interface and lwIP. */
static struct {
    unsigned calls;
    uint32_t tot_len;
    unsigned pieces;
    err_t answer;
    bool pass;
    uint8_t flags;
} seen;

static err_t spy_input(struct pbuf *p, struct netif *netif)
{
    uint32_t len = 0;

    seen.calls++;
    seen.tot_len = p->tot_len;
    seen.pieces = pbuf_clen(p);
    seen.flags = p->flags;
    for (struct pbuf *q = p; q; q = q->next) {
        CHECK(q->len > 0);
        CHECK_EQ(q->tot_len, p->tot_len - len);
        CHECK_EQ(q->ref, 1);
        len += q->len;
    }
    CHECK_EQ(len, p->tot_len);
    if (seen.pass)
        return netif_input(p, netif);
    if (seen.answer == ERR_OK)
        pbuf_free(p);
    return seen.answer;
}

static void begin_spying(uint64_t features)
{
    rig_begin(features, NULL);
    memset(&seen, 0, sizeof(seen));
    rig.netif->input = spy_input;
}

/* An IPv4 TCP frame for a closed port, `len` bytes in all. */
static void big_frame(uint32_t len)
{
    static uint8_t tcp[66000];

    memset(tcp, 0, 20);
    tcp[0] = 40;
    tcp[2] = 50;
    tcp[12] = 0x50;
    tcp[13] = 0x10;
    rig_ip4(6, tcp, len - 34);
}

TEST(rx_frame_of_many_buffers_is_one_chain)
{
    uint64_t bufs;

    begin_spying(MODEL_FEATURES);
    bufs = vnet_stats(rig.v)->rx_bufs;
    big_frame(20000);
    rig_run(5);
    CHECK_EQ(seen.calls, 1);
    CHECK_EQ(seen.tot_len, 20000);
    /* Of 1536 bytes each, and 12 of them the header's. */
    CHECK_EQ(vnet_stats(rig.v)->rx_bufs - bufs, 14);
    CHECK_EQ(seen.pieces, 14 - vnet_stats(rig.v)->rx_coalesced);
    CHECK(seen.flags & 0x80); /* PBUF_FLAG_MERGED */
    CHECK_EQ(vnet_bufs_held(rig.v), 0);
    rig_end();
}

TEST(rx_frame_of_one_buffer)
{
    begin_spying(MODEL_FEATURES);
    big_frame(60);
    rig_run(5);
    CHECK_EQ(seen.calls, 1);
    CHECK_EQ(seen.tot_len, 60);
    CHECK_EQ(seen.pieces, 1);
    CHECK(!(seen.flags & 0x80));
    rig_end();
}

TEST(rx_refused_frames_are_freed)
{
    begin_spying(MODEL_FEATURES);
    seen.answer = ERR_MEM;
    for (unsigned i = 0; i < 600; i++) {
        big_frame(9000);
        rig_turn();
    }
    CHECK_EQ(seen.calls, 600);
    CHECK_EQ(netif_vnet_stats.rx_refused, 600);
    CHECK_EQ(vnet_bufs_held(rig.v), 0);
    rig_end();
}

/* A list of buffers as the driver hands it up, longer than a pbuf can say. */
TEST(rx_frame_above_16_bits_is_dropped)
{
    begin_spying(MODEL_FEATURES);
    big_frame(65535);
    rig_run(5);
    CHECK_EQ(seen.calls, 1);
    CHECK_EQ(seen.tot_len, 65535);
    big_frame(65536);
    rig_run(5);
    CHECK_EQ(seen.calls, 1);
    CHECK_EQ(netif_vnet_stats.rx_long, 1);
    CHECK_EQ(vnet_bufs_held(rig.v), 0);
    rig_end();
}

TEST(rx_short_arp_is_dropped)
{
    static uint8_t arp[42] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2,
                              2,    2,    2,    2,    2,    8,    6};

    begin_spying(MODEL_FEATURES);
    for (uint32_t len = 15; len < 42; len++) {
        rig_frame(arp, len);
        rig_turn();
    }
    CHECK_EQ(seen.calls, 0);
    CHECK_EQ(netif_vnet_stats.rx_short, 42 - 15);
    rig_frame(arp, 42);
    rig_turn();
    CHECK_EQ(seen.calls, 1);
    rig_end();
}

/* lwIP reads these headers before it looks at the length. */
TEST(rx_short_ip_is_dropped)
{
    uint8_t f[60] = {0x52, 0x54, 0, 0x12, 0x34, 0x56, 2, 2, 2, 2, 2, 2};

    begin_spying(MODEL_FEATURES);
    f[12] = 0x08;
    for (uint32_t len = 15; len < 34; len++) {
        rig_frame(f, len);
        rig_turn();
    }
    f[12] = 0x86;
    f[13] = 0xdd;
    for (uint32_t len = 15; len < 54; len++) {
        rig_frame(f, len);
        rig_turn();
    }
    CHECK_EQ(seen.calls, 0);
    CHECK_EQ(netif_vnet_stats.rx_short, 34 - 15 + 54 - 15);
    rig_end();
}

TEST(rx_only_our_unicast)
{
    uint8_t f[60] = {0x52, 0x54, 0, 0x12, 0x34, 0x57, 2, 2, 2, 2, 2, 2, 8, 0};

    begin_spying(MODEL_FEATURES);
    rig_frame(f, sizeof(f));
    rig_turn();
    CHECK_EQ(seen.calls, 0);
    CHECK_EQ(netif_vnet_stats.rx_foreign, 1);
    f[5] = 0x56;
    rig_frame(f, sizeof(f));
    memset(f, 0xff, 6);
    rig_frame(f, sizeof(f));
    memcpy(f, "\x33\x33\0\0\0\1", 6);
    rig_frame(f, sizeof(f));
    rig_turn();
    CHECK_EQ(seen.calls, 3);
    rig_end();
}

/* ---- checksums ----------------------------------------------------------- */

/* A datagram for echo with a wrong checksum, under this header. */
static void bad_udp(uint8_t hdr_flags, uint16_t frag)
{
    uint8_t f[60] = {0x52, 0x54, 0, 0x12, 0x34, 0x56, 0x52, 0x55, 0x0a,
                     0,    2,    2, 8,    0,    0x45, 0,    0,    31,
                     0,    0,    0, 0,    64,   17,   0,    0,    10,
                     0,    2,    2, 10,   0,    2,    15,   0x20, 0,
                     0,    7,    0, 11,   0xba, 0xad, 'a',  'b',  'c'};
    struct virtio_net_hdr hdr = {.flags = hdr_flags};
    uint32_t sum = 0;

    f[20] = (uint8_t)(frag >> 8);
    f[21] = (uint8_t)frag;
    for (unsigned i = 14; i < 34; i += 2)
        sum += (uint32_t)f[i] << 8 | f[i + 1];
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    f[24] = (uint8_t)(~sum >> 8);
    f[25] = (uint8_t)~sum;
    if (hdr_flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) {
        hdr.csum_start = 34;
        hdr.csum_offset = 6;
    }
    CHECK(model_rx(rig.m, f, sizeof(f), &hdr));
    rig_run(5);
}

TEST(rx_checksum_verified_when_unknown)
{
    rig_begin(MODEL_FEATURES, NULL);
    bad_udp(0, 0);
    CHECK_EQ(rig.udp_count, 0);
    CHECK_EQ(lwip_stats.udp.chkerr, 1);
    rig_end();
}

TEST(rx_checksum_trusted_when_valid)
{
    rig_begin(MODEL_FEATURES, NULL);
    bad_udp(VIRTIO_NET_HDR_F_DATA_VALID, 0);
    CHECK_EQ(rig.udp_count, 1);
    /* Not for the next one. */
    bad_udp(0, 0);
    CHECK_EQ(rig.udp_count, 1);
    rig_end();
}

TEST(rx_checksum_open_is_sound)
{
    rig_begin(MODEL_FEATURES, NULL);
    bad_udp(VIRTIO_NET_HDR_F_NEEDS_CSUM, 0);
    CHECK_EQ(rig.udp_count, 1);
    CHECK_EQ(lwip_stats.udp.chkerr, 0);
    rig_end();
}

/* Valid pieces do not make a valid whole. */
TEST(rx_checksum_of_fragments_is_not_trusted)
{
    static const uint8_t first[24] = {0x20, 0, 0, 7, 0, 32, 0xba, 0xad};
    static const uint8_t second[8] = "rest...";

    begin_spying(MODEL_FEATURES);
    seen.pass = true;
    rig_fragment(17, 77, first, sizeof(first), 0, true);
    rig_fragment(17, 77, second, sizeof(second), sizeof(first), false);
    rig_run(5);
    CHECK_EQ(seen.calls, 2);
    CHECK_EQ(lwip_stats.udp.recv, 1);
    CHECK_EQ(lwip_stats.udp.chkerr, 1);
    rig_end();
}

TEST(rx_checksum_flag_on_a_fragment_is_ignored)
{
    begin_spying(MODEL_FEATURES);
    bad_udp(VIRTIO_NET_HDR_F_DATA_VALID, 0x2000);
    CHECK(rig.netif->chksum_flags & NETIF_CHECKSUM_CHECK_UDP);
    rig_end();
}

TEST(rx_fragments_are_put_together)
{
    static uint8_t data[8 + 4000];

    data[0] = 0x20;
    data[3] = 7;
    data[4] = (uint8_t)(sizeof(data) >> 8);
    data[5] = (uint8_t)sizeof(data);
    for (unsigned i = 8; i < sizeof(data); i++)
        data[i] = (uint8_t)(i * 7);
    rig_begin(MODEL_FEATURES, NULL);
    /* Out of order; checksum 0 means none. */
    rig_fragment(17, 5, data + 2960, sizeof(data) - 2960, 2960, false);
    rig_fragment(17, 5, data, 1480, 0, true);
    rig_fragment(17, 5, data + 1480, 1480, 1480, true);
    rig_run(5);
    CHECK_EQ(lwip_stats.udp.xmit, 1);
    CHECK_EQ(vnet_bufs_held(rig.v), 0);
    rig_end();
}

/* ---- buffers run short --------------------------------------------------- */

/*
 * Many connections that send and never read hold what they can. The stack
 * must still answer a ping, and the driver must still have buffers.
 */
TEST(rx_short_of_buffers)
{
    static const struct vnet_config small = {.rx_ring = 64,
                                             .tx_ring = 64,
                                             .rx_bufs_max = 128};
    static struct peer p[30];
    static const uint8_t data[1000];

    rig_begin(MODEL_FEATURES, &small);
    for (unsigned i = 0; i < 30; i++) {
        peer_open(&p[i], 7);
        p[i].deaf = true;
    }
    for (unsigned k = 0; k < 100; k++) {
        for (unsigned i = 0; i < 30; i++)
            if (p[i].their_wnd - (p[i].seq - p[i].acked) >= sizeof(data))
                peer_send(&p[i], data, sizeof(data));
        rig_turn();
    }
    CHECK(netif_vnet_stats.rx_bufs_low > 0);
    CHECK(model_rx_room(rig.m) >= 32);
    rig_ping(100);
    rig_run(5);
    CHECK_EQ(rig.icmp_replies, 1);
    rig_end();
}

/* The same without memory for copies: data is lost, a ping is not. All that
 * there is are the few blocks of the start; most of a ring stays usable. */
TEST(rx_short_of_buffers_and_memory)
{
    static const struct vnet_config small = {.rx_ring = 64,
                                             .tx_ring = 64,
                                             .rx_bufs_max = 128};
    static struct peer p[30];
    static const uint8_t data[1000];

    rig_begin(MODEL_FEATURES, &small);
    for (unsigned i = 0; i < 30; i++) {
        peer_open(&p[i], 7);
        p[i].deaf = true;
    }
    host_fail_alloc_all(true);
    for (unsigned k = 0; k < 100; k++) {
        for (unsigned i = 0; i < 30; i++) {
            peer_segment(&p[i], 0x10, (int32_t)k * 2000 + 100, "", 0, data,
                         sizeof(data));
            if (i % 10 == 9)
                rig_turn();
        }
    }
    CHECK(model_rx_room(rig.m) >= 16);
    host_fail_alloc_all(false);
    rig_ping(100);
    rig_run(5);
    CHECK_EQ(rig.icmp_replies, 1);
    rig_end();
}
