/*
 * drivers/vnet: the three receive modes when memory is short, when the device
 * is closed and when its MTU changes.
 */
#include "vnet_rig.h"

#define BIT(name) VIRTIO_BIT(VIRTIO_NET_F_##name)
#define LONGEST 65549u

static const enum vnet_rx_mode modes[] = {VNET_RX_SMALL, VNET_RX_BIG,
                                          VNET_RX_MERGEABLE};
#define MODES 3u

static uint8_t frame[70000];

static const struct vnet_stats *stats(void)
{
    return vnet_stats(rig.v);
}

static void open_mode(enum vnet_rx_mode mode, struct vnet_config c)
{
    c.rx_mode = mode;
    rig_model(MODEL_FEATURES | BIT(MTU));
    CHECK_EQ(rig_open(&c), V_OK);
    CHECK_EQ(vnet_info(rig.v)->rx_mode, mode);
}

/* The longest frame that a device may deliver in the mode. */
static uint32_t longest(enum vnet_rx_mode mode)
{
    return mode == VNET_RX_SMALL ? 1518 : LONGEST;
}

/* ---- short of memory ---------------------------------------------------- */

static void traffic(enum vnet_rx_mode mode, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        uint32_t len = i % 3 == 0 ? 60 : i % 3 == 1 ? 1000 : longest(mode);

        frame_make_raw(frame, len, i);
        model_rx(rig.m, frame, len, NULL);
        rig_turn(); /* which must end */
    }
}

/* The ring is full again, with nothing but time going by. */
static void expect_recovery(unsigned room)
{
    for (unsigned i = 0; i < 10 && model_rx_room(rig.m) < room; i++) {
        host_advance_ms(10);
        rig_turn();
    }
    CHECK(model_rx_room(rig.m) + rig.v->rx.batch > room);
    rig.hold = false;
    for (unsigned i = 0; i < 100; i++)
        rig_expect_rx(14 + i * 15, i);
}

TEST(each_allocation_fails_in_each_mode)
{
    for (unsigned i = 0; i < 2 * MODES; i++) {
        const struct vnet_config c = {.rx_mode = modes[i / 2],
                                      .rx_early = i & 1};
        unsigned n = 0, failed, room = 0;

        do {
            int err;

            rig_model(MODEL_FEATURES);
            failed = host_allocs_failed();
            host_fail_alloc(n); /* none at first, to see the ring full */
            err = rig_open(&c);
            if (err == V_OK) {
                if (n++ == 0)
                    room = model_rx_room(rig.m);
                rig.hold = true;
                traffic(c.rx_mode, 100);
                rig_return(rig.nheld);
                failed = host_allocs_failed() - failed;
                host_fail_alloc(0);
                expect_recovery(room);
                rig_stop();
                continue;
            }
            n++;
            CHECK_EQ(err, V_NOMEM);
            CHECK_EQ(host_dma_live(), 0);
            model_free(rig.m);
            failed = 1;
        } while (failed || n == 1);
        CHECK(n > 12);
    }
}

/* Nothing at all for a long time: rounds of the loop end, the timer asks
 * again, and one is enough when there is memory. */
TEST(starved_in_each_mode)
{
    for (unsigned i = 0; i < 2 * MODES; i++) {
        enum vnet_rx_mode mode = modes[i / 2];
        unsigned room;
        uint64_t nomem;

        open_mode(mode, (struct vnet_config){.rx_copy = VNET_RX_COPY_NONE,
                                             .rx_early = i & 1});
        room = model_rx_room(rig.m);
        rig.hold = true;
        host_fail_alloc_all(true);
        traffic(mode, 600);
        CHECK(vnet_bufs_low(rig.v));
        nomem = stats()->rx_refill_nomem + stats()->rx_drop_nomem;
        CHECK(nomem > 0);
        for (unsigned k = 0; k < 100 && rig.v->rx.starved; k++)
            rig_sleep();
        host_fail_alloc_all(false);
        if (rig.v->rx.starved)
            rig_sleep();
        expect_recovery(room);
        rig_stop();
    }
}

/* The same, with the user giving back instead of the platform giving. */
TEST(held_to_the_end_in_each_mode)
{
    for (unsigned i = 0; i < MODES; i++) {
        unsigned room;

        open_mode(modes[i], (struct vnet_config){.rx_bufs_max = 512,
                            .rx_copy = VNET_RX_COPY_NONE});
        room = model_rx_room(rig.m);
        rig.hold = true;
        traffic(modes[i], 2500);
        CHECK(vnet_bufs_low(rig.v));
        CHECK_EQ(vnet_close(rig.v), V_INVAL);
        rig_return(rig.nheld);
        rig_turn();
        CHECK(!vnet_bufs_low(rig.v));
        expect_recovery(room);
        rig_stop();
    }
}

/* Low is said early enough: a user who from then on keeps nothing goes on
 * receiving, though all that was kept before stays kept. */
TEST(low_is_said_in_time)
{
    for (unsigned i = 0; i < MODES; i++) {
        open_mode(modes[i], (struct vnet_config){.rx_bufs_max = 512,
                            .rx_copy = VNET_RX_COPY_NONE});
        for (unsigned k = 0; k < 5000; k++) {
            rig.hold = !vnet_bufs_low(rig.v);
            rig_expect_rx(200 + k % 1300, k);
        }
        CHECK(rig.nheld > 20);
        CHECK_EQ(stats()->rx_drop_nomem, 0);
        rig.hold = false;
        rig_stop();
    }
}

/* ---- closing ------------------------------------------------------------ */

TEST(a_thousand_rounds_in_each_mode)
{
    for (unsigned i = 0; i < MODES; i++) {
        struct vnet_config c = {.rx_mode = modes[i], .rx_ring = 64};

        rig_model(MODEL_FEATURES);
        for (unsigned k = 0; k < 1000; k++) {
            c.rx_early = k & 1;
            CHECK_EQ(rig_open(&c), V_OK);
            CHECK_EQ(vnet_info(rig.v)->rx_mode, modes[i]);
            rig.hold = k & 2;
            for (uint64_t n = plat_random() % 6; n; n--) {
                uint32_t len = n & 1 ? longest(modes[i]) : 100;

                frame_make_raw(frame, len, k);
                model_rx(rig.m, frame, len, NULL);
                if (k & 4)
                    rig_turn();
            }
            rig_return(rig.nheld);
            rig_check();
            CHECK_EQ(vnet_close(rig.v), V_OK);
            CHECK_EQ(host_dma_live(), 0);
        }
        rig.hold = false;
        CHECK_EQ(rig_open(&c), V_OK);
        rig_expect_rx(1000, i);
        rig_stop();
    }
}

/* The MTU grows while the device is rebuilt: buffers grow with it. */
TEST(mtu_that_grows_in_each_mode)
{
    static const uint16_t mtus[] = {1500, 9000, 65535, 576, 40000, 1500};

    for (unsigned i = 0; i < MODES; i++) {
        open_mode(modes[i], (struct vnet_config){.rx_ring = 64});
        for (unsigned k = 0; k < 6; k++) {
            model_set_mtu(rig.m, mtus[k]);
            host_advance_ms(61000);
            model_needs_reset(rig.m);
            rig_turn();
            CHECK_EQ(vnet_stats(rig.v)->resets, k + 1);
            CHECK_EQ(vnet_info(rig.v)->mtu, mtus[k]);
            CHECK(model_rx_room(rig.m) > 0);
            for (unsigned n = 0; n < 100; n++)
                rig_expect_rx(mtus[k] + 14u - n % 2, n);
        }
        rig_stop();
    }
}
