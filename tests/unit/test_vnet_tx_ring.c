/*
 * drivers/vnet: sending, the ring: full and empty, completion, doorbells, the
 * end.
 */
#include "vnet_rig.h"

#define BIT(name) VIRTIO_BIT(VIRTIO_NET_F_##name)

static uint8_t frame[70000];
static uint8_t copy[70000];

static const uint64_t variants[] = {
    MODEL_FEATURES,
    MODEL_FEATURES & ~VIRTIO_BIT(VIRTIO_F_EVENT_IDX),
    MODEL_FEATURES_MIN,
};
#define VARIANTS (sizeof(variants) / sizeof(variants[0]))

static const struct vnet_stats *stats(void)
{
    return vnet_stats(rig.v);
}

/* The next frame on the wire is these bytes. */
static void expect_wire(const uint8_t *bytes, uint32_t len)
{
    struct model_frame *f = model_tx_pop(rig.m);

    CHECK(f);
    CHECK_EQ(f->len, len);
    CHECK_MEM_EQ(f->data, bytes, len);
    free(f);
}

/* ---- the ring ----------------------------------------------------------- */

/* BC-008: full is an answer, not an end; everything sent arrives. */
TEST(ring_full_and_empty_again)
{
    for (unsigned i = 0; i < VARIANTS; i++) {
        unsigned n = 0;

        rig_start(variants[i]);
        rig.m->tx_hold = true;
        frame_make_raw(frame, 1000, 1);
        while (rig_send(frame, 1000) == V_OK) {
            vnet_flush(rig.v);
            n++;
        }
        CHECK_EQ(n, 124); /* two descriptors each, 8 kept for small frames */
        CHECK_EQ(stats()->tx_full, 1);
        CHECK_EQ(rig_send(frame, 1000), V_FULL);
        rig_turn(); /* a sender waits: the interrupt is armed */
        rig.m->tx_hold = false;
        model_tx_release(rig.m, n);
        CHECK(vnet_irq_pending(rig.v));
        rig_turn();
        CHECK_EQ(rig.finished, n);
        CHECK_EQ(rig_send(frame, 1000), V_OK);
        rig_turn();
        CHECK_EQ(rig.m->n.tx_wire, n + 1);
        rig_stop();
    }
}

/* A full ring that empties one by one wakes the sender before the end. */
TEST(interrupt_for_a_waiting_sender)
{
    unsigned n = 0;

    rig_start(MODEL_FEATURES);
    rig.m->tx_hold = true;
    frame_make_raw(frame, 1000, 1);
    while (rig_send(frame, 1000) == V_OK)
        vnet_flush(rig.v);
    rig_turn();
    while (!vnet_irq_pending(rig.v) && n < 128)
        n += model_tx_release(rig.m, 1);
    CHECK(n > 64 && n < 128);
    rig_stop();
}

/* BC-009: nothing ever comes in, and sending goes on. */
TEST(sending_without_receiving)
{
    rig_start(MODEL_FEATURES);
    frame_make_raw(frame, 1000, 1);
    for (unsigned i = 0; i < 20000; i++) {
        CHECK_EQ(rig_send(frame, 1000), V_OK);
        vnet_flush(rig.v);
        if (i % 50 == 0)
            rig_turn();
        model_tx_discard(rig.m);
    }
    rig_turn();
    CHECK_EQ(rig.finished, 20000);
    rig_stop();
}

/* NET-TX-15: sent frames are finished in bounded time when all is quiet. */
TEST(reclaim_by_timer)
{
    struct vnet_config c = {.tx.mode = VNET_TX_ORPHAN};

    rig_model(MODEL_FEATURES);
    CHECK_EQ(rig_open(&c), V_OK);
    rig.m->tx_hold = true;
    frame_make_raw(frame, 1000, 1);
    CHECK_EQ(rig_send(frame, 1000), V_OK);
    rig_turn();
    model_tx_release(rig.m, 1);
    CHECK(!vnet_irq_pending(rig.v)); /* suppressed in this mode */
    CHECK(host_wakeup() - host_now <= UINT64_C(20000000));
    rig_sleep();
    CHECK_EQ(rig.finished, 1);
    CHECK(!vnet_irq_pending(rig.v));
    rig_stop();
}

TEST(completions_in_any_order)
{
    static const enum model_order orders[] = {MODEL_REVERSED, MODEL_RANDOM};

    for (unsigned o = 0; o < 2; o++) {
        rig_start(MODEL_FEATURES);
        rig.m->tx_hold = true;
        rig.m->order = orders[o];
        for (unsigned i = 0; i < 3000; i++) {
            uint32_t len = 14 + (uint32_t)(plat_random() % 1500);
            struct vnet_seg seg[2] = {{frame, len / 2},
                                      {frame + 2000, len - len / 2}};
            struct vnet_tx tx = {.seg = seg, .nseg = 2};

            frame_make_raw(frame, 4000, 1);
            rig.m->tx_raw = true;
            if (rig_send_tx(&tx) == V_FULL)
                model_tx_release(rig.m, 100);
            rig_turn();
            model_tx_release(rig.m, (unsigned)(plat_random() % 4));
            model_tx_discard(rig.m);
        }
        model_tx_release(rig.m, 1000);
        rig_turn();
        CHECK_EQ(rig.out, 0);
        rig_stop();
    }
}

