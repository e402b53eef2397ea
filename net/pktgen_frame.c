/*
 * The frames of the packet generator. See pktgen_frame.h.
 *
 * The checksum of UDP costs a few additions a frame: the sum of everything
 * that stays the same is known, only number and time are added to it.
 */
#include "pktgen_frame.h"

#include <string.h>

enum {
    ETH = 14,
    IP4 = 20,
    IP6 = 40,
    UDP = 8,
    TTL = 64,
    PROTO_UDP = 17,
    AT_CSUM = 6,            /* in the UDP header */
    AT_MAGIC = UDP,
    AT_NUMBER = UDP + 4,
    AT_TIME = UDP + 8,
};

/* What every frame ends with: 0, 1, 2 ... Filled once, and never again, as
 * the device may be reading it. */
static uint8_t filling[PKTGEN_LEN_MOST];

static void put16(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

static void put32(uint8_t *p, uint32_t v)
{
    put16(p, v >> 16);
    put16(p + 2, v);
}

/* Of big-endian words; an odd byte is the upper half of one. 64 KiB do not
 * overflow it. */
static uint32_t sum16(uint32_t sum, const uint8_t *p, uint32_t len)
{
    for (; len > 1; p += 2, len -= 2)
        sum += (uint32_t)p[0] << 8 | p[1];
    return len ? sum + ((uint32_t)p[0] << 8) : sum;
}

static uint32_t fold(uint32_t sum)
{
    sum = (sum & 0xffff) + (sum >> 16);
    return (sum & 0xffff) + (sum >> 16);
}

/* All bytes together fit neither a word nor 32 bits of sum: fold between. */
static uint32_t sum_constant(const struct pktgen_frame *f,
                             const struct pktgen_ends *e, uint32_t udp_len)
{
    unsigned n = e->ip6 ? 16 : 4;
    uint32_t sum = PROTO_UDP + udp_len;

    sum = sum16(sum, e->src_ip, n);
    sum = sum16(sum, e->dst_ip, n);
    sum = sum16(sum, f->head + f->udp, UDP + PKTGEN_PAYLOAD_LEAST);
    sum = fold(sum);
    return fold(sum16(sum, f->seg[1].ptr, f->seg[1].len));
}

static void make_ip4(uint8_t *ip, const struct pktgen_ends *e, uint32_t len)
{
    ip[0] = 0x45;
    put16(ip + 2, len);
    ip[6] = 0x40; /* never in fragments, so it needs no identification */
    ip[8] = TTL;
    ip[9] = PROTO_UDP;
    memcpy(ip + 12, e->src_ip, 4);
    memcpy(ip + 16, e->dst_ip, 4);
    put16(ip + 10, ~fold(sum16(0, ip, IP4)));
}

static void make_ip6(uint8_t *ip, const struct pktgen_ends *e, uint32_t len)
{
    ip[0] = 0x60;
    put16(ip + 4, len - IP6);
    ip[6] = PROTO_UDP;
    ip[7] = TTL;
    memcpy(ip + 8, e->src_ip, 16);
    memcpy(ip + 24, e->dst_ip, 16);
}

static void fill_once(void)
{
    static bool done;

    for (unsigned i = 0; !done && i < sizeof(filling); i++)
        filling[i] = (uint8_t)i;
    done = true;
}

uint32_t pktgen_frame_least(bool ip6)
{
    return ip6 ? PKTGEN_HEAD_IP6 : PKTGEN_LEN_LEAST;
}

void pktgen_frame_make(struct pktgen_frame *f, const struct pktgen_ends *e,
                       uint32_t len)
{
    uint32_t head = e->ip6 ? PKTGEN_HEAD_IP6 : PKTGEN_HEAD_IP4;
    uint8_t *h = f->head;
    uint32_t udp_len;

    fill_once();
    memset(f, 0, sizeof(*f));
    memcpy(h, e->dst_mac, 6);
    memcpy(h + 6, e->src_mac, 6);
    put16(h + 12, e->ip6 ? 0x86dd : 0x0800);
    if (e->ip6)
        make_ip6(h + ETH, e, len - ETH);
    else
        make_ip4(h + ETH, e, len - ETH);
    f->udp = (uint16_t)(head - UDP - PKTGEN_PAYLOAD_LEAST);
    h += f->udp;
    udp_len = len - f->udp;
    put16(h, e->sport);
    put16(h + 2, e->dport);
    put16(h + 4, udp_len);
    put32(h + AT_MAGIC, PKTGEN_MAGIC);
    f->seg[0].ptr = f->head;
    f->seg[0].len = head;
    f->seg[1].ptr = filling;
    f->seg[1].len = len - head;
    f->sum = sum_constant(f, e, udp_len);
}

void pktgen_frame_stamp(struct pktgen_frame *f, uint32_t number,
                        uint64_t time_ns)
{
    uint8_t *udp = f->head + f->udp;
    uint32_t csum;

    put32(udp + AT_NUMBER, number);
    put32(udp + AT_TIME, (uint32_t)(time_ns >> 32));
    put32(udp + AT_TIME + 4, (uint32_t)time_ns);
    csum = ~fold(sum16(f->sum, udp + AT_NUMBER, 12)) & 0xffff;
    put16(udp + AT_CSUM, csum ? csum : 0xffff);
}
