/*
 * Receive: used entries become frames. Virtio 1.3, section 5.1.6.4.
 *
 * Nothing that the device wrote is believed: the length is checked by the
 * ring, the header is copied out once and then judged, the number of buffers
 * is bounded. A bad frame drops the buffers that are its own, is counted by
 * reason, and the next frame is taken.
 *
 * Nearly every frame lies in one fragment of one ring entry, and is made up
 * here. The others are put together in rxpart.c.
 */
#include "priv.h"

#include <string.h>

#define RX_FRAME_MAX (65535u + VNET_ETH_HLEN + VLAN_HLEN)

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

    if (!gso_negotiated(v, type) || hdr->gso_size == 0)
        return false;
    f->gso_type = type;
    f->gso_size = hdr->gso_size;
    return true;
}

/* A checksum that is left to us. False: it is outside the frame. */
static bool read_csum(const struct vnet *v, const struct virtio_net_hdr *hdr,
                      struct vnet_frame *f)
{
    if (!virtio_has(v->dev, VIRTIO_NET_F_GUEST_CSUM) ||
        hdr->csum_start < VNET_ETH_HLEN ||
        (uint32_t)hdr->csum_start + hdr->csum_offset + 2 > f->len)
        return false;
    f->csum = VNET_CSUM_PARTIAL;
    f->csum_start = hdr->csum_start;
    f->csum_offset = hdr->csum_offset;
    return true;
}

/*
 * The counter for what is wrong with the frame, or NULL. `first`: bytes of it
 * in its first buffer. What the header says goes to `f`.
 */
static inline uint64_t *judge(struct vnet *v, const struct virtio_net_hdr *hdr,
                              uint32_t first, struct vnet_frame *f)
{
    if (first < VNET_ETH_HLEN)
        return &v->stats.rx_drop_short;
    if (f->len > RX_FRAME_MAX)
        return &v->stats.rx_drop_long;
    if (hdr->gso_type != VIRTIO_NET_HDR_GSO_NONE && !read_gso(v, hdr, f))
        return &v->stats.rx_drop_gso;
    if (hdr->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM)
        return read_csum(v, hdr, f) ? NULL : &v->stats.rx_drop_csum;
    /* Bits that are unknown or not negotiated are ignored: the stack verifies
     * by itself. */
    if ((hdr->flags & VIRTIO_NET_HDR_F_DATA_VALID) &&
        virtio_has(v->dev, VIRTIO_NET_F_GUEST_CSUM))
        f->csum = VNET_CSUM_VALID;
    return NULL;
}

static inline uint64_t *histogram(struct vnet_stats *s, unsigned entries)
{
    if (entries <= 2)
        return entries == 1 ? &s->rx_bufs_1 : &s->rx_bufs_2;
    if (entries <= 4)
        return &s->rx_bufs_3_4;
    return entries <= 8 ? &s->rx_bufs_5_8 : &s->rx_bufs_9_up;
}

/* `entries`: of the ring, that the frame had. */
static inline void hand_up(struct vnet *v, const struct vnet_frame *f,
                           unsigned entries)
{
    struct vnet_stats *s = &v->stats;

    s->rx_frames++;
    s->rx_bytes += f->len;
    s->rx_bufs += entries;
    ++*histogram(s, entries);
    if (f->gso_type)
        s->rx_gso_frames++;
    if (f->csum == VNET_CSUM_VALID)
        s->rx_csum_valid++;
    else if (f->csum == VNET_CSUM_PARTIAL)
        s->rx_csum_partial++;
    v->rx.bufs_held += f->nbufs;
    rxsize_add(&v->rx.size, f->len);
    v->client->rx(v->client_arg, f);
}

