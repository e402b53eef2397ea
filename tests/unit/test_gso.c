/*
 * net/gso.c and net/gso_frame.c: traces of segments as lwIP sends them, and
 * the frames that they must become.
 */
#include <string.h>

#include "check.h"
#include "frame.h"
#include "gso_rig.h"
#include "host.h"

/* ---- the frame, byte by byte --------------------------------------------- */

TEST(gso_two_segments_by_hand)
{
    static const uint8_t first[] = {
        0x52, 0x55, 0x0a, 0x00, 0x02, 0x02, 0x52, 0x54, 0x00, 0x12,
        0x34, 0x56, 0x08, 0x00, 0x45, 0x00, 0x00, 0x2c, 0x00, 0x07,
        0x00, 0x00, 0x40, 0x06, 0x62, 0xb5, 0x0a, 0x00, 0x02, 0x0f,
        0x0a, 0x00, 0x02, 0x02, 0x14, 0x51, 0x9c, 0x40, 0x00, 0x00,
        0x01, 0x00, 0x00, 0x00, 0x02, 0x00, 0x50, 0x10, 0x10, 0x00,
        0x00, 0x00, 0x00, 0x00, 'a',  'b',  'c',  'd',
    };
    /* 48 bytes of IP; 0x0a00 + 0x020f + 0x0a00 + 0x0202 + 6 + 28. */
    static const uint8_t want[] = {
        0x52, 0x55, 0x0a, 0x00, 0x02, 0x02, 0x52, 0x54, 0x00, 0x12, 0x34,
        0x56, 0x08, 0x00, 0x45, 0x00, 0x00, 0x30, 0x00, 0x07, 0x00, 0x00,
        0x40, 0x06, 0x62, 0xb1, 0x0a, 0x00, 0x02, 0x0f, 0x0a, 0x00, 0x02,
        0x02, 0x14, 0x51, 0x9c, 0x40, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00,
        0x02, 0x00, 0x50, 0x18, 0x10, 0x00, 0x18, 0x33, 0x00, 0x00, 'a',
        'b',  'c',  'd',  'e',  'f',  'g',  'h',
    };
    static const uint16_t pieces[] = {54, 0};
    uint8_t second[sizeof(first)];

    gso_begin();
    memcpy(second, first, sizeof(first));
    second[19] = 8; /* identification, and its checksum */
    second[25] = 0xb4;
    second[41] = 4;    /* sequence number */
    second[47] = 0x18; /* ACK, PSH */
    memcpy(second + 54, "efgh", 4);
    CHECK(gso_in(first, sizeof(first), pieces));
    CHECK(gso_in(second, sizeof(second), pieces));
    CHECK_EQ(gs.count, 0);
    gso_flush(&gs.gso);
    CHECK_EQ(gs.count, 1);
    CHECK_EQ(gs.got[0].len, sizeof(want));
    CHECK_MEM_EQ(gs.got[0].frame, want, sizeof(want));
    CHECK_EQ(gs.got[0].nseg, 3);
    CHECK_EQ(gs.got[0].tx.gso_size, 4);
    gso_end();
}

/* The parts themselves are not written to. */
TEST(gso_leaves_the_parts_as_they_are)
{
    struct gro_spec s = gso_base(1000, 1460);
    static uint8_t before[3][1600];

    gso_begin();
    gso_burst(s, 3);
    for (unsigned i = 0; i < 3; i++) {
        CHECK_EQ(gs.sent[i]->ref, 2);
        pbuf_copy_partial(gs.sent[i], before[i], 1514, 0);
    }
    gso_flush(&gs.gso);
    for (unsigned i = 0; i < 3; i++) {
        uint8_t after[1600];

        pbuf_copy_partial(gs.sent[i], after, 1514, 0);
        CHECK_MEM_EQ(after, before[i], 1514);
    }
    s.payload = 3 * 1460;
    gso_check(0, &s, 1460);
    gso_end();
}

/* ---- how many ------------------------------------------------------------ */

TEST(gso_run_of_any_length)
{
    for (unsigned n = 2; n <= 44; n++) {
        for (unsigned ip6 = 0; ip6 < 2; ip6++) {
            struct gro_spec s = gso_base(0xffff8000u, 1440);

            s.ip6 = ip6;
            gso_begin();
            gso_burst(s, n);
            gso_flush(&gs.gso);
            CHECK_EQ(gs.count, 1);
            s.payload = (uint16_t)(n * 1440);
            gso_check(0, &s, 1440);
            CHECK_EQ(gso_stats.gso_frames, 1);
            CHECK_EQ(gso_stats.gso_segments, n);
            CHECK_EQ(gso_stats.gso_flush_turn, 1);
            gso_end();
        }
    }
}

/* 20 + 20 + 44 x 1460 is below 64 KiB, and one more is not. */
TEST(gso_longest_ip_packet)
{
    struct gro_spec s = gso_base(5, 1460);

    gso_begin();
    gso_burst(s, 60);
    gso_flush(&gs.gso);
    CHECK_EQ(gs.count, 2);
    s.payload = 44 * 1460;
    gso_check(0, &s, 1460);
    s.seq += s.payload;
    s.payload = 16 * 1460;
    gso_check(1, &s, 1460);
    CHECK_EQ(gso_stats.gso_flush_size, 1);
    CHECK_EQ(gso_stats.gso_segs_32_up, 1);
    CHECK_EQ(gso_stats.gso_segs_16_31, 1);
    gso_end();
}

