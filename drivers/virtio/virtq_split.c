/*
 * The split virtqueue. Virtio 1.3, section 2.7.
 *
 * Owns everything inside `struct virtq`. Free descriptors form a list through
 * the shadow; a chain keeps its links there, too, so that a device which
 * scribbles on the descriptor table cannot lead us astray. All indices run
 * freely over 16 bits and are masked only to address a slot.
 *
 * Memory order: what the device must see before the index is published by a
 * release store of avail.idx; what we may read only after the index is
 * ordered by an acquire load of used.idx. Where both sides store one word and
 * then load the other's (notify, arm), store and load are sequentially
 * consistent.
 */
#include "virtio/virtq.h"

#include <string.h>

#include "verr.h"

#define ALIGN_UP(x, a) (((x) + (a)-1) & ~(size_t)((a)-1))

static size_t used_offset(uint16_t n)
{
    return ALIGN_UP(VIRTQ_DESC_BYTES(n) + VIRTQ_AVAIL_BYTES(n),
                    VIRTQ_USED_ALIGN);
}

size_t virtq_mem_size(uint16_t n)
{
    return used_offset(n) + VIRTQ_USED_BYTES(n);
}

static void free_list_init(struct virtq *vq)
{
    memset(vq->shadow, 0, vq->size * sizeof(vq->shadow[0]));
    for (unsigned i = 0; i < vq->size; i++)
        vq->shadow[i].next = (uint16_t)(i + 1);
    vq->free_count = vq->size;
}

int virtq_init(struct virtq *vq, uint16_t index, uint16_t n, void *mem,
               uint64_t mem_dma, struct virtq_shadow *shadow, bool event_idx)
{
    if (n == 0 || n > VIRTQ_SIZE_MAX || (n & (n - 1)) != 0)
        return V_INVAL;
    memset(mem, 0, virtq_mem_size(n));
    memset(vq, 0, sizeof(*vq));
    vq->desc = mem;
    vq->avail = (void *)((uint8_t *)mem + VIRTQ_DESC_BYTES(n));
    vq->used = (void *)((uint8_t *)mem + used_offset(n));
    vq->used_event = (void *)&vq->avail->ring[n];
    vq->avail_event = (void *)&vq->used->ring[n];
    vq->shadow = shadow;
    vq->desc_dma = mem_dma;
    vq->size = n;
    vq->mask = (uint16_t)(n - 1);
    vq->index = index;
    vq->event_idx = event_idx;
    free_list_init(vq);
    virtq_disarm(vq);
    return V_OK;
}

void *virtq_mem(const struct virtq *vq)
{
    return vq->desc;
}

struct virtq_shadow *virtq_shadow(const struct virtq *vq)
{
    return vq->shadow;
}

uint16_t virtq_size(const struct virtq *vq)
{
    return vq->size;
}

uint16_t virtq_index(const struct virtq *vq)
{
    return vq->index;
}

uint64_t virtq_desc_dma(const struct virtq *vq)
{
    return vq->desc_dma;
}

uint64_t virtq_driver_dma(const struct virtq *vq)
{
    return vq->desc_dma + VIRTQ_DESC_BYTES(vq->size);
}

uint64_t virtq_device_dma(const struct virtq *vq)
{
    return vq->desc_dma + used_offset(vq->size);
}

uint16_t virtq_room(const struct virtq *vq)
{
    return vq->free_count;
}

uint16_t virtq_in_flight(const struct virtq *vq)
{
    return vq->in_flight;
}

/* The chain at `head`, `n` descriptors that are filled in, is the device's;
 * `next` is the first descriptor that stays free. */
static inline void hand_over(struct virtq *vq, uint16_t head, unsigned n,
                             uint16_t next)
{
    vq->free_head = next;
    vq->free_count = (uint16_t)(vq->free_count - n);
    vq->avail->ring[vq->avail_idx & vq->mask] = head;
    vq->avail_idx++;
    vq->in_flight++;
}

bool virtq_dry(const struct virtq *vq)
{
    return atomic_load_explicit(&vq->used->idx, memory_order_relaxed) ==
           vq->visible;
}

