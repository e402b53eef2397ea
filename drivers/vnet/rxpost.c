/*
 * Memory that the device has: chains of the receive ring, what is in them, and
 * how they get there. Virtio 1.3, section 5.1.6.3.
 *
 * A chain holds one fragment, or in BIG mode a small one and as many blocks
 * as 64 KiB take. The virtio header stands at the start of the first, in
 * front of the frame.
 */
#include "priv.h"

int rxpost_init(struct vnet *v)
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
void rxpost_free(struct vnet_rxq *rx, struct rxpost *p)
{
    empty(rx, p);
    rxpost_spent(rx, p);
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

/* What the first fragment does not make a whole chain of. */
static bool complete(struct vnet *v, struct rxpost *p)
{
    struct vnet_rxq *rx = &v->rx;

    if (rx->mode == VNET_RX_BIG && !add_blocks(rx, p))
        return false;
    if (v->config.rx_early && !p->early)
        p->early = rxobj_get(rx);
    return !v->config.rx_early || p->early;
}

static int add_many(struct vnet_rxq *rx, struct rxpost *p)
{
    struct virtq_seg seg[RX_FRAME_BUFS_MAX];

    for (unsigned i = 0; i < p->nseg; i++)
        seg[i] = (struct virtq_seg){.addr = p->seg[i].dma,
                                    .len = p->seg[i].len};
    return virtq_add(&rx->vq, seg, 0, p->nseg, p);
}

static inline int add_chain(struct vnet_rxq *rx, struct rxpost *p)
{
    return p->nseg == 1
               ? virtq_add_in(&rx->vq, p->seg[0].dma, p->seg[0].len, p)
               : add_many(rx, p);
}

/* V_OK, V_NOMEM, V_FULL when the ring has no room for the chain. */
static int post_one(struct vnet *v, uint32_t size)
{
    struct vnet_rxq *rx = &v->rx;
    struct rxpost *p = rx->posts_free;
    /* Only merging makes do with less than a whole frame. */
    uint32_t least = rx->mode == VNET_RX_MERGEABLE ? rx->shortest : size;
    int err = V_NOMEM;

    rx->posts_free = p->next;
    if (rxfrag_cut(&rx->frag, size, least, &p->seg[0])) {
        p->nseg += p->nseg == 0;
        if (complete(v, p))
            err = add_chain(rx, p);
    }
    if (err) {
        rxpost_free(rx, p);
        return err;
    }
    v->stats.rx_refill_bytes += rxpost_len(p);
    v->stats.rx_refill_bufs++;
    return V_OK;
}

/* Posts up to n chains of whatever kind. */
static int post_any(struct vnet *v, uint32_t size, unsigned n)
{
    int err = V_OK;

    while (n-- > 0 && err == V_OK)
        err = virtq_room(&v->rx.vq) >= v->rx.post_segs ? post_one(v, size)
                                                       : V_FULL;
    return err;
}

/*
 * The same for chains of one fragment, which the ring has room for. Here is
 * where every received byte's memory comes by, so that nothing is asked for
 * each chain that is known beforehand.
 */
static int post_fragments(struct vnet *v, uint32_t size, unsigned n)
{
    struct vnet_rxq *rx = &v->rx;
    uint32_t least = rx->mode == VNET_RX_MERGEABLE ? rx->shortest : size;
    uint64_t bytes = 0;
    unsigned left = n;

    for (; left > 0; left--) {
        struct rxpost *p = rx->posts_free;

        if (!rxfrag_cut(&rx->frag, size, least, &p->seg[0]))
            break;
        rx->posts_free = p->next;
        p->nseg = 1;
        if (virtq_add_in(&rx->vq, p->seg[0].dma, p->seg[0].len, p) != V_OK) {
            rxpost_free(rx, p); /* a broken ring */
            break;
        }
        bytes += p->seg[0].len;
    }
    v->stats.rx_refill_bytes += bytes;
    v->stats.rx_refill_bufs += n - left;
    return left == 0 || virtq_fault(&rx->vq) ? V_OK : V_NOMEM;
}

/* The chain was just got from the ring, so there is room for it. */
void rxpost_again(struct vnet_rxq *rx, struct rxpost *p)
{
    if (add_chain(rx, p) != V_OK)
        rxpost_free(rx, p);
}

int rxpost_fill(struct vnet *v, uint32_t size, unsigned n)
{
    return v->rx.post_segs == 1 && !v->config.rx_early
               ? post_fragments(v, size, n)
               : post_any(v, size, n);
}

void rxpost_destroy(struct vnet_rxq *rx)
{
    struct rxpost *p;

    while ((p = virtq_drain(&rx->vq)) != NULL)
        rxpost_free(rx, p);
    for (p = rx->posts_free; p; p = p->next)
        empty(rx, p);
    if (rx->posts)
        plat_dma_free(rx->posts, rx->posts_bytes);
    rx->posts = NULL;
    rx->posts_free = NULL;
}
