/*
 * drivers/vnet: sending, from segments to the wire and back to the sender.
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

/* ---- frames -------------------------------------------------------------------------- */

TEST(every_length_up_to_the_mtu)
{
    for (unsigned i = 0; i < VARIANTS; i++) {
        rig_start(variants[i]);
        for (uint32_t len = 14; len <= 1518; len++)
            rig_expect_tx(len, len);
        rig_turn();
        CHECK_EQ(stats()->tx_frames, 1518 - 13);
        CHECK_EQ(stats()->tx_done, 1518 - 13);
        rig_stop();
    }
}

/* BC-060: padded with zeros, not with what was there before. */
TEST(short_frames_are_padded_with_zeros)
{
    struct model_frame *f;

    rig_start(MODEL_FEATURES);
    for (unsigned i = 0; i < 600; i++) {
        frame_make_raw(frame, 200, i);
        CHECK_EQ(rig_send(frame, i & 1 ? 200 : 14 + i % 46), 1);
        rig_turn();
        f = model_tx_pop(rig.m);
        for (uint32_t k = 14 + i % 46; !(i & 1) && k < 60; k++)
            CHECK_EQ(f->data[k], 0);
        free(f);
    }
    rig_stop();
}

/* A small frame is done at once; a large one is the driver's for a while. */
TEST(copied_or_kept)
{
    rig_start(MODEL_FEATURES);
    rig.m->tx_hold = true;
    frame_make_raw(frame, 1500, 1);
    memcpy(copy, frame, 1500);
    CHECK_EQ(rig_send(copy, 100), 1);
    memset(copy, 0, 100); /* the sender's again: INIT-11 must not fire */
    rig_turn();
    expect_wire(frame, 100);
    CHECK_EQ(rig_send(frame, 1500), V_OK);
    rig_turn();
    expect_wire(frame, 1500);
    CHECK_EQ(rig.finished, 0);
    model_tx_release(rig.m, 10);
    rig_turn();
    CHECK_EQ(rig.finished, 1);
    CHECK_EQ(stats()->tx_copied, 1);
    rig_stop();
}

/* BC-018: empty segments anywhere; BC-027: any mix of segments. */
static uint32_t random_segments(struct vnet_seg *seg, unsigned n)
{
    uint32_t at = 0, room = 1514;

    for (unsigned i = 0; i < n; i++) {
        uint32_t len = (uint32_t)(plat_random() % 4 == 0 ? 0
                                  : plat_random() % 200 + 1);

        if (len > room - at)
            len = room - at;
        /* Some follow each other in memory, some do not. */
        seg[i].ptr = frame + at + (plat_random() % 2) * 3000;
        seg[i].len = len;
        memcpy(copy + at, seg[i].ptr, len);
        at += len;
    }
    return at;
}

TEST(segments_of_every_kind)
{
    struct vnet_seg seg[VNET_TX_SEGS];

    rig_start(MODEL_FEATURES);
    rig.m->tx_raw = true;
    frame_make_raw(frame, sizeof(frame), 3);
    for (unsigned i = 0; i < 5000; i++) {
        unsigned n = 1 + (unsigned)(plat_random() % VNET_TX_SEGS);
        uint32_t len = random_segments(seg, n);
        struct vnet_tx tx = {.seg = seg, .nseg = n};
        int err = rig_send_tx(&tx);

        if (len < 14) {
            CHECK_EQ(err, V_INVAL);
            continue;
        }
        CHECK(err == V_OK || err == 1);
        rig_turn();
        if (len < 60) {
            memset(copy + len, 0, 60 - len);
            len = 60;
        }
        CHECK(rig.m->wire_first->descs <= n + 1);
        expect_wire(copy, len);
    }
    rig_turn();
    CHECK_EQ(rig.out, 0);
    rig_stop();
}

/* SPL-04, BC-019: neighbours share a descriptor, headers need none. */
TEST(descriptors_are_few)
{
    struct vnet_seg seg[4] = {{frame, 54}, {frame + 1000, 500},
                              {frame + 1500, 500}, {frame + 3000, 400}};
    struct vnet_tx tx = {.seg = seg, .nseg = 4};
    struct model_frame *f;

    rig_start(MODEL_FEATURES);
    rig.m->tx_raw = true;
    frame_make_raw(frame, 4000, 1);
    CHECK_EQ(rig_send_tx(&tx), V_OK);
    rig_turn();
    f = model_tx_pop(rig.m);
    CHECK_EQ(f->descs, 3);
    CHECK_EQ(f->len, 1454);
    free(f);
    CHECK_EQ(rig_send(frame, 1500), V_OK);
    rig_turn();
    f = model_tx_pop(rig.m);
    CHECK_EQ(f->descs, 2);
    free(f);
    rig_stop();
}

