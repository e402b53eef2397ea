/*
 * drivers/vnet: receive buffers: held, returned, short of memory, rings of
 * other sizes.
 */
#include "vnet_rig.h"

#define BIT(name) VIRTIO_BIT(VIRTIO_NET_F_##name)
#define NO_MRG (MODEL_FEATURES & ~BIT(MRG_RXBUF))

static uint8_t frame[70000];

static const uint64_t variants[] = {
    MODEL_FEATURES,
    MODEL_FEATURES & ~VIRTIO_BIT(VIRTIO_F_EVENT_IDX),
    NO_MRG,
    MODEL_FEATURES_MIN,
};
#define VARIANTS (sizeof(variants) / sizeof(variants[0]))

/* ---- buffers ------------------------------------------------------------ */

/* BC-005: a buffer that the client holds is never the device's. */
TEST(held_buffers_are_left_alone)
{
    struct vnet_buf *first;

    rig_start(MODEL_FEATURES);
    rig.hold = true;
    for (unsigned i = 0; i < 200; i++)
        rig_expect_rx(1000 + i, i);
    first = rig.held[0];
    memset(first->data, 0x11, first->len);
    rig.hold = false;
    for (unsigned i = 0; i < 2000; i++)
        rig_expect_rx(900, i);
    for (unsigned i = 0; i < first->len; i++)
        CHECK_EQ(first->data[i], 0x11);
    rig_stop();
}

/* Every frame keeps a page. */
static const struct vnet_config uncopied = {.rx_size = VNET_RXBUF_PAGE,
                                            .rx_copy = VNET_RX_COPY_NONE};

/* The client keeps everything until nothing is left, then gives it back. */
TEST(client_that_holds_too_much)
{
    unsigned n = 0;

    rig_model(MODEL_FEATURES);
    CHECK_EQ(rig_open(&uncopied), V_OK);
    rig.hold = true;
    frame_make_raw(frame, 60, 1);
    while (model_rx(rig.m, frame, 60, NULL)) {
        rig_turn();
        n++;
    }
    CHECK_EQ(n, 2048);
    CHECK(vnet_bufs_low(rig.v));
    CHECK_EQ(vnet_bufs_held(rig.v), 2048);
    CHECK_EQ(vnet_close(rig.v), V_INVAL);
    CHECK(vnet_stats(rig.v)->rx_refill_nomem > 0);
    rig_return(2000);
    rig_turn();
    CHECK_EQ(model_rx_room(rig.m), 256);
    CHECK(!vnet_bufs_low(rig.v));
    rig.hold = false;
    rig_expect_rx(60, 3);
    rig_stop();
}

/*
 * The same with copies: no buffer is ever kept, so the ring stays full, but
 * the objects run out. What finds none is dropped and counted.
 */
TEST(client_that_holds_too_many_copies)
{
    const struct vnet_stats *s;
    unsigned sent = 0;

    rig_start(MODEL_FEATURES);
    s = vnet_stats(rig.v);
    rig.hold = true;
    frame_make_raw(frame, 60, 1);
    while (s->rx_drop_nomem < 1000) {
        CHECK(model_rx(rig.m, frame, 60, NULL));
        sent++;
        rig_turn();
        CHECK(sent < 6000);
    }
    CHECK_EQ(s->rx_frames, 4110); /* 274 pages of 15, the first above 4096 */
    CHECK_EQ(s->rx_copied, 4110);
    CHECK_EQ(s->rx_frames + s->rx_drop_nomem, sent);
    CHECK_EQ(vnet_bufs_held(rig.v), 4110);
    CHECK(vnet_bufs_low(rig.v));
    CHECK_EQ(s->rx_refill_nomem, 0);
    CHECK(model_rx_room(rig.m) > 256 - 32);
    rig_return(1000);
    CHECK(!vnet_bufs_low(rig.v));
    rig.hold = false;
    rig_expect_rx(60, 3);
    rig_expect_rx(1500, 3);
    CHECK_EQ(s->rx_drop_nomem, 1000);
    rig_stop();
}

/* BC-013: buffers given back while the device starves reach it at once. */
TEST(starved_device_gets_buffers_without_an_event)
{
    rig_model(MODEL_FEATURES);
    CHECK_EQ(rig_open(&uncopied), V_OK);
    rig.hold = true;
    frame_make_raw(frame, 60, 1);
    while (model_rx(rig.m, frame, 60, NULL))
        rig_turn();
    rig_return(64);
    rig_turn(); /* no interrupt, no frame: only the turn of the loop */
    CHECK(model_rx_room(rig.m) >= 32);
    rig_stop();
}

