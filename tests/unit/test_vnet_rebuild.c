/*
 * drivers/vnet when the device has to be rebuilt, does not come back, or
 * leaves a frame unfinished.
 */
#include "vnet_rig.h"

static uint8_t frame[70000];

/* ---- a device that stays away ------------------------------------------- */

/* Rebuilding is tried again with growing pauses, and succeeds in the end. */
static void away(enum fault fault)
{
    uint64_t failed;

    rig_start(MODEL_FEATURES);
    rig_traffic(10);
    rig.m->tx_hold = true;
    frame_make_raw(frame, 1000, 1);
    CHECK_EQ(rig_send(frame, 1000), V_OK);
    rig_turn();
    model_needs_reset(rig.m);
    model_fault(rig.m, 0, fault, FAULT_ALWAYS);
    for (unsigned i = 0; i < 20; i++) {
        CHECK(host_now < UINT64_C(600000000000));
        rig_sleep();
        CHECK_EQ(rig_send(frame, 1000), V_DOWN);
    }
    failed = vnet_stats(rig.v)->reset_failed;
    CHECK(failed > 5 && failed <= 21);
    CHECK(!rig.link && rig.links > 0);
    CHECK(!vnet_info(rig.v)->link);
    model_fault_none(rig.m);
    rig.m->tx_hold = false;
    for (unsigned i = 0; i < 5 && !rig.link; i++)
        rig_sleep();
    CHECK(rig.link);
    CHECK_EQ(rig.out, 0); /* INIT-09: accounted for exactly once */
    model_tx_discard(rig.m);
    rig_traffic(50);
    CHECK_EQ(vnet_stats(rig.v)->resets, 1);
    rig_stop();
}

TEST(reset_never_ends_while_rebuilding)
{
    away(FAULT_RESET_NEVER);
}

TEST(features_refused_while_rebuilding)
{
    away(FAULT_FEATURES_REFUSED);
}

TEST(driver_ok_refused_while_rebuilding)
{
    away(FAULT_DRIVER_OK_REFUSED);
}

TEST(queue_refused_while_rebuilding)
{
    away(FAULT_QUEUE_REFUSED);
}

TEST(device_gone_while_rebuilding)
{
    away(FAULT_GONE);
}

TEST(no_memory_while_rebuilding)
{
    rig_start(MODEL_FEATURES);
    rig_traffic(10);
    model_needs_reset(rig.m);
    host_fail_alloc_all(true);
    for (unsigned i = 0; i < 10; i++)
        rig_turn(), host_advance_ms(1000);
    CHECK(vnet_stats(rig.v)->reset_failed > 0);
    host_fail_alloc_all(false);
    host_advance_ms(20000);
    rig_turn();
    rig_traffic(10);
    rig_stop();
}

/* The client holds receive buffers over a rebuild, and returns them later. */
TEST(buffers_held_over_a_rebuild)
{
    rig_start(MODEL_FEATURES);
    rig.hold = true;
    for (unsigned i = 0; i < 300; i++)
        rig_expect_rx(500, i);
    model_needs_reset(rig.m);
    rig_turn();
    CHECK_EQ(vnet_stats(rig.v)->resets, 1);
    CHECK_EQ(vnet_bufs_held(rig.v), 300);
    for (unsigned i = 0; i < 300; i++)
        rig_expect_rx(500, i);
    rig_return(600);
    rig.hold = false;
    rig_traffic(50);
    rig_stop();
}

/* Buffers come back while the device is down. */
TEST(buffers_returned_while_down)
{
    rig_start(MODEL_FEATURES);
    rig.hold = true;
    for (unsigned i = 0; i < 100; i++)
        rig_expect_rx(500, i);
    model_needs_reset(rig.m);
    model_fault(rig.m, 0, FAULT_RESET_NEVER, FAULT_ALWAYS);
    rig_turn();
    rig_return(100);
    rig_turn();
    rig_check();
    model_fault_none(rig.m);
    host_advance_ms(20000);
    rig_turn();
    rig.hold = false;
    rig_traffic(20);
    rig_stop();
}

/* Close while the device does not answer: refused, and possible later. */
TEST(close_while_the_reset_never_ends)
{
    rig_start(MODEL_FEATURES);
    rig_traffic(5);
    model_fault(rig.m, 0, FAULT_RESET_NEVER, FAULT_ALWAYS);
    CHECK_EQ(vnet_close(rig.v), V_TIMEOUT);
    CHECK(host_dma_live() > 0);
    model_fault_none(rig.m);
    rig_stop();
}

