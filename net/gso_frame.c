/*
 * Software GSO, the headers: where they are in a frame to be sent, which
 * frames can be one, and what that one says. RFC 791, 8200, 9293, 768.
 *
 * The frames are lwIP's own and its headers are sound, but for lengths:
 * nothing is read outside of the first pbuf.
 */
#include <string.h>

#include "gso.h"
#include "lwip/def.h"
#include "lwip/inet_chksum.h"
#include "lwip/prot/ethernet.h"
#include "lwip/prot/ip.h"

enum {
    VLAN_HLEN = 4,
    TYPE_8021Q = 0x8100,
    IP4_LEN = 20,
    IP6_LEN = 40,
    IP6_FRAGMENT = 44,
    UDP_LEN = 8,
    TCP_LEN = 20,
    /* Offsets in the TCP header, and its flags. */
    TCP_SEQ = 4,
    TCP_ACK = 8,
    TCP_OFFSET = 12,
    TCP_FLAGS_AT = 13,
    TCP_WINDOW = 14,
    TCP_CSUM = 16,
    TCP_URGENT = 18,
    PUSH = 0x08,
    ACKNOWLEDGE = 0x10,
    UDP_LENGTH = 4,
    UDP_CSUM = 6,
    /* virtio_net_hdr.gso_type, 5.1.6. */
    GSO_TCPV4 = 1,
    GSO_TCPV6 = 4,
    GSO_UDP_L4 = 5,
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

static uint8_t *bytes(const struct gso_seg *s)
{
    return s->p->payload;
}

/* ---- what a frame is -------------------------------------------------- */

/* s->l4 is set; l4_len is what the IP header leaves for it. */
static enum gso_kind parse_l4(struct gso_seg *s, unsigned l4_len)
{
    unsigned hlen = s->proto == IP_PROTO_TCP ? TCP_LEN : UDP_LEN;
    const uint8_t *l4 = bytes(s) + s->l4;

    if (l4_len < hlen || s->p->len < s->l4 + hlen ||
        s->p->tot_len < s->l4 + l4_len)
        return GSO_BROKEN;
    if (s->proto == IP_PROTO_TCP) {
        hlen = (l4[TCP_OFFSET] >> 4) * 4u;
        s->flags = l4[TCP_FLAGS_AT];
        s->seq = get32(l4 + TCP_SEQ);
        if (hlen < TCP_LEN || hlen > l4_len)
            return GSO_BROKEN;
    }
    s->hdr_len = (uint16_t)(s->l4 + hlen);
    s->payload = (uint16_t)(l4_len - hlen);
    return GSO_SEGMENT;
}

static enum gso_kind parse_ip4(struct gso_seg *s)
{
    const uint8_t *ip = bytes(s) + s->l3;
    unsigned hlen = (ip[0] & 15u) * 4;
    unsigned total = get16(ip + 2);

    if (get16(ip + 6) & 0x3fff) /* more fragments, or not the first */
        return GSO_FRAGMENT;
    s->proto = ip[9];
    if (s->proto != IP_PROTO_TCP && s->proto != IP_PROTO_UDP)
        return GSO_OTHER;
    if (hlen < IP4_LEN || total < hlen)
        return GSO_BROKEN;
    s->l4 = (uint16_t)(s->l3 + hlen);
    return parse_l4(s, total - hlen);
}

static enum gso_kind parse_ip6(struct gso_seg *s)
{
    const uint8_t *ip = bytes(s) + s->l3;

