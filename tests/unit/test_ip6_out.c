/*
 * net/ip6_out.c: fragments of IPv6 packets, made without touching the packet.
 *
 * Sent to all nodes, which needs no neighbour's address.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "frame.h"
#include "host.h"
#include "ip6_out.h"
#include "lwip/ip6.h"
#include "lwip/priv/nd6_priv.h"
#include "net_rig.h"

enum { IP6 = 40, FRAG = 8, ETH = 14 };

static ip6_addr_t all_nodes;
static uint8_t packet[66000]; /* from the IPv6 header on */
static uint8_t joined[66000]; /* put together from the wire */

static void make_packet(uint8_t next, uint32_t l4_len)
{
    memset(packet, 0, IP6);
    packet[0] = 0x60;
    packet[4] = (uint8_t)(l4_len >> 8);
    packet[5] = (uint8_t)l4_len;
    packet[6] = next;
    packet[7] = 64;
    packet[8] = 0xfe;
    packet[9] = 0x80;
    packet[23] = 1;
    packet[24] = 0xff;
    packet[25] = 2;
    packet[39] = 1;
    for (uint32_t i = 0; i < l4_len; i++)
        packet[IP6 + i] = (uint8_t)(i * 13 + (i >> 8));
    packet[IP6 + 12] = 0x50;
}

/* The packet as TCP's are: headers in one pbuf, the rest in others. */
static struct pbuf *as_chain(uint32_t len)
{
    struct pbuf *p = pbuf_alloc(PBUF_LINK, 60, PBUF_RAM);
    uint32_t at = 60;

    pbuf_take(p, packet, 60);
    while (at < len) {
        uint16_t n = (uint16_t)(len - at < 1111 ? len - at : 1111);
        struct pbuf *q = pbuf_alloc_reference(packet + at, n, PBUF_ROM);

        pbuf_cat(p, q);
        at += n;
    }
    return p;
}

/* Takes the fragments from the wire and puts them together. */
static uint32_t join_wire(unsigned *count)
{
    struct model_frame *f;
    uint32_t total = 0, expect = 0;

    *count = 0;
    vnet_flush(rig.v);
    model_step(rig.m);
    while ((f = model_tx_pop(rig.m)) != NULL) {
        const uint8_t *h = f->data + ETH + IP6;
        uint32_t off = (uint32_t)(h[2] << 8 | h[3]) & ~7u;
        uint32_t len = f->len - ETH - IP6 - FRAG;

        CHECK(f->len <= ETH + 1500);
        CHECK_EQ(f->data[ETH + 6], 44);
        CHECK_EQ(f->data[ETH + 4] << 8 | f->data[ETH + 5], FRAG + len);
        CHECK_EQ(h[0], packet[6]);
        CHECK_EQ(off, expect);
        CHECK(len > 0);
        memcpy(joined + IP6 + off, h + FRAG, len);
        memcpy(joined, f->data + ETH, IP6);
        expect = off + len;
        if (!(h[3] & 1))
            total = expect;
        (*count)++;
        free(f);
    }
    joined[4] = packet[4];
    joined[5] = packet[5];
    joined[6] = packet[6];
    return total;
}

static void begin(uint64_t features)
{
    rig_begin(features, NULL);
    IP6_ADDR(&all_nodes, PP_HTONL(0xff020000), 0, 0, PP_HTONL(1));
    ip6_addr_assign_zone(&all_nodes, IP6_MULTICAST, rig.netif);
    model_tx_discard(rig.m);
}

TEST(ip6_short_packets_stay_whole)
{
    struct model_frame *f;
    struct pbuf *p;

    begin(MODEL_FEATURES);
    make_packet(253, 1460);
    p = as_chain(1500);
    CHECK_EQ(ip6_out(rig.netif, p, &all_nodes), ERR_OK);
    vnet_flush(rig.v);
    model_step(rig.m);
    f = model_tx_pop(rig.m);
    CHECK(f);
    CHECK_EQ(f->len, 1514);
    CHECK_MEM_EQ(f->data + ETH, packet, 1500);
    free(f);
    pbuf_free(p);
    rig_end();
}

TEST(ip6_fragments_hold_the_packet)
{
    static const uint32_t lens[] = {1461, 1480, 2896, 2897, 8008, 30000};

    begin(MODEL_FEATURES);
    for (unsigned i = 0; i < 6; i++) {
        struct pbuf *p;
        unsigned count;

        make_packet(17, lens[i]);
        p = as_chain(IP6 + lens[i]);
        CHECK_EQ(ip6_out(rig.netif, p, &all_nodes), ERR_OK);
        CHECK_EQ(join_wire(&count), lens[i]);
        CHECK_EQ(count, (lens[i] + 1447) / 1448);
        CHECK_MEM_EQ(joined, packet, IP6 + lens[i]);
        pbuf_free(p);
        vnet_poll(rig.v, 64);
    }
    rig_end();
}