TEST(frames_that_cannot_be_sent)
{
    struct vnet_seg seg[VNET_TX_SEGS + 1];
    struct vnet_tx tx = {.seg = seg, .nseg = 0};
    unsigned wrong = 0;

    rig_start(MODEL_FEATURES);
    for (unsigned i = 0; i <= VNET_TX_SEGS; i++)
        seg[i] = (struct vnet_seg){frame, 10};
    CHECK_EQ(rig_send_tx(&tx), V_INVAL), wrong++;
    tx.nseg = VNET_TX_SEGS + 1;
    CHECK_EQ(rig_send_tx(&tx), V_INVAL), wrong++;
    tx.nseg = 1;
    CHECK_EQ(rig_send_tx(&tx), V_INVAL), wrong++;
    for (unsigned i = 0; i < 3; i++)
        seg[i].len = 0;
    tx.nseg = 3;
    CHECK_EQ(rig_send_tx(&tx), V_INVAL), wrong++;
    CHECK_EQ(rig_send(frame, 1519), V_INVAL), wrong++;
    CHECK_EQ(rig_send(frame, UINT32_MAX), V_INVAL), wrong++;
    seg[0].len = seg[1].len = UINT32_MAX / 2 + 100; /* wraps in 32 bits */
    tx.nseg = 2;
    CHECK_EQ(rig_send_tx(&tx), V_INVAL), wrong++;
    CHECK_EQ(stats()->tx_invalid, wrong);
    CHECK_EQ(stats()->tx_frames, 0);
    vnet_flush(rig.v);
    CHECK_EQ(rig.m->n.doorbells[1], 0);
    rig_expect_tx(100, 1);
    rig_stop();
}

/* ---- offloads ---------------------------------------------------------------------------- */

/* A TCP frame that asks for checksum and, if large, segmentation. */
static struct vnet_tx tcp(const struct frame_spec *s, struct vnet_seg *seg)
{
    uint32_t len = frame_make(frame, s);
    uint16_t l4 = (uint16_t)(14 + (s->vlan ? 4 : 0) + (s->ipv6 ? 40 : 20));
    struct vnet_tx tx = {.seg = seg, .nseg = 1, .csum = true,
                         .csum_start = l4,
                         .csum_offset = s->udp ? 6 : 16};

    *seg = (struct vnet_seg){frame, len};
    if (!s->udp && s->payload > 1460) {
        tx.gso_type = s->ipv6 ? VIRTIO_NET_HDR_GSO_TCPV6
                              : VIRTIO_NET_HDR_GSO_TCPV4;
        tx.gso_size = 1428;
        tx.hdr_len = (uint16_t)(l4 + 20);
    }
    return tx;
}

/* Everything on the wire is correct; returns the payload bytes. */
static uint32_t wire_payload(unsigned headers)
{
    struct model_frame *f;
    struct frame_info i;
    uint32_t total = 0;

    while ((f = model_tx_pop(rig.m)) != NULL) {
        CHECK(frame_parse(f->data, f->len, &i));
        CHECK(frame_ip_csum_ok(f->data, &i));
        CHECK(frame_l4_csum_ok(f->data, &i));
        CHECK_EQ(i.payload, headers);
        CHECK(i.end - i.l3 <= 1500);
        total += i.end - i.payload;
        free(f);
    }
    return total;
}

TEST(checksum_and_segmentation)
{
    static const uint32_t payload[] = {0, 1, 100, 1460, 1461, 20000, 65000};

    rig_start(MODEL_FEATURES);
    for (unsigned i = 0; i < 8; i++) {
        for (unsigned k = 0; k < 7; k++) {
            struct frame_spec s = {.payload = payload[k], .partial = true,
                                   .ipv6 = i & 1, .vlan = i & 2,
                                   .udp = i & 4};
            struct vnet_seg seg;
            struct vnet_tx tx;
            int err;

            if (s.udp && s.payload > 1400)
                continue;
            if (s.ipv6 && s.payload == 1460)
                s.payload = 1440;
            tx = tcp(&s, &seg);
            err = rig_send_tx(&tx);
            CHECK(err == V_OK || err == 1);
            rig_turn();
            CHECK_EQ(wire_payload(tx.csum_start + (s.udp ? 8u : 20u)),
                     s.payload);
        }
    }
    CHECK(stats()->tx_gso_frames > 0);
    CHECK(stats()->tx_csum > stats()->tx_gso_frames);
    rig_stop();
}

