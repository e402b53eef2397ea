/*
 * drivers/vnet: receiving, from used entries to the client and back.
 */
#include "vnet_rig.h"

#define BIT(name) VIRTIO_BIT(VIRTIO_NET_F_##name)
#define NO_MRG (MODEL_FEATURES & ~BIT(MRG_RXBUF))
#define BUF 4096u
#define HDR 12u

static uint8_t frame[70000];

static const uint64_t variants[] = {
    MODEL_FEATURES,
    MODEL_FEATURES & ~VIRTIO_BIT(VIRTIO_F_EVENT_IDX),
    NO_MRG,
    MODEL_FEATURES_MIN,
};
#define VARIANTS (sizeof(variants) / sizeof(variants[0]))

/* ---- frames as they are ------------------------------------------------- */

/* BC-017: every length, on every kind of device. */
TEST(every_length_up_to_the_mtu)
{
    for (unsigned i = 0; i < VARIANTS; i++) {
        rig_start(variants[i]);
        for (uint32_t len = 14; len <= 1518; len++)
            rig_expect_rx(len, len);
        CHECK_EQ(vnet_stats(rig.v)->rx_frames, 1518 - 13);
        rig_stop();
    }
}

/* A frame of so many ring entries; fewer buffers, where entries adjoin. */
static void expect_entries(uint32_t len, unsigned entries)
{
    const struct vnet_stats *s = vnet_stats(rig.v);
    struct vnet_stats before = *s;

    rig_expect_rx(len, len);
    CHECK_EQ(s->rx_bufs - before.rx_bufs, entries);
    CHECK_EQ(s->rx_coalesced - before.rx_coalesced,
             entries - rig.frame.nbufs);
}

/* NET-RX-12: frames that end on, before and behind the edge of a buffer. */
TEST(frames_of_many_buffers)
{
    static const unsigned bufs[] = {1, 2, 3, 8, 15, 16};
    const struct vnet_config pages = {.rx_size = VNET_RXBUF_PAGE};

    rig_model(MODEL_FEATURES);
    CHECK_EQ(rig_open(&pages), V_OK);
    for (unsigned i = 0; i < sizeof(bufs) / sizeof(bufs[0]); i++) {
        for (int d = -2; d <= 2; d++)
            expect_entries(bufs[i] * BUF - HDR + (uint32_t)d,
                           bufs[i] + (d > 0));
    }
    expect_entries(65535 + 18, 17);
    CHECK(vnet_stats(rig.v)->rx_coalesced > 100);
    rig_stop();
}

TEST(random_lengths_in_bursts)
{
    for (unsigned i = 0; i < VARIANTS; i++) {
        bool large = variants[i] & BIT(GUEST_TSO4);
        unsigned sent = 0;

        rig_start(variants[i]);
        rig.m->rx_random = true;
        for (unsigned round = 0; round < 300; round++) {
            unsigned n = (unsigned)(plat_random() % 40);

            while (n--) {
                uint32_t len = 14 + (uint32_t)(plat_random() %
                                               (large ? 60000 : 1505));

                frame_make_raw(frame, len, len);
                sent += model_rx(rig.m, frame, len, NULL);
            }
            rig_turn();
            if (rig.frames)
                CHECK(frame_is_raw(rig.bytes, rig.frame.len, rig.frame.len));
            CHECK_EQ(rig.frames, sent);
        }
        CHECK(sent > 2000);
        rig_stop();
    }
}

/* ---- what is known of a frame ------------------------------------------- */

static const struct vnet_frame *deliver(const struct virtio_net_hdr *h,
                                        uint32_t len)
{
    unsigned before = rig.frames;

    CHECK(model_rx(rig.m, frame, len, h));
    rig_turn();
    return rig.frames > before ? &rig.frame : NULL;
}

TEST(checksum_state)
{
    struct frame_spec s = {.payload = 500};
    uint32_t len = frame_make(frame, &s);
    struct virtio_net_hdr h = {0};

    rig_start(MODEL_FEATURES);
    CHECK_EQ(deliver(NULL, len)->csum, VNET_CSUM_UNKNOWN);
    h.flags = VIRTIO_NET_HDR_F_DATA_VALID;
    CHECK_EQ(deliver(&h, len)->csum, VNET_CSUM_VALID);
    h.flags = 0xfa; /* NET-RX-05: the others are ignored */
    CHECK_EQ(deliver(&h, len)->csum, VNET_CSUM_VALID);
    h.flags = 0xf8;
    CHECK_EQ(deliver(&h, len)->csum, VNET_CSUM_UNKNOWN);
    h = (struct virtio_net_hdr){.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
                                .csum_start = 34, .csum_offset = 16};
    CHECK_EQ(deliver(&h, len)->csum, VNET_CSUM_PARTIAL);
    CHECK_EQ(rig.frame.csum_start, 34);
    CHECK_EQ(rig.frame.csum_offset, 16);
    CHECK_EQ(vnet_stats(rig.v)->rx_csum_valid, 2);
    CHECK_EQ(vnet_stats(rig.v)->rx_csum_partial, 1);
    /* Just inside, and just outside of the frame. */
    h.csum_start = (uint16_t)(len - 18);
    CHECK(deliver(&h, len));
    h.csum_start++;
    CHECK(!deliver(&h, len));
    h.csum_start = 13;
    CHECK(!deliver(&h, len));
    CHECK_EQ(vnet_stats(rig.v)->rx_drop_csum, 2);
    rig_stop();
}

