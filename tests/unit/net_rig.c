/*
 * The stack on a model device, and a peer. See net_rig.h.
 */
#include "net_rig.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "frame.h"
#include "host.h"
#include "netstack.h"
#include "port/alloc.h"

enum {
    ETH = 14,
    IP4 = 20,
    TURNS_MOST = 8, /* two that never tire of each other */
};

struct rig rig;

static const uint8_t our_mac[6] = {0x52, 0x54, 0, 0x12, 0x34, 0x56};
static const uint8_t peer_mac[6] = {0x52, 0x55, 0x0a, 0, 2, 2};

/* ---- from the peer ------------------------------------------------------- */

void rig_frame(const void *frame, uint32_t len)
{
    struct virtio_net_hdr hdr;
    const uint8_t *f = frame;
    struct frame_info i;

    memset(&hdr, 0, sizeof(hdr));
    /* What is longer than a wire allows was merged by the device. */
    if (len > ETH + 1500 && frame_parse(f, len, &i) &&
        i.l4_proto == FRAME_TCP) {
        hdr.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
        hdr.gso_type = VIRTIO_NET_HDR_GSO_TCPV4;
        hdr.gso_size = 1460;
        hdr.hdr_len = (uint16_t)i.payload;
        hdr.csum_start = (uint16_t)i.l4;
        hdr.csum_offset = 16;
    }
    CHECK(model_rx(rig.m, frame, len, &hdr));
}

static uint8_t *eth_header(uint8_t *f, uint16_t type)
{
    memcpy(f, our_mac, 6);
    memcpy(f + 6, peer_mac, 6);
    rig_put16(f + 12, type);
    return f + ETH;
}

static void ip4_header(uint8_t *ip, uint8_t proto, uint32_t len, uint16_t id,
                       uint16_t frag)
{
    memset(ip, 0, IP4);
    ip[0] = 0x45;
    rig_put16(ip + 2, IP4 + len);
    rig_put16(ip + 4, id);
    rig_put16(ip + 6, frag);
    ip[8] = 64;
    ip[9] = proto;
    rig_put32(ip + 12, RIG_PEER_IP);
    rig_put32(ip + 16, RIG_IP);
    rig_put16(ip + 10, (uint16_t)~frame_fold(frame_sum(0, ip, IP4)));
}

void rig_fragment(uint8_t proto, uint16_t id, const void *data, uint32_t len,
                  uint16_t offset, bool more)
{
    static uint8_t f[66000];
    uint8_t *ip = eth_header(f, 0x0800);

    ip4_header(ip, proto, len, id,
               (uint16_t)(offset / 8 | (more ? 0x2000 : 0)));
    memcpy(ip + IP4, data, len);
    rig_frame(f, ETH + IP4 + len);
}

/* Fills the checksum of TCP or UDP in a packet that is one piece. */
static void l4_csum(uint8_t *f, uint32_t len)
{
    struct frame_info i;

    CHECK(frame_parse(f, len, &i));
    if (i.l4_proto != FRAME_TCP && i.l4_proto != FRAME_UDP)
        return;
    rig_put16(f + i.csum, frame_fold(frame_pseudo(f, &i, i.end - i.l4)));
    /* What the device will have merged carries the pseudo header's sum. */
    if (i.l4_proto == FRAME_UDP || len <= ETH + 1500)
        frame_finish_csum(f, len, i.l4, i.csum - i.l4);
}

void rig_ip4(uint8_t proto, const void *l4, uint32_t len)
{
    static uint8_t f[66000];
    static uint16_t id;
    uint8_t *ip = eth_header(f, 0x0800);

    ip4_header(ip, proto, len, id++, 0);
    memcpy(ip + IP4, l4, len);
    l4_csum(f, ETH + IP4 + len);
    rig_frame(f, ETH + IP4 + len);
}

void rig_udp(uint16_t sport, uint16_t dport, const void *data, uint32_t len)
{
    static uint8_t udp[65536];

    rig_put16(udp, sport);
    rig_put16(udp + 2, dport);
    rig_put16(udp + 4, 8 + len);
    rig_put16(udp + 6, 0);
    memcpy(udp + 8, data, len);
    rig_ip4(17, udp, 8 + len);
}

void rig_ping(uint32_t len)
{
    static uint8_t icmp[65536];

    memset(icmp, 0x5a, 8 + len);
    rig_put32(icmp, 0x08000000);
    rig_put16(icmp + 2, (uint16_t)~frame_fold(frame_sum(0, icmp, 8 + len)));
    rig_ip4(1, icmp, 8 + len);
}

