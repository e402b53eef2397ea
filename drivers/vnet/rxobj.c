/*
 * Packet objects of one receive queue: what the user gets for a frame, and
 * where small frames are copied to. A slab of pages, taken when needed and
 * kept until the device is closed; never a general heap.
 */
#include "priv.h"

#define OBJ_BYTES 256u

/* The first object's place in a page holds the link to the next page. */
void rxobj_grow(struct vnet_rxq *rx)
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
    return rx->objs_spare < RXOBJ_SPARE;
}

void rxobj_init(struct vnet_rxq *rx, uint32_t max)
{
    rx->objs_max = max;
    rxobj_grow(rx);
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
