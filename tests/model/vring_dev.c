/*
 * The device's side of a split virtqueue: the verbs. Virtio 1.3, section 2.7.
 *
 * Owns the model's own record of every chain, made once when the chain is
 * first seen. The indices are C11 atomics with the orders that the driver's
 * side relies on: acquire on avail.idx, release on used.idx, and sequentially
 * consistent where an index is stored and a wish is read afterwards. Checks
 * of what the driver wrote are in vring_check.c.
 */
#include "vring_dev.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "lint.h"
#include "own.h"
#include "vring_check.h"

static uint16_t used_event(const struct vring_dev *vr)
{
    const _Atomic uint16_t *e = (const void *)&vr->avail->ring[vr->size];

    return atomic_load_explicit(e, memory_order_seq_cst);
}

static _Atomic uint16_t *avail_event(const struct vring_dev *vr)
{
    return (void *)&vr->used->ring[vr->size];
}

static uint16_t avail_idx(const struct vring_dev *vr)
{
    return atomic_load_explicit(&vr->avail->idx, memory_order_acquire);
}

void vring_enable(struct vring_dev *vr, uint16_t size, uint64_t desc,
                  uint64_t avail, uint64_t used)
{
    vr->size = size;
    vr->desc_addr = desc;
    vr->avail_addr = avail;
    vr->used_addr = used;
    vr->queued = vr->seen_idx = vr->used_idx = vr->signalled = vr->kicked = 0;
    vr->outstanding = 0;
    vr->polling = false;
    vr->broken = !vring_check_memory(vr);
    if (vr->broken)
        return;
    vr->owned = calloc(size, sizeof(*vr->owned));
    vr->busy = calloc(size, 1);
    vr->queue = calloc(size, sizeof(*vr->queue));
    vr->scratch = malloc(sizeof(*vr->scratch) +
                         (2u * size + 1) * sizeof(struct vring_seg));
    CHECK(vr->owned && vr->busy && vr->queue && vr->scratch);
    own_watch(vr);
    vr->enabled = true;
}

/* The driver has the chain again; `check`: it must not have touched it. */
static void release(struct vring_dev *vr, struct vring_chain *c, bool check)
{
    if (check && !c->scribbled)
        vring_check_unchanged(vr, c);
    for (unsigned i = 0; i < c->nseg; i++) {
        own_give(&c->seg[i], check && !c->seg[i].write);
        if (c->seg[i].desc != UINT16_MAX)
            vr->busy[c->seg[i].desc] = 0;
    }
    vr->busy[c->head] = 0;
    vr->owned[c->head] = NULL;
    vr->outstanding--;
    free(c);
}

void vring_disable(struct vring_dev *vr)
{
    if (vr->enabled) {
        for (unsigned i = 0; i < vr->size; i++)
            if (vr->owned[i])
                release(vr, vr->owned[i], false);
        own_unwatch(vr);
        free(vr->owned);
        free(vr->busy);
        free(vr->queue);
        free(vr->scratch);
    }
    vr->enabled = false;
    vr->broken = false;
}

void vring_see(struct vring_dev *vr)
{
    uint16_t idx, news;

    if (!vr->enabled || vr->broken)
        return;
    idx = avail_idx(vr);
    news = (uint16_t)(idx - vr->seen_idx);
    vring_check_flags(vr);
    if (news > vr->size - vr->outstanding) {
        lint("SPL-12", "avail.idx of queue %u moved from %u to %u with %u of "
             "%u outstanding", vr->index, vr->seen_idx, idx, vr->outstanding,
             vr->size);
        vr->broken = true;
    }
    while (vr->seen_idx != idx && !vr->broken) {
        uint16_t head = vr->avail->ring[vr->seen_idx & (vr->size - 1)];
        struct vring_chain *c = vring_check_chain(vr, head);

        if (!c) {
            vr->broken = true;
            break;
        }
        for (unsigned i = 0; i < c->nseg; i++)
            own_take(&c->seg[i], vr->scribble);
        vr->owned[head] = c;
        vr->outstanding++;
        vr->queue[vr->queued++] = head;
        vr->seen_idx++;
    }
}

