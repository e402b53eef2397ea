/*
 * The driver's obligations on a split virtqueue, as rules. Virtio 1.3,
 * section 2.7, the driver requirements.
 */
#include "vring_check.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "host.h"
#include "lint.h"

#define KNOWN_FLAGS                                                          \
    (VIRTQ_DESC_F_NEXT | VIRTQ_DESC_F_WRITE | VIRTQ_DESC_F_INDIRECT)

static void *part(const struct vring_dev *vr, const char *what, uint64_t addr,
                  uint32_t len, unsigned align, bool write)
{
    const char *why;
    void *p;

    if (addr % align != 0) {
        lint("SPL-01", "%s of queue %u at 0x%llx is not aligned to %u", what,
             vr->index, (unsigned long long)addr, align);
        return NULL;
    }
    p = host_dma_view(addr, len, write, &why);
    if (!p)
        lint("SPL-01", "%s of queue %u at 0x%llx + %u: %s", what, vr->index,
             (unsigned long long)addr, len, why);
    return p;
}

bool vring_check_memory(struct vring_dev *vr)
{
    uint16_t n = vr->size;

    if (n == 0 || n > VIRTQ_SIZE_MAX || (n & (n - 1)) != 0) {
        lint("SPL-02", "queue %u of size %u", vr->index, n);
        return false;
    }
    vr->desc = part(vr, "descriptor table", vr->desc_addr,
                    VIRTQ_DESC_BYTES(n), VIRTQ_DESC_ALIGN, false);
    vr->avail = part(vr, "available ring", vr->avail_addr,
                     VIRTQ_AVAIL_BYTES(n), VIRTQ_AVAIL_ALIGN, false);
    vr->used = part(vr, "used ring", vr->used_addr, VIRTQ_USED_BYTES(n),
                    VIRTQ_USED_ALIGN, true);
    if (!vr->desc || !vr->avail || !vr->used)
        return false;
    if (atomic_load(&vr->used->flags) != 0 || atomic_load(&vr->used->idx) != 0)
        lint("SPL-17", "the used ring of queue %u is not zeroed", vr->index);
    return true;
}

void vring_check_flags(struct vring_dev *vr)
{
    uint16_t flags = atomic_load(&vr->avail->flags);

    if (vr->event_idx ? flags != 0 : flags > 1)
        lint("SPL-13", "avail.flags of queue %u is 0x%x", vr->index, flags);
    if (atomic_load(&vr->used->idx) != vr->used_idx)
        lint("RING-USED", "the driver wrote used.idx of queue %u", vr->index);
}

/* One descriptor table: the ring's own, or an indirect one. */
struct table {
    const struct virtq_desc *desc;
    uint32_t len;
    bool indirect;
};

static bool check_desc(const struct vring_dev *vr, const struct virtq_desc *d,
                       const struct vring_chain *c)
{
    if (d->flags & ~KNOWN_FLAGS) {
        lint("RING-FLAGS", "descriptor flags 0x%x", d->flags);
        return false;
    }
    if (d->len == 0) {
        lint("RING-ZERO", "descriptor of length 0 in queue %u", vr->index);
        return false;
    }
    if (!(d->flags & VIRTQ_DESC_F_WRITE) && c->nout != c->nseg) {
        lint("SPL-03", "readable descriptor behind a writable one");
        return false;
    }
    if ((uint64_t)c->readable + c->writable + d->len > UINT32_MAX) {
        lint("SPL-05", "chain of more than 4 GiB");
        return false;
    }
    return true;
}

/* Appends the descriptor to the record. */
static bool append(const struct vring_dev *vr, struct vring_chain *c,
                   const struct virtq_desc *d, uint16_t slot)
{
    bool write = d->flags & VIRTQ_DESC_F_WRITE;
    struct vring_seg *s = &c->seg[c->nseg];
    const char *why;

    if (!check_desc(vr, d, c))
        return false;
    *s = (struct vring_seg){.addr = d->addr, .len = d->len, .write = write,
                            .desc = slot};
    s->p = host_dma_view(d->addr, d->len, write, &why);
    if (!s->p) {
        lint("RING-ADDR", "descriptor of queue %u at 0x%llx + %u: %s",
             vr->index, (unsigned long long)d->addr, d->len, why);
        return false;
    }
    c->nseg++;
    if (write) {
        c->writable += d->len;
    } else {
        c->readable += d->len;
        c->nout++;
    }
    return true;
}

