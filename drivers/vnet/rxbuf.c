/*
 * Receive buffers: what is posted, how large, and how it comes back.
 * Virtio 1.3, section 5.1.6.3.
 *
 * Memory is cut from blocks (rxfrag.c); a chain of the ring holds one
 * fragment, or in BIG mode a small one and as many blocks as 64 KiB take.
 * The virtio header stands at the start of the first, in front of the frame.
 * When a frame arrives, its fragments pass to packet objects (rxobj.c).
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

static int make_posts(struct vnet *v)
{
    struct vnet_rxq *rx = &v->rx;
    uint32_t each = sizeof(struct rxpost) +
                    rx->post_segs * sizeof(struct rxseg);

    rx->posts_bytes = rx->posts_max * each;
    rx->posts = plat_dma_alloc(rx->posts_bytes, CACHE_LINE);
    if (!rx->posts)
        return V_NOMEM;
    for (unsigned i = 0; i < rx->posts_max; i++) {
        struct rxpost *p = (struct rxpost *)(void *)(rx->posts + i * each);

        p->next = rx->posts_free;
        rx->posts_free = p;
    }
    return V_OK;
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
    return make_posts(v);
}

/* ---- a chain ---- */

static inline void put_post(struct vnet_rxq *rx, struct rxpost *p)
{
    p->next = rx->posts_free;
    rx->posts_free = p;
}

static void empty(struct vnet_rxq *rx, struct rxpost *p)
{
    for (unsigned i = 0; i < p->nseg; i++)
        if (p->seg[i].block)
            rxfrag_put(&rx->frag, p->seg[i].block);
    if (p->early)
        rxobj_put(rx, p->early);
    p->early = NULL;
    p->nseg = 0;
}

/* Frees the memory of a chain and the chain. */
void rxbuf_unpost(struct vnet_rxq *rx, struct rxpost *p)
{
    empty(rx, p);
    put_post(rx, p);
}

/* The first fragment has found a user. What else the chain has, the blocks of
 * BIG, stays with it for the next time. */
void rxbuf_spent(struct vnet_rxq *rx, struct rxpost *p)
{
    p->seg[0].block = NULL;
    put_post(rx, p);
}

/* BIG: blocks behind the first fragment, up to the longest frame. */
static bool add_blocks(struct vnet_rxq *rx, struct rxpost *p)
{
    uint32_t len = 0;

    for (unsigned i = 0; i < p->nseg; i++)
        len += p->seg[i].len;
    while (len < RX_BIG_BYTES) {
        if (p->nseg == rx->post_segs ||
            !rxfrag_whole(&rx->frag, &p->seg[p->nseg]))
            return false;
        len += p->seg[p->nseg++].len;
    }
    return true;
}

static inline bool fill(struct vnet_rxq *rx, struct rxpost *p, uint32_t size,
                        bool early)
{
    /* Only merging makes do with less than a whole frame. */
    uint32_t least = rx->mode == VNET_RX_MERGEABLE ? rx->shortest : size;

    if (!rxfrag_cut(&rx->frag, size, least, &p->seg[0]))
        return false;
    if (p->nseg == 0)
        p->nseg = 1;
    if (rx->mode == VNET_RX_BIG && !add_blocks(rx, p))
        return false;
    if (early && !p->early)
        p->early = rxobj_get(rx);
    return !early || p->early;
}

static inline struct virtq_seg dma_of(const struct rxseg *s)
{
    return (struct virtq_seg){
        .addr = s->block->dma + (uint64_t)(s->mem - s->block->mem),
        .len = s->len,
    };
}

static int add_many(struct vnet_rxq *rx, struct rxpost *p)
{
    struct virtq_seg seg[RX_FRAME_BUFS_MAX];

    for (unsigned i = 0; i < p->nseg; i++)
        seg[i] = dma_of(&p->seg[i]);
    return virtq_add(&rx->vq, seg, 0, p->nseg, p);
}

static inline int add_chain(struct vnet_rxq *rx, struct rxpost *p)
{
    struct virtq_seg seg;

    if (p->nseg > 1)
        return add_many(rx, p);
    seg = dma_of(&p->seg[0]);
    return virtq_add(&rx->vq, &seg, 0, 1, p);
}

/* V_OK, V_NOMEM, V_FULL when the ring has no room for the chain. */
static inline int post_one(struct vnet *v, uint32_t size)
{
    struct vnet_rxq *rx = &v->rx;
    struct rxpost *p = rx->posts_free;
    int err = V_NOMEM;

    rx->posts_free = p->next;
    if (fill(rx, p, size, v->config.rx_early))
        err = add_chain(rx, p);
    if (err) {
        rxbuf_unpost(rx, p);
        return err;
    }
    v->stats.rx_refill_bytes += p->seg[0].len;
    for (unsigned i = 1; i < p->nseg; i++)
        v->stats.rx_refill_bytes += p->seg[i].len;
    v->stats.rx_refill_bufs++;
    return V_OK;
}

/* The chain was just got from the ring, so there is room for it. */
void rxbuf_repost(struct vnet_rxq *rx, struct rxpost *p)
{
    if (add_chain(rx, p) != V_OK)
        rxbuf_unpost(rx, p);
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
    int err = V_OK;

    note_readings(v);
    if (missing(rx) < rx->batch && !rx->starved)
        return;
    size = rxbuf_size(v);
    for (unsigned n = missing(rx); n > 0 && err == V_OK; n--)
        err = rx->post_segs == 1 || virtq_room(&rx->vq) >= rx->post_segs
                  ? post_one(v, size)
                  : V_FULL;
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
    struct rxpost *p;

    while ((p = virtq_drain(&rx->vq)) != NULL)
        rxbuf_unpost(rx, p);
    for (p = rx->posts_free; p; p = p->next)
        empty(rx, p);
    if (rx->posts)
        plat_dma_free(rx->posts, rx->posts_bytes);
    rx->posts = NULL;
    rx->posts_free = NULL;
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
