/*
 * drivers/vnet: the three receive modes and the sizes of buffers: how many
 * buffers a frame takes, what a mode that is asked for becomes, rings.
 */
#include "vnet_rig.h"

#define BIT(name) VIRTIO_BIT(VIRTIO_NET_F_##name)
#define LARGE (BIT(GUEST_TSO4) | BIT(GUEST_TSO6) | BIT(GUEST_ECN))
#define HDR 12u
#define LONGEST 65549u

static const enum vnet_rx_mode modes[] = {VNET_RX_SMALL, VNET_RX_BIG,
                                          VNET_RX_MERGEABLE};
#define MODES 3u

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

/* A frame of so many ring entries. */
static void expect_entries(uint32_t len, unsigned entries)
{
    struct vnet_stats before = *stats();

    rig_expect_rx(len, len);
    CHECK_EQ(stats()->rx_bufs - before.rx_bufs, entries);
    CHECK_EQ(stats()->rx_objects - before.rx_objects, rig.frame.nbufs);
    CHECK_EQ(stats()->rx_copied - before.rx_copied,
             entries == 1 && len <= rig.v->config.rx_copy);
}

/* ---- frames of every length --------------------------------------------- */

static uint32_t next_len(uint32_t len)
{
    if (len < 200 || (len > 1490 && len < 1540) || len > LONGEST - 3)
        return len + 1;
    return len + 97;
}

static unsigned div_up(uint32_t a, uint32_t b)
{
    return (a + b - 1) / b;
}

/* Buffers that do not change: the number of entries is known. Tails make a
 * buffer longer now and then, so no more than that, and one at least. */
static void fixed_size(struct vnet_config c, uint32_t size)
{
    open_mode(VNET_RX_MERGEABLE, c);
    for (uint32_t len = 14; len <= LONGEST; len = next_len(len)) {
        struct vnet_stats before = *stats();
        unsigned most = div_up(HDR + len, size), got;

        rig_expect_rx(len, len);
        got = (unsigned)(stats()->rx_bufs - before.rx_bufs);
        CHECK(got <= most);
        CHECK(RXFRAG_BLOCK % size == 0 ? got == most : got + 2 >= most);
    }
    CHECK_EQ(stats()->now_rx_buf_size, size);
    rig_stop();
}

TEST(every_length_in_buffers_of_a_fixed_size)
{
    fixed_size((struct vnet_config){.rx_size = VNET_RXBUF_MTU}, 1536);
    fixed_size((struct vnet_config){.rx_size = VNET_RXBUF_PAGE}, 4096);
    fixed_size((struct vnet_config){.rx_size = VNET_RXBUF_BYTES,
                                    .rx_bytes = 512}, 512);
    fixed_size((struct vnet_config){.rx_size = VNET_RXBUF_BYTES,
                                    .rx_bytes = 16384}, 16384);
    fixed_size((struct vnet_config){.rx_size = VNET_RXBUF_BYTES,
                                    .rx_bytes = 32768}, 32768);
    fixed_size((struct vnet_config){.rx_size = VNET_RXBUF_MTU_FAULTY}, 1518);
}

TEST(every_length_in_each_mode)
{
    static const uint16_t copy[] = {0, 1, 60, VNET_RX_COPY_NONE};

    for (unsigned i = 0; i < MODES; i++)
        for (unsigned k = 0; k < 8; k++) {
            const struct vnet_config c = {.rx_copy = copy[k / 2],
                                          .rx_early = k & 1};
            uint32_t most = longest(modes[i]);

            open_mode(modes[i], c);
            for (uint32_t len = 14; len <= most; len = next_len(len)) {
                if (modes[i] == VNET_RX_MERGEABLE)
                    rig_expect_rx(len, len);
                else
                    expect_entries(len, 1);
            }
            rig_stop();
        }
}

/* A small MTU: a first fragment that is shorter than what may be copied. */
TEST(copies_come_out_of_one_fragment)
{
    for (unsigned i = 0; i < MODES; i++) {
        rig_model(MODEL_FEATURES | BIT(MTU));
        model_set_mtu(rig.m, 68);
        CHECK_EQ(rig_open(&(struct vnet_config){.rx_mode = modes[i]}), V_OK);
        for (uint32_t len = 14; len < 200; len++)
            rig_expect_rx(len, len);
        CHECK_EQ(stats()->rx_copied, modes[i] == VNET_RX_BIG ? 103 : 115);
        rig_stop();
    }
}