void rig_arp(uint16_t op, uint32_t target)
{
    uint8_t f[60] = {0};
    uint8_t *a = eth_header(f, 0x0806);

    rig_put32(a, 0x00010800);
    rig_put16(a + 4, 0x0604);
    rig_put16(a + 6, op);
    memcpy(a + 8, peer_mac, 6);
    rig_put32(a + 14, RIG_PEER_IP);
    rig_put32(a + 24, target);
    rig_frame(f, sizeof(f));
}

/* ---- what arrives at the peer -------------------------------------------- */

static void take_arp(const uint8_t *f)
{
    if (rig_get16(f + ETH + 6) != 1)
        return;
    rig.arp_requests++;
    if (rig_get32(f + ETH + 24) == RIG_PEER_IP)
        rig_arp(2, RIG_IP);
}

static void take_udp(const uint8_t *f, const struct frame_info *i)
{
    rig.udp_count++;
    rig.udp_sport = rig_get16(f + i->l4);
    rig.udp_len = i->end - i->payload;
    memcpy(rig.udp, f + i->payload, rig.udp_len);
}

static void take_frame(const struct model_frame *m)
{
    const uint8_t *f = m->data;
    struct frame_info i;

    if (rig_get16(f + 12) == 0x0806) {
        take_arp(f);
        return;
    }
    if (!frame_parse(f, m->len, &i) || !i.ipv4)
        return;
    if (!i.fragment && i.l4_proto && !frame_l4_csum_ok(f, &i))
        rig.bad_csum++;
    if (f[i.l3 + 9] == 1 && f[i.l3 + 20] == 0)
        rig.icmp_replies++;
    else if (i.fragment)
        return;
    else if (i.l4_proto == FRAME_UDP)
        take_udp(f, &i);
    else if (i.l4_proto == FRAME_TCP)
        peer_input(f + i.l4, i.end - i.l4);
}

void rig_turn(void)
{
    struct model_frame *f;
    unsigned n, turns = 0;

    do {
        n = vnet_poll(rig.v, 64);
        netstack_step();
        vnet_flush(rig.v);
        model_step(rig.m);
        while ((f = model_tx_pop(rig.m)) != NULL) {
            take_frame(f);
            free(f);
            n++;
        }
    } while (n > 0 && ++turns < TURNS_MOST);
    while (vnet_arm(rig.v))
        vnet_poll(rig.v, 64);
}

void rig_run(unsigned ms)
{
    rig_turn();
    for (unsigned t = 0; t < ms; t += 5) {
        host_advance_ms(5);
        rig_turn();
    }
}

/* ---- counters ----------------------------------------------------------- */

static char wanted[64];
static uint64_t found;

static void match(const char *name, uint64_t value)
{
    if (strcmp(name, wanted) == 0)
        found = value;
}

uint64_t rig_stat(const char *name)
{
    strncpy(wanted, name, sizeof(wanted) - 1);
    found = UINT64_MAX;
    netstack_stats(match);
    CHECK(found != UINT64_MAX);
    return found;
}

void rig_pattern(uint8_t *p, uint32_t len, uint32_t seed)
{
    for (uint32_t i = 0; i < len; i++)
        p[i] = (uint8_t)(i * 31 + seed + (i >> 8));
}

/* ---- life ---------------------------------------------------------------- */

void rig_begin(uint64_t features, const struct vnet_config *config)
{
    struct netstack_ifconfig cfg = {0};

    memset(&rig, 0, sizeof(rig));
    rig.m = model_new(features);
    if (config && config->rx_ring > rig.m->queue_max[0])
        rig.m->queue_max[0] = config->rx_ring;
    CHECK_EQ(vnet_open(model_dev(rig.m), config, &rig.v), V_OK);
    CHECK_EQ(netstack_start(), V_OK);
    CHECK_EQ(netstack_parse_ip("10.0.2.15/24", &cfg), V_OK);
    CHECK_EQ(netstack_parse_addr("10.0.2.2", &cfg.gw), V_OK);
    CHECK_EQ(netstack_add(rig.v, &cfg), V_OK);
    rig.netif = netif_default;
    rig_arp(1, RIG_IP);
    rig_run(20);
}

void rig_end(void)
{
    netstack_remove(rig.v);
    CHECK_EQ(vnet_bufs_held(rig.v), 0);
    CHECK_EQ(vnet_close(rig.v), V_OK);
    model_free(rig.m);
    peer_free_all();
    CHECK_EQ(rig.bad_csum, 0);
    CHECK_EQ(port_mem_stats.in_use, 0);
    /* The allocator keeps a chunk of each class. */
    CHECK_EQ(host_dma_live_bytes(), port_mem_stats.bytes_held);
    host_leak_baseline();
}