struct vring_chain *vring_take_nth(struct vring_dev *vr, unsigned n)
{
    struct vring_chain *c;

    if (n >= vr->queued || vr->broken)
        return NULL;
    c = vr->owned[vr->queue[n]];
    vr->queued--;
    memmove(vr->queue + n, vr->queue + n + 1,
            (vr->queued - n) * sizeof(*vr->queue));
    /* Readable parts must still be as they were when first seen. */
    for (unsigned i = 0; i < c->nseg; i++) {
        struct vring_seg again = c->seg[i];

        again.write = false;
        own_give(&again, !vr->unchecked || !c->seg[i].write);
    }
    c->taken = true;
    return c;
}

struct vring_chain *vring_take(struct vring_dev *vr)
{
    return vring_take_nth(vr, 0);
}

void vring_untake(struct vring_dev *vr, struct vring_chain *c)
{
    memmove(vr->queue + 1, vr->queue, vr->queued * sizeof(*vr->queue));
    vr->queue[0] = c->head;
    vr->queued++;
    c->taken = false;
}

uint32_t vring_read(const struct vring_chain *c, uint32_t off, void *out,
                    uint32_t len)
{
    uint8_t *to = out;
    uint32_t done = 0;

    for (unsigned i = 0; i < c->nout && done < len; i++) {
        const struct vring_seg *s = &c->seg[i];
        uint32_t n;

        if (off >= s->len) {
            off -= s->len;
            continue;
        }
        n = s->len - off < len - done ? s->len - off : len - done;
        memcpy(to + done, s->p + off, n);
        done += n;
        off = 0;
    }
    return done;
}

uint32_t vring_write(const struct vring_chain *c, uint32_t off,
                     const void *in, uint32_t len)
{
    const uint8_t *from = in;
    uint32_t done = 0;

    for (unsigned i = c->nout; i < c->nseg && done < len; i++) {
        const struct vring_seg *s = &c->seg[i];
        uint32_t n;

        if (off >= s->len) {
            off -= s->len;
            continue;
        }
        n = s->len - off < len - done ? s->len - off : len - done;
        memcpy(s->p + off, from + done, n);
        done += n;
        off = 0;
    }
    return done;
}

static void put_entry(struct vring_dev *vr, uint32_t id, uint32_t len)
{
    struct virtq_used_elem *e = &vr->used->ring[vr->used_idx & (vr->size - 1)];

    atomic_store_explicit(&e->id, id, memory_order_relaxed);
    atomic_store_explicit(&e->len, len, memory_order_relaxed);
    vr->used_idx++;
}

/* A descriptor of which the driver did not make a chain; size if none. */
static uint32_t free_id(const struct vring_dev *vr)
{
    for (unsigned i = 0; i < vr->size; i++)
        if (!vr->busy[i])
            return i;
    return vr->size;
}

static uint32_t wrong_id(struct vring_dev *vr, const struct vring_chain *c)
{
    struct fault_set *f = vr->faults;

    if (fault_hit(f, FAULT_ID_RANGE))
        return vr->size;
    if (fault_hit(f, FAULT_ID_HUGE))
        return UINT32_MAX;
    if (fault_hit(f, FAULT_ID_FREE))
        return free_id(vr);
    if (c->nseg > 1 && fault_hit(f, FAULT_ID_MID_CHAIN))
        return c->seg[1].desc;
    return c->head;
}

static uint32_t wrong_len(struct vring_dev *vr, const struct vring_chain *c,
                          uint32_t len)
{
    struct fault_set *f = vr->faults;

    if (fault_hit(f, FAULT_LEN_OVER))
        return c->writable + 1;
    if (fault_hit(f, FAULT_LEN_HUGE))
        return UINT32_MAX;
    if (fault_hit(f, FAULT_LEN_SIGN))
        return UINT32_C(1) << 31;
    if (fault_hit(f, FAULT_LEN_ZERO))
        return 0;
    if (fault_hit(f, FAULT_LEN_SHORT))
        return 11;
    if (fault_hit(f, FAULT_LEN_HEADER))
        return 12;
    return len;
}

