/*
 * drivers/vnet: sending, from segments to the wire: frames and offloads.
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

/* ---- frames ------------------------------------------------------------- */

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

/* ---- offloads ----------------------------------------------------------- */

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
