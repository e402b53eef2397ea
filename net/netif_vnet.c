/*
 * lwIP's interface over the virtio network driver: what lwIP asks of an
 * Ethernet interface, in terms of vnet.h.
 *
 * Checksums. TCP's is left to the device when it offers that; UDP's is made
 * in software, since a datagram may be cut into fragments below that point.
 * On receive, lwIP is told for each frame whether to verify.
 *
 * Received segments go by way of gro.c, which may hold them until the turn
 * ends: netif_vnet_flush().
 */
#include "netif_vnet.h"

#include <string.h>

#include "ip6_out.h"
#include "lwip/etharp.h"
#include "lwip/prot/ethernet.h"
#include "lwip/prot/ip.h"
#include "lwip/tcp.h"
#include "lwip_hooks.h"

enum {
    IP6_MTU_LEAST = 1280, /* RFC 8200, 5 */
    MTU_MOST = 65500,     /* a frame's length must fit 16 bits */
    CHECK_L4 = NETIF_CHECKSUM_CHECK_TCP | NETIF_CHECKSUM_CHECK_UDP,
};

struct netif_vnet_stats netif_vnet_stats;
bool netif_vnet_gro = true;
bool netif_vnet_gso = true;
uint8_t netif_vnet_static;

/* ---- receive ---------------------------------------------------------- */

static uint16_t eth_type(const struct pbuf *p)
{
    const uint8_t *b = p->payload;

    return (uint16_t)(b[12] << 8 | b[13]);
}

/*
 * Part of a datagram? What a device says of its checksum then holds for the
 * piece at best; the whole is verified when it has been put together.
 */
static bool is_fragment(const struct pbuf *p)
{
    const uint8_t *ip = (const uint8_t *)p->payload + SIZEOF_ETH_HDR;

    switch (eth_type(p)) {
    case ETHTYPE_IP:
        return (ip[6] & 0x3f) | ip[7];
    case ETHTYPE_IPV6:
        return ip[6] == 44;
    default:
        return true;
    }
}

/* An IPv6 packet that may change what lwIP knows of the network. */
static bool is_control6(const struct pbuf *p)
{
    const uint8_t *ip = (const uint8_t *)p->payload + SIZEOF_ETH_HDR;

    return eth_type(p) == ETHTYPE_IPV6 && ip[6] != IP_PROTO_TCP &&
           ip[6] != IP_PROTO_UDP;
}

/* What lwIP reads of a frame before it looks at the length. */
static unsigned least_len(const struct pbuf *p)
{
    switch (eth_type(p)) {
    case ETHTYPE_IP:
        return SIZEOF_ETH_HDR + 20;
    case ETHTYPE_IPV6:
        return SIZEOF_ETH_HDR + 40;
    case ETHTYPE_ARP:
        return SIZEOF_ETH_HDR + 28;
    default:
        return SIZEOF_ETH_HDR;
    }
}

static bool acceptable(const struct netif *netif, const struct pbuf *p)
{
    const uint8_t *dest = p->payload;

    if (!(dest[0] & 1) && memcmp(dest, netif->hwaddr, 6) != 0) {
        netif_vnet_stats.rx_foreign++;
        return false;
    }
    if (p->len < least_len(p)) {
        netif_vnet_stats.rx_short++;
        return false;
    }
    return true;
}

/*
 * The frame in memory of the stack's own. A few bytes more than it is long:
 * lwIP looks at ports and options that may not be there.
 */
static struct pbuf *copy_frame(const struct pbuf *p)
{
    enum { SLACK = 16 };
    struct pbuf *q;

    if (p->tot_len > UINT16_MAX - SLACK)
        return NULL;
    q = pbuf_alloc(PBUF_RAW, (u16_t)(p->tot_len + SLACK), PBUF_RAM);
    if (!q)
        return NULL;
    pbuf_realloc(q, p->tot_len);
    pbuf_copy(q, p);
    return q;
}

/*
 * The driver is short of buffers, because connections keep data that nobody
 * reads, or data behind a gap. The latter is dropped (the peer still has it),
 * and the frame is copied, so that nobody can keep its buffers: without memory
 * for that, what is longer than an acknowledgement or an ARP is dropped too.
 */
static struct pbuf *spare_buffers(struct pbuf *p)
{
    enum { SHORT_FRAME = 128 };
    struct pbuf *copy;

    netif_vnet_stats.rx_bufs_low++;
    pbuf_free_ooseq();
    copy = copy_frame(p);
    if (!copy && p->tot_len <= SHORT_FRAME)
        return p;
    if (!copy)
        netif_vnet_stats.rx_nomem++;
    pbuf_free(p);
    return copy;
}

/* To lwIP. verified: what the frame says about TCP or UDP is true, and lwIP
 * need not look. */
static void deliver(void *arg, struct pbuf *p, bool verified)
{
    struct netif_vnet *n = arg;
    struct netif *netif = &n->netif;
    bool control6 = is_control6(p);

    if (verified && !is_fragment(p))
        netif->chksum_flags &= (u16_t)~CHECK_L4;
    else
        netif->chksum_flags |= CHECK_L4;
    if (netif->input(p, netif) != ERR_OK) {
        netif_vnet_stats.rx_refused++;
        pbuf_free(p);
    }
    if (control6)
        ip6_out_check_path_mtu();
}