/* A chain of one: every receive buffer, every small frame. */
static inline int add_one(struct virtq *vq, uint64_t addr, uint32_t len,
                          uint16_t flags, void *cookie)
{
    uint16_t head = vq->free_head;
    struct virtq_shadow *s = &vq->shadow[head];
    struct virtq_desc *d = &vq->desc[head];

    if (vq->fault)
        return V_DOWN;
    if (len == 0 || len == VIRTQ_LEN_BAD)
        return V_INVAL;
    if (vq->free_count == 0)
        return V_FULL;
    d->addr = addr;
    d->len = len;
    d->flags = flags;
    s->cookie = cookie;
    s->writable = flags ? len : 0;
    s->count = 1;
    hand_over(vq, head, 1, s->next);
    return V_OK;
}

int virtq_add_in(struct virtq *vq, uint64_t addr, uint32_t len, void *cookie)
{
    return add_one(vq, addr, len, VIRTQ_DESC_F_WRITE, cookie);
}

/* Can the segments be a chain? Stores the bytes that the device may write. */
static int check_segs(const struct virtq_seg *seg, unsigned out, unsigned in,
                      uint32_t *writable)
{
    uint64_t total = 0, wr = 0;

    if (out + in == 0)
        return V_INVAL;
    for (unsigned i = 0; i < out + in; i++) {
        if (seg[i].len == 0)
            return V_INVAL;
        total += seg[i].len;
        if (i >= out)
            wr += seg[i].len;
    }
    if (total >= UINT32_MAX) /* 2.7.5.2; all ones is VIRTQ_LEN_BAD */
        return V_INVAL;
    *writable = (uint32_t)wr;
    return V_OK;
}

/* Not inlined, or a chain of one would save registers that it does not use. */
__attribute__((noinline)) static int
add_many(struct virtq *vq, const struct virtq_seg *seg, unsigned out,
         unsigned in, void *cookie)
{
    unsigned n = out + in;
    uint16_t head = vq->free_head, at = head;
    uint32_t writable;
    int err;

    if (vq->fault)
        return V_DOWN;
    err = check_segs(seg, out, in, &writable);
    if (err)
        return err;
    if (n > vq->free_count)
        return V_FULL;

    for (unsigned i = 0; i < n; i++) {
        struct virtq_desc *d = &vq->desc[at];

        d->addr = seg[i].addr;
        d->len = seg[i].len;
        d->flags = (uint16_t)((i >= out ? VIRTQ_DESC_F_WRITE : 0) |
                              (i + 1 < n ? VIRTQ_DESC_F_NEXT : 0));
        d->next = i + 1 < n ? vq->shadow[at].next : 0;
        at = vq->shadow[at].next;
    }
    vq->shadow[head].cookie = cookie;
    vq->shadow[head].writable = writable;
    vq->shadow[head].count = (uint16_t)n;
    hand_over(vq, head, n, at);
    return V_OK;
}

int virtq_add(struct virtq *vq, const struct virtq_seg *seg, unsigned out,
              unsigned in, void *cookie)
{
    if (out + in == 1)
        return add_one(vq, seg->addr, seg->len, in ? VIRTQ_DESC_F_WRITE : 0,
                       cookie);
    return add_many(vq, seg, out, in, cookie);
}

bool virtq_publish(struct virtq *vq)
{
    uint16_t old = vq->kicked, now = vq->avail_idx;

    if (now == old || vq->fault)
        return false;
    vq->kicked = vq->visible = now;
    /* 2.7.13.4.1: the store must not pass the load below. */
    atomic_store_explicit(&vq->avail->idx, now, memory_order_seq_cst);
    if (vq->event_idx) {
        uint16_t event = atomic_load_explicit(vq->avail_event,
                                              memory_order_seq_cst);
        return virtq_need_event(event, now, old);
    }
    return !(atomic_load_explicit(&vq->used->flags, memory_order_seq_cst) &
             VIRTQ_USED_F_NO_NOTIFY);
}

/* The ring is broken. What was seen of it and not taken is forgotten, so that
 * one comparison tells virtq_get that there is nothing. */
static void spoil(struct virtq *vq, enum virtq_fault fault)
{
    vq->fault = (uint8_t)fault;
    vq->used_seen = vq->used_idx;
}

/*
 * Chains waiting to be taken, according to the used index `idx` of the
 * device. An index that runs ahead of what the device has is a fault.
 */
static uint16_t check_used_index(struct virtq *vq, uint16_t idx)
{
    uint16_t pending = (uint16_t)(idx - vq->used_idx);

    if (pending > vq->in_flight) {
        spoil(vq, VIRTQ_BAD_INDEX);
        return 0;
    }
    vq->used_seen = idx;
    return pending;
}

