/*
 * A driver that does nothing by itself: a test of the model writes every
 * descriptor and index through it, right or wrong.
 */
#ifndef MINI_H
#define MINI_H

#include <string.h>

#include "check.h"
#include "host.h"
#include "lint.h"
#include "model.h"

#define MINI_SIZE 8u

/* Breaks a rule on purpose; the model must notice it. */
#define PROVOKE(id, statement)                                               \
    do {                                                                     \
        lint_expect(id);                                                     \
        statement;                                                           \
        if (lint_seen() == 0)                                                \
            check_fail(__FILE__, __LINE__, "%s was not noticed", id);        \
        lint_expect(NULL);                                                   \
    } while (0)

struct mini_ring {
    struct virtq_desc *desc;
    struct virtq_avail *avail;
    struct virtq_used *used;
    _Atomic uint16_t *used_event;
    uint16_t seen; /* used entries taken */
};

struct mini {
    struct model *m;
    struct virtio_dev *dev;
    struct mini_ring q[3];
    uint8_t *page[16]; /* buffers, 4096 bytes each */
    unsigned irqs;
};

static inline void mini_irq(struct virtio_dev *dev, uint16_t q)
{
    struct mini *d = dev->driver;

    (void)q;
    d->irqs++;
}

/* Steps 1 to 3, and the features. */
static inline void mini_negotiate(struct mini *d, uint64_t accept)
{
    struct model *m = d->m;

    netdev_set_status(m, 0);
    CHECK_EQ(netdev_status(m), 0);
    netdev_set_status(m, VIRTIO_S_ACKNOWLEDGE);
    netdev_set_status(m, VIRTIO_S_ACKNOWLEDGE | VIRTIO_S_DRIVER);
    netdev_accept(m, 0, (uint32_t)accept);
    netdev_accept(m, 1, (uint32_t)(accept >> 32));
    netdev_set_status(m, VIRTIO_S_ACKNOWLEDGE | VIRTIO_S_DRIVER |
                             VIRTIO_S_FEATURES_OK);
    CHECK(netdev_status(m) & VIRTIO_S_FEATURES_OK);
}

static inline void mini_ring_init(struct mini *d, unsigned q)
{
    struct mini_ring *r = &d->q[q];

    r->desc = plat_dma_alloc(4096, 4096);
    r->avail = plat_dma_alloc(4096, 4096);
    r->used = plat_dma_alloc(4096, 4096);
    r->used_event = (void *)&r->avail->ring[MINI_SIZE];
    r->seen = 0;
}

static inline bool mini_enable(struct mini *d, unsigned q)
{
    struct mini_ring *r = &d->q[q];

    return netdev_queue_enable(d->m, (uint16_t)q, MINI_SIZE,
                               plat_dma_addr(r->desc),
                               plat_dma_addr(r->avail),
                               plat_dma_addr(r->used));
}

static inline void mini_prepare(struct mini *d, struct model *m)
{
    memset(d, 0, sizeof(*d));
    d->m = m;
    d->dev = model_dev(m);
    d->dev->driver = d;
    d->dev->irq = mini_irq;
    for (unsigned i = 0; i < 16; i++)
        d->page[i] = plat_dma_alloc(4096, 4096);
    mini_ring_init(d, 0);
    mini_ring_init(d, 1);
    mini_ring_init(d, 2);
}

static inline void mini_start(struct mini *d, struct model *m, uint64_t accept)
{
    mini_prepare(d, m);
    mini_negotiate(d, accept);
    CHECK(mini_enable(d, 0));
    CHECK(mini_enable(d, 1));
    CHECK(!(accept & VIRTIO_BIT(VIRTIO_NET_F_CTRL_VQ)) || mini_enable(d, 2));
    netdev_set_status(m, NETDEV_ORDER);
}

static inline void mini_stop(struct mini *d)
{
    netdev_set_status(d->m, 0);
    netdev_status(d->m);
    for (unsigned i = 0; i < 16; i++)
        plat_dma_free(d->page[i], 4096);
    for (unsigned q = 0; q < 3; q++) {
        plat_dma_free(d->q[q].desc, 4096);
        plat_dma_free(d->q[q].avail, 4096);
        plat_dma_free(d->q[q].used, 4096);
    }
    model_free(d->m);
}

static inline void mini_desc(struct mini_ring *r, unsigned i, const void *ptr,
                             uint32_t len, uint16_t flags, uint16_t next)
{
    r->desc[i] = (struct virtq_desc){plat_dma_addr(ptr), len, flags, next};
}

/* Makes a chain visible. */
static inline void mini_offer(struct mini_ring *r, uint16_t head)
{
    uint16_t idx = atomic_load(&r->avail->idx);

    r->avail->ring[idx % MINI_SIZE] = head;
    atomic_store(&r->avail->idx, (uint16_t)(idx + 1));
}

/* Posts page p for receiving, as descriptor p. */
static inline void mini_post(struct mini *d, unsigned p, uint32_t len)
{
    mini_desc(&d->q[0], p, d->page[p], len, VIRTQ_DESC_F_WRITE, 0);
    mini_offer(&d->q[0], (uint16_t)p);
}

/* Sends header and frame in one buffer: page p, descriptor p % 8. */
static inline void mini_send(struct mini *d, unsigned p,
                             const struct virtio_net_hdr *h,
                             const void *frame, uint32_t len)
{
    memcpy(d->page[p], h, sizeof(*h));
    memcpy(d->page[p] + sizeof(*h), frame, len);
    mini_desc(&d->q[1], p % MINI_SIZE, d->page[p],
              (uint32_t)sizeof(*h) + len, 0, 0);
    mini_offer(&d->q[1], (uint16_t)(p % MINI_SIZE));
    netdev_notify(d->m, 1);
}

/* The next used entry, or false. */
static inline bool mini_used(struct mini *d, unsigned q, uint32_t *id,
                             uint32_t *len)
{
    struct mini_ring *r = &d->q[q];
    struct virtq_used_elem *e = &r->used->ring[r->seen % MINI_SIZE];

    if (atomic_load(&r->used->idx) == r->seen)
        return false;
    *id = atomic_load(&e->id);
    *len = atomic_load(&e->len);
    r->seen++;
    return true;
}

#endif