    if (ip[6] == IP6_FRAGMENT)
        return GSO_FRAGMENT;
    s->ip6 = true;
    s->proto = ip[6];
    if (s->proto != IP_PROTO_TCP && s->proto != IP_PROTO_UDP)
        return GSO_OTHER;
    s->l4 = (uint16_t)(s->l3 + IP6_LEN);
    return parse_l4(s, get16(ip + 4));
}

enum gso_kind gso_parse_ip(struct gso_seg *s, struct pbuf *p, unsigned l3)
{
    memset(s, 0, sizeof(*s));
    s->p = p;
    s->l3 = (uint16_t)l3;
    if (p->len < l3 + IP4_LEN)
        return GSO_OTHER;
    switch (bytes(s)[l3] >> 4) {
    case 4:
        return parse_ip4(s);
    case 6:
        return p->len < l3 + IP6_LEN ? GSO_OTHER : parse_ip6(s);
    default:
        return GSO_OTHER;
    }
}

/* Offset of what follows the Ethernet header, and its type. */
static unsigned network_header(const struct pbuf *p, uint16_t *type)
{
    const uint8_t *frame = p->payload;
    unsigned l3 = SIZEOF_ETH_HDR;

    *type = p->len < l3 ? 0 : get16(frame + 12);
    if (*type == TYPE_8021Q && p->len >= l3 + VLAN_HLEN) {
        *type = get16(frame + 16);
        l3 += VLAN_HLEN;
    }
    return l3;
}

enum gso_kind gso_parse(struct gso_seg *s, struct pbuf *p)
{
    uint16_t type;
    unsigned l3 = network_header(p, &type);
    enum gso_kind kind;

