/*
 * Receive: a frame of the driver becomes a chain of pbufs, without a copy.
 *
 * Each pbuf lives in the bytes that its receive buffer reserves for us, and
 * its free hook gives the buffer back. The type is PBUF_REF: lwIP then copies
 * what it wants to keep beside the ring (a packet waiting for ARP) and does
 * not turn a receive buffer into an answer.
 */
#include <stddef.h>

#include "netif_vnet.h"

struct rx_pbuf {
    struct pbuf_custom custom;
    struct vnet *vnet;
};

_Static_assert(sizeof(struct rx_pbuf) <= VNET_CLIENT_BYTES,
               "a pbuf fits into the buffer's client bytes");
_Static_assert(_Alignof(struct rx_pbuf) <= 16, "and is aligned there");
_Static_assert(offsetof(struct rx_pbuf, custom.pbuf) == 0,
               "a pbuf is found from its buffer and back");

static void rx_pbuf_free(struct pbuf *p)
{
    struct rx_pbuf *rp = (struct rx_pbuf *)p;
    struct vnet_buf *buf = (struct vnet_buf *)((uint8_t *)rp -
                                               offsetof(struct vnet_buf,
                                                        client));

    vnet_buf_return(rp->vnet, buf);
}

static struct pbuf *rx_pbuf_init(struct vnet *v, struct vnet_buf *buf)
{
    struct rx_pbuf *rp = (struct rx_pbuf *)buf->client;
    uint16_t len = (uint16_t)buf->len;

    rp->vnet = v;
    rp->custom.custom_free_function = rx_pbuf_free;
    return pbuf_alloced_custom(PBUF_RAW, len, PBUF_REF, &rp->custom,
                               buf->data, len);
}

void pbuf_rx_discard(struct vnet *v, const struct vnet_frame *frame)
{
    struct vnet_buf *next;

    for (struct vnet_buf *b = frame->buf; b; b = next) {
        next = b->next;
        vnet_buf_return(v, b);
    }
}

struct pbuf *pbuf_rx(struct vnet *v, const struct vnet_frame *frame)
{
    struct pbuf *head = NULL;
    struct pbuf **tail = &head;
    uint32_t left = frame->len;

    if (frame->len > UINT16_MAX) {
        netif_vnet_stats.rx_long++;
        pbuf_rx_discard(v, frame);
        return NULL;
    }
    for (struct vnet_buf *b = frame->buf; b; b = b->next) {
        struct pbuf *p = rx_pbuf_init(v, b);

        p->tot_len = (uint16_t)left;
        left -= b->len;
        *tail = p;
        tail = &p->next;
    }
    return head;
}