/* BC-052, NET-RX-10: without GUEST_CSUM nothing of it is believed. */
TEST(checksum_flags_not_negotiated)
{
    struct frame_spec s = {.payload = 500};
    uint32_t len = frame_make(frame, &s);
    struct virtio_net_hdr h = {.flags = VIRTIO_NET_HDR_F_DATA_VALID};

    rig_start(MODEL_FEATURES_MIN);
    CHECK_EQ(deliver(&h, len)->csum, VNET_CSUM_UNKNOWN);
    h.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
    h.csum_start = 34;
    h.csum_offset = 16;
    CHECK(!deliver(&h, len));
    CHECK_EQ(vnet_stats(rig.v)->rx_drop_csum, 1);
    rig_stop();
}

TEST(segmentation_state)
{
    struct frame_spec s = {.payload = 20000, .partial = true};
    uint32_t len = frame_make(frame, &s);
    struct virtio_net_hdr h = {
        .flags = VIRTIO_NET_HDR_F_NEEDS_CSUM, .csum_start = 34,
        .csum_offset = 16, .gso_type = VIRTIO_NET_HDR_GSO_TCPV4,
        .gso_size = 1448, .hdr_len = 54,
    };

    rig_start(MODEL_FEATURES);
    CHECK_EQ(deliver(&h, len)->gso_type, VIRTIO_NET_HDR_GSO_TCPV4);
    CHECK_EQ(rig.frame.gso_size, 1448);
    h.gso_type |= VIRTIO_NET_HDR_GSO_ECN;
    h.hdr_len = 65535; /* NET-RX-07: at most a hint */
    CHECK_EQ(deliver(&h, len)->gso_type, VIRTIO_NET_HDR_GSO_TCPV4);
    h.gso_type = VIRTIO_NET_HDR_GSO_TCPV6;
    CHECK(deliver(&h, len));
    h.gso_type = VIRTIO_NET_HDR_GSO_UDP;
    CHECK(!deliver(&h, len));
    h.gso_type = VIRTIO_NET_HDR_GSO_UDP_L4;
    CHECK(!deliver(&h, len));
    h.gso_type = VIRTIO_NET_HDR_GSO_ECN;
    CHECK(!deliver(&h, len));
    h.gso_type = VIRTIO_NET_HDR_GSO_TCPV4;
    h.gso_size = 0;
    CHECK(!deliver(&h, len));
    CHECK_EQ(vnet_stats(rig.v)->rx_drop_gso, 4);
    CHECK_EQ(vnet_stats(rig.v)->rx_gso_frames, 3);
    rig_expect_rx(100, 1);
    rig_stop();
}

/* BC-037: segmentation that was not accepted, on a device without it. */
TEST(segmentation_not_negotiated)
{
    struct virtio_net_hdr h = {.gso_type = VIRTIO_NET_HDR_GSO_TCPV4,
                               .gso_size = 1448};

    rig_start(MODEL_FEATURES & ~BIT(GUEST_TSO4));
    CHECK(!deliver(&h, 3000));
    CHECK_EQ(vnet_stats(rig.v)->rx_drop_gso, 1);
    rig_stop();
}

/* SPL-15: what lies behind the used length never reaches the client. */
TEST(the_tail_of_a_buffer_is_not_believed)
{
    rig_start(MODEL_FEATURES);
    frame_make_raw(frame, 1000, 1);
    rig_expect_rx(1000, 1);
    rig_expect_rx(20, 2);
    CHECK_EQ(rig.frame.len, 20);
    CHECK_EQ(rig.frame.buf->len, 20);
    rig_stop();
}

/* ---- the turn of the loop ----------------------------------------------- */

