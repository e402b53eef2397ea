/*
 * net/pbuf_tx.c and the transmit half of net/netif_vnet.c: chains go out as
 * they are, stay alive until the device is done, and nothing of them changes.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "frame.h"
#include "host.h"
#include "net_rig.h"

static uint8_t bytes[4000];

static void fill(void)
{
    for (unsigned i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(i * 11 + (i >> 8));
    bytes[12] = 0x88; /* no protocol that anybody knows */
    bytes[13] = 0xb5;
}

/* A chain over bytes[], pieces of these lengths. */
static struct pbuf *chain_of(const uint16_t *len, unsigned n)
{
    struct pbuf *head = NULL;
    unsigned at = 0;

    for (unsigned i = 0; i < n; i++) {
        struct pbuf *p = pbuf_alloc_reference(bytes + at, len[i], PBUF_ROM);

        CHECK(p);
        at += len[i];
        if (head)
            pbuf_cat(head, p);
        else
            head = p;
    }
    return head;
}

/* The one frame on the wire must be bytes[0..len). */
static void check_wire(uint32_t len)
{
    struct model_frame *f;

    vnet_flush(rig.v);
    model_step(rig.m);
    f = model_tx_pop(rig.m);
    CHECK(f);
    CHECK_EQ(f->len, len);
    CHECK_MEM_EQ(f->data, bytes, len);
    free(f);
    CHECK(!model_tx_pop(rig.m));
}

TEST(tx_chain_goes_out_in_order)
{
    static const uint16_t len[] = {14, 100, 1, 600};
    struct pbuf *p;

    fill();
    rig_begin(MODEL_FEATURES, NULL);
    p = chain_of(len, 4);
    CHECK_EQ(pbuf_tx(rig.v, p, true), ERR_OK);
    CHECK_EQ(p->ref, 2);
    check_wire(715);
    vnet_poll(rig.v, 64);
    CHECK_EQ(p->ref, 1);
    CHECK_EQ(netif_vnet_stats.tx_cloned, 0);
    pbuf_free(p);
    rig_end();
}

TEST(tx_empty_pieces_are_skipped)
{
    static const uint16_t len[] = {14, 0, 500, 0, 0, 86, 0};
    struct pbuf *p;

    fill();
    rig_begin(MODEL_FEATURES, NULL);
    p = chain_of(len, 7);
    CHECK_EQ(pbuf_tx(rig.v, p, true), ERR_OK);
    check_wire(600);
    pbuf_free(p);
    rig_end();
}

/* As many as the driver takes, and one more. */
TEST(tx_most_pieces_as_they_are_one_more_joined)
{
    uint16_t len[VNET_TX_SEGS + 1];
    struct pbuf *p;

    fill();
    for (unsigned i = 0; i < VNET_TX_SEGS + 1; i++)
        len[i] = (uint16_t)(15 + i % 15);
    rig_begin(MODEL_FEATURES, NULL);
    p = chain_of(len, VNET_TX_SEGS);
    CHECK_EQ(pbuf_tx(rig.v, p, true), ERR_OK);
    check_wire(p->tot_len);
    CHECK_EQ(netif_vnet_stats.tx_cloned, 0);
    pbuf_free(p);
    p = chain_of(len, VNET_TX_SEGS + 1);
    CHECK_EQ(pbuf_tx(rig.v, p, true), ERR_OK);
    CHECK_EQ(netif_vnet_stats.tx_cloned, 1);
    CHECK_EQ(p->ref, 1);
    check_wire(p->tot_len);
    pbuf_free(p);
    rig_end();
}

TEST(tx_no_memory_to_join)
{
    uint16_t len[VNET_TX_SEGS + 1];
    struct pbuf *p;

    fill();
    for (unsigned i = 0; i < VNET_TX_SEGS + 1; i++)
        len[i] = 20;
    rig_begin(MODEL_FEATURES, NULL);
    p = chain_of(len, VNET_TX_SEGS + 1);
    host_fail_alloc_all(true);
    CHECK_EQ(pbuf_tx(rig.v, p, true), ERR_MEM);
    host_fail_alloc_all(false);
    CHECK_EQ(p->ref, 1);
    CHECK_EQ(netif_vnet_stats.tx_nomem, 1);
    pbuf_free(p);
    rig_end();
}

TEST(tx_full_ring_takes_no_reference)
{
    static const uint16_t len[] = {14, 500};
    static struct pbuf *p[600];
    unsigned n = 0;

    fill();
    rig_begin(MODEL_FEATURES, NULL);
    rig.m->tx_hold = true;
    while (n < 600) {
        p[n] = chain_of(len, 2);
        n++;
        if (pbuf_tx(rig.v, p[n - 1], true) != ERR_OK)
            break;
        CHECK_EQ(p[n - 1]->ref, 2);
        vnet_flush(rig.v);
    }
    CHECK(n > 50 && n < 600);
    CHECK_EQ(p[n - 1]->ref, 1);
    CHECK_EQ(netif_vnet_stats.tx_refused, 1);
    rig.m->tx_hold = false;
    model_tx_release(rig.m, 1000);
    rig_turn();
    for (unsigned i = 0; i < n; i++) {
        CHECK_EQ(p[i]->ref, 1);
        pbuf_free(p[i]);
    }
    rig_end();
}

/* ---- TCP's checksum ------------------------------------------------------ */

static uint8_t frame[70000];

/* What pbuf_tx makes of a frame in one piece. */
static struct model_frame *send_frame(uint32_t len, err_t want)
{
    struct pbuf *p = pbuf_alloc(PBUF_RAW, (u16_t)len, PBUF_RAM);

