/*
 * Receive: used entries become frames. Virtio 1.3, section 5.1.6.4.
 *
 * Nothing that the device wrote is believed: the length is checked by the
 * ring, the header is copied out once and then judged, the number of buffers
 * is bounded. A bad frame drops the buffers that are its own, is counted by
 * reason, and the next frame is taken.
 */
#include "priv.h"

#include <string.h>

/* A frame whose rest does not come for this long means a broken device. */
#define PARTIAL_MS 1000u

static void drop_chain(struct vnet_rxq *rx, struct rxbuf *b)
{
    while (b) {
        struct rxbuf *next = (struct rxbuf *)(void *)b->pub.next;

        rxbuf_put(rx, b);
        b = next;
    }
}

void rx_drop_partial(struct vnet_rxq *rx)
{
    if (rx->part.need)
        drop_chain(rx, rx->part.first);
    rx->part.need = 0;
}

static bool gso_negotiated(const struct vnet *v, uint8_t type)
{
    switch (type) {
    case VIRTIO_NET_HDR_GSO_TCPV4:
        return virtio_has(v->dev, VIRTIO_NET_F_GUEST_TSO4);
    case VIRTIO_NET_HDR_GSO_TCPV6:
        return virtio_has(v->dev, VIRTIO_NET_F_GUEST_TSO6);
    default:
        return false;
    }
}

/* False: the frame claims a segmentation that cannot be. */
static bool read_gso(const struct vnet *v, const struct virtio_net_hdr *hdr,
                     struct vnet_frame *f)
{
    uint8_t type = hdr->gso_type & (uint8_t)~VIRTIO_NET_HDR_GSO_ECN;

    if (hdr->gso_type == VIRTIO_NET_HDR_GSO_NONE)
        return true;
    if (!gso_negotiated(v, type) || hdr->gso_size == 0)
        return false;
    f->gso_type = type;
    f->gso_size = hdr->gso_size;
    return true;
}

/* False: the checksum fields point outside the frame. Bits that are unknown
 * or not negotiated are ignored, and the stack verifies by itself. */
static bool read_csum(const struct vnet *v, const struct virtio_net_hdr *hdr,
                      struct vnet_frame *f)
{
    bool negotiated = virtio_has(v->dev, VIRTIO_NET_F_GUEST_CSUM);

    if (hdr->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) {
        if (!negotiated || hdr->csum_start < VNET_ETH_HLEN ||
            (uint32_t)hdr->csum_start + hdr->csum_offset + 2 > f->len)
            return false;
        f->csum = VNET_CSUM_PARTIAL;
        f->csum_start = hdr->csum_start;
        f->csum_offset = hdr->csum_offset;
    } else if ((hdr->flags & VIRTIO_NET_HDR_F_DATA_VALID) && negotiated) {
        f->csum = VNET_CSUM_VALID;
    }
    return true;
}

/* The counter for what is wrong with the frame, or NULL. */
static uint64_t *judge(struct vnet *v, const struct rx_partial *p,
                       struct vnet_frame *f)
{
    if (p->spoilt)
        return p->spoilt;
    if (p->first->pub.len < VNET_ETH_HLEN)
        return &v->stats.rx_drop_short;
    if (!read_gso(v, &p->hdr, f))
        return &v->stats.rx_drop_gso;
    if (!read_csum(v, &p->hdr, f))
        return &v->stats.rx_drop_csum;
    return NULL;
}

static void count(struct vnet_stats *s, const struct vnet_frame *f)
{
    s->rx_frames++;
    s->rx_bytes += f->len;
    s->rx_bufs += f->nbufs;
    s->rx_gso_frames += f->gso_type != 0;
    s->rx_csum_valid += f->csum == VNET_CSUM_VALID;
    s->rx_csum_partial += f->csum == VNET_CSUM_PARTIAL;
}

/* The frame is complete: hands it up, or drops it. True: handed up. */
static bool finish(struct vnet *v)
{
    struct vnet_rxq *rx = &v->rx;
    struct rx_partial *p = &rx->part;
    struct vnet_frame f = {
        .buf = &p->first->pub,
        .len = p->len,
        .nbufs = p->have,
        .csum = VNET_CSUM_UNKNOWN,
    };
    uint64_t *reason = judge(v, p, &f);

    p->need = 0;
    if (reason) {
        ++*reason;
        drop_chain(rx, p->first);
        return false;
    }
    for (struct vnet_buf *b = f.buf; b; b = b->next)
        ((struct rxbuf *)(void *)b)->state = RXBUF_HELD;
    rx->bufs_held += f.nbufs;
    count(&v->stats, &f);
    v->client->rx(v->client_arg, &f);
    return true;
}

