/*
 * Receive buffers: where they come from, and how they reach the ring.
 *
 * A buffer is FREE, POSTED or HELD. Pages are taken from the platform when
 * the free list is empty and kept until the device is closed; posted + held
 * + free is always the number made. The virtio header stands at the start of
 * a buffer, in front of the frame (5.1.6.3, 2.7.4: one descriptor).
 *
 * Every buffer is one page for now; how large it ought to be is a policy of
 * its own, which belongs into rxsize.c and is asked by rxbuf_post.
 */
#include "priv.h"

#include <string.h>

int rxbuf_init(struct vnet_rxq *rx, uint32_t max)
{
    rx->bufs = plat_dma_alloc(max * sizeof(struct rxbuf), CACHE_LINE);
    if (!rx->bufs)
        return V_NOMEM;
    rx->bufs_max = max;
    return V_OK;
}

void rxbuf_free_all(struct vnet_rxq *rx)
{
    if (!rx->bufs)
        return;
    for (uint32_t i = 0; i < rx->bufs_made; i++)
        plat_dma_free(rx->bufs[i].page, RX_BUF_BYTES);
    plat_dma_free(rx->bufs, rx->bufs_max * sizeof(struct rxbuf));
    memset(rx, 0, sizeof(*rx));
}

void rxbuf_put(struct vnet_rxq *rx, struct rxbuf *b)
{
    b->state = RXBUF_FREE;
    b->next = rx->free;
    rx->free = b;
    rx->bufs_free++;
}

static struct rxbuf *rxbuf_make(struct vnet_rxq *rx)
{
    struct rxbuf *b;
    uint8_t *page;

    if (rx->bufs_made == rx->bufs_max)
        return NULL;
    page = plat_dma_alloc(RX_BUF_BYTES, RX_BUF_BYTES);
    if (!page)
        return NULL;
    b = &rx->bufs[rx->bufs_made];
    b->pub.id = rx->bufs_made++;
    b->page = page;
    b->dma = plat_dma_addr(page);
    return b;
}

static struct rxbuf *rxbuf_get(struct vnet_rxq *rx)
{
    struct rxbuf *b = rx->free;

    if (!b)
        return rxbuf_make(rx);
    rx->free = b->next;
    rx->bufs_free--;
    return b;
}

/* V_OK, or V_NOMEM when there is no buffer to be had. */
static int rxbuf_post(struct vnet_rxq *rx)
{
    struct rxbuf *b = rxbuf_get(rx);
    struct virtq_seg seg;
    int err;

    if (!b)
        return V_NOMEM;
    seg.addr = b->dma;
    seg.len = RX_BUF_BYTES;
    err = virtq_add(&rx->vq, &seg, 0, 1, b);
    if (err)
        rxbuf_put(rx, b);
    else
        b->state = RXBUF_POSTED;
    return err;
}

/*
 * Fills the ring, once enough descriptors are free to be worth it. Memory
 * that runs out is counted and tried again: at each poll, and by timer when
 * nothing else happens (vnet_arm).
 */
void rxbuf_refill(struct vnet *v)
{
    struct vnet_rxq *rx = &v->rx;
    uint16_t before = virtq_in_flight(&rx->vq);
    int err = V_OK;

    if (virtq_room(&rx->vq) < rx->batch && !rx->starved)
        return;
    while (virtq_room(&rx->vq) > 0 && err == V_OK)
        err = rxbuf_post(rx);
    v->stats.rx_refill_bufs += (uint16_t)(virtq_in_flight(&rx->vq) - before);
    rx->starved = err == V_NOMEM;
    if (rx->starved)
        v->stats.rx_refill_nomem++;
}

void rxbuf_take_back(struct vnet_rxq *rx)
{
    struct rxbuf *b;

    while ((b = virtq_drain(&rx->vq)) != NULL)
        rxbuf_put(rx, b);
}

void vnet_buf_return(struct vnet *v, struct vnet_buf *buf)
{
    struct rxbuf *b = (struct rxbuf *)(void *)buf; /* pub is the first */

    if (b->state != RXBUF_HELD)
        plat_panic("receive buffer %u returned twice", b->pub.id);
    v->rx.bufs_held--;
    rxbuf_put(&v->rx, b);
}

uint32_t vnet_bufs_held(const struct vnet *v)
{
    return v->rx.bufs_held;
}

bool vnet_bufs_low(const struct vnet *v)
{
    const struct vnet_rxq *rx = &v->rx;

    return rx->starved ||
           (rx->bufs_max - rx->bufs_made + rx->bufs_free <
            (uint32_t)virtq_size(&rx->vq) / 4);
}