    CHECK(p);
    CHECK_EQ(pbuf_take(p, frame, (u16_t)len), ERR_OK);
    CHECK_EQ(pbuf_tx(rig.v, p, true), want);
    pbuf_free(p);
    vnet_flush(rig.v);
    model_step(rig.m);
    return model_tx_pop(rig.m);
}

/* The checksum is left to the device, and comes out right. */
static void check_offload(const struct frame_spec *spec)
{
    uint32_t len = frame_make(frame, spec);
    struct frame_info i;
    struct model_frame *f;

    CHECK(frame_parse(frame, len, &i));
    frame[i.csum] = 0xde; /* stale, as after an earlier transmission */
    frame[i.csum + 1] = 0xad;
    f = send_frame(len, ERR_OK);
    CHECK(f);
    CHECK(f->hdr.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM);
    CHECK_EQ(f->hdr.csum_start, i.l4);
    CHECK_EQ(f->hdr.csum_offset, 16);
    CHECK(frame_l4_csum_ok(f->data, &i));
    free(f);
}

TEST(tx_checksum_left_to_the_device)
{
    rig_begin(MODEL_FEATURES, NULL);
    for (unsigned k = 0; k < 8; k++) {
        struct frame_spec s = {.ipv6 = k & 1, .vlan = k & 2};

        for (s.payload = 0; s.payload < 1400; s.payload += 97) {
            s.seed = (uint8_t)(s.payload * 5);
            check_offload(&s);
        }
    }
    rig_end();
}

TEST(tx_checksum_with_ip_options)
{
    static const struct frame_spec s = {.payload = 200};
    uint32_t len = frame_make(frame, &s);
    struct frame_info i;
    struct model_frame *f;

    rig_begin(MODEL_FEATURES, NULL);
    memmove(frame + 34 + 8, frame + 34, len - 34);
    memset(frame + 34, 1, 8);
    frame[14] = 0x47;
    frame[17] = (uint8_t)(frame[17] + 8);
    frame[24] = frame[25] = 0;
    uint16_t sum = (uint16_t)~frame_fold(frame_sum(0, frame + 14, 28));

    frame[24] = (uint8_t)(sum >> 8);
    frame[25] = (uint8_t)sum;
    f = send_frame(len + 8, ERR_OK);
    CHECK(f);
    CHECK_EQ(f->hdr.csum_start, 42);
    CHECK(frame_parse(f->data, f->len, &i));
    CHECK(frame_l4_csum_ok(f->data, &i));
    free(f);
    rig_end();
}

/* UDP has its checksum already; other protocols are none of our business. */
TEST(tx_checksum_of_others_is_complete)
{
    static const struct frame_spec udp4 = {.udp = true, .payload = 300};
    static const struct frame_spec udp6 = {.udp = true,
                                           .ipv6 = true,
                                           .payload = 300};
    struct model_frame *f;

    rig_begin(MODEL_FEATURES, NULL);
    f = send_frame(frame_make(frame, &udp4), ERR_OK);
    CHECK_EQ(f->hdr.flags, 0);
    CHECK_MEM_EQ(f->data, frame, f->len);
    free(f);
    f = send_frame(frame_make(frame, &udp6), ERR_OK);
    CHECK_EQ(f->hdr.flags, 0);
    CHECK_MEM_EQ(f->data, frame, f->len);
    free(f);
    rig_end();
}

/* Without the whole segment nobody can finish its checksum. */
TEST(tx_piece_of_a_segment_is_dropped)
{
    static const struct frame_spec s = {.payload = 200};
    uint32_t len = frame_make(frame, &s);

    rig_begin(MODEL_FEATURES, NULL);
    frame[20] = 0x20; /* more fragments */
    CHECK(!send_frame(len, ERR_VAL));
    CHECK_EQ(netif_vnet_stats.tx_csum_lost, 1);
    rig_end();
}

/* ... and from then on lwIP makes the checksums itself. */
TEST(tx_fragmented_segment_turns_offload_off)
{
    static const struct frame_spec s = {.payload = 200};
    uint32_t len = frame_make(frame, &s);
    struct pbuf *p;
    struct peer peer;

    rig_begin(MODEL_FEATURES, NULL);
    CHECK(!(rig.netif->chksum_flags & NETIF_CHECKSUM_GEN_TCP));
    frame[20] = 0x20;
    p = pbuf_alloc(PBUF_RAW, (u16_t)len, PBUF_RAM);
    pbuf_take(p, frame, (u16_t)len);
    CHECK_EQ(rig.netif->linkoutput(rig.netif, p), ERR_OK);
    pbuf_free(p);
    CHECK(rig.netif->chksum_flags & NETIF_CHECKSUM_GEN_TCP);
    peer_open(&peer, 7);
    peer_send(&peer, "abc", 3);
    rig_run(10);
    CHECK_EQ(peer.got_len, 3);
    rig_end();
}

/* A device that cannot: lwIP does it. The peer counts wrong ones. */
TEST(tx_checksum_by_software)
{
    struct peer p;

    rig_begin(MODEL_FEATURES & ~(VIRTIO_BIT(VIRTIO_NET_F_CSUM) |
                                 VIRTIO_BIT(VIRTIO_NET_F_HOST_TSO4) |
                                 VIRTIO_BIT(VIRTIO_NET_F_HOST_TSO6) |
                                 VIRTIO_BIT(VIRTIO_NET_F_HOST_ECN)),
              NULL);
    CHECK(rig.netif->chksum_flags & NETIF_CHECKSUM_GEN_TCP);
    peer_open(&p, 19);
    rig_run(20);
    CHECK(p.got_len > 10000);
    rig_end();
}
