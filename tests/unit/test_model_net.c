/*
 * The model judged by itself: features, configuration, frames both ways.
 */
#include <stdlib.h>

#include "frame.h"
#include "mini.h"

#define BIT(name) VIRTIO_BIT(VIRTIO_NET_F_##name)
#define F MODEL_FEATURES_MIN
#define F_TX (F | BIT(CSUM) | BIT(HOST_TSO4) | BIT(HOST_TSO6))
#define F_OK (VIRTIO_S_ACKNOWLEDGE | VIRTIO_S_DRIVER | VIRTIO_S_FEATURES_OK)

static struct mini d;
static uint8_t frame[70000];

static void start(uint64_t features)
{
    mini_start(&d, model_new(features), features);
}

/* ---- features and configuration --------------------------------------------- */

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

/* ---- receive ------------------------------------------------------------------ */

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

/* ---- transmit -------------------------------------------------------------------- */

static void send_one(struct virtio_net_hdr h, uint32_t len)
{
    static unsigned p;

    mini_send(&d, p++ % MINI_SIZE, &h, frame, len);
    model_tx_discard(d.m);
}

/* A header and frame that are right; each test spoils one thing. */
static struct virtio_net_hdr good(uint32_t payload, uint32_t *len)
{
    struct frame_spec s = {.payload = payload, .partial = true};
    struct virtio_net_hdr h = {
        .flags = VIRTIO_NET_HDR_F_NEEDS_CSUM, .csum_start = 34,
        .csum_offset = 16,
    };

    if (payload > 1460) {
        h.gso_type = VIRTIO_NET_HDR_GSO_TCPV4;
        h.gso_size = 1460;
        h.hdr_len = 54;
    }
    *len = frame_make(frame, &s);
    return h;
}

static void correct(uint32_t payload)
{
    uint32_t len;
    struct virtio_net_hdr h = good(payload, &len);

    send_one(h, len);
}

#define SPOIL(id, payload, change)                                           \
    do {                                                                     \
        struct virtio_net_hdr h = good(payload, &len);                       \
        change;                                                              \
        PROVOKE(id, send_one(h, len));                                       \
    } while (0)

TEST(rule_tx_header)
{
    uint32_t len;

    start(F_TX);
    correct(100);
    correct(3000);
    SPOIL("NET-TX-01", 100, h.num_buffers = 1);
    SPOIL("NET-TX-09", 100, h.flags |= VIRTIO_NET_HDR_F_DATA_VALID);
    SPOIL("NET-TX-03", 3000, h.gso_type = VIRTIO_NET_HDR_GSO_UDP);
    SPOIL("NET-TX-03", 3000, h.gso_type = VIRTIO_NET_HDR_GSO_TCPV6);
    SPOIL("NET-TX-03", 3000, h.gso_type = VIRTIO_NET_HDR_GSO_ECN);
    SPOIL("NET-TX-04", 3000, h.gso_type |= VIRTIO_NET_HDR_GSO_ECN);
    SPOIL("NET-TX-04", 3000, frame[34 + 13] |= 0x80);
    SPOIL("NET-TX-06", 3000, h.gso_size = 0);
    SPOIL("NET-TX-05", 100, h.csum_start = (uint16_t)len);
    SPOIL("NET-TX-05", 100, h.csum_start = 33);
    SPOIL("NET-TX-05", 100, h.csum_offset = 18);
    SPOIL("NET-TX-05", 100, frame[34 + 16] ^= 1);
    SPOIL("NET-TX-08", 3000, h.hdr_len = 53);
    SPOIL("NET-TX-10", 100, h.hdr_len = 54);
    SPOIL("NET-TX-10", 100, h.gso_size = 1460);
    SPOIL("NET-TX-02", 100, frame[24] ^= 1); /* IPv4 header checksum */
    mini_stop(&d);
}

TEST(rule_tx_checksum_complete)
{
    struct frame_spec s = {.payload = 101};
    struct virtio_net_hdr h = {0};
    uint32_t len;

    start(F_TX);
    for (unsigned i = 0; i < 8; i++) {
        s.ipv6 = i & 1;
        s.udp = i & 2;
        s.vlan = i & 4;
        s.bad_csum = false;
        len = frame_make(frame, &s);
        send_one(h, len);
        s.bad_csum = true;
        len = frame_make(frame, &s);
        PROVOKE("NET-TX-02", send_one(h, len));
    }
    h.csum_start = 34;
    s = (struct frame_spec){.payload = 101};
    len = frame_make(frame, &s);
    PROVOKE("NET-TX-10", send_one(h, len));
    frame_make_raw(frame, 60, 1);
    PROVOKE("NET-TX-05", send_one((struct virtio_net_hdr){
                             .flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
                             .csum_start = 20}, 60));
    mini_stop(&d);
}

TEST(rule_tx_not_negotiated)
{
    uint32_t len;

    start(F);
    SPOIL("NET-TX-02", 100, (void)0);
    mini_stop(&d);
    start(F | BIT(CSUM));
    SPOIL("NET-TX-03", 3000, (void)0);
    mini_stop(&d);
    start(F_TX | BIT(GUEST_HDRLEN));
    SPOIL("NET-TX-07", 3000, h.hdr_len = 60);
    mini_stop(&d);
    start(F_TX | BIT(MTU));
    model_set_mtu(d.m, 1000);
    SPOIL("NET-CFG-05", 1200, (void)0);
    SPOIL("NET-CFG-05", 3000, (void)0);
    mini_stop(&d);
}

