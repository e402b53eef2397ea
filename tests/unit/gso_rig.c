/*
 * Frames for software GSO, and what becomes of them. See gso_rig.h.
 */
#include "gso_rig.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "frame.h"
#include "host.h"
#include "lwip/init.h"
#include "port/alloc.h"

enum { ETH = 14 };

struct gso_rig gs;

static void put16(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

static struct pbuf *make_chain(const uint8_t *f, uint32_t len,
                               const uint16_t *pieces)
{
    struct pbuf *head = NULL;

    while (len > 0) {
        uint32_t n = *pieces && *pieces < len ? *pieces : len;
        struct pbuf *p = pbuf_alloc(PBUF_RAW, (u16_t)n, PBUF_RAM);

        CHECK(p);
        memcpy(p->payload, f, n);
        f += n;
        len -= n;
        pieces += *pieces != 0;
        if (head)
            pbuf_cat(head, p);
        else
            head = p;
    }
    return head;
}

static struct gso_got *new_got(uint32_t len)
{
    struct gso_got *g = &gs.got[gs.count++];

    CHECK(gs.count <= GSO_GOT_MAX);
    memset(g, 0, sizeof(*g));
    g->len = len;
    g->frame = malloc(len);
    CHECK(g->frame);
    return g;
}

static void take_plain(struct pbuf *p)
{
    struct gso_got *g = new_got(p->tot_len);

    CHECK_EQ(pbuf_copy_partial(p, g->frame, p->tot_len, 0), p->tot_len);
}

static void take_merged(struct gso_frame *f)
{
    struct vnet_seg seg[VNET_TX_SEGS];
    struct vnet_tx tx = {0};
    struct gso_got *g;
    uint32_t len = 0;

    gso_list(f, seg, &tx);
    CHECK(tx.nseg >= 3 && tx.nseg <= VNET_TX_SEGS);
    for (unsigned i = 0; i < tx.nseg; i++)
        len += seg[i].len;
    g = new_got(len);
    len = 0;
    for (unsigned i = 0; i < tx.nseg; i++) {
        CHECK(seg[i].len > 0);
        memcpy(g->frame + len, seg[i].ptr, seg[i].len);
        len += seg[i].len;
    }
    g->merged = true;
    g->nseg = tx.nseg;
    g->tx = tx;
    g->tx.seg = NULL;
    gso_frame_free(f);
}

static void take(void *arg, const struct gso_seg *first,
                 struct gso_frame *frame)
{
    CHECK_EQ(arg, &gs);
    if (frame) {
        take_merged(frame);
        return;
    }
    take_plain(first->p);
    pbuf_free(first->p);
}

bool gso_in(const void *frame, uint32_t len, const uint16_t *pieces)
{
    struct pbuf *p = make_chain(frame, len, pieces);
    struct gso_seg s;

    CHECK(gs.nsent < sizeof(gs.sent) / sizeof(gs.sent[0]));
    gs.sent[gs.nsent++] = p;
    if (gso_parse(&s, p) == GSO_SEGMENT && gso_add(&gs.gso, &s))
        return true;
    gso_other(&gs.gso);
    CHECK_EQ(p->ref, 1);
    take_plain(p);
    return false;
}

/* IPv4 counts its packets. */
static void put_id(uint8_t *f, uint16_t id)
{
    uint8_t *ip = f + ETH;

    if (ip[0] >> 4 != 4)
        return;
    put16(ip + 4, id);
    put16(ip + 10, 0);
    put16(ip + 10,
          (uint16_t)~frame_fold(frame_sum(0, ip, (ip[0] & 15u) * 4)));
}

bool gso_in_spec(const struct gro_spec *s)
{
    static uint8_t f[GRO_FRAME_MAX];
    uint32_t len = gro_make(f, s);
    uint16_t pieces[] = {(uint16_t)(len - s->payload), 0};

    put_id(f, gs.id++);
    return gso_in(f, len, pieces);
}

struct gro_spec gso_base(uint32_t seq, uint16_t payload)
{
    struct gro_spec s = {
        .sport = 5201,
        .dport = 40000,
        .seq = seq,
        .ack = 77,
        .wnd = 1000,
        .payload = payload,
    };

    return s;
}

void gso_burst(struct gro_spec s, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        CHECK(gso_in_spec(&s));
        s.seq += s.payload;
    }
}