/*
 * Before the used index is read: everything counted in in_flight must be the
 * device's, or it could claim a chain that it has not seen and that would be
 * queued after its descriptors were free again.
 */
static void expose(struct virtq *vq)
{
    if (vq->visible == vq->avail_idx)
        return;
    vq->visible = vq->avail_idx;
    atomic_store_explicit(&vq->avail->idx, vq->visible, memory_order_release);
}

static uint16_t look(struct virtq *vq)
{
    if (vq->fault)
        return 0;
    expose(vq);
    return check_used_index(vq, atomic_load_explicit(&vq->used->idx,
                                                     memory_order_acquire));
}

bool virtq_pending(struct virtq *vq)
{
    return vq->used_idx != vq->used_seen || look(vq) != 0;
}

/* Puts the descriptors of a chain back on the free list. */
static inline void free_chain(struct virtq *vq, uint16_t head)
{
    struct virtq_shadow *s = &vq->shadow[head];
    struct virtq_shadow *last = s;

    for (unsigned i = 1; i < s->count; i++)
        last = &vq->shadow[last->next];
    last->next = vq->free_head;
    vq->free_head = head;
    vq->free_count = (uint16_t)(vq->free_count + s->count);
    s->cookie = NULL;
    vq->in_flight--;
}

void *virtq_get(struct virtq *vq, uint32_t *len)
{
    struct virtq_used_elem *e;
    struct virtq_shadow *s;
    uint32_t id, written;
    void *cookie;

    if (vq->used_idx == vq->used_seen && look(vq) == 0)
        return NULL;
    e = &vq->used->ring[vq->used_idx & vq->mask];
    id = atomic_load_explicit(&e->id, memory_order_relaxed);
    written = atomic_load_explicit(&e->len, memory_order_relaxed);
    if (id >= vq->size) {
        spoil(vq, VIRTQ_BAD_ID);
        return NULL;
    }
    s = &vq->shadow[id];
    cookie = s->cookie;
    if (!cookie) {
        spoil(vq, VIRTQ_NOT_OURS);
        return NULL;
    }
    *len = written <= s->writable ? written : VIRTQ_LEN_BAD;
    free_chain(vq, (uint16_t)id);
    vq->used_idx++;
    return cookie;
}

bool virtq_arm(struct virtq *vq, uint16_t after)
{
    uint16_t idx, pending;

    if (vq->fault)
        return true;
    expose(vq);
    if (vq->event_idx) {
        atomic_store_explicit(vq->used_event, (uint16_t)(vq->used_idx + after),
                              memory_order_seq_cst);
    } else {
        after = 0;
        atomic_store_explicit(&vq->avail->flags, 0, memory_order_seq_cst);
    }
    idx = atomic_load_explicit(&vq->used->idx, memory_order_seq_cst);
    pending = check_used_index(vq, idx);
    return vq->fault || pending > after;
}

void virtq_disarm(struct virtq *vq)
{
    /*
     * With EVENT_IDX the flags stay zero (2.7.7.1) and the event is put half
     * the index space ahead: further than the device can get before the ring
     * is looked at again.
     */
    if (vq->event_idx)
        atomic_store_explicit(vq->used_event,
                              (uint16_t)(vq->used_idx + 0x8000u),
                              memory_order_relaxed);
    else
        atomic_store_explicit(&vq->avail->flags, VIRTQ_AVAIL_F_NO_INTERRUPT,
                              memory_order_relaxed);
}

void *virtq_drain(struct virtq *vq)
{
    while (vq->drained < vq->size) {
        struct virtq_shadow *s = &vq->shadow[vq->drained++];
        void *cookie = s->cookie;

        if (cookie) {
            s->cookie = NULL;
            vq->in_flight--;
            return cookie;
        }
    }
    return NULL;
}

enum virtq_fault virtq_fault(const struct virtq *vq)
{
    return vq->fault;
}

const char *virtq_why(enum virtq_fault fault)
{
    switch (fault) {
    case VIRTQ_OK:
        return "sound";
    case VIRTQ_BAD_INDEX:
        return "used index ran ahead of what is outstanding";
    case VIRTQ_BAD_ID:
        return "used id outside the ring";
    case VIRTQ_NOT_OURS:
        return "used id not outstanding";
    }
    return "unknown";
}
