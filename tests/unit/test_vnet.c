/*
 * drivers/vnet: opening and closing, what is accepted, address, link, MTU,
 * interrupts that do not come.
 */
#include "vnet_rig.h"

#define BIT(name) VIRTIO_BIT(VIRTIO_NET_F_##name)
#define ALL UINT64_MAX

/* ---- features ----------------------------------------------------------- */

/* FEAT-01 to FEAT-03: whatever is offered; the model checks what is taken. */
TEST(any_offer_is_survived)
{
    struct vnet_config small = {.rx_ring = 32, .tx_ring = 32};

    for (unsigned i = 0; i < 3000; i++) {
        uint64_t offered = plat_random() | MODEL_FEATURES_MIN;

        if (i & 1)
            offered &= plat_random() | MODEL_FEATURES_MIN;
        if (i & 2)
            offered |= plat_random();
        rig_model(offered);
        CHECK_EQ(rig_open(&small), V_OK);
        CHECK_EQ(vnet_info(rig.v)->features & ~offered, 0);
        if (i % 10 == 0) {
            rig_expect_rx(600, i);
            rig_expect_tx(600, i);
        }
        rig_stop();
    }
}

TEST(everything_and_nothing_offered)
{
    rig_start(ALL);
    rig_expect_rx(1000, 1);
    rig_expect_tx(1000, 1);
    rig_stop();
    rig_model(0);
    CHECK_EQ(rig_open(NULL), V_UNSUPPORTED);
    model_free(rig.m);
    rig_model(ALL & ~MODEL_FEATURES_MIN);
    CHECK_EQ(rig_open(NULL), V_UNSUPPORTED);
    model_free(rig.m);
}

/* FEAT-04, BC-039: without any one of them it works. */
TEST(each_feature_missing_once)
{
    for (unsigned bit = 0; bit < 64; bit++) {
        if (bit == VIRTIO_F_VERSION_1)
            continue;
        rig_start(ALL & ~VIRTIO_BIT(bit));
        CHECK(!(vnet_info(rig.v)->features & VIRTIO_BIT(bit)));
        for (unsigned i = 0; i < 300; i++) {
            rig_expect_rx(60 + i, i);
            rig_expect_tx(60 + i, i);
        }
        rig_stop();
    }
}

TEST(features_that_are_refused_stay_off)
{
    struct vnet_config c = {.refuse = BIT(MRG_RXBUF) | BIT(CSUM)};
    uint64_t f;

    rig_model(MODEL_FEATURES);
    CHECK_EQ(rig_open(&c), V_OK);
    f = vnet_info(rig.v)->features;
    CHECK(!(f & (BIT(MRG_RXBUF) | BIT(CSUM) | BIT(HOST_TSO4))));
    CHECK(f & BIT(GUEST_CSUM));
    CHECK((f & BIT(GUEST_TSO4)) && (f & BIT(GUEST_ECN)));
    CHECK_EQ(vnet_info(rig.v)->rx_mode, VNET_RX_BIG);
    rig_expect_rx(1000, 1);
    rig_stop();
}

/* ---- configuration ------------------------------------------------------ */

TEST(address_of_the_device)
{
    rig_start(MODEL_FEATURES);
    CHECK_MEM_EQ(vnet_info(rig.v)->mac, "\x52\x54\x00\x12\x34\x56", 6);
    rig_stop();
}

/* NET-CFG-01: none, all zeros, or a group address: a local one of our own,
 * which survives a rebuild. */
TEST(address_made_up)
{
    static const uint8_t bad[3][6] = {
        {0x52, 1, 1, 1, 1, 1}, {0}, {0x53, 0x54, 0, 0x12, 0x34, 0x56}};

    for (unsigned i = 0; i < 3; i++) {
        uint8_t mac[6];

        rig_model(i == 0 ? MODEL_FEATURES & ~BIT(MAC) : MODEL_FEATURES);
        model_set_mac(rig.m, bad[i]);
        CHECK_EQ(rig_open(NULL), V_OK);
        memcpy(mac, vnet_info(rig.v)->mac, 6);
        CHECK_EQ(mac[0] & 3, 2);
        model_needs_reset(rig.m);
        rig_turn();
        CHECK_EQ(vnet_stats(rig.v)->resets, 1);
        CHECK_MEM_EQ(vnet_info(rig.v)->mac, mac, 6);
        rig_stop();
    }
}

