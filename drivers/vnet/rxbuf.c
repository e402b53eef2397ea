/*
 * Receive buffers: how many are posted, how large and when, and how they come
 * back from the user. Virtio 1.3, section 5.1.6.3.
 *
 * Memory is cut from blocks (rxfrag.c) and posted in chains (rxpost.c). When a
 * frame arrives, its fragments pass to packet objects (rxobj.c).
 */
#include "priv.h"

#include <string.h>

#define RX_MAX_MTU_BYTES (65535u + VNET_ETH_HLEN + VLAN_HLEN)

int rxbuf_init(struct vnet *v)
{
    rxobj_init(&v->rx, 2 * v->config.rx_bufs_max);
    return rxfrag_init(&v->rx.frag,
                       (uint64_t)v->config.rx_bufs_max * RXFRAG_PAGE);
}

void rxbuf_destroy(struct vnet_rxq *rx)
{
    rxobj_destroy(rx);
    if (rx->frag.cur)
        rxfrag_put(&rx->frag, rx->frag.cur);
    rxfrag_destroy(&rx->frag);
}

static uint8_t choose_mode(const struct vnet *v)
{
    if (virtio_has(v->dev, VIRTIO_NET_F_MRG_RXBUF))
        return VNET_RX_MERGEABLE;
    return virtio_has(v->dev, VIRTIO_NET_F_GUEST_TSO4) ||
                   virtio_has(v->dev, VIRTIO_NET_F_GUEST_TSO6)
               ? VNET_RX_BIG
               : VNET_RX_SMALL;
}

/* So many chains missing are worth a refill. */
static uint16_t batch_of(uint32_t chains)
{
    uint32_t n = chains / 8;

    return (uint16_t)(n < 1 ? 1 : n > 32 ? 32 : n);
}

/* So large must a buffer be that the longest frame fits into the ring, when
 * as many are missing as may be. */
static uint32_t least_for_ring(const struct vnet *v)
{
    bool large = virtio_has(v->dev, VIRTIO_NET_F_GUEST_TSO4) ||
                 virtio_has(v->dev, VIRTIO_NET_F_GUEST_TSO6);
    uint32_t frame = large ? RX_MAX_MTU_BYTES
                           : v->info.mtu + VNET_ETH_HLEN + VLAN_HLEN;

    uint32_t chains = v->info.rx_ring - batch_of(v->info.rx_ring) + 1u;

    frame += RX_HDR_BYTES + chains - 1;
    return (frame / chains + RXSIZE_ALIGN - 1) & ~(RXSIZE_ALIGN - 1);
}

uint32_t rxbuf_size(const struct vnet *v)
{
    const struct vnet_rxq *rx = &v->rx;
    uint32_t size = rx->least;

    if (rx->mode != VNET_RX_MERGEABLE)
        return size;
    switch (v->config.rx_size) {
    case VNET_RXBUF_AUTO:
        return rxsize_auto(&rx->size, RX_HDR_BYTES, size, RXFRAG_PAGE);
    case VNET_RXBUF_MTU:
        return size;
    case VNET_RXBUF_PAGE:
        size = RXFRAG_PAGE;
        break;
    case VNET_RXBUF_BYTES:
        size = v->config.rx_bytes;
        break;
    case VNET_RXBUF_MTU_FAULTY:
        size = rxsize_mtu_faulty(v->info.mtu);
        break;
    }
    return size > least_for_ring(v) ? size : least_for_ring(v);
}

/* How many chains: a ring full, but no more than half of the memory. */
static uint16_t posts_wanted(const struct vnet *v, uint32_t bytes)
{
    uint64_t fit = v->rx.frag.bytes_max / 2 / bytes;
    uint32_t ring = v->info.rx_ring;

    if (fit < 1)
        fit = 1;
    return (uint16_t)(fit < ring ? fit : ring);
}

/* A frame has no more entries than the ring, nor than the longest takes. */
static uint16_t entries_max(const struct vnet *v)
{
    uint32_t most = RX_BIG_BYTES / v->rx.shortest + 2;

    return (uint16_t)(most < v->info.rx_ring ? most : v->info.rx_ring);
}

