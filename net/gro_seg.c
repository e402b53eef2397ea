/*
 * Software GRO, the headers: which frames are TCP segments that may be
 * merged, and what a merged one says. RFC 791, RFC 8200, RFC 9293.
 *
 * Nothing of a frame is believed before its length was looked at; a frame
 * that contradicts itself is none of ours, lwIP counts and drops it.
 */
#include <string.h>

#include "gro.h"
#include "lwip/def.h"
#include "lwip/prot/ethernet.h"
#include "lwip/prot/ip.h"

enum {
    IP4_HLEN = 20,
    IP6_HLEN = 40,
    TCP_HLEN_MIN = 20,
    /* Offsets in the TCP header. */
    TCP_SEQ = 4,
    TCP_ACKNO = 8,
    TCP_OFFSET = 12,
    TCP_FLAGS_AT = 13,
    TCP_WINDOW = 14,
    /* Flags. */
    PUSH = 0x08,
    ACKNOWLEDGE = 0x10,
    /* Of IPv6's next headers, those that end the chain. */
    IP6_ICMP = 58,
    IP6_NONE = 59,
    CSUM_GOOD = 0xffff, /* the sum over a sound header and its checksum */
};

static uint16_t get16(const uint8_t *b)
{
    return (uint16_t)(b[0] << 8 | b[1]);
}

static uint32_t get32(const uint8_t *b)
{
    return (uint32_t)get16(b) << 16 | get16(b + 2);
}

static void put16(uint8_t *b, unsigned v)
{
    b[0] = (uint8_t)(v >> 8);
    b[1] = (uint8_t)v;
}

/* ---- what a frame is -------------------------------------------------- */

static enum gro_kind parse_ip4(struct gro_seg *s, uint32_t *ip_len)
{
    const uint8_t *ip = s->ip;

    if (ip[9] != IP_PROTO_TCP)
        return GRO_NOT_TCP;
    if (ip[0] != 0x45 || (ip[6] & 0x3f) || ip[7])
        return GRO_OPAQUE;
    *ip_len = get16(ip + 2);
    s->tcp = s->ip + IP4_HLEN;
    return GRO_TCP;
}

static enum gro_kind parse_ip6(struct gro_seg *s, uint32_t *ip_len)
{
    const uint8_t *ip = s->ip;

    switch (ip[6]) {
    case IP_PROTO_TCP:
        break;
    case IP_PROTO_UDP:
    case IP6_ICMP:
    case IP6_NONE:
        return GRO_NOT_TCP;
    default:
        return GRO_OPAQUE;
    }
    if (ip[0] >> 4 != 6)
        return GRO_NOT_TCP;
    *ip_len = IP6_HLEN + (uint32_t)get16(ip + 4);
    s->tcp = s->ip + IP6_HLEN;
    s->ip6 = true;
    return GRO_TCP;
}

static enum gro_kind parse_ip(struct gro_seg *s, uint32_t *ip_len)
{
    switch (get16(s->ip - 2)) {
    case ETHTYPE_IP:
        return parse_ip4(s, ip_len);
    case ETHTYPE_IPV6:
        return parse_ip6(s, ip_len);
    default:
        return GRO_NOT_TCP;
    }
}

/* The first buffer must hold data as well: no piece may become empty. */
static bool is_plain(const struct gro_seg *s)
{
    return (s->tcp[TCP_FLAGS_AT] & ~PUSH) == ACKNOWLEDGE &&
           (s->tcp[TCP_OFFSET] & 0x0f) == 0 && s->payload > 0 &&
           s->p->len > s->hdr_len;
}

/* s->tcp is set; ip_len is what the IP header says. */
static enum gro_kind parse_tcp(struct gro_seg *s, uint32_t ip_len)
{
    unsigned l4 = (unsigned)(s->tcp - s->ip) + SIZEOF_ETH_HDR;
    unsigned end = SIZEOF_ETH_HDR + ip_len;
    unsigned hlen;

    if (s->p->len < l4 + TCP_HLEN_MIN)
        return GRO_OPAQUE;
    hlen = (unsigned)(s->tcp[TCP_OFFSET] >> 4) * 4;
    if (hlen < TCP_HLEN_MIN || l4 + hlen > end || end > s->p->tot_len)
        return GRO_NOT_TCP;
    memcpy(&s->ports, s->tcp, sizeof(s->ports));
    s->seq = get32(s->tcp + TCP_SEQ);
    s->hdr_len = (uint16_t)(l4 + hlen);
    s->payload = (uint16_t)(end - s->hdr_len);
    s->push = s->tcp[TCP_FLAGS_AT] & PUSH;
    s->plain = is_plain(s);
    return GRO_TCP;
}

enum gro_kind gro_parse(struct gro_seg *s, struct pbuf *p, bool verified,
                        uint16_t gso_size)
{
    enum gro_kind kind;
    uint32_t ip_len = 0;

    s->p = p;
    s->ip = (uint8_t *)p->payload + SIZEOF_ETH_HDR;
    s->ip6 = false;
    s->verified = verified;
    s->checked = false;
    kind = parse_ip(s, &ip_len);
    if (kind == GRO_TCP)
        kind = parse_tcp(s, ip_len);
    if (kind == GRO_TCP)
        s->mss = gso_size ? gso_size : s->payload;
    return kind;
}