TEST(rule_tx_chain)
{
    start(F);
    mini_desc(&d.q[1], 0, d.page[0], 72, VIRTQ_DESC_F_NEXT, 1);
    mini_desc(&d.q[1], 1, d.page[1], 72, VIRTQ_DESC_F_WRITE, 0);
    mini_offer(&d.q[1], 0);
    PROVOKE("NET-TX-12", netdev_notify(d.m, 1));
    mini_desc(&d.q[1], 2, d.page[2], 25, 0, 0);
    mini_offer(&d.q[1], 2);
    PROVOKE("NET-TX-12", netdev_notify(d.m, 1));
    mini_stop(&d);
}

/* A large frame leaves as wire frames that are each correct. */
static void segmentation(bool ipv6, bool vlan, uint32_t payload)
{
    struct frame_spec s = {.payload = payload, .partial = true, .ipv6 = ipv6,
                           .vlan = vlan, .tcp_flags = 0x19, .seq = 0xfffff000};
    uint32_t len = frame_make(frame, &s), total = 0;
    unsigned headers = 14u + (vlan ? 4 : 0) + (ipv6 ? 40 : 20) + 20;
    struct virtio_net_hdr h = {
        .flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
        .gso_type = ipv6 ? VIRTIO_NET_HDR_GSO_TCPV6 : VIRTIO_NET_HDR_GSO_TCPV4,
        .gso_size = 1000, .hdr_len = (uint16_t)headers,
        .csum_start = (uint16_t)(headers - 20), .csum_offset = 16,
    };
    struct model_frame *f;
    struct frame_info i;

    start(F_TX);
    for (unsigned p = 0; p * 4096 < len; p++) {
        uint32_t n = len - p * 4096 < 4096 ? len - p * 4096 : 4096;

        memcpy(d.page[p + 1], frame + p * 4096, n);
        mini_desc(&d.q[1], p + 1, d.page[p + 1], n,
                  (p + 1) * 4096 < len ? VIRTQ_DESC_F_NEXT : 0,
                  (uint16_t)(p + 2));
    }
    memcpy(d.page[0], &h, sizeof(h));
    mini_desc(&d.q[1], 0, d.page[0], sizeof(h), VIRTQ_DESC_F_NEXT, 1);
    mini_offer(&d.q[1], 0);
    netdev_notify(d.m, 1);
    for (unsigned n = 0; (f = model_tx_pop(d.m)) != NULL; n++) {
        bool last = d.m->wire_first == NULL;

        CHECK_EQ(f->piece, n);
        CHECK(frame_parse(f->data, f->len, &i));
        CHECK(frame_ip_csum_ok(f->data, &i) && frame_l4_csum_ok(f->data, &i));
        CHECK_EQ(i.end, f->len);
        CHECK_EQ(f->len - headers, last ? payload - total : 1000);
        CHECK_MEM_EQ(f->data + headers, frame + headers + total,
                     f->len - headers);
        CHECK_EQ(f->data[headers - 20 + 13], last ? 0x19 : 0x10);
        total += f->len - headers;
        free(f);
    }
    CHECK_EQ(total, payload);
    mini_stop(&d);
}

TEST(tx_segmentation)
{
    segmentation(false, false, 5000);
    segmentation(false, true, 5001);
    segmentation(true, false, 20000);
    segmentation(true, true, 999);
}

TEST(tx_partial_checksum_is_finished)
{
    uint32_t len;
    struct virtio_net_hdr h = good(333, &len);
    struct model_frame *f;
    struct frame_info i;

    start(F_TX);
    mini_send(&d, 0, &h, frame, len);
    f = model_tx_pop(d.m);
    CHECK(f);
    CHECK(frame_parse(f->data, f->len, &i));
    CHECK(frame_l4_csum_ok(f->data, &i));
    free(f);
    mini_stop(&d);
}

TEST(tx_completion_orders)
{
    static const enum model_order orders[] = {MODEL_IN_ORDER, MODEL_REVERSED,
                                              MODEL_RANDOM};

    for (unsigned o = 0; o < 3; o++) {
        unsigned seen = 0;
        uint32_t id, len;

        start(F);
        d.m->tx_hold = true;
        d.m->order = orders[o];
        frame_make_raw(frame, 60, 1);
        for (unsigned p = 0; p < 6; p++)
            mini_send(&d, p, &(struct virtio_net_hdr){0}, frame, 60);
        CHECK(!mini_used(&d, 1, &id, &len));
        CHECK_EQ(model_tx_release(d.m, 100), 6);
        for (unsigned p = 0; p < 6; p++) {
            CHECK(mini_used(&d, 1, &id, &len));
            if (o < 2)
                CHECK_EQ(id, o == 0 ? p : 5 - p);
            seen |= 1u << id;
        }
        CHECK_EQ(seen, 63);
        mini_stop(&d);
    }
}