/* ---- S1 ----------------------------------------------------------------- */

/* Buffers for 1000 full frames of an MTU. */
static uint64_t entries_per_1000(uint16_t mtu, enum vnet_rx_size size)
{
    const struct vnet_config c = {.rx_size = size, .rx_bufs_max = 16384};
    uint64_t entries;

    rig_model((MODEL_FEATURES | BIT(MTU)) & ~LARGE);
    model_set_mtu(rig.m, mtu);
    CHECK_EQ(rig_open(&c), V_OK);
    CHECK_EQ(vnet_info(rig.v)->mtu, mtu);
    for (unsigned i = 0; i < 1000; i++)
        rig_expect_rx(mtu + 14u, i);
    entries = stats()->rx_bufs;
    CHECK_EQ(stats()->rx_bufs_1 + 2 * stats()->rx_bufs_2, entries);
    rig_stop();
    return entries;
}

TEST(mtu_frames_take_one_buffer)
{
    static const uint16_t mtus[] = {68, 576, 1280, 1500, 2000, 4066, 9000,
                                    16384, 65535};

    for (unsigned i = 0; i < sizeof(mtus) / sizeof(mtus[0]); i++) {
        CHECK_EQ(entries_per_1000(mtus[i], VNET_RXBUF_MTU), 1000);
        CHECK_EQ(entries_per_1000(mtus[i], VNET_RXBUF_AUTO), 1000);
    }
    CHECK_EQ(entries_per_1000(1500, VNET_RXBUF_PAGE), 1000);
}

/* No tail of a block helps: the fault is to be measured. */
TEST(faulty_size_takes_two)
{
    CHECK_EQ(entries_per_1000(1500, VNET_RXBUF_MTU_FAULTY), 2000);
}

/* ---- S2 ----------------------------------------------------------------- */

static void stream(uint32_t len, unsigned n)
{
    while (n--)
        rig_expect_rx(len, n);
}

TEST(auto_size_follows_the_traffic)
{
    rig_start(MODEL_FEATURES);
    CHECK_EQ(stats()->now_rx_buf_size, 1536);
    stream(1514, 500);
    CHECK_EQ(stats()->now_rx_frame_avg, 1514);
    CHECK_EQ(stats()->now_rx_buf_size, 1536);
    stream(LONGEST, 100);
    CHECK_EQ(stats()->now_rx_buf_size, 4096);
    stream(LONGEST, 100);
    expect_entries(LONGEST, 17);
    stream(1514, 1500);
    CHECK_EQ(stats()->now_rx_buf_size, 1536);
    expect_entries(1514, 1);
    stream(2000, 2000);
    CHECK_EQ(stats()->now_rx_buf_size, 2048); /* 2012 */
    stream(60, 2000);
    CHECK_EQ(stats()->now_rx_buf_size, 1536);
    rig_stop();
}

/* S2a: once the memory is there, no frame asks the platform for any. */
TEST(no_allocation_for_a_frame)
{
    for (unsigned i = 0; i < MODES; i++)
        for (unsigned early = 0; early < 2; early++) {
            unsigned before;

            open_mode(modes[i], (struct vnet_config){.rx_early = early});
            for (unsigned k = 0; k < 5000; k++)
                rig_expect_rx(60 + k % 1450, k);
            before = host_allocs();
            for (unsigned k = 0; k < 5000; k++)
                rig_expect_rx(60 + k % 1450, k);
            CHECK_EQ(host_allocs(), before);
            rig_stop();
        }
}

/* S5: early objects are made for what is posted, late ones for frames. */
TEST(objects_are_made_when_frames_arrive)
{
    for (unsigned i = 0; i < MODES; i++) {
        open_mode(modes[i], (struct vnet_config){0});
        CHECK_EQ(rig.v->rx.objs_made, 15); /* a page of them, to spare */
        CHECK_EQ(rig.v->rx.objs_spare, 15);
        rig_stop();
        open_mode(modes[i], (struct vnet_config){.rx_early = true});
        CHECK_EQ(rig.v->rx.objs_made - rig.v->rx.objs_spare,
                 model_rx_room(rig.m));
        rig_stop();
    }
}