static unsigned ring_room(void)
{
    return model_rx_room(rig.m);
}

/* BC-003, NET-RX-16: no memory for a long time, then there is; only time
 * passes. */
TEST(refill_out_of_memory_recovers_by_timer)
{
    rig_model(MODEL_FEATURES);
    CHECK_EQ(rig_open(&uncopied), V_OK);
    rig.hold = true;
    frame_make_raw(frame, 60, 1);
    for (unsigned i = 0; i < 100; i++) /* objects enough for the ring */
        rig_expect_rx(60, i);
    rig_return(rig.nheld);
    host_fail_alloc_all(true);
    frame_make_raw(frame, 30000, 1);
    while (model_rx(rig.m, frame, 30000, NULL))
        rig_turn();
    while (model_rx(rig.m, frame, 60, NULL))
        rig_turn();
    CHECK_EQ(ring_room(), 0);
    for (unsigned i = 0; i < 300; i++)
        rig_sleep();
    CHECK_EQ(ring_room(), 0);
    CHECK(vnet_stats(rig.v)->rx_refill_nomem >= 300);
    host_fail_alloc_all(false);
    rig_sleep();
    CHECK_EQ(ring_room(), 256);
    rig_expect_rx(60, 2);
    rig_stop();
}

/* BC-004, every allocation in turn: whatever fails, the account is right. */
TEST(refill_with_every_allocation_failing_once)
{
    unsigned n = 0, failed;

    do {
        rig_start(MODEL_FEATURES);
        rig.hold = true;
        failed = host_allocs_failed();
        host_fail_alloc(++n);
        for (unsigned i = 0; i < 200; i++)
            rig_expect_rx(i % 2 ? 1000 : 60, i);
        failed = host_allocs_failed() - failed;
        host_fail_alloc(0);
        host_advance_ms(20);
        rig_turn();
        CHECK(ring_room() > 200);
        rig_stop();
    } while (failed);
    CHECK(n > 15);
}

TEST(random_holding_and_returning)
{
    for (unsigned i = 0; i < VARIANTS; i++) {
        rig_start(variants[i]);
        rig.hold = true;
        for (unsigned round = 0; round < 2000; round++) {
            uint32_t len = 14 + (uint32_t)(plat_random() % 1500);

            frame_make_raw(frame, len, len);
            for (uint64_t n = plat_random() % 20; n; n--)
                model_rx(rig.m, frame, len, NULL);
            if (plat_random() % 3 == 0)
                host_fail_alloc_all(plat_random() % 2);
            rig_turn();
            if (plat_random() % 2)
                rig_return((unsigned)(plat_random() % 60));
        }
        host_fail_alloc_all(false);
        rig_stop();
    }
}

/* ---- rings of other sizes ----------------------------------------------- */

TEST(every_ring_size)
{
    for (uint32_t n = 1; n <= 8192; n *= 2) {
        struct vnet_config c = {.rx_ring = (uint16_t)n, .rx_bufs_max = 1};

        rig_model(MODEL_FEATURES);
        rig.m->queue_max[0] = (uint16_t)n;
        CHECK_EQ(rig_open(&c), V_OK);
        CHECK_EQ(vnet_info(rig.v)->rx_ring, n);
        for (unsigned i = 0; i < 3 * n && i < 1000; i++)
            rig_expect_rx(60 + i % 1400, i);
        rig_stop();
    }
}

/* Whatever the ring's size, the largest frame that was agreed to arrives. */
TEST(largest_frame_fits_the_ring)
{
    for (uint32_t n = 1; n <= 64; n *= 2) {
        bool large;

        rig_model(MODEL_FEATURES);
        rig.m->queue_max[0] = (uint16_t)n;
        CHECK_EQ(rig_open(NULL), V_OK);
        large = vnet_info(rig.v)->features &
                (BIT(GUEST_TSO4) | BIT(GUEST_TSO6));
        rig_expect_rx(large ? 65549 : 1514, n);
        rig_stop();
    }
}

TEST(largest_frame_fits_the_ring_that_was_asked_for)
{
    struct vnet_config c = {.rx_ring = 8};
    bool large;

    rig_model(MODEL_FEATURES);
    CHECK_EQ(rig_open(&c), V_OK);
    large = vnet_info(rig.v)->features & (BIT(GUEST_TSO4) | BIT(GUEST_TSO6));
    rig_expect_rx(large ? 65549 : 1514, 1);
    rig_stop();
}
