/*
 * Software GRO, the flows: owns the frames that are held for a moment.
 *
 * The order of a connection's segments never changes: whatever cannot be
 * joined to what is held of its connection goes up behind it. Pure
 * acknowledgements are never joined, since lwIP counts repeated ones.
 *
 * By the rule of equal pieces a frame consists of full segments but for the
 * last: one that is not full most likely ends what the peer had to say.
 */
#include "gro.h"

#include <stddef.h>

#include "lwip_hooks.h"

struct gro_stats gro_stats;

/* ---- handing up ------------------------------------------------------- */

/* A chain knows in each piece how much is left; not kept while it grows. */
static void finish(struct gro_flow *f)
{
    uint16_t left = f->len;

    gro_set_len(&f->first, f->len);
    for (struct pbuf *q = f->first.p; q; q = q->next) {
        q->tot_len = left;
        left = (uint16_t)(left - q->len);
    }
    f->first.p->flags |= PBUF_FLAG_MERGED;
    gro_stats.gro_out++;
}

/* The frame of this flow, complete; its place is free. */
static struct pbuf *take(struct gro *g, struct gro_flow *f)
{
    struct pbuf *p = f->first.p;

    if (f->merged)
        finish(f);
    g->count--;
    if (f != &g->flow[g->count])
        *f = g->flow[g->count];
    return p;
}

static void flush_flow(struct gro *g, struct gro_flow *f, uint64_t *reason)
{
    ++*reason;
    g->deliver(g->arg, take(g, f), true);
}

static void flush_all(struct gro *g, uint64_t *reason)
{
    while (g->count > 0)
        flush_flow(g, &g->flow[0], reason);
}

void gro_flush(struct gro *g)
{
    flush_all(g, &gro_stats.gro_flush_turn);
}

void gro_drop(struct gro *g)
{
    while (g->count > 0)
        pbuf_free(take(g, &g->flow[0]));
}

/* ---- holding ---------------------------------------------------------- */

/* The ports tell most connections apart. */
static struct gro_flow *find_flow(struct gro *g, const struct gro_seg *s)
{
    for (unsigned i = 0; i < g->count; i++) {
        const struct gro_seg *first = &g->flow[i].first;

        if (first->ports == s->ports && gro_same_flow(first, s))
            return &g->flow[i];
    }
    return NULL;
}

static struct gro_flow *new_flow(struct gro *g)
{
    if (g->count == GRO_FLOWS) {
        g->victim = (g->victim + 1) % GRO_FLOWS;
        flush_flow(g, &g->flow[g->victim], &gro_stats.gro_flush_table);
    }
    return &g->flow[g->count++];
}

static struct pbuf *last_piece(struct pbuf *p, uint16_t *pieces)
{
    *pieces = 1;
    for (; p->next; p = p->next)
        ++*pieces;
    return p;
}

/* Worth keeping for what may follow? */
static bool may_begin(struct gro_seg *s)
{
    return s->plain && !s->push && !gro_is_short(s) && gro_verify(s);
}

static void hold(struct gro *g, const struct gro_seg *s)
{
    struct gro_flow *f = new_flow(g);

    f->first = *s;
    f->last = last_piece(s->p, &f->pieces);
    f->next_seq = s->seq + s->payload;
    f->len = s->p->tot_len;
    f->merged = false;
}

/* ---- joining ---------------------------------------------------------- */

static bool has_room(const struct gro_flow *f, const struct gro_seg *s)
{
    uint16_t pieces;

    last_piece(s->p, &pieces);
    return f->len + s->payload <= UINT16_MAX &&
           f->pieces + pieces <= GRO_PIECES_MAX;
}

/* A segment may be less than full, not more; one that the device merged must
 * be made of the same. */
static bool fits_pieces(const struct gro_flow *f, const struct gro_seg *s)
{
    if (s->mss < s->payload)
        return s->mss == f->first.mss;
    return s->payload <= f->first.mss;
}

/* Why the segment cannot go on with what is held; NULL when it can. */
static uint64_t *obstacle(const struct gro_flow *f, struct gro_seg *s)
{
    if (!s->plain)
        return &gro_stats.gro_flush_flags;
    if (!gro_same_headers(&f->first, s))
        return &gro_stats.gro_flush_header;
    if (s->seq != f->next_seq || gro_ack_older(&f->first, s))
        return &gro_stats.gro_flush_order;
    if (!fits_pieces(f, s))
        return &gro_stats.gro_flush_size;
    if (!gro_verify(s)) /* cuts off padding, which may be pieces */
        return &gro_stats.gro_flush_csum;
    if (!has_room(f, s))
        return &gro_stats.gro_flush_size;
    return NULL;
}

static void join(struct gro_flow *f, struct gro_seg *s)
{
    uint16_t pieces;
    struct pbuf *last = last_piece(s->p, &pieces);

    gro_take_header(&f->first, s);
    pbuf_remove_header(s->p, s->hdr_len);
    f->last->next = s->p;
    f->last = last;
    f->pieces = (uint16_t)(f->pieces + pieces);
    f->len = (uint16_t)(f->len + s->payload);
    f->next_seq += s->payload;
    f->merged = true;
    gro_stats.gro_merged++;
}

/* True: the segment is part of what is held, or went up with it. */
static bool try_join(struct gro *g, struct gro_flow *f, struct gro_seg *s)
{
    uint64_t *why = obstacle(f, s);

    if (why) {
        flush_flow(g, f, why);
        return false;
    }
    join(f, s);
    if (s->push)
        flush_flow(g, f, &gro_stats.gro_flush_push);
    else if (s->payload % f->first.mss != 0)
        flush_flow(g, f, &gro_stats.gro_flush_short);
    return true;
}

void gro_input(struct gro *g, struct pbuf *p, bool verified,
               uint16_t gso_size)
{
    struct gro_seg s;
    struct gro_flow *f;
    enum gro_kind kind = gro_parse(&s, p, verified, gso_size);

    if (kind == GRO_OPAQUE)
        flush_all(g, &gro_stats.gro_flush_other);
    if (kind != GRO_TCP) {
        g->deliver(g->arg, p, verified);
        return;
    }
    gro_stats.gro_in++;
    f = find_flow(g, &s);
    if (f && try_join(g, f, &s))
        return;
    if (may_begin(&s))
        hold(g, &s);
    else
        g->deliver(g->arg, p, verified);
}
