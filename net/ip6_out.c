/*
 * IPv6 between lwIP and the Ethernet: fragments what is longer than its path
 * takes (RFC 8200, 4.5).
 *
 * lwIP's own way to do that moves the payload pointers of the packet it is
 * given. For a TCP segment, which is still to be retransmitted, that ends in
 * a wild pointer, and it takes no more than a Packet Too Big message for a
 * segment to be fragmented. Here the packet is only read, and as the whole of
 * it is still there, a checksum meant for the device can be completed.
 */
#include "ip6_out.h"

#include <stdbool.h>
#include <string.h>

#include "lwip/ethip6.h"
#include "lwip/inet_chksum.h"
#include "lwip/nd6.h"
#include "lwip/priv/nd6_priv.h"
#include "lwip/prot/ip6.h"
#include "lwip/prot/tcp.h"
#include "lwip/stats.h"

enum { FRAGMENT_HLEN = 8 };

void ip6_out_check_path_mtu(void)
{
    for (unsigned i = 0; i < LWIP_ND6_NUM_DESTINATIONS; i++) {
        struct nd6_destination_cache_entry *d = &destination_cache[i];

        if (d->pmtu && d->pmtu < IP6_MIN_MTU_LENGTH)
            d->pmtu = IP6_MIN_MTU_LENGTH;
    }
}

/* The checksum of a TCP segment that lwIP left open. */
static void complete_tcp(struct pbuf *p)
{
    struct ip6_hdr *ip = p->payload;
    struct tcp_hdr *tcp = (struct tcp_hdr *)(ip + 1);
    ip6_addr_t src, dest;

    if (p->len < IP6_HLEN + TCP_HLEN)
        return;
    ip6_addr_copy_from_packed(src, ip->src);
    ip6_addr_copy_from_packed(dest, ip->dest);
    pbuf_remove_header(p, IP6_HLEN);
    tcp->chksum = 0;
    tcp->chksum = ip6_chksum_pseudo(p, IP6_NEXTH_TCP, p->tot_len, &src,
                                    &dest);
    pbuf_add_header_force(p, IP6_HLEN);
}

struct fragment {
    u32_t id;
    u16_t offset; /* behind the IPv6 header */
    u16_t len;
    bool more;
};

/* A frame-to-be with that part of the packet. */
static struct pbuf *make_fragment(const struct pbuf *p,
                                  const struct fragment *f)
{
    const struct ip6_hdr *whole = p->payload;
    struct pbuf *q = pbuf_alloc(PBUF_LINK,
                                (u16_t)(IP6_HLEN + FRAGMENT_HLEN + f->len),
                                PBUF_RAM);
    struct ip6_hdr *ip;
    struct ip6_frag_hdr *frag;

    if (!q)
        return NULL;
    ip = q->payload;
    frag = (struct ip6_frag_hdr *)(ip + 1);
    memcpy(ip, whole, IP6_HLEN);
    IP6H_PLEN_SET(ip, FRAGMENT_HLEN + f->len);
    IP6H_NEXTH_SET(ip, IP6_NEXTH_FRAGMENT);
    frag->_nexth = IP6H_NEXTH(whole);
    frag->reserved = 0;
    frag->_fragment_offset = lwip_htons(
        (u16_t)(f->offset | (f->more ? IP6_FRAG_MORE_FLAG : 0)));
    frag->_identification = lwip_htonl(f->id);
    pbuf_copy_partial(p, frag + 1, f->len, (u16_t)(IP6_HLEN + f->offset));
    return q;
}

static err_t send_fragments(struct netif *netif, struct pbuf *p,
                            const ip6_addr_t *dest, u16_t mtu)
{
    const u16_t most = (u16_t)((mtu - IP6_HLEN - FRAGMENT_HLEN) & ~7);
    const u16_t total = (u16_t)(p->tot_len - IP6_HLEN);
    struct fragment f = {.id = LWIP_RAND()};
    err_t err = ERR_OK;

    while (f.offset < total && err == ERR_OK) {
        struct pbuf *q;

        f.more = total - f.offset > most;
        f.len = f.more ? most : (u16_t)(total - f.offset);
        q = make_fragment(p, &f);
        if (!q) {
            IP6_FRAG_STATS_INC(ip6_frag.memerr);
            return ERR_MEM;
        }
        err = ethip6_output(netif, q, dest);
        pbuf_free(q);
        IP6_FRAG_STATS_INC(ip6_frag.xmit);
        f.offset = (u16_t)(f.offset + f.len);
    }
    return err;
}

err_t ip6_out(struct netif *netif, struct pbuf *p, const ip6_addr_t *dest)
{
    const struct ip6_hdr *ip = p->payload;
    u16_t mtu;

    if (p->tot_len <= IP6_MIN_MTU_LENGTH)
        return ethip6_output(netif, p, dest);
    mtu = nd6_get_destination_mtu(dest, netif);
    if (p->tot_len <= mtu)
        return ethip6_output(netif, p, dest);
    if (IP6H_NEXTH(ip) == IP6_NEXTH_TCP &&
        !(netif->chksum_flags & NETIF_CHECKSUM_GEN_TCP))
        complete_tcp(p);
    return send_fragments(netif, p, dest, LWIP_MAX(mtu, IP6_MIN_MTU_LENGTH));
}