    if (type != ETHTYPE_IP && type != ETHTYPE_IPV6)
        return GSO_OTHER;
    kind = gso_parse_ip(s, p, l3);
    return kind == GSO_SEGMENT && s->ip6 != (type == ETHTYPE_IPV6) ? GSO_OTHER
                                                                   : kind;
}

uint8_t gso_flow(const struct pbuf *p)
{
    uint16_t type;
    unsigned l3 = network_header(p, &type);
    const uint8_t *b = p->payload;
    unsigned from = l3 + 12, to = from + 12; /* IPv4: addresses, ports */
    uint32_t h = type;

    if (type == ETHTYPE_IPV6) {
        from = l3 + 8;
        to = from + 36;
    } else if (type != ETHTYPE_IP) {
        return (uint8_t)type;
    }
    for (unsigned i = from; i < to && i < p->len; i++)
        h = h * 31 + b[i];
    return (uint8_t)(h ^ h >> 8);
}

bool gso_is_plain(const struct gso_seg *s)
{
    if (s->payload == 0 || s->hdr_len > s->p->len ||
        s->hdr_len > GSO_HDR_MAX || s->p->tot_len != s->hdr_len + s->payload)
        return false;
    if (s->proto == IP_PROTO_TCP)
        return (s->flags & ~PUSH) == ACKNOWLEDGE;
    return get16(bytes(s) + s->l4 + UDP_LENGTH) == UDP_LEN + s->payload;
}

/* ---- checksums -------------------------------------------------------- */

unsigned gso_csum_offset(const struct gso_seg *s)
{
    return s->proto == IP_PROTO_TCP ? TCP_CSUM : UDP_CSUM;
}

/* The sum of the pseudo header, for l4_len bytes of header and payload, into
 * the checksum field of these headers. 5.1.6.2 */
static void put_pseudo(uint8_t *frame, const struct gso_seg *s,
                       unsigned l4_len)
{
    const uint8_t *ip = frame + s->l3;
    uint32_t sum = s->ip6 ? LWIP_CHKSUM(ip + 8, 32) : LWIP_CHKSUM(ip + 12, 8);
    uint16_t field;

    sum += (uint32_t)lwip_htons(s->proto) + lwip_htons((uint16_t)l4_len);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    field = (uint16_t)sum;
    memcpy(frame + s->l4 + gso_csum_offset(s), &field, sizeof(field));
}

void gso_open_csum(const struct gso_seg *s)
{
    put_pseudo(bytes(s), s, (unsigned)s->hdr_len - s->l4 + s->payload);
}

/* ---- two of them, and many -------------------------------------------- */

static bool same(const uint8_t *a, const uint8_t *b, unsigned from,
                 unsigned to)
{
    return memcmp(a + from, b + from, to - from) == 0;
}

/* All of the IP header but lengths, identification and checksum. */
static bool same_ip(const uint8_t *a, const uint8_t *b,
                    const struct gso_seg *s)
{
    unsigned l3 = s->l3;

    if (s->ip6)
        return same(a, b, l3, l3 + 4) && same(a, b, l3 + 6, s->l4);
    return same(a, b, l3, l3 + 2) && same(a, b, l3 + 6, l3 + 10) &&
           same(a, b, l3 + 12, s->l4);
}

/* Ports; acknowledgement, window and options. */
static bool same_l4(const uint8_t *a, const uint8_t *b,
                    const struct gso_seg *s)
{
    unsigned l4 = s->l4;

    if (!same(a, b, l4, l4 + 4))
        return false;
    return s->proto == IP_PROTO_UDP ||
           (same(a, b, l4 + TCP_ACK, l4 + TCP_FLAGS_AT) &&
            same(a, b, l4 + TCP_WINDOW, l4 + TCP_CSUM) &&
            same(a, b, l4 + TCP_URGENT, s->hdr_len));
}

bool gso_same_headers(const struct gso_seg *a, const struct gso_seg *b)
{
    return a->proto == b->proto && a->ip6 == b->ip6 && a->l3 == b->l3 &&
           a->l4 == b->l4 && a->hdr_len == b->hdr_len &&
           same_l4(bytes(a), bytes(b), a) &&
           same(bytes(a), bytes(b), 0, a->l3) &&
           same_ip(bytes(a), bytes(b), a);
}

static void put_ip_len(uint8_t *hdr, const struct gso_seg *s, uint32_t len)
{
    uint8_t *ip = hdr + s->l3;
    uint16_t sum;

    if (s->ip6) {
        put16(ip + 4, len - IP6_LEN);
        return;
    }
    put16(ip + 2, len);
    put16(ip + 10, 0);
    sum = inet_chksum(ip, (u16_t)(s->l4 - s->l3));
    memcpy(ip + 10, &sum, sizeof(sum));
}

static uint8_t gso_type(const struct gso_seg *s)
{
    if (s->proto == IP_PROTO_UDP)
        return GSO_UDP_L4;
    return s->ip6 ? GSO_TCPV6 : GSO_TCPV4;
}

void gso_make_header(struct gso_frame *f, const struct gso_seg *s,
                     uint32_t payload, bool push)
{
    unsigned l4_len = (unsigned)s->hdr_len - s->l4 + payload;
    uint8_t *l4 = f->hdr + s->l4;

    memcpy(f->hdr, bytes(s), s->hdr_len);
    put_ip_len(f->hdr, s, s->l4 - s->l3 + l4_len);
    if (s->proto == IP_PROTO_UDP)
        put16(l4 + UDP_LENGTH, l4_len);
    else if (push)
        l4[TCP_FLAGS_AT] |= PUSH;
    put_pseudo(f->hdr, s, l4_len);
    f->hdr_len = s->hdr_len;
    f->gso_type = gso_type(s);
    f->gso_size = s->payload;
    f->csum_start = s->l4;
    f->csum_offset = (uint8_t)gso_csum_offset(s);
}

/* What is behind the first `skip` bytes, which are in the first pbuf. */
static unsigned list_payload(const struct pbuf *p, unsigned skip,
                             struct vnet_seg *seg)
{
    unsigned n = 0;

    for (; p; p = p->next) {
        if (p->len > skip) {
            seg[n].ptr = (const uint8_t *)p->payload + skip;
            seg[n].len = p->len - skip;
            n++;
        }
        skip = 0;
    }
    return n;
}

void gso_list(const struct gso_frame *f, struct vnet_seg *seg,
              struct vnet_tx *tx)
{
    unsigned n = 1;

    seg[0].ptr = f->hdr;
    seg[0].len = f->hdr_len;
    for (unsigned i = 0; i < f->count; i++)
        n += list_payload(f->part[i], f->hdr_len, seg + n);
    tx->seg = seg;
    tx->nseg = n;
    tx->csum = true;
    tx->gso_type = f->gso_type;
    tx->csum_start = f->csum_start;
    tx->csum_offset = f->csum_offset;
    tx->gso_size = f->gso_size;
    tx->hdr_len = f->hdr_len;
}