TEST(budget_is_honoured)
{
    rig_start(MODEL_FEATURES);
    frame_make_raw(frame, 60, 1);
    for (unsigned i = 0; i < 100; i++)
        CHECK(model_rx(rig.m, frame, 60, NULL));
    CHECK_EQ(vnet_poll(rig.v, 10), 10);
    CHECK_EQ(rig.frames, 10);
    CHECK_EQ(vnet_poll(rig.v, 1), 1);
    CHECK_EQ(vnet_poll(rig.v, 88), 88);
    CHECK_EQ(vnet_poll(rig.v, 88), 1);
    CHECK_EQ(vnet_poll(rig.v, 88), 0);
    CHECK_EQ(vnet_stats(rig.v)->polls_full, 3);
    rig_stop();
}

/* A poll of nothing but bad frames ends, too, and says "call again". */
TEST(budget_counts_dropped_buffers)
{
    unsigned polls = 0;

    rig_start(MODEL_FEATURES);
    model_fault(rig.m, 0, FAULT_LEN_ZERO, FAULT_ALWAYS);
    for (unsigned i = 0; i < 256; i++)
        CHECK(model_rx(rig.m, frame, 60, NULL));
    while (vnet_poll(rig.v, 1) == 1)
        CHECK(++polls < 257);
    CHECK(polls > 2);
    CHECK_EQ(vnet_stats(rig.v)->rx_drop_short, 256);
    CHECK_EQ(rig.frames, 0);
    rig_stop();
}

TEST(frames_wait_for_a_client)
{
    memset(&rig, 0, sizeof(rig));
    rig_model(MODEL_FEATURES);
    rig.dev->config_len = rig.m->config_len;
    CHECK_EQ(vnet_open(rig.dev, NULL, &rig.v), V_OK);
    frame_make_raw(frame, 60, 9);
    CHECK(model_rx(rig.m, frame, 60, NULL));
    CHECK_EQ(vnet_poll(rig.v, 64), 0);
    CHECK_EQ(vnet_poll(rig.v, 64), 0);
    vnet_attach(rig.v, &rig_client, &rig);
    CHECK_EQ(vnet_poll(rig.v, 64), 1);
    CHECK(frame_is_raw(rig.bytes, 60, 9));
    rig_stop();
}

/* BC-034: the ring is full and announced once, after DRIVER_OK. */
TEST(ring_is_filled_at_start)
{
    for (unsigned i = 0; i < VARIANTS; i++) {
        /* BIG: half of 8 MiB in chains of 65609 bytes. */
        unsigned n = variants[i] == NO_MRG ? 63 : 256;

        rig_start(variants[i]);
        CHECK_EQ(rig.m->n.doorbells[0], 1);
        CHECK_EQ(model_rx_room(rig.m), n);
        CHECK_EQ(vnet_stats(rig.v)->rx_refill_bufs, n);
        model_check_idle(rig.m);
        rig_stop();
    }
}

/* At most one doorbell for each queue and turn, far fewer than frames. */
TEST(doorbells_are_batched)
{
    rig_start(MODEL_FEATURES);
    frame_make_raw(frame, 60, 1);
    for (unsigned round = 0; round < 100; round++) {
        for (unsigned i = 0; i < 64; i++)
            CHECK(model_rx(rig.m, frame, 60, NULL));
        rig_turn();
    }
    CHECK(rig.m->n.doorbells[0] <= 210);
    CHECK_EQ(rig.m->n.doorbells_empty[0], 0);
    CHECK_EQ(vnet_stats(rig.v)->rx_notify, rig.m->n.doorbells[0]);
    rig_stop();
}

/* With the device asking for none, none come. */
TEST(doorbells_not_wanted)
{
    for (unsigned i = 0; i < VARIANTS; i++) {
        rig_model(variants[i]);
        rig.m->no_doorbells = true;
        CHECK_EQ(rig_open(NULL), V_OK);
        for (unsigned k = 0; k < 300; k++)
            rig_expect_rx(60, k);
        CHECK_EQ(rig.m->n.doorbells[0], 0);
        rig_stop();
    }
}

TEST(interrupts_only_when_armed)
{
    for (unsigned i = 0; i < VARIANTS; i++) {
        rig_start(variants[i]);
        frame_make_raw(frame, 60, 1);
        rig_turn();
        CHECK(!vnet_irq_pending(rig.v));
        CHECK(model_rx(rig.m, frame, 60, NULL));
        CHECK(vnet_irq_pending(rig.v));
        CHECK_EQ(vnet_poll(rig.v, 64), 1);
        CHECK(!vnet_irq_pending(rig.v));
        for (unsigned k = 0; k < 50; k++)
            CHECK(model_rx(rig.m, frame, 60, NULL));
        CHECK(!vnet_irq_pending(rig.v)); /* the poll turned them off */
        CHECK(vnet_arm(rig.v));          /* and arming sees the frames */
        CHECK_EQ(vnet_poll(rig.v, 64), 50);
        CHECK(!vnet_arm(rig.v));
        CHECK_EQ(vnet_stats(rig.v)->irq_rx, 1);
        rig_stop();
    }
}
