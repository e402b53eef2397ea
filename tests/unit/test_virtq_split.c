/*
 * drivers/virtio/virtq_split.c against the model's side of the ring.
 */
#include <stdlib.h>

#include "rig.h"

static struct rig r;

static uint16_t random16(void)
{
    return (uint16_t)plat_random();
}

/* ---- sizes and indices -------------------------------------------------- */

TEST(every_ring_size)
{
    for (uint32_t n = 1; n <= VIRTQ_SIZE_MAX; n *= 2) {
        rig_init(&r, (uint16_t)n, n & 0x5555);
        CHECK_EQ(virtq_size(&r.vq), n);
        for (int round = 0; round < 3; round++)
            rig_fill_and_empty(&r, (uint16_t)n);
        rig_end(&r);
    }
}

TEST(sizes_that_are_none)
{
    static const uint16_t bad[] = {0, 3, 5, 6, 255, 257, 32769, 65535};
    struct virtq vq;

    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CHECK_EQ(virtq_init(&vq, 0, bad[i], NULL, 0, NULL, false), V_INVAL);
}

TEST(layout_by_the_specification)
{
    for (uint32_t n = 1; n <= VIRTQ_SIZE_MAX; n *= 2) {
        rig_init(&r, (uint16_t)n, true);
        CHECK_EQ(virtq_driver_dma(&r.vq) % 2, 0);
        CHECK_EQ(virtq_device_dma(&r.vq) % 4, 0);
        CHECK(virtq_driver_dma(&r.vq) >= virtq_desc_dma(&r.vq) + 16 * n);
        CHECK(virtq_device_dma(&r.vq) >=
              virtq_driver_dma(&r.vq) + 6 + 2 * n);
        CHECK(virtq_desc_dma(&r.vq) + virtq_mem_size((uint16_t)n) >=
              virtq_device_dma(&r.vq) + 6 + 8 * n);
        rig_end(&r);
    }
}

/* BC-001: both indices pass 65535 with chains outstanding. */
TEST(index_wraps)
{
    for (int event = 0; event < 2; event++) {
        rig_init(&r, 8, event);
        rig_preset(&r, 0xfff0);
        for (int round = 0; round < 8; round++)
            rig_fill_and_empty(&r, 8);
        rig_end(&r);
    }
}

/* SPL-12: more than 131072 buffers through a ring of two. */
TEST(index_wraps_twice_for_real)
{
    uint32_t len;

    for (int event = 0; event < 2; event++) {
        rig_init(&r, 2, event);
        for (unsigned i = 0; i < 140000; i++) {
            CHECK_EQ(rig_add(&r, i & 1), V_OK);
            CHECK(virtq_publish(&r.vq));
            CHECK_EQ(rig_complete(&r, i & 63), 1);
            CHECK_EQ(number(virtq_get(&r.vq, &len)), i & 1);
            CHECK_EQ(len, i & 63);
        }
        rig_end(&r);
    }
}

/* ---- what is refused ---------------------------------------------------- */

TEST(chains_that_are_refused)
{
    uint64_t a;
    struct virtq_seg seg[10];
    uint32_t len;

    rig_init(&r, 8, false);
    a = plat_dma_addr(r.bufs);
    for (unsigned i = 0; i < 10; i++)
        seg[i] = (struct virtq_seg){a + 40 * i, 40};
    CHECK_EQ(virtq_add(&r.vq, seg, 0, 0, cookie(0)), V_INVAL);
    CHECK_EQ(virtq_add(&r.vq, seg, 9, 0, cookie(0)), V_FULL);
    CHECK_EQ(virtq_add(&r.vq, seg, 5, 4, cookie(0)), V_FULL);
    seg[1].len = 0;
    CHECK_EQ(virtq_add(&r.vq, seg, 3, 0, cookie(0)), V_INVAL);
    CHECK_EQ(virtq_add(&r.vq, seg, 1, 1, cookie(0)), V_INVAL);
    seg[1].len = UINT32_MAX - 10;
    CHECK_EQ(virtq_add(&r.vq, seg, 2, 0, cookie(0)), V_INVAL);
    CHECK_EQ(virtq_room(&r.vq), 8);
    CHECK_EQ(virtq_in_flight(&r.vq), 0);
    CHECK(!virtq_publish(&r.vq));
    seg[1].len = 40;
    CHECK_EQ(virtq_add(&r.vq, seg, 5, 3, cookie(9)), V_OK);
    CHECK_EQ(virtq_room(&r.vq), 0);
    virtq_publish(&r.vq);
    CHECK_EQ(rig_complete(&r, 120), 1);
    CHECK_EQ(number(virtq_get(&r.vq, &len)), 9);
    CHECK_EQ(len, 120);
    rig_end(&r);
}

