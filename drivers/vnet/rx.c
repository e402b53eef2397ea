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

#define RX_FRAME_MAX (65535u + VNET_ETH_HLEN + VLAN_HLEN)

static struct rxbuf *next_of(const struct rxbuf *b)
{
    return (struct rxbuf *)(void *)b->pub.next; /* pub is the first */
}

static void drop_chain(struct vnet_rxq *rx, struct rxbuf *b)
{
    while (b) {
        struct rxbuf *next = next_of(b);

        rxbuf_free(rx, b);
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
    if (!p->first || p->first->pub.len < VNET_ETH_HLEN)
        return &v->stats.rx_drop_short;
    if (p->len > RX_FRAME_MAX)
        return &v->stats.rx_drop_long;
    if (!read_gso(v, &p->hdr, f))
        return &v->stats.rx_drop_gso;
    if (!read_csum(v, &p->hdr, f))
        return &v->stats.rx_drop_csum;
    return NULL;
}

static uint64_t *histogram(struct vnet_stats *s, unsigned entries)
{
    if (entries <= 2)
        return entries == 1 ? &s->rx_bufs_1 : &s->rx_bufs_2;
    if (entries <= 4)
        return &s->rx_bufs_3_4;
    return entries <= 8 ? &s->rx_bufs_5_8 : &s->rx_bufs_9_up;
}

static void count(struct vnet_stats *s, const struct vnet_frame *f,
                  unsigned entries)
{
    s->rx_frames++;
    s->rx_bytes += f->len;
    s->rx_bufs += entries;
    ++*histogram(s, entries);
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
        .buf = (struct vnet_buf *)(void *)p->first, /* pub is the first */
        .len = p->len,
        .nbufs = p->bufs,
        .csum = VNET_CSUM_UNKNOWN,
    };
    uint64_t *reason = judge(v, p, &f);

    p->need = 0;
    if (reason) {
        ++*reason;
        drop_chain(rx, p->first);
        return false;
    }
    for (struct rxbuf *b = p->first; b; b = next_of(b))
        b->held = true;
    rx->bufs_held += f.nbufs;
    rxsize_add(&rx->size, f.len);
    count(&v->stats, &f, p->have);
    v->client->rx(v->client_arg, &f);
    return true;
}

/* How many ring entries the frame of this header has; 0: nonsense. */
static uint16_t entries_of(const struct vnet *v,
                           const struct virtio_net_hdr *hdr)
{
    if (v->rx.mode != VNET_RX_MERGEABLE)
        return 1;
    if (hdr->num_buffers > virtq_size(&v->rx.vq) ||
        hdr->num_buffers > RX_BIG_BYTES / v->rx.shortest + 2)
        return 0;
    return hdr->num_buffers;
}

/* ---- fragments become packet objects ---- */

/* `early`: where one may lie that was made when the chain was posted. */
static struct rxbuf *new_object(struct vnet *v, struct rxbuf **early)
{
    struct rxbuf *b = NULL;

    if (early && *early) {
        b = *early;
        *early = NULL;
    }
    if (!b)
        b = rxobj_get(&v->rx);
    if (b)
        v->stats.rx_objects++;
    else
        v->rx.part.spoilt = &v->stats.rx_drop_nomem;
    return b;
}

static void append(struct rx_partial *p, struct rxbuf *b, uint8_t *data,
                   uint32_t len)
{
    b->pub.next = NULL;
    b->pub.data = data;
    b->pub.len = len;
    if (p->last)
        p->last->pub.next = &b->pub;
    else
        p->first = b;
    p->last = b;
    p->bufs++;
}

/* Does the fragment begin where the frame ends so far, in the same block? */
static bool adjacent(const struct rx_partial *p, const struct rxseg *s)
{
    return p->last && p->last->block == s->block &&
           p->last->pub.data + p->last->pub.len == s->mem;
}

/*
 * `len` bytes of the frame from `off` on in the fragment, whose reference
 * passes to the packet object that gets them.
 */
static void take_seg(struct vnet *v, struct rxpost *post, struct rxseg *s,
                     uint32_t off, uint32_t len)
{
    struct rx_partial *p = &v->rx.part;
    struct rxbuf *b;

    p->len += len;
    if (adjacent(p, s)) {
        p->last->pub.len += len;
        v->stats.rx_coalesced++;
        return; /* one reference holds both; the other goes with the chain */
    }
    b = new_object(v, &post->early);
    if (!b)
        return;
    b->block = s->block;
    append(p, b, s->mem + off, len);
    s->block = NULL;
}