bool gro_is_short(const struct gro_seg *s)
{
    return s->payload != s->mss && s->payload % s->mss != 0;
}

/* ---- two of them ------------------------------------------------------ */

bool gro_same_flow(const struct gro_seg *a, const struct gro_seg *b)
{
    if (a->ports != b->ports || a->ip6 != b->ip6)
        return false;
    return a->ip6 ? memcmp(a->ip + 8, b->ip + 8, 32) == 0
                  : memcmp(a->ip + 12, b->ip + 12, 8) == 0;
}

/* Service class, hop limit, and IPv4's flags or IPv6's flow label. */
static bool same_ip(const struct gro_seg *a, const struct gro_seg *b)
{
    if (a->ip6)
        return memcmp(a->ip, b->ip, 4) == 0 && a->ip[7] == b->ip[7];
    return a->ip[1] == b->ip[1] && a->ip[6] == b->ip[6] &&
           a->ip[8] == b->ip[8];
}

bool gro_same_headers(const struct gro_seg *a, const struct gro_seg *b)
{
    unsigned at = (unsigned)(a->tcp - a->ip) + SIZEOF_ETH_HDR + TCP_HLEN_MIN;

    return a->hdr_len == b->hdr_len && same_ip(a, b) &&
           memcmp(a->p->payload, b->p->payload, SIZEOF_ETH_HDR) == 0 &&
           memcmp(a->tcp + TCP_HLEN_MIN, b->tcp + TCP_HLEN_MIN,
                  a->hdr_len - at) == 0;
}

bool gro_ack_older(const struct gro_seg *a, const struct gro_seg *b)
{
    uint32_t ahead = get32(b->tcp + TCP_ACKNO) - get32(a->tcp + TCP_ACKNO);

    return ahead > INT32_MAX;
}

/* ---- checksums -------------------------------------------------------- */

/* The sum's bytes the other way round, for what begins at an odd offset. */
static uint32_t swap_sum(uint32_t sum)
{
    return (sum & 0xff) << 8 | (sum >> 8 & 0xff);
}

/*
 * The addresses lie right before the TCP header, in either version: one sum
 * takes them, the header and the data. Protocol and length are what is left
 * of the pseudo header.
 */
static bool tcp_csum_ok(const struct gro_seg *s)
{
    uint32_t sum = lwip_htons(IP_PROTO_TCP);
    uint32_t from = SIZEOF_ETH_HDR + (s->ip6 ? 8 : 12);
    uint32_t l4 = (uint32_t)(s->tcp - s->ip) + SIZEOF_ETH_HDR;
    bool odd = false;

    sum += lwip_htons((u16_t)(s->p->tot_len - l4));
    for (const struct pbuf *q = s->p; q; q = q->next) {
        int len = (int)(q->len - from);
        uint32_t part = LWIP_CHKSUM((const uint8_t *)q->payload + from, len);

        sum += odd ? swap_sum(part) : part;
        odd ^= len & 1;
        from = 0;
    }
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return sum == CSUM_GOOD;
}

/* IPv4's own; no device looks at that. */
static bool ip_csum_ok(const struct gro_seg *s)
{
    return s->ip6 || (uint16_t)LWIP_CHKSUM(s->ip, IP4_HLEN) == CSUM_GOOD;
}

bool gro_verify(struct gro_seg *s)
{
    uint32_t len = (uint32_t)s->hdr_len + s->payload;

    if (s->checked)
        return s->good;
    s->checked = true;
    if (s->p->tot_len > len)
        pbuf_realloc(s->p, (u16_t)len);
    s->good = ip_csum_ok(s) && (s->verified || tcp_csum_ok(s));
    if (!s->good)
        gro_stats.gro_csum_bad++;
    else if (!s->verified)
        gro_stats.gro_csum_ok++;
    return s->good;
}

/* ---- what a merged one says ------------------------------------------- */

void gro_take_header(struct gro_seg *a, const struct gro_seg *b)
{
    memcpy(a->tcp + TCP_ACKNO, b->tcp + TCP_ACKNO, 4);
    memcpy(a->tcp + TCP_WINDOW, b->tcp + TCP_WINDOW, 2);
    a->tcp[TCP_FLAGS_AT] |= b->tcp[TCP_FLAGS_AT] & PUSH;
}

void gro_set_len(struct gro_seg *s, uint16_t len)
{
    unsigned ip_len = len - SIZEOF_ETH_HDR;
    uint16_t sum;

    if (s->ip6) {
        put16(s->ip + 4, ip_len - IP6_HLEN);
        return;
    }
    put16(s->ip + 2, ip_len);
    put16(s->ip + 10, 0);
    sum = (uint16_t)~LWIP_CHKSUM(s->ip, IP4_HLEN);
    memcpy(s->ip + 10, &sum, sizeof(sum));
}