/* ---- what was asked for, and what there is ------------------------------ */

TEST(modes_that_are_possible)
{
    static const struct {
        uint64_t without;
        enum vnet_rx_mode asked;
        enum vnet_rx_mode got;
    } t[] = {
        {0, VNET_RX_AUTO, VNET_RX_MERGEABLE},
        {0, VNET_RX_MERGEABLE, VNET_RX_MERGEABLE},
        {0, VNET_RX_BIG, VNET_RX_BIG},
        {0, VNET_RX_SMALL, VNET_RX_SMALL},
        {BIT(MRG_RXBUF), VNET_RX_AUTO, VNET_RX_BIG},
        {BIT(MRG_RXBUF), VNET_RX_MERGEABLE, VNET_RX_BIG},
        {BIT(MRG_RXBUF), VNET_RX_SMALL, VNET_RX_SMALL},
        {BIT(MRG_RXBUF) | BIT(GUEST_TSO4), VNET_RX_AUTO, VNET_RX_BIG},
        {LARGE, VNET_RX_AUTO, VNET_RX_MERGEABLE},
        {LARGE, VNET_RX_BIG, VNET_RX_SMALL},
        {BIT(MRG_RXBUF) | LARGE, VNET_RX_AUTO, VNET_RX_SMALL},
        {BIT(MRG_RXBUF) | LARGE, VNET_RX_BIG, VNET_RX_SMALL},
        {BIT(MRG_RXBUF) | LARGE, VNET_RX_MERGEABLE, VNET_RX_SMALL},
        {BIT(MRG_RXBUF) | BIT(GUEST_CSUM), VNET_RX_AUTO, VNET_RX_SMALL},
    };

    for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
        const struct vnet_config c = {.rx_mode = t[i].asked};

        rig_model(MODEL_FEATURES & ~t[i].without);
        CHECK_EQ(rig_open(&c), V_OK);
        CHECK_EQ(vnet_info(rig.v)->rx_mode, t[i].got);
        rig_expect_rx(1514, i);
        rig_expect_rx(vnet_info(rig.v)->features & LARGE ? LONGEST : 1518, i);
        rig_stop();
    }
}

/* A ring too small for a chain of 64 KiB means doing without large frames. */
TEST(every_ring_size_in_each_mode)
{
    for (unsigned i = 0; i < MODES; i++)
        for (uint32_t n = 1; n <= 1024; n *= 2) {
            const struct vnet_config c = {.rx_ring = (uint16_t)n,
                                          .rx_mode = modes[i]};

            rig_model(MODEL_FEATURES);
            CHECK_EQ(rig_open(&c), V_OK);
            CHECK_EQ(vnet_info(rig.v)->rx_mode,
                     modes[i] == VNET_RX_BIG && n < RX_FRAME_BUFS_MAX
                         ? VNET_RX_SMALL : modes[i]);
            for (unsigned k = 0; k < 2 * n + 10; k++)
                rig_expect_rx(60 + k % 1400, k);
            if (vnet_info(rig.v)->features & LARGE)
                for (unsigned k = 0; k < 10; k++)
                    rig_expect_rx(LONGEST - k, k);
            rig_stop();
        }
}

/* The smallest buffers there are, in rings that 64 KiB hardly fit into. */
TEST(every_size_of_buffer_in_every_ring)
{
    static const uint32_t bytes[] = {1, 64, 100, 2048, 32768, UINT32_MAX};

    for (unsigned i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++)
        for (uint32_t n = 1; n <= 1024; n *= 4) {
            const struct vnet_config c = {.rx_ring = (uint16_t)n,
                                          .rx_size = VNET_RXBUF_BYTES,
                                          .rx_bytes = bytes[i]};

            rig_model(MODEL_FEATURES);
            CHECK_EQ(rig_open(&c), V_OK);
            CHECK_EQ(vnet_info(rig.v)->rx_mode, VNET_RX_MERGEABLE);
            for (unsigned k = 0; k < 20; k++)
                rig_expect_rx(k % 4 ? 60 + k * 70 : LONGEST, k);
            rig_stop();
        }
}