/* How many buffers the frame of this header has; 0: nonsense. */
static uint16_t buffers_of(const struct vnet *v,
                           const struct virtio_net_hdr *hdr)
{
    if (!virtio_has(v->dev, VIRTIO_NET_F_MRG_RXBUF))
        return 1;
    if (hdr->num_buffers > RX_FRAME_BUFS_MAX ||
        hdr->num_buffers > virtq_size(&v->rx.vq))
        return 0;
    return hdr->num_buffers;
}

static void drop_one(struct vnet *v, struct rxbuf *b, uint64_t *reason)
{
    ++*reason;
    rxbuf_put(&v->rx, b);
}

/* 5.1.6.4.1: all buffers of a frame but the last are full. */
static void check_full(struct vnet *v, uint32_t len)
{
    struct rx_partial *p = &v->rx.part;

    if (len == 0 || (p->have < p->need && len != RX_BUF_BYTES))
        p->spoilt = &v->stats.rx_drop_incomplete;
}

/* The first buffer of a frame, of which `len` bytes were written. */
static void begin(struct vnet *v, struct rxbuf *b, uint32_t len)
{
    struct rx_partial *p = &v->rx.part;

    if (len < RX_HDR_BYTES) {
        drop_one(v, b, &v->stats.rx_drop_short);
        return;
    }
    memcpy(&p->hdr, b->page, sizeof(p->hdr));
    p->need = buffers_of(v, &p->hdr);
    if (p->need == 0) {
        drop_one(v, b, &v->stats.rx_drop_num_buffers);
        return;
    }
    b->pub.data = b->page + RX_HDR_BYTES;
    b->pub.len = len - RX_HDR_BYTES;
    p->first = p->last = b;
    p->len = b->pub.len;
    p->have = 1;
    p->spoilt = NULL;
    if (p->need > 1)
        p->since_ns = plat_now_ns();
    check_full(v, len);
}

/* One more buffer of the frame that has begun. */
static void go_on(struct vnet *v, struct rxbuf *b, uint32_t len)
{
    struct rx_partial *p = &v->rx.part;

    b->pub.data = b->page;
    b->pub.len = len;
    p->last->pub.next = &b->pub;
    p->last = b;
    p->len += len;
    p->have++;
    check_full(v, len);
}

/* One used buffer. True when it completed a frame that was handed up. */
static bool rx_one(struct vnet *v, struct rxbuf *b, uint32_t len)
{
    struct rx_partial *p = &v->rx.part;
    bool too_long = len == VIRTQ_LEN_BAD;

    b->pub.next = NULL;
    if (too_long)
        len = RX_BUF_BYTES;
    if (p->need == 0)
        begin(v, b, len);
    else
        go_on(v, b, len);
    if (too_long)
        p->spoilt = &v->stats.rx_drop_len_bad;
    return p->need != 0 && p->have == p->need && finish(v);
}

/* A frame that stays incomplete: the device has lost its way. */
static void check_partial(struct vnet *v)
{
    struct rx_partial *p = &v->rx.part;

    if (p->need == 0 ||
        plat_now_ns() - p->since_ns < PARTIAL_MS * NS_PER_MS)
        return;
    v->stats.rx_drop_incomplete++;
    rx_drop_partial(&v->rx);
    vnet_break(v, "a received frame was never finished");
}

unsigned rx_poll(struct vnet *v, unsigned budget)
{
    struct vnet_rxq *rx = &v->rx;
    unsigned frames = 0, bufs = 0;
    /* Dropped buffers cost time, too: the turn ends all the same. */
    unsigned bufs_max = budget * RX_FRAME_BUFS_MAX;

    while (frames < budget && bufs < bufs_max) {
        struct rxbuf *b;
        uint32_t len;

        b = virtq_get(&rx->vq, &len);
        if (!b)
            break;
        bufs++;
        frames += rx_one(v, b, len);
    }
    check_partial(v);
    return bufs >= bufs_max ? budget : frames;
}