/* A frame of several fragments is complete. True: handed up. */
static bool finish(struct vnet *v)
{
    struct rx_partial *p = &v->rx.part;
    struct vnet_frame f = {
        .buf = (struct vnet_buf *)(void *)p->first, /* pub is the first */
        .len = p->len,
        .nbufs = p->bufs,
        .csum = VNET_CSUM_UNKNOWN,
    };
    uint64_t *reason = p->spoilt;

    if (!reason)
        reason = judge(v, &p->hdr, p->first ? p->first->pub.len : 0, &f);
    if (reason) {
        ++*reason;
        rx_drop_partial(&v->rx);
        return false;
    }
    p->need = 0;
    hand_up(v, &f, p->have);
    return true;
}

/* ---- frames of one fragment ---- */

/* The first fragment itself, behind the header. */
static inline struct rxbuf *take(struct vnet_rxq *rx, struct rxpost *post)
{
    struct rxbuf *b = rxpost_object(rx, post);

    if (!b)
        return NULL;
    b->block = post->seg[0].block;
    b->pub.data = post->seg[0].mem + RX_HDR_BYTES;
    rxpost_spent(rx, post);
    return b;
}

/* A copy of `len` bytes. The chain goes back, an early object with it. */
static inline struct rxbuf *copy(struct vnet *v, struct rxpost *post,
                                 uint32_t len)
{
    struct rxbuf *b = rxobj_get(&v->rx);

    if (!b)
        return NULL;
    b->block = NULL;
    b->pub.data = b->copy;
    memcpy(b->copy, post->seg[0].mem + RX_HDR_BYTES, len);
    rxpost_again(&v->rx, post);
    v->stats.rx_copied++;
    return b;
}

static void drop(struct vnet *v, struct rxpost *post, uint64_t *reason)
{
    ++*reason;
    rxpost_again(&v->rx, post);
}

/* A frame of `len` bytes, all in the first fragment. True: handed up. */
static inline bool whole(struct vnet *v, struct rxpost *post,
                         const struct virtio_net_hdr *hdr, uint32_t len)
{
    struct vnet_frame f = {.len = len, .nbufs = 1};
    uint64_t *reason = judge(v, hdr, len, &f);
    struct rxbuf *b;

    if (reason) {
        drop(v, post, reason);
        return false;
    }
    b = len <= v->config.rx_copy ? copy(v, post, len) : take(&v->rx, post);
    if (!b) {
        drop(v, post, &v->stats.rx_drop_nomem);
        return false;
    }
    v->stats.rx_objects++;
    b->held = true;
    b->pub.next = NULL;
    b->pub.len = len;
    f.buf = &b->pub;
    hand_up(v, &f, 1);
    return true;
}

/* ---- ring entries become frames ---- */

/* How many ring entries the frame of this header has; 0: nonsense. */
static inline uint16_t entries_of(const struct vnet_rxq *rx,
                                  const struct virtio_net_hdr *hdr)
{
    if (rx->mode != VNET_RX_MERGEABLE)
        return 1;
    return hdr->num_buffers <= rx->entries_max ? hdr->num_buffers : 0;
}

/* The first entry of a frame. True: it was all, and was handed up. */
static inline bool begin(struct vnet *v, struct rxpost *post, uint32_t len)
{
    struct virtio_net_hdr hdr;
    uint16_t need;

    if (len < RX_HDR_BYTES) {
        drop(v, post, &v->stats.rx_drop_short);
        return false;
    }
    memcpy(&hdr, post->seg[0].mem, sizeof(hdr));
    need = entries_of(&v->rx, &hdr);
    if (need == 0) {
        drop(v, post, &v->stats.rx_drop_num_buffers);
        return false;
    }
    if (need == 1 && len <= post->seg[0].len) /* and not VIRTQ_LEN_BAD */
        return whole(v, post, &hdr, len - RX_HDR_BYTES);
    return rxpart_begin(v, post, &hdr, need, len) && finish(v);
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
        if (rx->part.need == 0)
            frames += begin(v, post, len);
        else
            frames += rxpart_add(v, post, len) && finish(v);
    }
    if (rx->part.need)
        rxpart_check(v);
    return entries >= entries_max ? budget : frames;
}