static bool walk(struct vring_dev *vr, struct vring_chain *c,
                 const struct table *t, uint16_t at);

/* 2.7.5.3: the table takes the place of the rest of the chain. */
static bool walk_indirect(struct vring_dev *vr, struct vring_chain *c,
                          const struct virtq_desc *d, bool inside)
{
    struct table t = {.len = d->len / 16, .indirect = true};
    const char *why;

    if (!vr->indirect) {
        lint("SPL-09", "indirect descriptor, not negotiated");
        return false;
    }
    if (inside || (d->flags & VIRTQ_DESC_F_NEXT) || d->len % 16 != 0 ||
        t.len == 0 || t.len > vr->size) {
        lint("SPL-10", "indirect descriptor of %u bytes, flags 0x%x", d->len,
             d->flags);
        return false;
    }
    t.desc = host_dma_view(d->addr, d->len, false, &why);
    if (!t.desc) {
        lint("RING-ADDR", "indirect table: %s", why);
        return false;
    }
    return walk(vr, c, &t, 0);
}

static bool claim(struct vring_dev *vr, const struct vring_chain *c,
                  const struct table *t, uint16_t at)
{
    if (t->indirect)
        return true;
    for (unsigned i = 0; i < c->nseg; i++) {
        if (c->seg[i].desc == at) {
            lint("SPL-05", "the chain at %u of queue %u is a loop", c->head,
                 vr->index);
            return false;
        }
    }
    if (vr->busy[at]) {
        lint("RING-BUSY", "descriptor %u of queue %u is the device's already",
             at, vr->index);
        return false;
    }
    vr->busy[at] = 1;
    return true;
}

static bool walk(struct vring_dev *vr, struct vring_chain *c,
                 const struct table *t, uint16_t at)
{
    for (uint32_t steps = 0;; steps++) {
        const struct virtq_desc *d;

        if (at >= t->len) {
            lint(steps == 0 ? "RING-HEAD" : "RING-NEXT",
                 "descriptor %u of %u", at, t->len);
            return false;
        }
        if (steps >= t->len) {
            lint("SPL-05", "chain longer than its table");
            return false;
        }
        d = &t->desc[at];
        if (!claim(vr, c, t, at))
            return false;
        if (d->flags & VIRTQ_DESC_F_INDIRECT)
            return walk_indirect(vr, c, d, t->indirect);
        if (!append(vr, c, d, t->indirect ? UINT16_MAX : at))
            return false;
        if (!(d->flags & VIRTQ_DESC_F_NEXT))
            return true;
        at = d->next;
    }
}

struct vring_chain *vring_check_chain(struct vring_dev *vr, uint16_t head)
{
    struct table t = {.desc = vr->desc, .len = vr->size};
    struct vring_chain *c = vr->scratch;
    struct vring_chain *record;
    size_t bytes;

    memset(c, 0, sizeof(*c));
    c->head = head;
    if (!walk(vr, c, &t, head))
        return NULL;
    bytes = sizeof(*c) + c->nseg * sizeof(struct vring_seg);
    record = malloc(bytes);
    CHECK(record);
    memcpy(record, c, bytes);
    return record;
}

void vring_check_unchanged(const struct vring_dev *vr,
                           const struct vring_chain *c)
{
    for (unsigned i = 0; i < c->nseg; i++) {
        const struct vring_seg *s = &c->seg[i];
        const struct virtq_desc *d = &vr->desc[s->desc];

        if (s->desc == UINT16_MAX)
            continue;
        if (d->addr != s->addr || d->len != s->len ||
            !(d->flags & VIRTQ_DESC_F_WRITE) != !s->write)
            lint("RING-DESC", "descriptor %u of queue %u changed while the "
                 "device had it", s->desc, vr->index);
    }
}