/* A device that breaks at once after each rebuild must not eat all time. */
TEST(device_that_breaks_again_and_again)
{
    uint64_t t0;

    rig_start(MODEL_FEATURES);
    model_fault(rig.m, 0, FAULT_ID_RANGE, FAULT_ALWAYS);
    frame_make_raw(frame, 100, 1);
    t0 = host_now;
    while (host_now - t0 < UINT64_C(60000000000)) {
        model_rx(rig.m, frame, 100, NULL);
        rig_turn();
        host_advance_ms(1);
    }
    CHECK(vnet_stats(rig.v)->resets > 5);
    CHECK(vnet_stats(rig.v)->resets < 25);
    model_fault_none(rig.m);
    host_advance_ms(20000);
    rig_turn();
    rig_traffic(20);
    rig_stop();
}

/* An interrupt while the device is down does not keep the loop awake. */
TEST(interrupts_while_down)
{
    rig_start(MODEL_FEATURES);
    model_needs_reset(rig.m);
    model_fault(rig.m, 0, FAULT_RESET_NEVER, FAULT_ALWAYS);
    rig_turn();
    rig.dev->irq(rig.dev, 0);
    rig.dev->irq(rig.dev, 1);
    rig.dev->irq(rig.dev, VIRTIO_IRQ_CONFIG);
    rig_turn();
    CHECK(!vnet_irq_pending(rig.v));
    model_fault_none(rig.m);
    host_advance_ms(20000);
    rig_turn();
    rig_traffic(5);
    rig_stop();
}

/* ---- frames whose buffers do not come ----------------------------------- */

/* BC-056: the rest of the frame comes in a later turn; nobody spins. */
TEST(frame_in_two_parts)
{
    rig_start(MODEL_FEATURES);
    frame_make_raw(frame, 9000, 1);
    CHECK(model_rx(rig.m, frame, 9000, NULL));
    /* The driver sees the first of three used entries only. */
    atomic_fetch_sub(&rig.m->q[0].used->idx, 2);
    CHECK_EQ(vnet_poll(rig.v, 64), 0);
    CHECK_EQ(vnet_poll(rig.v, 64), 0);
    rig_check();
    atomic_fetch_add(&rig.m->q[0].used->idx, 1);
    CHECK_EQ(vnet_poll(rig.v, 64), 0);
    atomic_fetch_add(&rig.m->q[0].used->idx, 1);
    CHECK_EQ(vnet_poll(rig.v, 64), 1);
    CHECK(frame_is_raw(rig.bytes, 9000, 1));
    rig_stop();
}

/* num_buffers one too many: the next frame is lost with it, no more. */
TEST(num_buffers_swallows_one_frame)
{
    rig_start(MODEL_FEATURES);
    model_fault(rig.m, 0, FAULT_NUM_BUFFERS_MORE, 1);
    frame_make_raw(frame, 100, 1);
    CHECK(model_rx(rig.m, frame, 100, NULL));
    CHECK(model_rx(rig.m, frame, 100, NULL));
    rig_turn();
    CHECK_EQ(rig.frames, 0);
    CHECK_EQ(vnet_stats(rig.v)->rx_drop_incomplete, 1);
    CHECK_EQ(vnet_stats(rig.v)->resets, 0);
    rig_traffic(20);
    rig_stop();
}

/* BC-055 */
TEST(num_buffers_of_every_size)
{
    static const uint16_t n[] = {0, 19, 20, 255, 256, 257, 32768, 65535};
    const struct vnet_config pages = {.rx_size = VNET_RXBUF_PAGE};

    rig_model(MODEL_FEATURES);
    CHECK_EQ(rig_open(&pages), V_OK);
    for (unsigned i = 0; i < sizeof(n) / sizeof(n[0]); i++) {
        model_fault(rig.m, 0, FAULT_NUM_BUFFERS_EXACT, 1);
        rig.m->num_buffers = n[i];
        frame_make_raw(frame, 100, 1);
        CHECK(model_rx(rig.m, frame, 100, NULL));
        rig_turn();
        CHECK_EQ(vnet_stats(rig.v)->rx_drop_num_buffers, i + 1);
    }
    rig_traffic(5);
    CHECK_EQ(vnet_stats(rig.v)->resets, 0);
    rig_stop();
}
