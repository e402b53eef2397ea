/*
 * The network driver between a client that keeps account of everything and
 * the model.
 */
#ifndef VNET_RIG_H
#define VNET_RIG_H

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "frame.h"
#include "host.h"
#include "lint.h"
#include "model.h"
#include "vnet.h"
#include "vnet/priv.h"

#define RIG_COOKIES 4096u
#define RIG_HELD 40000u

static struct rig {
    struct model *m;
    struct virtio_dev *dev;
    struct vnet *v;

    /* the newest frame, joined */
    struct vnet_frame frame;
    uint8_t bytes[70000];
    unsigned frames;

    bool hold; /* the client keeps receive buffers */
    struct vnet_buf *held[RIG_HELD];
    unsigned nheld;

    bool cookie[RIG_COOKIES]; /* out with the driver */
    unsigned out;
    unsigned finished;

    unsigned links;
    bool link;
} rig;

static inline const struct rxpost *rig_post(const struct vnet_rxq *rx,
                                            unsigned i)
{
    size_t each = rx->posts_bytes / rx->posts_max;

    return (const void *)(rx->posts + i * each);
}

/* References to blocks from the memory that is posted, and from what a chain
 * keeps of it after a frame has taken its first fragment. */
static inline uint64_t rig_posted_refs(const struct vnet_rxq *rx)
{
    uint64_t refs = 0;

    for (unsigned i = 0; rx->posts && i < rx->posts_max; i++) {
        const struct rxpost *p = rig_post(rx, i);

        for (unsigned k = 0; k < p->nseg; k++)
            refs += p->seg[k].block != NULL;
        CHECK(p->nseg == 0 || !p->seg[0].block ||
              !rig.v->config.rx_early == !p->early);
    }
    return refs;
}

/* Every packet object and every block is somewhere, and in one place only. */
static inline void rig_check(void)
{
    const struct vnet_rxq *rx = &rig.v->rx;
    uint64_t refs = 0, bytes = 0, idle = 0;
    uint64_t known = rig_posted_refs(rx) + (rx->frag.cur != NULL);
    uint32_t objects = rig.nheld;
    const struct rxbuf *b = rx->part.need ? rx->part.first : NULL;

    CHECK_EQ(rig.nheld, vnet_bufs_held(rig.v));
    for (unsigned i = 0; i < rig.nheld; i++)
        known += ((const struct rxbuf *)(const void *)rig.held[i])->block !=
                 NULL;
    for (; b; b = (const void *)b->pub.next, objects++)
        known += b->block != NULL;
    for (b = rx->objs_free; b; b = (const void *)b->pub.next)
        objects++;
    for (unsigned i = 0; rx->posts && i < rx->posts_max; i++)
        objects += rig_post(rx, i)->early != NULL;
    CHECK_EQ(objects, rx->objs_made);
    for (uint32_t i = 0; i < rx->frag.blocks_len; i++) {
        const struct rxblock *k = &rx->frag.blocks[i];

        refs += k->refs;
        bytes += k->size;
        idle += k->refs ? 0 : k->size;
    }
    CHECK_EQ(refs, known);
    CHECK_EQ(bytes, rx->frag.bytes);
    CHECK_EQ(idle, rx->frag.bytes_free);
    CHECK(bytes <= rx->frag.bytes_max);
}

static inline void rig_return(unsigned n)
{
    while (n-- && rig.nheld)
        vnet_buf_return(rig.v, rig.held[--rig.nheld]);
}

/* Neighbours in one block are one buffer, not two. */
static inline bool rig_adjacent(const struct vnet_buf *a,
                                const struct vnet_buf *b)
{
    const struct rxbuf *x = (const void *)a, *y = (const void *)b;

    return x->block && x->block == y->block && a->data + a->len == b->data;
}

static inline void rig_rx(void *arg, const struct vnet_frame *f)
{
    uint32_t len = 0;
    unsigned bufs = 0;
    struct vnet_buf *next;

    CHECK(arg == &rig);
    CHECK(f->buf->len >= 14 && f->len <= sizeof(rig.bytes));
    for (struct vnet_buf *b = f->buf; b; b = next) {
        next = b->next;
        CHECK(b->len > 0 && len + b->len <= f->len);
        CHECK(!next || !rig_adjacent(b, next));
        memcpy(rig.bytes + len, b->data, b->len);
        len += b->len;
        bufs++;
        /* All of it is the client's: the bytes and its own few. */
        memset(b->client, 0x5c, sizeof(b->client));
        memset(b->data, 0x3c, b->len);
        b->next = NULL;
        CHECK(rig.nheld < RIG_HELD);
        rig.held[rig.nheld++] = b;
    }
    CHECK_EQ(len, f->len);
    CHECK_EQ(bufs, f->nbufs);
    rig.frame = *f;
    rig.frames++;
    if (!rig.hold)
        rig_return(bufs);
}