/* NET-CFG-03, 04, 06 */
TEST(mtu_of_the_device)
{
    static const uint16_t mtus[] = {0, 67, 68, 576, 1280, 1500, 4066, 4067,
                                    9000, 65535};

    for (unsigned i = 0; i < 2 * sizeof(mtus) / sizeof(mtus[0]); i++) {
        uint16_t mtu = mtus[i / 2], got;
        bool merge = i & 1;

        rig_model(BIT(MTU) | (merge ? MODEL_FEATURES
                                    : MODEL_FEATURES & ~BIT(MRG_RXBUF)));
        model_set_mtu(rig.m, mtu);
        CHECK_EQ(rig_open(NULL), V_OK);
        got = vnet_info(rig.v)->mtu;
        if (mtu < 68) {
            CHECK_EQ(got, 1500);
            CHECK(!(vnet_info(rig.v)->features & BIT(MTU)));
        } else {
            CHECK_EQ(got, mtu);
        }
        rig_expect_rx(got + 14u, 1);
        rig_expect_tx(got + 14u, 1);
        rig_stop();
    }
}

TEST(configuration_shorter_than_its_fields)
{
    rig_model(MODEL_FEATURES | BIT(MTU));
    rig.m->config_len = 8; /* CFG-03: no room for the MTU */
    CHECK_EQ(rig_open(NULL), V_OK);
    CHECK_EQ(vnet_info(rig.v)->mtu, 1500);
    rig_expect_rx(1000, 1);
    rig_stop();
}

/* ---- link --------------------------------------------------------------- */

TEST(link_is_followed)
{
    rig_model(MODEL_FEATURES);
    model_set_link(rig.m, false);
    CHECK_EQ(rig_open(NULL), V_OK);
    CHECK(!vnet_info(rig.v)->link);
    for (unsigned i = 1; i <= 10; i++) {
        model_set_link(rig.m, i & 1);
        CHECK(vnet_irq_pending(rig.v));
        rig_turn();
        CHECK_EQ(rig.links, i);
        CHECK_EQ(rig.link, i & 1);
        CHECK_EQ(vnet_info(rig.v)->link, i & 1);
    }
    model_set_link(rig.m, false); /* no change, and nobody is told */
    rig_turn();
    CHECK_EQ(rig.links, 10);
    CHECK_EQ(vnet_stats(rig.v)->link_changes, 10);
    CHECK_EQ(vnet_stats(rig.v)->irq_config, 11);
    rig_stop();
}

TEST(no_status_means_up)
{
    rig_start(MODEL_FEATURES & ~BIT(STATUS));
    CHECK(vnet_info(rig.v)->link);
    rig_stop();
}

/* ---- interrupts --------------------------------------------------------- */

/* A device without interrupts is polled: by timer, and soon. */
TEST(device_without_interrupts)
{
    static uint8_t frame[100];

    rig_model(MODEL_FEATURES);
    rig.m->no_interrupts = true;
    CHECK_EQ(rig_open(NULL), V_OK);
    CHECK(vnet_info(rig.v)->polled);
    for (unsigned i = 0; i < 100; i++) {
        rig_turn();
        CHECK(host_wakeup() <= host_now + 2000000);
        frame_make_raw(frame, 100, i);
        CHECK(model_rx(rig.m, frame, 100, NULL));
        CHECK_EQ(rig_sleep(), 1);
    }
    /* The link, and a device in need, are noticed as well. */
    model_set_link(rig.m, false);
    for (unsigned i = 0; i < 200 && rig.links == 0; i++)
        rig_sleep();
    CHECK_EQ(rig.links, 1);
    model_needs_reset(rig.m);
    for (unsigned i = 0; i < 200 && vnet_stats(rig.v)->resets == 0; i++)
        rig_sleep();
    CHECK_EQ(vnet_stats(rig.v)->resets, 1);
    rig_stop();
}

/* SPL-14: interrupts for nothing, at any time. */
TEST(interrupts_for_nothing)
{
    rig_start(MODEL_FEATURES);
    for (unsigned i = 0; i < 300; i++) {
        rig.dev->irq(rig.dev, (uint16_t)(i % 3 == 2 ? VIRTIO_IRQ_CONFIG
                                                    : i % 3));
        if (i % 7 == 0)
            rig_expect_rx(100, i);
        rig_turn();
    }
    CHECK_EQ(rig.frames, 43);
    CHECK_EQ(rig.links, 0);
    rig_stop();
}

/* The interrupt that a waiting sender needs gets lost; time helps. */
TEST(lost_transmit_interrupt)
{
    static uint8_t frame[1000];

    rig_start(MODEL_FEATURES);
    rig.m->tx_hold = true;
    frame_make_raw(frame, sizeof(frame), 1);
    while (rig_send(frame, sizeof(frame)) == V_OK)
        vnet_flush(rig.v);
    rig_turn();
    model_fault(rig.m, 1, FAULT_IRQ_LOST, FAULT_ALWAYS);
    model_tx_release(rig.m, 1000);
    CHECK(!vnet_irq_pending(rig.v));
    rig_sleep();
    CHECK_EQ(rig.out, 0);
    rig_stop();
}

