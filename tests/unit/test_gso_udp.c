/*
 * net/gso.c with datagrams (UDP_L4), behind VLAN tags, and with frames that
 * are not what they say.
 */
#include <string.h>

#include "check.h"
#include "frame.h"
#include "gso_rig.h"

static uint8_t frame[66000];

static const uint16_t one_piece[] = {0};

/* The datagram of *s is sent; its headers are in a piece of their own. */
static bool send(const struct frame_spec *s)
{
    uint32_t len = frame_make(frame, s);
    uint16_t pieces[] = {(uint16_t)(len - s->payload), 0};

    return gso_in(frame, len, pieces);
}

/*
 * The n-th result is one frame of datagrams as *s, the first `count` of them
 * of that length, and one of `rest` bytes if that is not 0; their seeds count
 * up from that of *s.
 */
static void check_datagrams(unsigned n, struct frame_spec s, unsigned count,
                            uint32_t rest)
{
    const struct gso_got *g = &gs.got[n];
    uint32_t size = s.payload, at = 0;
    struct frame_info i;

    CHECK(n < gs.count);
    CHECK(g->merged);
    CHECK(frame_parse(g->frame, g->len, &i));
    CHECK(frame_ip_csum_ok(g->frame, &i));
    CHECK_EQ(i.end, g->len);
    CHECK_EQ(i.l4_proto, FRAME_UDP);
    CHECK_EQ(g->len - i.payload, count * size + rest);
    CHECK_EQ(g->frame[i.l4 + 4] << 8 | g->frame[i.l4 + 5], g->len - i.l4);
    CHECK_EQ(g->frame[i.csum] << 8 | g->frame[i.csum + 1],
             frame_fold(frame_pseudo(g->frame, &i, g->len - i.l4)));
    CHECK_EQ(g->tx.gso_type, 5);
    CHECK_EQ(g->tx.gso_size, size);
    CHECK_EQ(g->tx.hdr_len, i.payload);
    CHECK_EQ(g->tx.csum_start, i.l4);
    CHECK_EQ(g->tx.csum_offset, 6);
    for (unsigned k = 0; k < count + (rest > 0); k++) {
        uint32_t len;

        s.payload = k < count ? size : rest;
        len = frame_make(frame, &s);
        CHECK_MEM_EQ(g->frame + i.payload + at, frame + len - s.payload,
                     s.payload);
        CHECK_MEM_EQ(g->frame + i.l4, frame + i.l4, 4);
        at += s.payload;
        s.seed++;
    }
}

TEST(gso_datagrams_of_one_length)
{
    for (unsigned k = 0; k < 4; k++) {
        struct frame_spec s = {.udp = true,
                               .ipv6 = k & 1,
                               .vlan = k & 2,
                               .payload = 1400};

        gso_begin();
        for (s.seed = 0; s.seed < 30; s.seed++)
            CHECK(send(&s));
        gso_flush(&gs.gso);
        CHECK_EQ(gs.count, 1);
        s.seed = 0;
        check_datagrams(0, s, 30, 0);
        gso_end();
    }
}

TEST(gso_datagram_that_is_shorter_ends_the_frame)
{
    struct frame_spec s = {.udp = true, .payload = 300};

    gso_begin();
    CHECK(send(&s));
    s.seed = 1;
    CHECK(send(&s));
    s.seed = 2;
    s.payload = 1;
    CHECK(send(&s));
    CHECK_EQ(gs.count, 1);
    s.seed = 0;
    s.payload = 300;
    check_datagrams(0, s, 2, 1);
    gso_end();
}

/* A longer one, another port, an empty one: apart, in order. */
TEST(gso_datagrams_that_stay_apart)
{
    struct frame_spec s = {.udp = true, .payload = 300};
    unsigned n;

    gso_begin();
    CHECK(send(&s));
    s.payload = 301;
    CHECK(send(&s));
    s.dport = 7;
    CHECK(send(&s));
    s.sport = 8;
    CHECK(send(&s));
    s.udp = false; /* the same ports of TCP */
    CHECK(send(&s));
    s.udp = true;
    CHECK(send(&s));
    s.payload = 0;
    CHECK(!send(&s));
    gso_flush(&gs.gso);
    CHECK_EQ(gs.count, 7);
    for (n = 0; n < gs.count; n++)
        CHECK(!gs.got[n].merged);
    CHECK_EQ(gs.got[0].len, 342);
    CHECK_EQ(gs.got[6].len, 42);
    gso_end();
}

/* Without UDP_L4 each is on its own, while TCP merges. */
TEST(gso_datagrams_without_the_feature)
{
    struct vnet_info info = {.tx_tso4 = true, .tx_ring = 256};
    struct frame_spec s = {.udp = true, .payload = 300};

    gso_begin();
    gso_configure(&gs.gso, &info);
    CHECK(!send(&s));
    CHECK(!send(&s));
    CHECK_EQ(gs.count, 2);
    gso_end();
}

/* ---- TCP behind a VLAN tag ----------------------------------------------- */

TEST(gso_vlan_tag_is_part_of_the_headers)
{
    struct frame_spec s = {.vlan = true, .payload = 1000, .tcp_flags = 0x10};
    struct frame_info i;

    gso_begin();
    for (unsigned k = 0; k < 5; k++) {
        CHECK(send(&s));
        s.seq += 1000;
    }
    s.vlan = false;
    CHECK(send(&s)); /* the next segment, but not of that network */
    CHECK_EQ(gs.count, 1);
    CHECK(frame_parse(gs.got[0].frame, gs.got[0].len, &i));
    CHECK_EQ(i.l3, 18);
    CHECK_EQ(gs.got[0].frame[12], 0x81);
    CHECK_EQ(gs.got[0].frame[15], 5);
    CHECK_EQ(gs.got[0].tx.csum_start, 38);
    CHECK_EQ(gs.got[0].len, 58 + 5000);
    gso_flush(&gs.gso);
    CHECK_EQ(gs.count, 2);
    gso_end();
}

/* ---- lengths that are wrong ---------------------------------------------- */

/* Any first bytes and any cut: nothing outside is read (the sanitizer looks),
 * and what is merged is as long as its parts. */
TEST(gso_any_bytes)
{
    uint32_t seed = 1;

    for (unsigned round = 0; round < 4000; round++) {
        struct frame_spec s = {.udp = round & 1,
                               .ipv6 = round & 2,
                               .vlan = round & 4,
                               .payload = round % 90};
        uint32_t len = frame_make(frame, &s);
        uint16_t pieces[] = {(uint16_t)(14 + round % 80), 0};
        struct gso_seg g;

        for (unsigned k = 0; k < 3; k++) {
            seed = seed * 1664525 + 1013904223;
            frame[12 + (seed >> 8) % 50] = (uint8_t)(seed >> 24);
        }
        if (round % 64 == 0)
            gso_begin();
        gso_in(frame, len, pieces);
        if (gso_parse(&g, gs.sent[gs.nsent - 1]) == GSO_SEGMENT) {
            CHECK(g.l4 >= 34 && g.l4 + 8u <= gs.sent[gs.nsent - 1]->len);
            CHECK(g.hdr_len + g.payload <= len);
        }
        gso_in(frame, len, one_piece);
        if (round % 64 == 63) {
            gso_flush(&gs.gso);
            gso_end();
        }
    }
    gso_flush(&gs.gso);
    gso_end();
}