static void rx_frame(void *arg, const struct vnet_frame *frame)
{
    struct netif_vnet *n = arg;
    struct netif *netif = &n->netif;
    struct pbuf *p = pbuf_rx(n->vnet, frame);
    bool verified = frame->csum != VNET_CSUM_UNKNOWN;

    if (!p)
        return;
    if (!acceptable(netif, p)) {
        pbuf_free(p);
        return;
    }
    if (vnet_bufs_low(n->vnet))
        p = spare_buffers(p);
    if (!p)
        return;
    if (frame->gso_type)
        p->flags |= PBUF_FLAG_MERGED;
    if (netif_vnet_gro)
        gro_input(&n->gro, p, verified, frame->gso_type ? frame->gso_size : 0);
    else
        deliver(n, p, verified);
}

void netif_vnet_flush(struct netif_vnet *n)
{
    gro_flush(&n->gro);
}

/* ---- transmit --------------------------------------------------------- */

static void use_device_csum(struct netif_vnet *n)
{
    if (vnet_info(n->vnet)->tx_csum && !n->soft_csum)
        n->netif.chksum_flags &= (u16_t)~NETIF_CHECKSUM_GEN_TCP;
    else
        n->netif.chksum_flags |= NETIF_CHECKSUM_GEN_TCP;
}

/*
 * A TCP segment was cut into fragments (its path turned out to be narrower
 * than its connection knew), so no checksum can be left to the device. From
 * now on lwIP makes them; the retransmission of what is dropped here is whole.
 */
static void leave_device_csum(struct netif_vnet *n)
{
    n->soft_csum = true;
    use_device_csum(n);
}

/*
 * Once a send has been put off, so is every other one of some length until
 * the stack has gone round (netstack_step): else who has just got its ACKs
 * takes each place that becomes free, and who waits waits for ever. Short
 * frames (acknowledgements, ARP) need not wait for bulk.
 */
static err_t link_output(struct netif *netif, struct pbuf *p)
{
    enum { SHORT_FRAME = 128 };
    struct netif_vnet *n = netif->state;
    bool csum = !(netif->chksum_flags & NETIF_CHECKSUM_GEN_TCP);
    err_t err;

    if (n->tx_retry && p->tot_len > SHORT_FRAME) {
        netif_vnet_stats.tx_queued++;
        return ERR_MEM;
    }
    err = pbuf_tx(n->vnet, p, csum);
    if (err == ERR_VAL) {
        leave_device_csum(n);
        return ERR_OK;
    }
    if (err != ERR_OK)
        n->tx_retry = true;
    return err;
}

/* ---- link and life ---------------------------------------------------- */

/* True when the MAC address is a new one. */
static bool take_settings(struct netif_vnet *n)
{
    const struct vnet_info *info = vnet_info(n->vnet);
    struct netif *netif = &n->netif;
    bool new_mac = memcmp(netif->hwaddr, info->mac, sizeof(info->mac)) != 0;

    netif->mtu = (u16_t)LWIP_MIN(info->mtu, MTU_MOST);
    netif->mtu6 = netif->mtu;
    memcpy(netif->hwaddr, info->mac, sizeof(info->mac));
    use_device_csum(n);
    return new_mac;
}

static void make_linklocal(struct netif *netif)
{
    if (netif->mtu >= IP6_MTU_LEAST)
        netif_create_ip6_linklocal_address(netif, 1);
}

/*
 * The link changed, or the device was rebuilt. Going down and up in either
 * case makes lwIP announce its addresses and ask DHCP again.
 */
static void link_changed(void *arg, bool up)
{
    struct netif_vnet *n = arg;

    netif_set_link_down(&n->netif);
    if (take_settings(n))
        make_linklocal(&n->netif);
    if (up)
        netif_set_link_up(&n->netif);
    n->tx_retry = true;
}

static err_t init_netif(struct netif *netif)
{
    netif->name[0] = 'e';
    netif->name[1] = 'n';
    netif->hostname = "vireo";
    netif->hwaddr_len = 6;
    netif->output = etharp_output;
    netif->output_ip6 = ip6_out;
    netif->linkoutput = link_output;
    netif->flags = NETIF_FLAG_BROADCAST | NETIF_FLAG_ETHARP |
                   NETIF_FLAG_ETHERNET | NETIF_FLAG_MLD6;
    take_settings(netif->state);
    return ERR_OK;
}

static const struct vnet_client client = {
    .rx = rx_frame,
    .tx_done = pbuf_tx_done,
    .link = link_changed,
};

int netif_vnet_add(struct netif_vnet *n, struct vnet *v)
{
    memset(n, 0, sizeof(*n));
    n->vnet = v;
    n->gro.deliver = deliver;
    n->gro.arg = n;
    if (!netif_add_noaddr(&n->netif, n, init_netif, netif_input)) {
        n->vnet = NULL;
        return V_NOMEM;
    }
    make_linklocal(&n->netif); /* needs the interface's final number */
    netif_set_up(&n->netif);
    if (vnet_info(v)->link)
        netif_set_link_up(&n->netif);
    vnet_attach(v, &client, n);
    return V_OK;
}

/* After the interface is gone: arg is the driver, nothing else is needed. */
static void drain_frame(void *arg, const struct vnet_frame *frame)
{
    pbuf_rx_discard(arg, frame);
}

static void drain_link(void *arg, bool up)
{
    (void)arg;
    (void)up;
}

static const struct vnet_client drain = {
    .rx = drain_frame,
    .tx_done = pbuf_tx_done,
    .link = drain_link,
};

void netif_vnet_remove(struct netif_vnet *n)
{
    gro_drop(&n->gro);
    netif_remove(&n->netif);
    vnet_attach(n->vnet, &drain, n->vnet);
    n->vnet = NULL;
}