/* ---- opening and closing ------------------------------------------------ */

TEST(a_device_of_another_kind)
{
    rig_model(MODEL_FEATURES);
    rig.dev->device_id = 2;
    CHECK_EQ(vnet_open(rig.dev, NULL, &rig.v), V_NODEV);
    model_free(rig.m);
}

/* BC-030: firmware used it before. */
TEST(device_in_use_by_the_firmware)
{
    rig_model(MODEL_FEATURES);
    model_preboot(rig.m);
    CHECK_EQ(rig_open(NULL), V_OK);
    rig_expect_rx(100, 1);
    rig_stop();
}

TEST(settings_of_every_size)
{
    static const struct vnet_config t[] = {
        {0}, {.rx_ring = 1, .tx_ring = 1}, {.rx_ring = 3, .tx_ring = 1000},
        {.rx_ring = 65535, .tx_ring = 65535, .rx_bufs_max = UINT32_MAX},
        {.rx_bufs_max = 1},
    };

    for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
        rig_model(MODEL_FEATURES);
        rig.m->queue_max[0] = rig.m->queue_max[1] = 32768;
        CHECK_EQ(rig_open(&t[i]), V_OK);
        for (unsigned k = 0; k < 50; k++) {
            rig_expect_rx(500, k);
            rig_expect_tx(500, k);
        }
        rig_stop();
    }
}

/* INIT-06: each allocation fails in turn. */
TEST(open_with_every_allocation_failing_once)
{
    unsigned allocs, opened = 0, not_needed;

    rig_start(MODEL_FEATURES);
    allocs = host_allocs();
    not_needed = rig.v->rx.frag.blocks_len + 1; /* a page of objects */
    rig_stop();
    CHECK(allocs > 18);
    for (unsigned n = 1; n <= allocs; n++) {
        int err;

        rig_model(MODEL_FEATURES);
        host_fail_alloc(n);
        err = rig_open(NULL);
        if (err) {
            CHECK_EQ(err, V_NOMEM);
            CHECK_EQ(host_dma_live(), 0);
            model_free(rig.m);
            continue;
        }
        opened++; /* pages instead of a block: not the end */
        rig_turn();
        CHECK_EQ(model_rx_room(rig.m), 256);
        rig_stop();
    }
    CHECK_EQ(opened, not_needed);
}

/* BC-025, INIT-12: with traffic under way each time. */
TEST(open_and_close_a_thousand_times)
{
    static uint8_t frame[1500];
    struct model *m;

    rig_model(MODEL_FEATURES);
    m = rig.m;
    frame_make_raw(frame, sizeof(frame), 1);
    for (unsigned i = 0; i < 1000; i++) {
        CHECK_EQ(rig_open(NULL), V_OK);
        m->tx_hold = i & 1;
        for (uint64_t n = plat_random() % 10; n; n--) {
            CHECK(model_rx(m, frame, 1000, NULL));
            CHECK_EQ(rig_send(frame, 1500), V_OK);
            if (n & 1)
                vnet_flush(rig.v);
        }
        if (i & 2)
            rig_turn();
        CHECK_EQ(vnet_close(rig.v), V_OK);
        CHECK_EQ(rig.out, 0);
        CHECK_EQ(host_dma_live(), 0);
        model_tx_discard(m);
    }
    CHECK_EQ(rig_open(NULL), V_OK);
    m->tx_hold = false;
    rig_expect_rx(100, 1);
    rig_expect_tx(100, 1);
    rig_stop();
}

TEST(a_thousand_rebuilds_keep_everything)
{
    uint64_t frames = 0;

    rig_start(MODEL_FEATURES);
    for (unsigned i = 0; i < 1000; i++) {
        rig_expect_rx(200, i);
        rig_expect_tx(1000, i);
        frames++;
        model_needs_reset(rig.m);
        host_advance_ms(61000); /* each on its own, not one storm */
        rig_turn();
        CHECK_EQ(vnet_stats(rig.v)->resets, i + 1);
        CHECK_EQ(vnet_stats(rig.v)->rx_frames, frames); /* counters stay */
    }
    CHECK_EQ(rig.links, 1000);
    rig_stop();
}

TEST(counters_have_names)
{
    CHECK(vnet_stat_count > 20);
    for (unsigned i = 0; i < vnet_stat_count; i++) {
        CHECK(strlen(vnet_stat_table[i].name) > 2);
        CHECK(strlen(vnet_stat_table[i].meaning) > 4);
        CHECK(vnet_stat_table[i].offset < sizeof(struct vnet_stats));
    }
}