static inline void rig_tx_done(void *arg, void *cookie)
{
    uintptr_t n = (uintptr_t)cookie - 1;

    CHECK(arg == &rig);
    CHECK(n < RIG_COOKIES && rig.cookie[n]);
    rig.cookie[n] = false;
    rig.out--;
    rig.finished++;
}

static inline void rig_link(void *arg, bool up)
{
    CHECK(arg == &rig);
    rig.links++;
    rig.link = up;
}

static const struct vnet_client rig_client = {rig_rx, rig_tx_done, rig_link};

/* The device is made first, so that a test can set it up. */
static inline void rig_model(uint64_t features)
{
    memset(&rig, 0, sizeof(rig));
    rig.m = model_new(features);
    rig.dev = model_dev(rig.m);
}

static inline int rig_open(const struct vnet_config *config)
{
    int err;

    rig.dev->config_len = rig.m->config_len;
    err = vnet_open(rig.dev, config, &rig.v);
    if (err == V_OK)
        vnet_attach(rig.v, &rig_client, &rig);
    return err;
}

static inline void rig_start(uint64_t features)
{
    rig_model(features);
    CHECK_EQ(rig_open(NULL), V_OK);
}

/* Closes everything; nothing may be left over. */
static inline void rig_stop(void)
{
    rig_return(rig.nheld);
    rig_check();
    CHECK_EQ(vnet_close(rig.v), V_OK);
    CHECK_EQ(rig.out, 0);
    rig.dev->ops->release(rig.dev);
    model_free(rig.m);
    CHECK_EQ(host_dma_live(), 0);
}

/* One pass of the main loop up to the point where it would sleep. */
static inline unsigned rig_turn(void)
{
    unsigned frames = 0, n, rounds = 0;

    do {
        n = vnet_poll(rig.v, 64);
        CHECK(n <= 64);
        frames += n;
        vnet_flush(rig.v);
        rig_check();
        CHECK(++rounds < 1000);
    } while (n > 0 || vnet_arm(rig.v));
    if (rig.v->running)
        model_check_idle(rig.m);
    return frames;
}

/* Sleeps until the time asked for, and takes a turn. */
static inline unsigned rig_sleep(void)
{
    uint64_t ns = host_wakeup_take();

    CHECK(ns != UINT64_MAX);
    if (ns > host_now)
        host_now = ns;
    return rig_turn();
}

/* Sends bytes that stay where they are. Returns what vnet_send says. */
static inline int rig_send_tx(struct vnet_tx *tx)
{
    static unsigned at;
    int err;

    while (rig.cookie[at % RIG_COOKIES])
        at++;
    tx->cookie = (void *)(uintptr_t)(at % RIG_COOKIES + 1);
    rig.cookie[at % RIG_COOKIES] = true;
    rig.out++;
    err = vnet_send(rig.v, tx);
    if (err != V_OK) {
        CHECK(rig.cookie[at % RIG_COOKIES]);
        rig.cookie[at % RIG_COOKIES] = false;
        rig.out--;
    }
    return err;
}

static inline int rig_send(const void *bytes, uint32_t len)
{
    struct vnet_seg seg = {bytes, len};
    struct vnet_tx tx = {.seg = &seg, .nseg = 1};

    return rig_send_tx(&tx);
}

/* A plain frame comes in and arrives unharmed. */
static inline void rig_expect_rx(uint32_t len, uint32_t seed)
{
    static uint8_t frame[70000];
    unsigned before = rig.frames;

    frame_make_raw(frame, len, seed);
    CHECK(model_rx(rig.m, frame, len, NULL));
    rig_turn();
    CHECK_EQ(rig.frames, before + 1);
    CHECK_EQ(rig.frame.len, len);
    CHECK(frame_is_raw(rig.bytes, len, seed));
}

/* A plain frame goes out and reaches the wire unharmed. */
static inline void rig_expect_tx(uint32_t len, uint32_t seed)
{
    static uint8_t frame[70000];
    struct model_frame *f;
    int err;

    frame_make_raw(frame, len, seed);
    err = rig_send(frame, len);
    if (err == V_FULL) { /* a small ring: what is done was not looked at */
        rig_turn();
        err = rig_send(frame, len);
    }
    CHECK(err == V_OK || err == 1);
    rig_turn();
    f = model_tx_pop(rig.m);
    CHECK(f);
    CHECK_EQ(f->len, len < 60 ? 60 : len);
    CHECK(frame_is_raw(f->data, len, seed));
    free(f);
}

/* Two and a half seconds go by. */
static inline void rig_settle(void)
{
    for (unsigned i = 0; i < 250; i++) {
        host_advance_ms(10);
        rig_turn();
    }
}

static inline void rig_traffic(unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        rig_expect_rx(60 + i % 250 * 5, i);
        rig_expect_tx(60 + i % 250 * 5, i);
    }
}

#endif