/* ---- what comes out ------------------------------------------------------ */

/* The segments that it is cut into, put together, have the checksums that
 * they must have, and are as long as they must be. */
static void check_pieces(const struct gso_got *g, const struct frame_info *i,
                         uint16_t size)
{
    static uint8_t piece[GRO_FRAME_MAX];
    uint32_t at = i->payload;
    uint32_t len;

    for (unsigned n = 0;
         (len = frame_cut(g->frame, g->len, i, size, n, piece)) > 0; n++) {
        struct frame_info k;

        CHECK(frame_parse(piece, len, &k));
        CHECK(frame_ip_csum_ok(piece, &k));
        CHECK(frame_l4_csum_ok(piece, &k));
        CHECK_EQ(k.payload, i->payload);
        CHECK(at + size >= g->len || len == k.payload + size);
        CHECK_MEM_EQ(piece + k.payload, g->frame + at, len - k.payload);
        at += len - k.payload;
    }
    CHECK_EQ(at, g->len);
}

void gso_check(unsigned n, const struct gro_spec *s, uint16_t size)
{
    static uint8_t want[GRO_FRAME_MAX];
    uint32_t len = gro_make(want, s);
    const struct gso_got *g = &gs.got[n];
    struct frame_info i;

    CHECK(n < gs.count);
    CHECK(g->merged);
    CHECK_EQ(g->len, len);
    CHECK(frame_parse(want, len, &i));
    put_id(want, (uint16_t)(g->frame[18] << 8 | g->frame[19]));
    put16(want + i.csum, frame_fold(frame_pseudo(want, &i, len - i.l4)));
    CHECK_MEM_EQ(g->frame, want, len);
    CHECK(g->tx.csum);
    CHECK_EQ(g->tx.gso_type, s->ip6 ? 4 : 1);
    CHECK_EQ(g->tx.gso_size, size);
    CHECK_EQ(g->tx.hdr_len, i.payload);
    CHECK_EQ(g->tx.csum_start, i.l4);
    CHECK_EQ(g->tx.csum_offset, 16);
    check_pieces(g, &i, size);
}

void gso_check_same(unsigned n, const void *frame, uint32_t len)
{
    CHECK(n < gs.count);
    CHECK(!gs.got[n].merged);
    CHECK_EQ(gs.got[n].len, len);
    CHECK_MEM_EQ(gs.got[n].frame, frame, len);
}

/* ---- life ---------------------------------------------------------------- */

void gso_begin(void)
{
    static const struct vnet_info all = {
        .tx_csum = true,
        .tx_tso4 = true,
        .tx_tso6 = true,
        .tx_uso = true,
        .tx_ring = 256,
    };

    lwip_init();
    memset(&gs, 0, sizeof(gs));
    memset(&gso_stats, 0, sizeof(gso_stats));
    gs.gso.send = take;
    gs.gso.arg = &gs;
    gs.id = 0xfffe; /* so that it wraps */
    gso_configure(&gs.gso, &all);
}

void gso_end(void)
{
    CHECK(!gs.gso.first.p);
    for (unsigned i = 0; i < gs.nsent; i++) {
        CHECK_EQ(gs.sent[i]->ref, 1);
        pbuf_free(gs.sent[i]);
    }
    while (gs.count > 0)
        free(gs.got[--gs.count].frame);
    CHECK_EQ(port_mem_stats.in_use, 0);
    host_leak_baseline();
}
