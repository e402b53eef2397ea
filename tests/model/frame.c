/* Ethernet frames in tests. RFC 791, 8200, 768, 9293, 1071. */
#include "frame.h"

#include <string.h>

#define ETH 14u

static uint16_t get16(const uint8_t *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}

static uint32_t get32(const uint8_t *p)
{
    return (uint32_t)get16(p) << 16 | get16(p + 2);
}

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

uint32_t frame_sum(uint32_t sum, const uint8_t *p, uint32_t len)
{
    uint64_t s = sum;

    for (uint32_t i = 0; i + 1 < len; i += 2)
        s += get16(p + i);
    if (len & 1)
        s += (uint32_t)p[len - 1] << 8;
    while (s >> 32)
        s = (s & UINT32_MAX) + (s >> 32);
    return (uint32_t)s;
}

uint16_t frame_fold(uint32_t sum)
{
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)sum;
}

static bool parse_l4(const uint8_t *f, struct frame_info *i)
{
    unsigned room = i->end - i->l4;

    if (i->fragment)
        i->l4_proto = 0;
    switch (i->l4_proto) {
    case FRAME_TCP:
        i->csum = i->l4 + 16;
        if (room < 20 || (f[i->l4 + 12] >> 4) < 5)
            return false;
        i->payload = i->l4 + (f[i->l4 + 12] >> 4) * 4u;
        return i->payload <= i->end;
    case FRAME_UDP:
        i->csum = i->l4 + 6;
        i->payload = i->l4 + 8;
        return room >= 8;
    case FRAME_ICMP6:
        i->csum = i->l4 + 2;
        i->payload = i->l4 + 4;
        return room >= 4;
    default:
        i->l4_proto = 0;
        return true;
    }
}

static bool parse_ipv4(const uint8_t *f, uint32_t len, struct frame_info *i)
{
    const uint8_t *ip = f + i->l3;
    unsigned hl = (ip[0] & 15) * 4u;

    if (len < i->l3 + 20 || ip[0] >> 4 != 4 || hl < 20)
        return false;
    i->ipv4 = true;
    i->end = i->l3 + get16(ip + 2);
    i->l4 = i->l3 + hl;
    i->l4_proto = ip[9];
    i->fragment = (get16(ip + 6) & 0x3fff) != 0;
    return i->end <= len && i->l4 <= i->end && parse_l4(f, i);
}

static bool parse_ipv6(const uint8_t *f, uint32_t len, struct frame_info *i)
{
    const uint8_t *ip = f + i->l3;

    if (len < i->l3 + 40 || ip[0] >> 4 != 6)
        return false;
    i->ipv6 = true;
    i->end = i->l3 + 40 + get16(ip + 4);
    i->l4 = i->l3 + 40;
    i->l4_proto = ip[6]; /* extension headers are left alone */
    return i->end <= len && parse_l4(f, i);
}

bool frame_parse(const uint8_t *f, uint32_t len, struct frame_info *i)
{
    unsigned type;

    memset(i, 0, sizeof(*i));
    i->l3 = ETH;
    if (len < ETH + 1)
        return false;
    type = get16(f + 12);
    if (type == 0x8100 && len >= ETH + 5) {
        i->l3 += 4;
        type = get16(f + 16);
    }
    if (type == 0x0800)
        return parse_ipv4(f, len, i);
    if (type == 0x86dd)
        return parse_ipv6(f, len, i);
    return false;
}

uint32_t frame_pseudo(const uint8_t *f, const struct frame_info *i,
                      uint32_t len)
{
    uint32_t sum = i->l4_proto;

    sum += (len >> 16) + (len & 0xffff);
    if (i->ipv4)
        return frame_sum(sum, f + i->l3 + 12, 8);
    return frame_sum(sum, f + i->l3 + 8, 32);
}

bool frame_ip_csum_ok(const uint8_t *f, const struct frame_info *i)
{
    return !i->ipv4 ||
           frame_fold(frame_sum(0, f + i->l3, i->l4 - i->l3)) == 0xffff;
}

bool frame_l4_csum_ok(const uint8_t *f, const struct frame_info *i)
{
    uint32_t len = i->end - i->l4;

    if (i->l4_proto == 0)
        return true;
    if (i->l4_proto == FRAME_UDP && i->ipv4 && get16(f + i->csum) == 0)
        return true;
    return frame_fold(frame_sum(frame_pseudo(f, i, len), f + i->l4, len)) ==
           0xffff;
}

void frame_finish_csum(uint8_t *f, uint32_t len, unsigned start,
                       unsigned offset)
{
    uint16_t sum = (uint16_t)~frame_fold(frame_sum(0, f + start, len - start));

    put16(f + start + offset, sum ? sum : 0xffff);
}

/* What TCP has besides: the number, flags of the first and the last piece. */
static void fix_tcp(uint8_t *tcp, unsigned n, unsigned size, bool last)
{
    put32(tcp + 4, get32(tcp + 4) + n * size);
    if (n > 0)
        tcp[13] &= 0x7f; /* CWR on the first only */
    if (!last)
        tcp[13] &= 0xf6; /* FIN and PSH on the last only */
}

