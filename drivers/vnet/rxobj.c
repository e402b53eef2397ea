/*
 * Packet objects of one receive queue: what the user gets for a frame, and
 * where small frames are copied to. A slab of pages, taken when needed and
 * kept until the device is closed; never a general heap.
 */
#include "priv.h"

#define OBJ_BYTES 256u

/* As many are kept back. When the user holds all others and there is no
 * memory, frames still reach the user, who learns from vnet_bufs_low. */
#define SPARE 8u

/* The first object's place in a page holds the link to the next page. */
static void grow(struct vnet_rxq *rx)
{
    uint8_t *page;

    if (rx->objs_made >= rx->objs_max)
        return;
    page = plat_dma_alloc(RXFRAG_PAGE, RXFRAG_PAGE);
    if (!page)
        return;
    *(void **)(void *)page = rx->objs_pages;
    rx->objs_pages = page;
    for (unsigned at = OBJ_BYTES; at < RXFRAG_PAGE; at += OBJ_BYTES) {
        rx->objs_made++;
        rxobj_put(rx, (struct rxbuf *)(void *)(page + at));
    }
}

bool rxobj_low(const struct vnet_rxq *rx)
{
    return rx->objs_spare < SPARE;
}

struct rxbuf *rxobj_get(struct vnet_rxq *rx)
{
    struct rxbuf *b;

    if (rx->objs_spare <= SPARE)
        grow(rx);
    b = rx->objs_free;
    if (!b)
        return NULL;
    rx->objs_spare--;
    rx->objs_free = (struct rxbuf *)(void *)b->pub.next;
    return b;
}

void rxobj_put(struct vnet_rxq *rx, struct rxbuf *b)
{
    b->held = false;
    b->pub.next = (struct vnet_buf *)(void *)rx->objs_free; /* its first */
    rx->objs_free = b;
    rx->objs_spare++;
}

void rxobj_init(struct vnet_rxq *rx, uint32_t max)
{
    rx->objs_max = max;
    grow(rx);
}

void rxobj_destroy(struct vnet_rxq *rx)
{
    while (rx->objs_pages) {
        void *page = rx->objs_pages;

        rx->objs_pages = *(void **)page;
        plat_dma_free(page, RXFRAG_PAGE);
    }
    rx->objs_free = NULL;
    rx->objs_made = 0;
    rx->objs_spare = 0;
}