int rxbuf_start(struct vnet *v)
{
    struct vnet_rxq *rx = &v->rx;
    uint32_t ring = least_for_ring(v);

    rx->mode = v->info.rx_mode = choose_mode(v);
    rx->least = rxsize_mtu(RX_HDR_BYTES, v->info.mtu);
    if (rx->mode == VNET_RX_MERGEABLE && rx->least < ring)
        rx->least = ring;
    if (rx->mode == VNET_RX_SMALL && rx->least < RX_SMALL_BYTES)
        rx->least = RX_SMALL_BYTES;
    rx->shortest = rxbuf_size(v);
    if (ring < RXFRAG_PAGE)
        ring = RXFRAG_PAGE; /* will do, where there are no large blocks */
    if (rx->mode == VNET_RX_MERGEABLE && rx->shortest > ring)
        rx->shortest = ring;
    rx->entries_max = entries_max(v);
    /* The faulty size is to be measured, not mended by accident. */
    rx->frag.tails = v->config.rx_size != VNET_RXBUF_MTU_FAULTY;
    rxfrag_largest(&rx->frag, rxbuf_size(v));
    rx->post_segs = rx->mode == VNET_RX_BIG ? RX_FRAME_BUFS_MAX : 1;
    rx->posts_max =
        posts_wanted(v, rx->mode == VNET_RX_BIG
                            ? RX_BIG_BYTES
                            : rxfrag_cost(&rx->frag, rxbuf_size(v)));
    rx->batch = batch_of(rx->posts_max);
    return rxpost_init(v);
}

/* ---- the ring ---- */

static uint16_t missing(const struct vnet_rxq *rx)
{
    return (uint16_t)(rx->posts_max - virtq_in_flight(&rx->vq));
}

static void note_readings(struct vnet *v)
{
    const struct vnet_rxq *rx = &v->rx;

    v->stats.now_rx_frame_avg = rxsize_avg(&rx->size);
    v->stats.now_rx_buf_size = rxbuf_size(v);
    v->stats.now_rx_memory = rx->frag.bytes;
    v->stats.now_rx_memory_free = rx->frag.bytes_free;
}

/*
 * So much memory is kept for the ring. What the user holds may pin every
 * block that was posted so far; what keeps a receiver alive then is the memory
 * that was not posted yet, in whole blocks.
 */
static uint64_t reserve_for(const struct vnet *v, uint32_t size)
{
    const struct vnet_rxq *rx = &v->rx;
    uint32_t chain = rx->mode == VNET_RX_BIG ? RX_BIG_BYTES : size;
    uint64_t bytes = (uint64_t)rx->posts_max * chain / 2 + rx->frag.large;
    uint64_t most = rx->frag.bytes_max / 4;

    return bytes < most ? bytes : most;
}

/*
 * Fills the ring, once enough chains are missing to be worth it. Memory that
 * runs out is counted and tried again: at each poll, and by timer when
 * nothing else happens (vnet_arm).
 */
void rxbuf_refill(struct vnet *v)
{
    struct vnet_rxq *rx = &v->rx;
    uint32_t size;
    int err;

    note_readings(v);
    if (missing(rx) < rx->batch && !rx->starved)
        return;
    size = rxbuf_size(v);
    err = rxpost_fill(v, size, missing(rx));
    v->stats.rx_refills++;
    rx->starved = err == V_NOMEM;
    rx->returned = false;
    rx->reserve = reserve_for(v, size);
    if (rxfrag_left(&rx->frag) < rx->reserve)
        rxfrag_probe(&rx->frag);
    if (rx->starved)
        v->stats.rx_refill_nomem++;
    note_readings(v);
}

/* Chains are missing, and there is memory for them. */
bool rxbuf_refillable(const struct vnet *v)
{
    const struct vnet_rxq *rx = &v->rx;

    return missing(rx) >= rx->batch && virtq_room(&rx->vq) >= rx->post_segs &&
           (!rx->starved || rx->returned);
}

void rxbuf_stop(struct vnet_rxq *rx)
{
    rxpost_destroy(rx);
    rx->starved = false;
}

/* ---- the user's buffers ---- */

void rxbuf_free(struct vnet_rxq *rx, struct rxbuf *b)
{
    if (b->block)
        rxfrag_put(&rx->frag, b->block);
    rxobj_put(rx, b);
    rx->returned = true;
}

void vnet_buf_return(struct vnet *v, struct vnet_buf *buf)
{
    struct rxbuf *b = (struct rxbuf *)(void *)buf; /* pub is the first */

    if (!b->held)
        plat_panic("receive buffer %p returned twice", (void *)buf);
    v->rx.bufs_held--;
    rxbuf_free(&v->rx, b);
}

uint32_t vnet_bufs_held(const struct vnet *v)
{
    return v->rx.bufs_held;
}

bool vnet_bufs_low(const struct vnet *v)
{
    const struct vnet_rxq *rx = &v->rx;

    return rx->starved || rxfrag_left(&rx->frag) < rx->reserve ||
           rxobj_low(rx);
}