/* Lengths, identification and checksums of piece n. */
static void fix_piece(uint8_t *out, const struct frame_info *i, unsigned n,
                      unsigned size, uint32_t len, bool last)
{
    uint8_t *ip = out + i->l3;
    struct frame_info piece = *i;

    piece.end = len;
    if (i->ipv4) {
        put16(ip + 2, len - i->l3);
        put16(ip + 4, get16(ip + 4) + n);
        put16(ip + 10, 0);
        put16(ip + 10, (uint16_t)~frame_fold(frame_sum(0, ip,
                                                       i->l4 - i->l3)));
    } else {
        put16(ip + 4, len - i->l4);
    }
    if (i->l4_proto == FRAME_TCP)
        fix_tcp(out + i->l4, n, size, last);
    else
        put16(out + i->l4 + 4, len - i->l4);
    put16(out + i->csum, frame_fold(frame_pseudo(out, &piece, len - i->l4)));
    frame_finish_csum(out, len, i->l4, i->csum - i->l4);
}

uint32_t frame_cut(const uint8_t *f, uint32_t len, const struct frame_info *i,
                   unsigned size, unsigned n, uint8_t *out)
{
    uint32_t from = i->payload + n * size;
    uint32_t bytes;

    (void)len;
    if (from >= i->end)
        return 0;
    bytes = i->end - from < size ? i->end - from : size;
    memcpy(out, f, i->payload);
    memcpy(out + i->payload, f + from, bytes);
    fix_piece(out, i, n, size, i->payload + bytes, from + bytes == i->end);
    return i->payload + bytes;
}

static unsigned make_eth(uint8_t *out, const struct frame_spec *s)
{
    static const uint8_t addrs[12] = {0x52, 0x54, 0, 0x12, 0x34, 0x56,
                                      0x52, 0x55, 0x0a, 0, 2, 2};
    unsigned at = 12;

    memcpy(out, addrs, 12);
    if (s->vlan) {
        put16(out + at, 0x8100);
        put16(out + at + 2, 5);
        at += 4;
    }
    put16(out + at, s->ipv6 ? 0x86dd : 0x0800);
    return at + 2;
}

static unsigned make_ip(uint8_t *ip, const struct frame_spec *s, uint32_t len)
{
    memset(ip, 0, 40);
    if (s->ipv6) {
        ip[0] = 0x60;
        put16(ip + 4, len);
        ip[6] = s->udp ? FRAME_UDP : FRAME_TCP;
        ip[7] = 64;
        put16(ip + 8, 0xfec0);
        ip[23] = 2;
        put16(ip + 24, 0xfec0);
        ip[39] = 15;
        return 40;
    }
    ip[0] = 0x45;
    put16(ip + 2, 20 + len);
    put16(ip + 4, 0x1234);
    ip[8] = 64;
    ip[9] = s->udp ? FRAME_UDP : FRAME_TCP;
    put32(ip + 12, 0x0a000202);
    put32(ip + 16, 0x0a00020f);
    put16(ip + 10, (uint16_t)~frame_fold(frame_sum(0, ip, 20)));
    return 20;
}

static void make_l4(uint8_t *l4, const struct frame_spec *s, uint32_t len)
{
    memset(l4, 0, s->udp ? 8 : 20);
    put16(l4, s->sport ? s->sport : 40000);
    put16(l4 + 2, s->dport ? s->dport : 5201);
    if (s->udp) {
        put16(l4 + 4, len);
        return;
    }
    put32(l4 + 4, s->seq);
    l4[12] = 0x50;
    l4[13] = s->tcp_flags ? s->tcp_flags : 0x18;
    put16(l4 + 14, 65535);
}

uint32_t frame_make(uint8_t *out, const struct frame_spec *s)
{
    uint32_t l4_len = (s->udp ? 8 : 20) + s->payload;
    unsigned l3 = make_eth(out, s);
    unsigned l4 = l3 + make_ip(out + l3, s, l4_len);
    uint32_t len = l4 + l4_len;
    struct frame_info i;

    make_l4(out + l4, s, l4_len);
    for (uint32_t n = 0; n < s->payload; n++)
        out[len - s->payload + n] = (uint8_t)(n * 7 + s->seed + (n >> 8));
    frame_parse(out, len, &i);
    put16(out + i.csum, frame_fold(frame_pseudo(out, &i, l4_len)));
    if (!s->partial)
        frame_finish_csum(out, len, l4, i.csum - l4);
    if (s->bad_csum)
        out[i.csum] ^= 0x55;
    return len;
}

static uint8_t raw_byte(uint32_t n, uint32_t seed)
{
    return n == 12 ? 0x88 : n == 13 ? 0xb5
                          : (uint8_t)(n * 13 + seed * 31 + (n >> 8) + 1);
}

void frame_make_raw(uint8_t *out, uint32_t len, uint32_t seed)
{
    for (uint32_t n = 0; n < len; n++)
        out[n] = raw_byte(n, seed);
}

bool frame_is_raw(const uint8_t *frame, uint32_t len, uint32_t seed)
{
    for (uint32_t n = 0; n < len; n++)
        if (frame[n] != raw_byte(n, seed))
            return false;
    return true;
}