/* The packet may be a TCP segment that is to be sent again. */
TEST(ip6_fragmenting_leaves_the_chain_as_it_is)
{
    struct pbuf *p, *q;
    unsigned count;
    uint16_t lens[8], totals[8];
    void *payloads[8];
    unsigned n = 0;

    begin(MODEL_FEATURES);
    make_packet(6, 4000);
    p = as_chain(IP6 + 4000);
    for (q = p; q; q = q->next, n++) {
        lens[n] = q->len;
        totals[n] = q->tot_len;
        payloads[n] = q->payload;
    }
    for (unsigned times = 0; times < 3; times++) {
        CHECK_EQ(ip6_out(rig.netif, p, &all_nodes), ERR_OK);
        CHECK_EQ(join_wire(&count), 4000);
        n = 0;
        for (q = p; q; q = q->next, n++) {
            CHECK_EQ(q->len, lens[n]);
            CHECK_EQ(q->tot_len, totals[n]);
            CHECK_EQ(q->payload, payloads[n]);
            CHECK_EQ(q->ref, 1);
        }
    }
    pbuf_free(p);
    rig_end();
}

/* A checksum that was the device's to make is complete in the fragments. */
TEST(ip6_fragmented_segment_has_its_checksum)
{
    struct frame_info i;
    struct pbuf *p;
    unsigned count;

    begin(MODEL_FEATURES);
    CHECK(!(rig.netif->chksum_flags & NETIF_CHECKSUM_GEN_TCP));
    for (uint32_t len = 1461; len < 5000; len += 777) {
        static uint8_t frame[66000];

        make_packet(6, len);
        p = as_chain(IP6 + len);
        CHECK_EQ(ip6_out(rig.netif, p, &all_nodes), ERR_OK);
        CHECK_EQ(join_wire(&count), len);
        memcpy(frame, "\x33\x33\0\0\0\1\x52\x54\0\x12\x34\x56\x86\xdd", ETH);
        memcpy(frame + ETH, joined, IP6 + len);
        CHECK(frame_parse(frame, ETH + IP6 + len, &i));
        CHECK(frame_l4_csum_ok(frame, &i));
        pbuf_free(p);
    }
    rig_end();
}

TEST(ip6_no_memory_for_a_fragment)
{
    struct pbuf *p;
    unsigned count;

    begin(MODEL_FEATURES);
    make_packet(17, 30000);
    p = as_chain(IP6 + 30000);
    host_fail_alloc_all(true);
    CHECK_EQ(ip6_out(rig.netif, p, &all_nodes), ERR_MEM);
    host_fail_alloc_all(false);
    join_wire(&count);
    CHECK_EQ(ip6_out(rig.netif, p, &all_nodes), ERR_OK);
    CHECK_EQ(join_wire(&count), 30000);
    pbuf_free(p);
    rig_end();
}

/* A path of 0, 40 or 1279 bytes does not exist. */
TEST(ip6_path_mtu_has_a_floor)
{
    static const uint16_t given[] = {0, 1, 40, 48, 1279, 1280, 1400};
    static const uint16_t kept[] = {0, 1280, 1280, 1280, 1280, 1280, 1400};

    begin(MODEL_FEATURES);
    for (unsigned i = 0; i < 7; i++)
        destination_cache[i].pmtu = given[i];
    ip6_out_check_path_mtu();
    for (unsigned i = 0; i < 7; i++)
        CHECK_EQ(destination_cache[i].pmtu, kept[i]);
    rig_end();
}

/* The message itself, through the wire: type 2 for a destination that is
 * known, claiming a path of 60 bytes. */
TEST(ip6_packet_too_big_with_an_absurd_size)
{
    uint8_t f[ETH + IP6 + 8 + IP6 + 8];
    uint8_t *icmp = f + ETH + IP6;
    struct frame_info i;
    unsigned count;
    struct pbuf *p;

    begin(MODEL_FEATURES);
    rig_run(3000); /* our address is ours now */
    make_packet(58, 8 + IP6 + 8);
    destination_cache[3].destination_addr = all_nodes;
    destination_cache[3].pmtu = 1500;
    memcpy(f, "\x52\x54\0\x12\x34\x56\x52\x55\x0a\0\2\2\x86\xdd", ETH);
    memcpy(f + ETH, packet, IP6);
    memcpy(f + ETH + 24, netif_ip6_addr(rig.netif, 0)->addr, 16);
    memset(icmp, 0, 8 + IP6 + 8);
    icmp[0] = 2;
    icmp[7] = 60;
    memcpy(icmp + 8, packet, IP6);
    i = (struct frame_info){.ipv6 = true,
                            .l3 = ETH,
                            .l4 = ETH + IP6,
                            .l4_proto = 58};
    uint16_t sum = (uint16_t)~frame_fold(
        frame_sum(frame_pseudo(f, &i, 8 + IP6 + 8), icmp, 8 + IP6 + 8));
    icmp[2] = (uint8_t)(sum >> 8);
    icmp[3] = (uint8_t)sum;
    rig_frame(f, sizeof(f));
    rig_turn();
    CHECK_EQ(destination_cache[3].pmtu, 1280);
    make_packet(17, 3000);
    p = as_chain(IP6 + 3000);
    CHECK_EQ(ip6_out(rig.netif, p, &all_nodes), ERR_OK);
    CHECK_EQ(join_wire(&count), 3000);
    CHECK_EQ(count, 3);
    pbuf_free(p);
    rig_end();
}