TEST(offloads_that_are_not_there)
{
    struct frame_spec s = {.payload = 3000, .partial = true};
    struct vnet_seg seg;
    struct vnet_tx tx;

    rig_start(MODEL_FEATURES_MIN);
    CHECK(!vnet_info(rig.v)->tx_csum && !vnet_info(rig.v)->tx_tso4 &&
          !vnet_info(rig.v)->tx_tso6 && !vnet_info(rig.v)->rx_csum);
    tx = tcp(&s, &seg);
    CHECK_EQ(rig_send_tx(&tx), V_INVAL);
    s.payload = 300;
    tx = tcp(&s, &seg);
    CHECK_EQ(rig_send_tx(&tx), V_INVAL);
    rig_stop();

    rig_start(MODEL_FEATURES & ~BIT(HOST_TSO6));
    s = (struct frame_spec){.payload = 3000, .partial = true, .ipv6 = true};
    tx = tcp(&s, &seg);
    CHECK_EQ(rig_send_tx(&tx), V_INVAL);
    s.ipv6 = false;
    tx = tcp(&s, &seg);
    CHECK_EQ(rig_send_tx(&tx), V_OK);
    rig_stop();
}

TEST(offloads_that_contradict_themselves)
{
    struct frame_spec s = {.payload = 3000, .partial = true};
    struct vnet_seg seg;
    struct vnet_tx good, tx;
    unsigned wrong = 0;

    rig_start(MODEL_FEATURES);
    good = tcp(&s, &seg);
    tx = good, tx.gso_size = 0;
    CHECK_EQ(rig_send_tx(&tx), V_INVAL), wrong++;
    tx = good, tx.csum = false;
    CHECK_EQ(rig_send_tx(&tx), V_INVAL), wrong++;
    tx = good, tx.hdr_len = good.csum_start;
    CHECK_EQ(rig_send_tx(&tx), V_INVAL), wrong++;
    tx = good, tx.hdr_len = (uint16_t)seg.len;
    CHECK_EQ(rig_send_tx(&tx), V_INVAL), wrong++;
    tx = good, tx.gso_type = VIRTIO_NET_HDR_GSO_UDP;
    CHECK_EQ(rig_send_tx(&tx), V_INVAL), wrong++;
    tx = good, tx.gso_type = VIRTIO_NET_HDR_GSO_TCPV4 | 0x80;
    CHECK_EQ(rig_send_tx(&tx), V_INVAL), wrong++;
    tx = good, tx.csum_start = (uint16_t)(seg.len - 17);
    CHECK_EQ(rig_send_tx(&tx), V_INVAL), wrong++;
    tx = good, tx.csum_start = 65535, tx.csum_offset = 65535;
    CHECK_EQ(rig_send_tx(&tx), V_INVAL), wrong++;
    CHECK_EQ(stats()->tx_invalid, wrong);
    CHECK_EQ(rig_send_tx(&good), V_OK);
    rig_stop();
}

/* ---- the ring -------------------------------------------------------------------------------- */

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
        CHECK_EQ(n, 128); /* two descriptors each */
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
    rig_start(MODEL_FEATURES);
    rig.m->tx_hold = true;
    frame_make_raw(frame, 1000, 1);
    CHECK_EQ(rig_send(frame, 1000), V_OK);
    rig_turn();
    model_tx_release(rig.m, 1);
    CHECK(!vnet_irq_pending(rig.v)); /* suppressed: nobody waits */
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
        seg[i] = (struct vnet_seg){frame + 200 * i, 70};
        memcpy(copy + 70 * i, frame + 200 * i, 70);
    }
    CHECK_EQ(rig_send_tx(&tx), 1);
    rig_turn();
    expect_wire(copy, 70 * VNET_TX_SEGS);
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

/* ---- the end ------------------------------------------------------------------------------------ */

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