/* A small frame alone in its chain: copied, and the chain goes back. */
static bool copy_small(struct vnet *v, struct rxpost *post, uint32_t len)
{
    struct rx_partial *p = &v->rx.part;
    struct rxbuf *b;

    if (len > v->config.rx_copy || p->need != 1 || len == 0 ||
        len > post->seg[0].len - RX_HDR_BYTES)
        return false;
    b = new_object(v, NULL); /* an early one stays with the chain */
    if (!b)
        return false;
    b->block = NULL;
    memcpy(b->copy, post->seg[0].mem + RX_HDR_BYTES, len);
    append(p, b, b->copy, len);
    p->len = len;
    v->stats.rx_copied++;
    return true;
}

/* All bytes of the chain, `off` of which belong to the virtio header. */
static void take_chain(struct vnet *v, struct rxpost *post, uint32_t off,
                       uint32_t len)
{
    for (unsigned i = 0; i < post->nseg && len > 0; i++) {
        struct rxseg *s = &post->seg[i];
        uint32_t n = s->len - off < len ? s->len - off : len;

        take_seg(v, post, s, off, n);
        len -= n;
        off = 0;
    }
}

static uint32_t chain_len(const struct rxpost *post)
{
    uint32_t len = 0;

    for (unsigned i = 0; i < post->nseg; i++)
        len += post->seg[i].len;
    return len;
}

/* 5.1.6.4.1: all buffers of a frame but the last are full. */
static void check_full(struct vnet *v, const struct rxpost *post, uint32_t len)
{
    struct rx_partial *p = &v->rx.part;

    if (len == 0 || (p->have < p->need && len != chain_len(post)))
        p->spoilt = &v->stats.rx_drop_incomplete;
}

static void drop_one(struct vnet *v, struct rxpost *post, uint64_t *reason)
{
    ++*reason;
    rxbuf_repost(&v->rx, post);
}

/* ---- ring entries become frames ---- */

/* The first entry of a frame, of which `len` bytes were written. */
static void begin(struct vnet *v, struct rxpost *post, uint32_t len)
{
    struct rx_partial *p = &v->rx.part;

    if (len < RX_HDR_BYTES) {
        drop_one(v, post, &v->stats.rx_drop_short);
        return;
    }
    memcpy(&p->hdr, post->seg[0].mem, sizeof(p->hdr));
    p->need = entries_of(v, &p->hdr);
    if (p->need == 0) {
        drop_one(v, post, &v->stats.rx_drop_num_buffers);
        return;
    }
    p->first = p->last = NULL;
    p->len = 0;
    p->bufs = 0;
    p->have = 1;
    p->spoilt = NULL;
    check_full(v, post, len);
    if (copy_small(v, post, len - RX_HDR_BYTES)) {
        rxbuf_repost(&v->rx, post);
        return;
    }
    if (p->need > 1)
        p->since_ns = plat_now_ns();
    take_chain(v, post, RX_HDR_BYTES, len - RX_HDR_BYTES);
    rxbuf_unpost(&v->rx, post);
}

/* One more entry of the frame that has begun. */
static void go_on(struct vnet *v, struct rxpost *post, uint32_t len)
{
    v->rx.part.have++;
    check_full(v, post, len);
    take_chain(v, post, 0, len);
    rxbuf_unpost(&v->rx, post);
}

/* One used entry. True when it completed a frame that was handed up. */
static bool rx_one(struct vnet *v, struct rxpost *post, uint32_t len)
{
    struct rx_partial *p = &v->rx.part;
    bool too_long = len == VIRTQ_LEN_BAD;

    if (too_long)
        len = chain_len(post);
    if (p->need == 0)
        begin(v, post, len);
    else
        go_on(v, post, len);
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
    unsigned frames = 0, entries = 0;
    /* Dropped frames cost time, too: the turn ends all the same. */
    unsigned entries_max = budget * RX_FRAME_BUFS_MAX;

    while (frames < budget && entries < entries_max) {
        struct rxpost *post;
        uint32_t len;

        post = virtq_get(&rx->vq, &len);
        if (!post)
            break;
        entries++;
        frames += rx_one(v, post, len);
    }
    check_partial(v);
    return entries >= entries_max ? budget : frames;
}
