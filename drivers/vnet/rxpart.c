/*
 * Receive: a frame of several ring entries, or of several fragments of one,
 * is put together. Virtio 1.3, section 5.1.6.4.
 *
 * Owns struct rx_partial: the frame so far, of which there is one a queue.
 * Fragments that follow each other in memory become one buffer.
 */
#include "priv.h"

/* A frame whose rest does not come for this long means a broken device. */
#define PARTIAL_MS 1000u

static struct rxbuf *next_of(const struct rxbuf *b)
{
    return (struct rxbuf *)(void *)b->pub.next; /* pub is the first */
}

void rx_drop_partial(struct vnet_rxq *rx)
{
    struct rxbuf *b = rx->part.need ? rx->part.first : NULL;

    rx->part.need = 0;
    while (b) {
        struct rxbuf *next = next_of(b);

        rxbuf_free(rx, b);
        b = next;
    }
}

static void append(struct rx_partial *p, struct rxbuf *b, uint8_t *data,
                   uint32_t len)
{
    b->held = true; /* once the frame is handed up */
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
static inline void take_seg(struct vnet *v, struct rxpost *post,
                            struct rxseg *s, uint32_t off, uint32_t len)
{
    struct rx_partial *p = &v->rx.part;
    struct rxbuf *b;

    p->len += len;
    if (adjacent(p, s)) {
        p->last->pub.len += len;
        v->stats.rx_coalesced++;
        return; /* one reference holds both; the other goes with the chain */
    }
    b = rxpost_object(&v->rx, post);
    if (!b) {
        p->spoilt = &v->stats.rx_drop_nomem;
        return;
    }
    v->stats.rx_objects++;
    b->block = s->block;
    append(p, b, s->mem + off, len);
    s->block = NULL;
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
    rxpost_free(&v->rx, post);
}

/* The same for a chain of one fragment, as all are where buffers merge. */
static inline void take_only(struct vnet *v, struct rxpost *post,
                             uint32_t off, uint32_t len)
{
    struct rxseg *s = &post->seg[0];

    if (len > 0)
        take_seg(v, post, s, off, len);
    if (s->block)
        rxfrag_put(&v->rx.frag, s->block);
    rxpost_spent(&v->rx, post);
}

/*
 * One entry of the frame, of which `len` bytes were written and `off` of them
 * are the virtio header. All entries but the last are full (5.1.6.4.1).
 */
static inline bool take_entry(struct vnet *v, struct rxpost *post,
                              uint32_t off, uint32_t len)
{
    struct rx_partial *p = &v->rx.part;
    uint32_t full = rxpost_len(post);

    p->have++;
    if (len == VIRTQ_LEN_BAD) {
        len = full;
        p->spoilt = &v->stats.rx_drop_len_bad;
    } else if (!p->spoilt && (len == 0 || (p->have < p->need && len != full))) {
        p->spoilt = &v->stats.rx_drop_incomplete;
    }
    if (post->nseg == 1)
        take_only(v, post, off, len - off);
    else
        take_chain(v, post, off, len - off);
    return p->have == p->need;
}

bool rxpart_begin(struct vnet *v, struct rxpost *post,
                  const struct virtio_net_hdr *hdr, uint16_t need,
                  uint32_t len)
{
    struct rx_partial *p = &v->rx.part;

    *p = (struct rx_partial){.need = need, .hdr = *hdr};
    if (need > 1)
        p->since_ns = plat_now_ns();
    return take_entry(v, post, RX_HDR_BYTES, len);
}

bool rxpart_add(struct vnet *v, struct rxpost *post, uint32_t len)
{
    return take_entry(v, post, 0, len);
}

void rxpart_check(struct vnet *v)
{
    if (plat_now_ns() - v->rx.part.since_ns < PARTIAL_MS * NS_PER_MS)
        return;
    v->stats.rx_drop_incomplete++;
    rx_drop_partial(&v->rx);
    vnet_break(v, "a received frame was never finished");
}