/* Overwrites every descriptor that the device has. */
static void scribble_descs(struct vring_dev *vr)
{
    for (unsigned i = 0; i < vr->size; i++)
        if (vr->busy[i])
            memset(&vr->desc[i], 0xff, sizeof(vr->desc[i]));
    for (unsigned i = 0; i < vr->size; i++)
        if (vr->owned[i])
            vr->owned[i]->scribbled = true;
}

void vring_put(struct vring_dev *vr, struct vring_chain *c, uint32_t len)
{
    uint32_t id = wrong_id(vr, c);

    len = wrong_len(vr, c, len);
    if (fault_hit(vr->faults, FAULT_DESC_SCRIBBLED))
        scribble_descs(vr);
    if (id != c->head) {
        /* The chain stays with the device until the ring is reset. */
        put_entry(vr, id, len);
        return;
    }
    release(vr, c, true);
    put_entry(vr, id, len);
    if (fault_hit(vr->faults, FAULT_ID_REPEATED))
        put_entry(vr, id, len);
}

static void unqueue(struct vring_dev *vr, uint16_t head)
{
    for (unsigned i = 0; i < vr->queued; i++)
        if (vr->queue[i] == head)
            vring_take_nth(vr, i);
}

/* The entry in the next slot is an old one; if the driver may take it for a
 * new one, its chain is no longer ours. */
static void hand_over_stale(struct vring_dev *vr)
{
    uint32_t id = atomic_load(&vr->used->ring[vr->used_idx &
                                              (vr->size - 1)].id);

    if (id >= vr->size || !vr->owned[id])
        return;
    unqueue(vr, (uint16_t)id);
    release(vr, vr->owned[id], false);
}

void vring_publish(struct vring_dev *vr)
{
    uint16_t idx = vr->used_idx;

    if (fault_hit(vr->faults, FAULT_IDX_JUMP))
        idx = (uint16_t)(idx + vr->size + 1);
    if (fault_hit(vr->faults, FAULT_IDX_BACK))
        idx = (uint16_t)(vr->signalled - 1);
    if (fault_hit(vr->faults, FAULT_IDX_UNFOUNDED)) {
        hand_over_stale(vr);
        idx = (uint16_t)(idx + 1);
    }
    vr->used_idx = idx;
    atomic_store_explicit(&vr->used->idx, idx, memory_order_seq_cst);
}

bool vring_wants_interrupt(struct vring_dev *vr)
{
    uint16_t old = vr->signalled, now = vr->used_idx;

    if (now == old)
        return false;
    vr->signalled = now;
    if (vr->event_idx)
        return virtq_need_event(used_event(vr), now, old);
    return !(atomic_load_explicit(&vr->avail->flags, memory_order_seq_cst) &
             VIRTQ_AVAIL_F_NO_INTERRUPT);
}

bool vring_want_doorbell(struct vring_dev *vr, bool on)
{
    vr->polling = !on;
    if (vr->event_idx)
        atomic_store_explicit(avail_event(vr),
                              (uint16_t)(on ? vr->seen_idx
                                            : vr->seen_idx + 0x8000u),
                              memory_order_seq_cst);
    else
        atomic_store_explicit(&vr->used->flags,
                              on ? 0 : VIRTQ_USED_F_NO_NOTIFY,
                              memory_order_seq_cst);
    return on && atomic_load_explicit(&vr->avail->idx,
                                      memory_order_seq_cst) != vr->seen_idx;
}

bool vring_doorbell(struct vring_dev *vr)
{
    uint16_t idx = avail_idx(vr);
    bool news = idx != vr->kicked;

    vr->kicked = idx;
    return news;
}

bool vring_doorbell_missing(const struct vring_dev *vr)
{
    uint16_t idx;

    if (!vr->enabled || vr->broken || vr->polling)
        return false;
    idx = avail_idx(vr);
    if (!vr->event_idx)
        return idx != vr->kicked;
    return virtq_need_event(atomic_load(avail_event(vr)), idx, vr->kicked);
}
