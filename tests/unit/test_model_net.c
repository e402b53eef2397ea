/*
 * The model judged by itself: features, configuration, frames that come
 * in.
 */
#include "frame.h"
#include "mini.h"

#define BIT(name) VIRTIO_BIT(VIRTIO_NET_F_##name)
#define F MODEL_FEATURES_MIN
#define F_OK (VIRTIO_S_ACKNOWLEDGE | VIRTIO_S_DRIVER | VIRTIO_S_FEATURES_OK)

static struct mini d;
static uint8_t frame[70000];

static void start(uint64_t features)
{
    mini_start(&d, model_new(features), features);
}

/* ---- features and configuration ----------------------------------------- */

static void accept(uint64_t offered, uint64_t accepted)
{
    d.m->offered = offered;
    netdev_set_status(d.m, 0);
    netdev_status(d.m);
    netdev_set_status(d.m, VIRTIO_S_ACKNOWLEDGE | VIRTIO_S_DRIVER);
    netdev_accept(d.m, 0, (uint32_t)accepted);
    netdev_accept(d.m, 1, (uint32_t)(accepted >> 32));
    netdev_set_status(d.m, F_OK);
}

TEST(rule_feat_01_02_03_05)
{
    static const uint64_t lonely[] = {
        BIT(GUEST_TSO4), BIT(GUEST_TSO6), BIT(GUEST_ECN), BIT(HOST_TSO4),
        BIT(HOST_TSO6), BIT(HOST_ECN), BIT(GUEST_CSUM) | BIT(GUEST_ECN),
        BIT(CSUM) | BIT(HOST_ECN),
    };

    mini_prepare(&d, model_new(F));
    PROVOKE("FEAT-01", accept(F, F | BIT(CSUM)));
    PROVOKE("FEAT-05", accept(F, 0));
    PROVOKE("FEAT-03", accept(UINT64_MAX, F | VIRTIO_BIT(50)));
    PROVOKE("FEAT-03", accept(UINT64_MAX,
                              F | VIRTIO_BIT(VIRTIO_F_RING_PACKED)));
    PROVOKE("FEAT-03", accept(UINT64_MAX, F | BIT(MQ) | BIT(CTRL_VQ)));
    for (unsigned i = 0; i < sizeof(lonely) / sizeof(lonely[0]); i++)
        PROVOKE("FEAT-02", accept(UINT64_MAX, F | lonely[i]));
    PROVOKE("FEAT-11", netdev_set_status(d.m, 0); netdev_status(d.m);
            netdev_set_status(d.m, VIRTIO_S_ACKNOWLEDGE | VIRTIO_S_DRIVER);
            netdev_accept(d.m, 2, 1));
    accept(MODEL_FEATURES, MODEL_FEATURES);
    mini_stop(&d);
}

TEST(rule_cfg_02_fields_without_feature)
{
    start(F | BIT(MTU));
    for (unsigned i = 0; i < 6; i++)
        netdev_config(d.m, i);
    netdev_config(d.m, VIRTIO_NET_CFG_MTU);
    PROVOKE("CFG-02", netdev_config(d.m, VIRTIO_NET_CFG_STATUS));
    PROVOKE("CFG-02", netdev_config(d.m, VIRTIO_NET_CFG_MAX_PAIRS + 1));
    PROVOKE("CFG-02", netdev_config(d.m, VIRTIO_NET_CFG_DUPLEX));
    PROVOKE("CFG-02", netdev_config(d.m, 20));
    mini_stop(&d);
    start(F | BIT(STATUS));
    PROVOKE("CFG-02", netdev_config(d.m, VIRTIO_NET_CFG_MTU + 1));
    mini_stop(&d);
}

/* ---- receive ------------------------------------------------------------ */

TEST(rule_rx_buffers)
{
    start(F);
    mini_post(&d, 0, 1525);
    PROVOKE("NET-RX-01", netdev_notify(d.m, 0));
    mini_stop(&d);
    start(F | BIT(MRG_RXBUF));
    mini_post(&d, 0, 11);
    PROVOKE("NET-RX-03", netdev_notify(d.m, 0));
    mini_stop(&d);
    start(F | BIT(GUEST_CSUM) | BIT(GUEST_TSO4));
    mini_post(&d, 0, 4096);
    PROVOKE("NET-RX-02", netdev_notify(d.m, 0));
    mini_stop(&d);
    start(F | BIT(MTU));
    model_set_mtu(d.m, 4096);
    mini_post(&d, 0, 4096);
    PROVOKE("NET-CFG-04", netdev_notify(d.m, 0));
    mini_stop(&d);
    start(F);
    mini_desc(&d.q[0], 0, d.page[0], 100, VIRTQ_DESC_F_NEXT, 1);
    mini_desc(&d.q[0], 1, d.page[1], 4096, VIRTQ_DESC_F_WRITE, 0);
    mini_offer(&d.q[0], 0);
    PROVOKE("NET-RX-BUF", netdev_notify(d.m, 0));
    mini_stop(&d);
}

TEST(rx_single_buffer)
{
    struct virtio_net_hdr h;
    uint32_t id, len;

    start(F);
    CHECK(!model_rx(d.m, frame, 60, NULL));
    CHECK_EQ(d.m->n.rx_no_room, 1);
    mini_post(&d, 5, 2000);
    netdev_notify(d.m, 0);
    frame_make_raw(frame, 1988, 3);
    CHECK(!model_rx(d.m, frame, 1989, NULL));
    CHECK(model_rx(d.m, frame, 1988, NULL));
    CHECK(mini_used(&d, 0, &id, &len));
    CHECK_EQ(id, 5);
    CHECK_EQ(len, 2000);
    memcpy(&h, d.page[5], sizeof(h));
    CHECK_EQ(h.num_buffers, 1);
    CHECK_EQ(h.flags, 0);
    CHECK(frame_is_raw(d.page[5] + 12, 1988, 3));
    mini_stop(&d);
}