/* To the byte: 5 x 13099 + 40 is 65535. */
TEST(gso_longest_ip_packet_to_the_byte)
{
    struct gro_spec s = gso_base(5, 13099);

    gso_begin();
    gso_burst(s, 5);
    gso_flush(&gs.gso);
    CHECK_EQ(gs.count, 1);
    CHECK_EQ(gs.got[0].len, 14 + 65535);
    CHECK_EQ(gs.got[0].frame[16], 0xff);
    CHECK_EQ(gs.got[0].frame[17], 0xff);
    gso_end();
    gso_begin();
    s = gso_base(5, 13100);
    gso_burst(s, 5);
    gso_flush(&gs.gso);
    CHECK_EQ(gs.count, 2);
    gso_end();
}

TEST(gso_as_many_pieces_as_the_driver_takes)
{
    struct gro_spec s = gso_base(5, 100);

    gso_begin();
    gso_burst(s, 200);
    gso_flush(&gs.gso);
    CHECK_EQ(gs.count, 4);
    s.payload = 63 * 100;
    for (unsigned i = 0; i < 3; i++) {
        CHECK_EQ(gs.got[i].nseg, VNET_TX_SEGS);
        gso_check(i, &s, 100);
        s.seq += 6300;
    }
    s.payload = 11 * 100;
    gso_check(3, &s, 100);
    gso_end();
}

/* Payload that lies in several pieces counts as many; with a byte of it
 * behind the headers, and empty ones, too. */
TEST(gso_payload_in_pieces)
{
    static const uint16_t pieces[] = {60, 100, 1, 0};
    struct gro_spec s = gso_base(900, 700);
    static uint8_t f[2000];

    gso_begin();
    for (unsigned i = 0; i < 20; i++) {
        CHECK(gso_in(f, gro_make(f, &s), pieces));
        s.seq += 700;
    }
    gso_flush(&gs.gso);
    CHECK_EQ(gs.count, 2);
    CHECK_EQ(gs.got[0].nseg, 1 + 15 * 4);
    s.seq = 900;
    s.payload = 15 * 700;
    gso_check(0, &s, 700);
    s.seq += s.payload;
    s.payload = 5 * 700;
    gso_check(1, &s, 700);
    gso_end();
}

TEST(gso_takes_a_part_of_a_small_ring)
{
    struct vnet_info info = {.tx_tso4 = true, .tx_ring = 16};
    struct gro_spec s = gso_base(1, 1460);

    gso_begin();
    gso_configure(&gs.gso, &info);
    gso_burst(s, 9);
    gso_flush(&gs.gso);
    CHECK_EQ(gs.count, 3);
    s.payload = 4 * 1460;
    gso_check(0, &s, 1460);
    gso_end();
}

/* ---- devices ------------------------------------------------------------- */

TEST(gso_only_what_the_device_cuts_up)
{
    for (unsigned k = 0; k < 4; k++) {
        struct vnet_info info = {
            .tx_csum = true,
            .tx_tso4 = k & 1,
            .tx_tso6 = k & 2,
            .tx_ring = 256,
        };

        for (unsigned ip6 = 0; ip6 < 2; ip6++) {
            struct gro_spec s = gso_base(1, 800);
            bool can = ip6 ? info.tx_tso6 : info.tx_tso4;

            s.ip6 = ip6;
            gso_begin();
            gso_configure(&gs.gso, &info);
            for (unsigned i = 0; i < 3; i++) {
                CHECK_EQ(gso_in_spec(&s), can);
                s.seq += 800;
            }
            gso_flush(&gs.gso);
            CHECK_EQ(gs.count, can ? 1 : 3);
            gso_end();
        }
    }
}

TEST(gso_drop_frees_what_is_pending)
{
    gso_begin();
    gso_drop(&gs.gso);
    gso_burst(gso_base(1, 800), 1);
    gso_drop(&gs.gso);
    gso_burst(gso_base(1, 800), 5);
    gso_drop(&gs.gso);
    CHECK_EQ(gs.count, 0);
    CHECK_EQ(gso_stats.gso_dropped, 2);
    gso_end();
}

/* Memory for the pbufs, and none for a frame that holds several. */
TEST(gso_without_memory_sends_them_one_by_one)
{
    struct gro_spec s = gso_base(1, 800);

    gso_begin();
    for (unsigned i = 0; i < 5; i++) {
        struct pbuf *p = pbuf_alloc(PBUF_RAW, 1400, PBUF_RAM);
        static uint8_t f[2000];
        struct gso_seg g;

        CHECK(p);
        pbuf_realloc(p, 854);
        CHECK_EQ(pbuf_take(p, f, (u16_t)gro_make(f, &s)), ERR_OK);
        gs.sent[gs.nsent++] = p;
        CHECK_EQ(gso_parse(&g, p), GSO_SEGMENT);
        host_fail_alloc_all(true);
        CHECK(gso_add(&gs.gso, &g));
        host_fail_alloc_all(false);
        s.seq += 800;
    }
    CHECK_EQ(gso_stats.gso_flush_nomem, 4);
    gso_flush(&gs.gso);
    CHECK_EQ(gs.count, 5);
    CHECK_EQ(gso_stats.gso_alone, 5);
    gso_end();
}
