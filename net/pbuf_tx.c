/*
 * Transmit: a pbuf chain becomes the driver's list of segments, without a
 * copy. The chain is lwIP's until the peer has acknowledged it: nothing of
 * its structure is touched, a reference keeps it alive while the device
 * reads. The one thing written is TCP's checksum field, which lwIP renews at
 * every transmission.
 */
#include <string.h>

#include "lwip/inet_chksum.h"
#include "lwip/prot/ethernet.h"
#include "lwip/prot/ip.h"
#include "lwip/prot/tcp.h"
#include "netif_vnet.h"

enum {
    VLAN_HLEN = 4,
    IP4_HLEN = 20,
    IP6_HLEN = 40,
    ETHTYPE_8021Q = 0x8100,
    TCP_CSUM_OFFSET = 16,
};

/* Where a frame's TCP header is. */
struct tcp_place {
    uint16_t start;    /* offset of the TCP header in the frame */
    uint16_t len;      /* of header and payload */
    uint32_t addr_sum; /* sum of the addresses */
};

enum tcp_kind {
    NOT_TCP,    /* its checksum, if any, is complete */
    WHOLE_TCP,  /* *place tells where */
    BROKEN_TCP, /* a fragment, or a header that is not where it should be */
};

static uint16_t get16(const uint8_t *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}

static enum tcp_kind find_tcp4(const uint8_t *ip, unsigned off, unsigned len,
                               struct tcp_place *place)
{
    unsigned hlen = (ip[0] & 15u) * 4;
    unsigned total = get16(ip + 2);

    if (len < off + IP4_HLEN || ip[9] != IP_PROTO_TCP)
        return NOT_TCP;
    if (get16(ip + 6) & 0x3fff) /* more fragments, or not the first */
        return BROKEN_TCP;
    if (hlen < IP4_HLEN || total < hlen + TCP_HLEN ||
        len < off + hlen + TCP_HLEN)
        return BROKEN_TCP;
    place->start = (uint16_t)(off + hlen);
    place->len = (uint16_t)(total - hlen);
    place->addr_sum = LWIP_CHKSUM(ip + 12, 8);
    return WHOLE_TCP;
}

static enum tcp_kind find_tcp6(const uint8_t *ip, unsigned off, unsigned len,
                               struct tcp_place *place)
{
    unsigned payload = get16(ip + 4);

    if (len < off + IP6_HLEN)
        return NOT_TCP;
    /* Fragments of TCP are complete, see ip6_out.c. */
    if (ip[6] != IP_PROTO_TCP)
        return NOT_TCP;
    if (payload < TCP_HLEN || len < off + IP6_HLEN + TCP_HLEN)
        return BROKEN_TCP;
    place->start = (uint16_t)(off + IP6_HLEN);
    place->len = (uint16_t)payload;
    place->addr_sum = LWIP_CHKSUM(ip + 8, 32);
    return WHOLE_TCP;
}

/* Looks for TCP in the first bytes of a frame, `len` of them. */
static enum tcp_kind find_tcp(const uint8_t *frame, unsigned len,
                              struct tcp_place *place)
{
    unsigned off = SIZEOF_ETH_HDR;
    uint16_t type;

    if (len < SIZEOF_ETH_HDR + IP4_HLEN)
        return NOT_TCP;
    type = get16(frame + 12);
    if (type == ETHTYPE_8021Q) {
        type = get16(frame + 16);
        off += VLAN_HLEN;
    }
    if (type == ETHTYPE_IP)
        return find_tcp4(frame + off, off, len, place);
    if (type == ETHTYPE_IPV6)
        return find_tcp6(frame + off, off, len, place);
    return NOT_TCP;
}

/*
 * Leaves TCP's checksum to the device: the field gets the sum of the pseudo
 * header, not complemented (5.1.6.2). False when that cannot be done.
 */
static bool prepare_csum(struct vnet_tx *tx, uint8_t *frame, unsigned len,
                         unsigned frame_len)
{
    struct tcp_place at;
    enum tcp_kind kind = find_tcp(frame, len, &at);

    if (kind == NOT_TCP)
        return true;
    if (kind == BROKEN_TCP || (unsigned)at.start + at.len > frame_len)
        return false;

    uint32_t sum = at.addr_sum + PP_HTONS(IP_PROTO_TCP) + lwip_htons(at.len);
    uint16_t field;

    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    field = (uint16_t)sum;
    memcpy(frame + at.start + TCP_CSUM_OFFSET, &field, sizeof(field));
    tx->csum = true;
    tx->csum_start = at.start;
    tx->csum_offset = TCP_CSUM_OFFSET;
    return true;
}

/* Fills seg[] and returns how many; 0 when there are too many, or none. */
static unsigned list_segments(const struct pbuf *p,
                              struct vnet_seg seg[VNET_TX_SEGS])
{
    unsigned n = 0;

    for (; p; p = p->next) {
        if (p->len == 0)
            continue;
        if (n == VNET_TX_SEGS)
            return 0;
        seg[n].ptr = p->payload;
        seg[n].len = p->len;
        n++;
    }
    return n;
}

static err_t send_result(int result)
{
    switch (result) {
    case V_FULL:
        netif_vnet_stats.tx_refused++;
        return ERR_MEM;
    case V_DOWN:
        netif_vnet_stats.tx_down++;
        return ERR_IF;
    default:
        netif_vnet_stats.tx_invalid++;
        return ERR_OK;
    }
}

/* Sends p, of which one reference is ours to give away. */
static err_t send_owned(struct vnet *v, struct pbuf *p, bool csum)
{
    struct vnet_seg seg[VNET_TX_SEGS];
    struct vnet_tx tx = {.seg = seg, .cookie = p};
    int result;

    tx.nseg = list_segments(p, seg);
    if (csum && !prepare_csum(&tx, p->payload, p->len, p->tot_len)) {
        netif_vnet_stats.tx_csum_lost++;
        pbuf_free(p);
        return ERR_VAL;
    }
    result = tx.nseg ? vnet_send(v, &tx) : V_INVAL;
    if (result == V_OK)
        return ERR_OK;
    pbuf_free(p);
    return result > 0 ? ERR_OK : send_result(result);
}

/* Does the chain fit as it is? */
static bool sendable(const struct pbuf *p)
{
    unsigned n = 0;

    for (const struct pbuf *q = p; q; q = q->next)
        n += q->len > 0;
    return n <= VNET_TX_SEGS && p->len > 0;
}

err_t pbuf_tx(struct vnet *v, struct pbuf *p, bool csum)
{
    if (sendable(p)) {
        pbuf_ref(p);
        return send_owned(v, p, csum);
    }

    struct pbuf *joined = pbuf_clone(PBUF_RAW, PBUF_RAM, p);

    if (!joined) {
        netif_vnet_stats.tx_nomem++;
        return ERR_MEM;
    }
    netif_vnet_stats.tx_cloned++;
    return send_owned(v, joined, csum);
}

void pbuf_tx_done(void *arg, void *cookie)
{
    (void)arg;
    if (cookie != &netif_vnet_static)
        pbuf_free(cookie);
}