/* ---- any order, any mix (BC-002, BC-006, BC-019, BC-027) ---------------- */

struct expected {
    unsigned descs; /* 0: not outstanding */
    uint32_t writable;
    uint32_t used; /* length that the device reported */
};

struct property {
    struct expected *chain; /* by cookie */
    uint16_t n;
    unsigned descs; /* in all outstanding chains */
    unsigned chains;
};

static void random_add(struct property *p)
{
    unsigned k = random16() % p->n, out, in;
    struct virtq_seg seg[8];
    uint32_t writable = 0;
    int err;

    if (p->chain[k].descs)
        return;
    out = random16() % 5;
    in = random16() % 4;
    /* The chain's own 64 bytes, cut into up to eight pieces. */
    for (unsigned i = 0; i < out + in; i++) {
        seg[i].addr = plat_dma_addr(r.bufs + 64 * k + 8 * i);
        seg[i].len = 1 + random16() % 8;
        writable += i >= out ? seg[i].len : 0;
    }
    err = virtq_add(&r.vq, seg, out, in, cookie(k));
    if (out + in == 0) {
        CHECK_EQ(err, V_INVAL);
    } else if (out + in > p->n - p->descs) {
        CHECK_EQ(err, V_FULL);
    } else {
        CHECK_EQ(err, V_OK);
        p->chain[k] = (struct expected){out + in, writable, 0};
        p->descs += out + in;
        p->chains++;
    }
}

static void random_complete(struct property *p)
{
    unsigned n = random16() % 4;

    vring_see(&r.vr);
    while (n-- && vring_waiting(&r.vr)) {
        struct vring_chain *c = vring_take_nth(
            &r.vr, random16() % vring_waiting(&r.vr));
        unsigned k = (unsigned)((c->seg[0].addr - plat_dma_addr(r.bufs)) / 64);

        CHECK_EQ(c->nseg, p->chain[k].descs);
        CHECK_EQ(c->writable, p->chain[k].writable);
        p->chain[k].used = c->writable ? random16() % (c->writable + 1) : 0;
        vring_put(&r.vr, c, p->chain[k].used);
    }
    vring_publish(&r.vr);
}

static void random_get(struct property *p)
{
    unsigned n = random16() % 4;
    uint32_t len;
    void *c;

    while (n-- && (c = virtq_get(&r.vq, &len)) != NULL) {
        struct expected *e = &p->chain[number(c)];

        CHECK(e->descs);
        CHECK_EQ(len, e->used);
        p->descs -= e->descs;
        p->chains--;
        e->descs = 0;
    }
}

static void property(uint16_t n, bool event, unsigned steps)
{
    struct property p = {.n = n};

    p.chain = calloc(n, sizeof(*p.chain));
    rig_init(&r, n, event);
    rig_preset(&r, random16());
    for (unsigned i = 0; i < steps; i++) {
        switch (random16() % 4) {
        case 0:
            random_complete(&p);
            break;
        case 1:
            random_get(&p);
            break;
        case 2:
            virtq_publish(&r.vq);
            break;
        default:
            random_add(&p);
        }
        CHECK_EQ(virtq_room(&r.vq), n - p.descs);
        CHECK_EQ(virtq_in_flight(&r.vq), p.chains);
        CHECK_EQ(virtq_fault(&r.vq), VIRTQ_OK);
    }
    rig_end(&r);
    free(p.chain);
}

TEST(random_traffic_keeps_count)
{
    for (uint16_t n = 1; n <= 256; n = (uint16_t)(n * 2))
        for (int event = 0; event < 2; event++)
            property(n, event, 20000);
}
