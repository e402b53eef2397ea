/*
 * Software GSO, what is merged: owns the one frame that is pending.
 *
 * By the rule of equal pieces a frame consists of segments as long as its
 * first, but for the last, which may be shorter and then is the last. A
 * retransmission has an older number and begins a frame of its own; several
 * of them merge like others.
 */
#include "gso.h"

#include <stddef.h>

#include "lwip/def.h"
#include "lwip/mem.h"
#include "lwip/prot/ip.h"

enum {
    PUSH = 0x08,
    IP_LEN_MOST = 65535,
    RING_SHARE = 4, /* one frame takes no more of the ring than this part */
};

struct gso_stats gso_stats;

void gso_configure(struct gso *g, const struct vnet_info *info)
{
    unsigned most = info->tx_ring / RING_SHARE;

    g->nseg_max = (uint16_t)LWIP_MIN(most, (unsigned)GSO_PARTS_MAX);
    g->tso4 = info->tx_tso4;
    g->tso6 = info->tx_tso6;
    g->uso = info->tx_uso;
}

/* ---- handing on ------------------------------------------------------- */

void gso_frame_free(struct gso_frame *f)
{
    for (unsigned i = 0; i < f->count; i++)
        pbuf_free(f->part[i]);
    mem_free(f);
}

static void count_segments(unsigned n)
{
    gso_stats.gso_frames++;
    gso_stats.gso_segments += n;
    if (n < 4)
        gso_stats.gso_segs_2_3++;
    else if (n < 8)
        gso_stats.gso_segs_4_7++;
    else if (n < 16)
        gso_stats.gso_segs_8_15++;
    else if (n < 32)
        gso_stats.gso_segs_16_31++;
    else
        gso_stats.gso_segs_32_up++;
}

static void flush(struct gso *g, uint64_t *reason)
{
    struct gso_seg first = g->first;
    struct gso_frame *f = g->frame;

    if (!first.p)
        return;
    ++*reason;
    if (f) {
        gso_make_header(f, &first, g->payload, g->push);
        count_segments(f->count);
    } else {
        gso_stats.gso_alone++;
    }
    g->first.p = NULL;
    g->frame = NULL;
    g->send(g->arg, &first, f);
}

void gso_other(struct gso *g)
{
    flush(g, &gso_stats.gso_flush_other);
}

void gso_flush(struct gso *g)
{
    flush(g, &gso_stats.gso_flush_turn);
}

void gso_drop(struct gso *g)
{
    if (!g->first.p)
        return;
    gso_stats.gso_dropped++;
    if (g->frame)
        gso_frame_free(g->frame);
    else
        pbuf_free(g->first.p);
    g->first.p = NULL;
    g->frame = NULL;
}

/* ---- merging ---------------------------------------------------------- */

/* Pieces of payload, as gso_list() will list them. */
static unsigned pieces(const struct gso_seg *s)
{
    unsigned n = s->p->len > s->hdr_len;

    for (const struct pbuf *q = s->p->next; q; q = q->next)
        n += q->len > 0;
    return n;
}

/* Can the device cut up such a frame? */
static bool can_cut(const struct gso *g, const struct gso_seg *s)
{
    if (s->proto == IP_PROTO_UDP)
        return g->uso;
    return s->ip6 ? g->tso6 : g->tso4;
}

static bool may_begin(const struct gso *g, const struct gso_seg *s)
{
    return can_cut(g, s) && gso_is_plain(s) && pieces(s) <= g->nseg_max;
}

static bool has_room(const struct gso *g, const struct gso_seg *s)
{
    uint32_t ip_len = (uint32_t)s->hdr_len - s->l3 + g->payload + s->payload;

    return s->payload <= g->first.payload && ip_len <= IP_LEN_MOST &&
           g->nseg + pieces(s) <= g->nseg_max;
}

/* Why the segment cannot go on with what is pending; NULL when it can. */
static uint64_t *obstacle(const struct gso *g, const struct gso_seg *s)
{
    if (!gso_is_plain(s))
        return &gso_stats.gso_flush_other;
    if (!gso_same_headers(&g->first, s))
        return &gso_stats.gso_flush_header;
    if (s->proto == IP_PROTO_TCP && s->seq != g->next_seq)
        return &gso_stats.gso_flush_order;
    if (!has_room(g, s))
        return &gso_stats.gso_flush_size;
    return NULL;
}

static void hold(struct gso *g, const struct gso_seg *s)
{
    pbuf_ref(s->p);
    g->first = *s;
    g->frame = NULL;
    g->next_seq = s->seq + s->payload;
    g->payload = s->payload;
    g->nseg = (uint16_t)pieces(s);
    g->push = s->flags & PUSH;
}

/* The frame that the parts go into, from the second one on. */
static bool have_frame(struct gso *g)
{
    if (g->frame)
        return true;
    g->frame = mem_malloc(sizeof(*g->frame));
    if (!g->frame)
        return false;
    g->frame->part[0] = g->first.p;
    g->frame->count = 1;
    return true;
}

static void append(struct gso *g, const struct gso_seg *s)
{
    struct gso_frame *f = g->frame;

    pbuf_ref(s->p);
    f->part[f->count++] = s->p;
    g->next_seq += s->payload;
    g->payload += s->payload;
    g->nseg = (uint16_t)(g->nseg + pieces(s));
    g->push = g->push || (s->flags & PUSH);
}

static bool try_append(struct gso *g, const struct gso_seg *s)
{
    uint64_t *why = obstacle(g, s);

    if (!why && !have_frame(g))
        why = &gso_stats.gso_flush_nomem;
    if (why) {
        flush(g, why);
        return false;
    }
    append(g, s);
    if (s->payload < g->first.payload)
        flush(g, &gso_stats.gso_flush_short);
    return true;
}

bool gso_add(struct gso *g, const struct gso_seg *s)
{
    gso_stats.gso_in++;
    if (g->first.p && try_append(g, s))
        return true;
    if (!may_begin(g, s))
        return false;
    hold(g, s);
    return true;
}