/* All buffers but the last are full, and num_buffers counts them. */
TEST(rx_merged_buffers)
{
    struct virtio_net_hdr h;
    uint8_t joined[4096];
    uint32_t id, len, at = 0;

    start(F | BIT(MRG_RXBUF));
    for (unsigned i = 0; i < 4; i++)
        mini_post(&d, i, 100 + i);
    netdev_notify(d.m, 0);
    frame_make_raw(frame, 250, 9);
    CHECK(!model_rx(d.m, frame, 406 - 12 + 1, NULL));
    CHECK_EQ(model_rx_room(d.m), 4);
    CHECK(model_rx(d.m, frame, 250, NULL));
    for (unsigned i = 0; i < 3; i++) {
        CHECK(mini_used(&d, 0, &id, &len));
        CHECK_EQ(id, i);
        CHECK_EQ(len, i < 2 ? 100 + i : 61);
        memcpy(joined + at, d.page[i], len);
        at += len;
    }
    CHECK(!mini_used(&d, 0, &id, &len));
    memcpy(&h, joined, sizeof(h));
    CHECK_EQ(h.num_buffers, 3);
    CHECK(frame_is_raw(joined + 12, 250, 9));
    mini_stop(&d);
}

/* Each fault must be visible in what the driver reads. */
TEST(rx_faults_are_committed)
{
    static const struct {
        enum fault f;
        uint32_t id;
        uint32_t len;
    } t[] = {
        {FAULT_ID_RANGE, 8, 72},         {FAULT_ID_HUGE, UINT32_MAX, 72},
        {FAULT_LEN_OVER, 0, 101},        {FAULT_LEN_HUGE, 0, UINT32_MAX},
        {FAULT_LEN_SIGN, 0, 0x80000000}, {FAULT_LEN_ZERO, 0, 0},
        {FAULT_LEN_SHORT, 0, 11},        {FAULT_LEN_HEADER, 0, 12},
        {FAULT_ID_FREE, 1, 72},
    };

    for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
        uint32_t id = 99, len = 99;

        start(F | BIT(MRG_RXBUF));
        mini_post(&d, 0, 100);
        netdev_notify(d.m, 0);
        model_fault(d.m, 0, t[i].f, 1);
        CHECK(model_rx(d.m, frame, 60, NULL));
        CHECK_EQ(model_fault_done(d.m, 0, t[i].f), 1);
        CHECK(mini_used(&d, 0, &id, &len));
        CHECK_EQ(id, t[i].id);
        CHECK_EQ(len, t[i].len);
        mini_stop(&d);
    }
}

TEST(rx_header_faults_are_committed)
{
    static const enum fault t[] = {
        FAULT_NUM_BUFFERS_ZERO, FAULT_NUM_BUFFERS_MORE, FAULT_NUM_BUFFERS_19,
        FAULT_NUM_BUFFERS_MAX,  FAULT_FLAGS_JUNK,       FAULT_GSO_JUNK,
        FAULT_GSO_UNASKED,      FAULT_GSO_SIZE_ZERO,    FAULT_CSUM_OUTSIDE,
        FAULT_CSUM_WRAPS,       FAULT_HDR_LEN_JUNK,
    };
    static const struct virtio_net_hdr good = {.num_buffers = 1};

    for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
        start(F | BIT(MRG_RXBUF));
        mini_post(&d, 0, 100);
        netdev_notify(d.m, 0);
        model_fault(d.m, 0, t[i], 1);
        CHECK(model_rx(d.m, frame, 60, NULL));
        CHECK_EQ(model_fault_done(d.m, 0, t[i]), 1);
        CHECK(memcmp(d.page[0], &good, sizeof(good)) != 0);
        mini_stop(&d);
    }
}

TEST(rx_index_faults_are_committed)
{
    static const struct {
        enum fault f;
        uint16_t idx;
    } t[] = {{FAULT_IDX_JUMP, 10}, {FAULT_IDX_BACK, 0xffff},
             {FAULT_IDX_UNFOUNDED, 2}, {FAULT_ID_REPEATED, 2}};

    for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
        start(F | BIT(MRG_RXBUF));
        mini_post(&d, 0, 100);
        netdev_notify(d.m, 0);
        model_fault(d.m, 0, t[i].f, 1);
        CHECK(model_rx(d.m, frame, 60, NULL));
        CHECK_EQ(atomic_load(&d.q[0].used->idx), t[i].idx);
        mini_stop(&d);
    }
}

TEST(descriptors_are_scribbled_over)
{
    start(F | BIT(MRG_RXBUF));
    mini_post(&d, 0, 100);
    mini_post(&d, 1, 100);
    netdev_notify(d.m, 0);
    model_fault(d.m, 0, FAULT_DESC_SCRIBBLED, 1);
    CHECK(model_rx(d.m, frame, 60, NULL));
    CHECK_EQ(d.q[0].desc[0].len, UINT32_MAX);
    CHECK_EQ(d.q[0].desc[1].addr, UINT64_MAX);
    CHECK(model_rx(d.m, frame, 60, NULL)); /* the model has its own record */
    mini_stop(&d);
}
