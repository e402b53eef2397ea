/*
 * The model judged by itself: frames that the driver sends.
 */
#include <stdlib.h>

#include "frame.h"
#include "mini.h"

#define BIT(name) VIRTIO_BIT(VIRTIO_NET_F_##name)
#define F MODEL_FEATURES_MIN
#define F_TX (F | BIT(CSUM) | BIT(HOST_TSO4) | BIT(HOST_TSO6))

static struct mini d;
static uint8_t frame[70000];

static void start(uint64_t features)
{
    mini_start(&d, model_new(features), features);
}

/* ---- transmit ----------------------------------------------------------- */

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
