/*
 * drivers/virtio/virtq_split.c against a device that lies: ids, indices,
 * lengths, descriptors that are not what they should be.
 */
#include "rig.h"

static struct rig r;

/* ---- a device that lies ------------------------------------------------- */

/* Four chains of two descriptors outstanding, one of them completed. */
static void outstanding(uint16_t n)
{
    struct virtq_seg seg[2];

    rig_init(&r, n, false);
    for (unsigned i = 0; i < 4; i++) {
        seg[0] = (struct virtq_seg){plat_dma_addr(r.bufs + 64 * i), 20};
        seg[1] = (struct virtq_seg){plat_dma_addr(r.bufs + 64 * i + 20), 30};
        CHECK_EQ(virtq_add(&r.vq, seg, 1, 1, cookie(i)), V_OK);
    }
    virtq_publish(&r.vq);
    vring_see(&r.vr);
}

static void use_one(uint32_t len)
{
    vring_put(&r.vr, vring_take(&r.vr), len);
    vring_publish(&r.vr);
}

/* After a fault nothing goes in, and draining returns each chain once. */
static void check_broken(enum virtq_fault why, unsigned left)
{
    struct virtq_seg seg = {plat_dma_addr(r.bufs), 1};
    unsigned seen = 0, count = 0;
    uint32_t len;
    void *c;

    CHECK(!virtq_get(&r.vq, &len));
    CHECK_EQ(virtq_fault(&r.vq), why);
    CHECK_EQ(virtq_add(&r.vq, &seg, 1, 0, cookie(0)), V_DOWN);
    CHECK(!virtq_publish(&r.vq));
    CHECK(!virtq_pending(&r.vq));
    CHECK(!virtq_get(&r.vq, &len));
    CHECK(virtq_arm(&r.vq, 0)); /* the caller must look, and will see it */
    CHECK(strlen(virtq_why(why)) > 5);
    vring_disable(&r.vr);
    while ((c = virtq_drain(&r.vq)) != NULL) {
        CHECK(!(seen & 1u << number(c)));
        seen |= 1u << number(c);
        count++;
    }
    CHECK_EQ(count, left);
    CHECK_EQ(virtq_in_flight(&r.vq), 0);
}

TEST(used_id_faults)
{
    static const struct {
        enum fault f;
        enum virtq_fault why;
    } t[] = {{FAULT_ID_RANGE, VIRTQ_BAD_ID},
             {FAULT_ID_HUGE, VIRTQ_BAD_ID},
             {FAULT_ID_FREE, VIRTQ_NOT_OURS},
             {FAULT_ID_MID_CHAIN, VIRTQ_NOT_OURS}};

    for (unsigned i = 0; i < 4; i++) {
        outstanding(16);
        fault_arm(&r.faults, t[i].f, 1);
        use_one(30);
        check_broken(t[i].why, 4);
        rig_end(&r);
    }
}

TEST(used_id_twice)
{
    uint32_t len;

    outstanding(16);
    fault_arm(&r.faults, FAULT_ID_REPEATED, 1);
    use_one(30);
    CHECK_EQ(number(virtq_get(&r.vq, &len)), 0);
    check_broken(VIRTQ_NOT_OURS, 3);
    rig_end(&r);
}

TEST(used_index_faults)
{
    static const enum fault t[] = {FAULT_IDX_JUMP, FAULT_IDX_BACK};

    for (unsigned i = 0; i < 2; i++) {
        outstanding(16);
        fault_arm(&r.faults, t[i], 1);
        use_one(30);
        check_broken(VIRTQ_BAD_INDEX, 4);
        rig_end(&r);
    }
}

/* One more than is outstanding is noticed on a ring that has room for it. */
TEST(used_index_one_too_far)
{
    uint32_t len;

    outstanding(16);
    for (unsigned i = 0; i < 3; i++)
        use_one(30);
    fault_arm(&r.faults, FAULT_IDX_UNFOUNDED, 1);
    use_one(30);
    check_broken(VIRTQ_BAD_INDEX, 4);
    CHECK(!virtq_get(&r.vq, &len));
    rig_end(&r);
}

TEST(used_length_faults)
{
    static const struct {
        enum fault f;
        uint32_t len;
    } t[] = {{FAULT_LEN_OVER, VIRTQ_LEN_BAD},
             {FAULT_LEN_HUGE, VIRTQ_LEN_BAD},
             {FAULT_LEN_SIGN, VIRTQ_LEN_BAD},
             {FAULT_LEN_ZERO, 0}};
    uint32_t len;

    for (unsigned i = 0; i < 4; i++) {
        outstanding(16);
        fault_arm(&r.faults, t[i].f, 1);
        use_one(30);
        CHECK_EQ(number(virtq_get(&r.vq, &len)), 0);
        CHECK_EQ(len, t[i].len);
        CHECK_EQ(virtq_fault(&r.vq), VIRTQ_OK);
        use_one(30);
        CHECK_EQ(number(virtq_get(&r.vq, &len)), 1);
        CHECK_EQ(len, 30); /* exactly what the chain can hold is fine */
        rig_end(&r);
    }
}

/* SPL-25: the links that matter are the driver's own. */
TEST(descriptor_table_scribbled)
{
    uint32_t len;

    outstanding(16);
    fault_arm(&r.faults, FAULT_DESC_SCRIBBLED, FAULT_ALWAYS);
    for (unsigned i = 0; i < 4; i++) {
        use_one(30);
        CHECK_EQ(number(virtq_get(&r.vq, &len)), i);
    }
    CHECK_EQ(virtq_room(&r.vq), 16);
    fault_arm(&r.faults, FAULT_DESC_SCRIBBLED, 0);
    for (int round = 0; round < 3; round++)
        rig_fill_and_empty(&r, 16);
    rig_end(&r);
}

/* A device that uses a chain before it was published must not get us to
 * publish it again after its descriptors are free. */
TEST(used_before_it_was_published)
{
    struct virtq_used_elem *e;
    uint32_t len;

    rig_init(&r, 8, true);
    CHECK_EQ(rig_add(&r, 0), V_OK);
    e = &r.vq.used->ring[0];
    atomic_store(&e->id, 0);
    atomic_store(&e->len, 1);
    atomic_store(&r.vq.used->idx, 1);
    CHECK(virtq_arm(&r.vq, 0));
    if (virtq_get(&r.vq, &len))
        CHECK_EQ(atomic_load(&r.vq.avail->idx), 1);
    rig_end(&r);
}

TEST(drain_of_a_sound_ring)
{
    unsigned count = 0;

    outstanding(16);
    vring_disable(&r.vr);
    while (virtq_drain(&r.vq))
        count++;
    CHECK_EQ(count, 4);
    rig_end(&r);
}
