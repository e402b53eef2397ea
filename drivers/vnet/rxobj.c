/*
 * Packet objects of one receive queue: what the user gets for a frame, and
 * where small frames are copied to. A slab of pages, taken when needed and
 * kept until the device is closed; never a general heap.
 */
#include "priv.h"

#define OBJ_BYTES 256u

/* The first object's place in a page holds the link to the next page. */
static bool grow(struct vnet_rxq *rx)
{
    uint8_t *page;

    if (rx->objs_made >= rx->objs_max)
        return false;
    page = plat_dma_alloc(RXFRAG_PAGE, RXFRAG_PAGE);
    if (!page)
        return false;
    *(void **)(void *)page = rx->objs_pages;
    rx->objs_pages = page;
    for (unsigned at = OBJ_BYTES; at < RXFRAG_PAGE; at += OBJ_BYTES) {
        rx->objs_made++;
        rxobj_put(rx, (struct rxbuf *)(void *)(page + at));
    }
    return true;
}

struct rxbuf *rxobj_get(struct vnet_rxq *rx)
{
    struct rxbuf *b;

    if (!rx->objs_free && !grow(rx))
        return NULL;
    b = rx->objs_free;
    rx->objs_free = (struct rxbuf *)(void *)b->pub.next;
    return b;
}

void rxobj_put(struct vnet_rxq *rx, struct rxbuf *b)
{
    b->held = false;
    b->pub.next = (struct vnet_buf *)(void *)rx->objs_free; /* its first */
    rx->objs_free = b;
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
}