/* One doorbell for a batch, however many frames. */
TEST(doorbells_are_batched)
{
    rig_start(MODEL_FEATURES);
    frame_make_raw(frame, 200, 1);
    for (unsigned round = 1; round <= 50; round++) {
        for (unsigned i = 0; i < 40; i++)
            CHECK_EQ(rig_send(frame, 200), 1);
        vnet_flush(rig.v);
        vnet_flush(rig.v);
        CHECK_EQ(rig.m->n.doorbells[1], round);
        rig_turn();
    }
    CHECK_EQ(rig.m->n.tx_wire, 2000);
    CHECK_EQ(rig.m->n.doorbells_empty[1], 0);
    CHECK_EQ(stats()->tx_notify, 50);
    rig_stop();
}

/* A device that polls gets no doorbells, and loses nothing. */
TEST(doorbells_not_wanted)
{
    for (unsigned i = 0; i < VARIANTS; i++) {
        rig_model(variants[i]);
        rig.m->no_doorbells = true;
        rig.m->stepped = true;
        CHECK_EQ(rig_open(NULL), V_OK);
        frame_make_raw(frame, 200, 1);
        for (unsigned k = 0; k < 1000; k++) {
            if (rig_send(frame, 200) < 0)
                break;
            vnet_flush(rig.v);
            if (k % 100 == 0) {
                model_step(rig.m);
                rig_turn();
            }
        }
        model_step(rig.m);
        rig_turn();
        CHECK_EQ(rig.m->n.doorbells[1], 0);
        CHECK_EQ(rig.m->n.tx_wire, 1000);
        rig_stop();
    }
}

/* A doorbell that got lost: the frame leaves all the same, a little later. */
TEST(lost_doorbell_is_rung_again)
{
    uint64_t before;

    rig_start(MODEL_FEATURES);
    model_fault(rig.m, 1, FAULT_NOTIFY_LOST, 1);
    frame_make_raw(frame, 1000, 1);
    before = host_now;
    CHECK_EQ(rig_send(frame, 1000), V_OK);
    rig_turn();
    for (unsigned i = 0; i < 1000 && rig.finished == 0; i++)
        rig_sleep();
    CHECK_EQ(rig.finished, 1);
    CHECK(host_now - before < UINT64_C(3000000000));
    CHECK_EQ(stats()->tx_watchdog, 1);
    rig_stop();
}

TEST(every_ring_size)
{
    for (uint32_t n = 1; n <= 8192; n *= 2) {
        struct vnet_config c = {.tx_ring = (uint16_t)n};

        rig_model(MODEL_FEATURES);
        rig.m->queue_max[1] = (uint16_t)n;
        CHECK_EQ(rig_open(&c), V_OK);
        CHECK_EQ(vnet_info(rig.v)->tx_ring, n);
        for (unsigned i = 0; i < 500; i++)
            rig_expect_tx(14 + i * 3, i);
        rig_stop();
    }
}

/* More segments than the ring has descriptors: joined, if there is memory. */
TEST(frame_longer_than_the_ring)
{
    struct vnet_seg seg[VNET_TX_SEGS];
    struct vnet_tx tx = {.seg = seg, .nseg = VNET_TX_SEGS};

    rig_model(MODEL_FEATURES);
    rig.m->queue_max[1] = 4;
    rig.m->tx_raw = true;
    CHECK_EQ(rig_open(NULL), V_OK);
    frame_make_raw(frame, 4000, 1);
    for (unsigned i = 0; i < VNET_TX_SEGS; i++) {
        seg[i] = (struct vnet_seg){frame + 60 * i, 22};
        memcpy(copy + 22 * i, frame + 60 * i, 22);
    }
    CHECK_EQ(rig_send_tx(&tx), 1);
    rig_turn();
    expect_wire(copy, 22 * VNET_TX_SEGS);
    rig_turn();
    host_fail_alloc_all(true);
    CHECK_EQ(rig_send_tx(&tx), V_FULL);
    host_fail_alloc_all(false);
    rig.m->tx_hold = true;
    for (unsigned i = 0; i < 4; i++)
        CHECK_EQ(rig_send_tx(&tx), 1);
    CHECK_EQ(rig_send_tx(&tx), V_FULL); /* and its copy is freed */
    rig_turn();
    rig_stop(); /* so are those that were under way */
}

/* ---- the end ------------------------------------------------------------ */

TEST(close_finishes_what_is_under_way)
{
    rig_start(MODEL_FEATURES);
    rig.m->tx_hold = true;
    frame_make_raw(frame, 1000, 1);
    for (unsigned i = 0; i < 50; i++)
        CHECK_EQ(rig_send(frame, 1000), V_OK);
    vnet_flush(rig.v);
    for (unsigned i = 0; i < 10; i++) /* these the device has not seen */
        CHECK_EQ(rig_send(frame, 1000), V_OK);
    CHECK_EQ(rig.out, 60);
    rig_stop();
    CHECK_EQ(rig.finished, 60);
}

TEST(send_before_a_client_is_there)
{
    struct vnet_seg seg = {frame, 100};
    struct vnet_tx tx = {.seg = &seg, .nseg = 1, .cookie = frame};

    rig_model(MODEL_FEATURES);
    rig.dev->config_len = rig.m->config_len;
    CHECK_EQ(vnet_open(rig.dev, NULL, &rig.v), V_OK);
    CHECK_EQ(vnet_send(rig.v, &tx), V_DOWN);
    CHECK_EQ(stats()->tx_down, 1);
    rig_stop();
}
