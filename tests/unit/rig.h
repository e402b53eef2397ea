/*
 * A virtqueue of the driver on one side and the model's ring on the other,
 * without a device around them.
 */
#ifndef RIG_H
#define RIG_H

#include <string.h>

#include "check.h"
#include "host.h"
#include "lint.h"
#include "verr.h"
#include "virtio/virtq.h"
#include "vring_dev.h"

struct rig {
    struct virtq vq;
    struct vring_dev vr;
    struct fault_set faults;
    uint8_t *bufs; /* 64 bytes for each descriptor */
    size_t mem_size;
    size_t shadow_size;
    size_t bufs_size;
};

static inline void rig_init(struct rig *r, uint16_t n, bool event_idx)
{
    void *mem, *shadow;

    memset(r, 0, sizeof(*r));
    r->mem_size = virtq_mem_size(n);
    r->shadow_size = n * sizeof(struct virtq_shadow);
    r->bufs_size = n * 64u;
    mem = plat_dma_alloc(r->mem_size, 4096);
    shadow = plat_dma_alloc(r->shadow_size, 4096);
    r->bufs = plat_dma_alloc(r->bufs_size, 4096);
    CHECK(mem && shadow && r->bufs);
    memset(mem, 0xee, r->mem_size); /* zeroing is virtq_init's */
    memset(shadow, 0xee, r->shadow_size);
    CHECK_EQ(virtq_init(&r->vq, 1, n, mem, plat_dma_addr(mem), shadow,
                        event_idx), V_OK);
    r->vr.index = 1;
    r->vr.event_idx = event_idx;
    r->vr.faults = &r->faults;
    vring_enable(&r->vr, n, virtq_desc_dma(&r->vq), virtq_driver_dma(&r->vq),
                 virtq_device_dma(&r->vq));
    CHECK(r->vr.enabled);
    vring_want_doorbell(&r->vr, true);
}

static inline void rig_end(struct rig *r)
{
    vring_disable(&r->vr);
    plat_dma_free(virtq_mem(&r->vq), r->mem_size);
    plat_dma_free(virtq_shadow(&r->vq), r->shadow_size);
    plat_dma_free(r->bufs, r->bufs_size);
}

/* Both sides as if `idx` chains had passed already. */
static inline void rig_preset(struct rig *r, uint16_t idx)
{
    struct virtq *vq = &r->vq;

    vq->avail_idx = vq->visible = vq->kicked = idx;
    vq->used_idx = vq->used_seen = idx;
    atomic_store(&vq->avail->idx, idx);
    atomic_store(&vq->used->idx, idx);
    r->vr.seen_idx = r->vr.used_idx = idx;
    r->vr.signalled = r->vr.kicked = idx;
    virtq_disarm(vq);
    vring_want_doorbell(&r->vr, true);
}

/* A cookie is a small number. */
static inline void *cookie(uintptr_t n)
{
    return (void *)(n + 1);
}

static inline uintptr_t number(const void *c)
{
    return (uintptr_t)c - 1;
}

/* A chain of one writable segment in the n-th buffer. */
static inline int rig_add(struct rig *r, unsigned n)
{
    struct virtq_seg seg = {plat_dma_addr(r->bufs + n * 64u), 64};

    return virtq_add(&r->vq, &seg, 0, 1, cookie(n));
}

/* The device uses everything that it can see, with length `len`. */
static inline unsigned rig_complete(struct rig *r, uint32_t len)
{
    struct vring_chain *c;
    unsigned n = 0;

    vring_see(&r->vr);
    while ((c = vring_take(&r->vr)) != NULL) {
        vring_put(&r->vr, c, len);
        n++;
    }
    vring_publish(&r->vr);
    vring_want_doorbell(&r->vr, !r->vr.polling);
    return n;
}

/* A full ring, twice counted: the n chains come back in order. */
static inline void rig_fill_and_empty(struct rig *r, uint16_t n)
{
    uint32_t len;
    void *c;

    for (unsigned i = 0; i < n; i++)
        CHECK_EQ(rig_add(r, i), V_OK);
    CHECK_EQ(virtq_room(&r->vq), 0);
    CHECK_EQ(rig_add(r, 0), V_FULL);
    CHECK_EQ(virtq_in_flight(&r->vq), n);
    virtq_publish(&r->vq);
    CHECK_EQ(rig_complete(r, 7), n);
    for (unsigned i = 0; i < n; i++) {
        c = virtq_get(&r->vq, &len);
        CHECK(c);
        CHECK_EQ(number(c), i);
        CHECK_EQ(len, 7);
    }
    CHECK(!virtq_get(&r->vq, &len));
    CHECK_EQ(virtq_room(&r->vq), n);
    CHECK_EQ(virtq_in_flight(&r->vq), 0);
    CHECK_EQ(virtq_fault(&r->vq), VIRTQ_OK);
}

#endif
