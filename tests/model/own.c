/*
 * Ownership of buffers and rings. Keeps a bit for every byte of DMA memory
 * that the device may write, and the list of enabled rings.
 */
#include "own.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "host.h"
#include "lint.h"

#define SCRIBBLE 0xa5
#define PRINT_BYTES 64u /* fingerprinted at each end of a long buffer */

static uint8_t *map; /* a bit a byte of the arena */
static struct vring_dev *rings;

static bool bit(uint64_t i)
{
    return map[i / 8] >> i % 8 & 1;
}

static void set_range(uint64_t at, uint64_t len, bool on)
{
    for (; len && at % 8; at++, len--)
        map[at / 8] = (uint8_t)(on ? map[at / 8] | 1u << at % 8
                                   : map[at / 8] & ~(1u << at % 8));
    memset(map + at / 8, on ? 0xff : 0, len / 8);
    for (at += len / 8 * 8, len %= 8; len; at++, len--)
        map[at / 8] = (uint8_t)(on ? map[at / 8] | 1u << at % 8
                                   : map[at / 8] & ~(1u << at % 8));
}

static bool any_set(uint64_t at, uint64_t len)
{
    for (; len && at % 8; at++, len--)
        if (bit(at))
            return true;
    for (; len >= 8; at += 8, len -= 8)
        if (map[at / 8])
            return true;
    for (; len; at++, len--)
        if (bit(at))
            return true;
    return false;
}

static uint64_t mix(uint64_t h, const uint8_t *p, uint32_t len)
{
    for (uint32_t i = 0; i < len; i++)
        h = (h ^ p[i]) * UINT64_C(0x100000001b3);
    return h;
}

/* Of both ends; the middle of a large buffer is not worth the time. */
static uint64_t fingerprint(const struct vring_seg *s)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);

    if (s->len <= 2 * PRINT_BYTES)
        return mix(h, s->p, s->len);
    h = mix(h, s->p, PRINT_BYTES);
    return mix(h, s->p + s->len - PRINT_BYTES, PRINT_BYTES);
}

static void take_writable(struct vring_seg *s, bool scribble)
{
    uint64_t off = s->addr - HOST_DMA_BASE;

    if (any_set(off, s->len))
        lint("INIT-11", "buffer 0x%llx + %u is the device's already",
             (unsigned long long)s->addr, s->len);
    set_range(off, s->len, true);
    if (scribble)
        memset(s->p, SCRIBBLE, s->len);
    host_poison(host_dma_driver_view(s->addr), s->len);
}

void own_take(struct vring_seg *s, bool scribble)
{
    if (s->write)
        take_writable(s, scribble);
    s->print = fingerprint(s);
}

void own_give(struct vring_seg *s, bool check)
{
    if (check && fingerprint(s) != s->print)
        lint("INIT-11", "buffer 0x%llx + %u changed while the device had it",
             (unsigned long long)s->addr, s->len);
    if (!s->write)
        return;
    set_range(s->addr - HOST_DMA_BASE, s->len, false);
    host_unpoison(host_dma_driver_view(s->addr), s->len);
}

static bool overlaps(uint64_t a, uint64_t alen, uint64_t b, uint64_t blen)
{
    return a < b + blen && b < a + alen;
}

static void check_chain(const struct vring_chain *c, uint64_t addr,
                        uint64_t len)
{
    for (unsigned i = 0; c && i < c->nseg; i++)
        if (overlaps(addr, len, c->seg[i].addr, c->seg[i].len))
            lint("INIT-11", "buffer 0x%llx freed while the device has it",
                 (unsigned long long)c->seg[i].addr);
}

static void on_free(uint64_t addr, uint64_t len)
{
    for (struct vring_dev *vr = rings; vr; vr = vr->next) {
        uint16_t n = vr->size;

        if (overlaps(addr, len, vr->desc_addr, VIRTQ_DESC_BYTES(n)) ||
            overlaps(addr, len, vr->avail_addr, VIRTQ_AVAIL_BYTES(n)) ||
            overlaps(addr, len, vr->used_addr, VIRTQ_USED_BYTES(n)))
            lint("INIT-11", "ring of queue %u freed while the device has it",
                 vr->index);
        for (unsigned i = 0; i < n; i++)
            check_chain(vr->owned[i], addr, len);
    }
}

void own_watch(struct vring_dev *vr)
{
    if (!map)
        map = calloc(HOST_ARENA_BYTES / 8, 1);
    CHECK(map);
    vr->next = rings;
    rings = vr;
    host_on_dma_free = on_free;
}

void own_unwatch(struct vring_dev *vr)
{
    struct vring_dev **p = &rings;

    while (*p && *p != vr)
        p = &(*p)->next;
    if (*p)
        *p = vr->next;
    if (!rings)
        host_on_dma_free = NULL;
}
