/*
 * net/gro.c: equal pieces, limits of a frame and of the table, frames that
 * the device merged, frames cut short.
 */
#include <string.h>

#include "check.h"
#include "gro_rig.h"

enum { PSH = 0x08, ACK = 0x10 };

static uint8_t frame[GRO_FRAME_MAX];

static const struct gro_spec base = {
    .host = 2,
    .sport = 40000,
    .dport = 5201,
    .seq = 1000,
    .ack = 7000,
    .wnd = 500,
    .payload = 1000,
};

/* One with so much data arrives, and the sequence goes on behind it. */
static void more(struct gro_spec *s, uint16_t payload)
{
    s->payload = payload;
    gro_in_spec(s);
    s->seq += payload;
}

static void check_len(unsigned n, uint32_t payload)
{
    CHECK(n < gr.count);
    CHECK_EQ(gr.got[n].len, 54 + payload);
}

/* ---- equal pieces ------------------------------------------------------ */

TEST(gro_a_shorter_segment_is_the_last)
{
    struct gro_spec s = base;

    gro_begin();
    more(&s, 1000);
    more(&s, 1000);
    CHECK_EQ(gr.count, 0);
    more(&s, 999);
    CHECK_EQ(gr.count, 1);
    check_len(0, 2999);
    CHECK_EQ(gro_stats.gro_flush_short, 1);
    more(&s, 1000);
    gro_flush(&gr.gro);
    check_len(1, 1000);
    gro_end();
}

TEST(gro_a_longer_segment_begins_anew)
{
    struct gro_spec s = base;

    gro_begin();
    more(&s, 1000);
    more(&s, 1001);
    check_len(0, 1000);
    CHECK_EQ(gro_stats.gro_flush_size, 1);
    more(&s, 1001);
    gro_flush(&gr.gro);
    check_len(1, 2002);
    gro_end();
}

TEST(gro_push_is_not_waited_behind)
{
    struct gro_spec s = base;

    gro_begin();
    s.flags = ACK | PSH;
    more(&s, 1000);
    CHECK_EQ(gr.count, 1);
    CHECK_EQ(gro_stats.gro_csum_ok, 0); /* the stack will look anyway */
    s.flags = ACK;
    more(&s, 1000);
    CHECK_EQ(gr.count, 1);
    s.flags = ACK | PSH;
    more(&s, 1000);
    CHECK_EQ(gr.count, 2);
    check_len(1, 2000);
    CHECK_EQ(gro_stats.gro_flush_push, 1);
    gro_end();
}

/* ---- limits ------------------------------------------------------------ */

TEST(gro_frame_fits_16_bits)
{
    struct gro_spec s = base, want = base;

    gro_begin();
    for (unsigned i = 0; i < 90; i++)
        more(&s, 1460);
    gro_flush(&gr.gro);
    CHECK_EQ(gr.count, 3);
    check_len(0, 44 * 1460);
    check_len(1, 44 * 1460);
    check_len(2, 2 * 1460);
    CHECK_EQ(gro_stats.gro_flush_size, 2);
    want.payload = 44 * 1460;
    gro_check(0, &want);
    gro_end();
    /* To the last byte, and no further. */
    for (unsigned extra = 0; extra < 2; extra++) {
        uint16_t last = (uint16_t)(65535 - 54 - 4 * 16000 + extra);

        s = base;
        gro_begin();
        for (unsigned i = 0; i < 4; i++)
            more(&s, 16000);
        more(&s, last);
        gro_flush(&gr.gro);
        CHECK_EQ(gr.count, 1 + extra);
        CHECK_EQ(gr.got[0].len, extra ? 54 + 64000 : 65535);
        gro_end();
    }
}

TEST(gro_frame_has_so_many_pieces)
{
    struct gro_spec s = base;

    gro_begin();
    for (unsigned i = 0; i < GRO_PIECES_MAX + 1; i++)
        more(&s, 10);
    CHECK_EQ(gr.count, 1);
    CHECK_EQ(gr.got[0].pieces, GRO_PIECES_MAX);
    check_len(0, GRO_PIECES_MAX * 10);
    gro_flush(&gr.gro);
    check_len(1, 10);
    gro_end();
}

TEST(gro_table_full)
{
    struct gro_spec s[GRO_FLOWS + 1];

    gro_begin();
    for (unsigned i = 0; i <= GRO_FLOWS; i++) {
        s[i] = base;
        s[i].sport = (uint16_t)(50000 + i);
        more(&s[i], 1000);
    }
    CHECK_EQ(gr.count, 1);
    CHECK_EQ(gro_stats.gro_flush_table, 1);
    CHECK_EQ(gr.gro.count, GRO_FLOWS);
    for (unsigned i = 0; i <= GRO_FLOWS; i++)
        more(&s[i], 1000);
    gro_flush(&gr.gro);
    CHECK(gro_stats.gro_flush_table > 1);
    CHECK(gro_stats.gro_merged > 0);
    CHECK_EQ(gr.count + gro_stats.gro_merged, 2 * GRO_FLOWS + 2);
    CHECK_EQ(gro_stats.gro_in, 2 * GRO_FLOWS + 2);
    gro_end();
}

/* Connections that differ in one thing only, turn by turn. */
TEST(gro_flows_do_not_mix)
{
    struct gro_spec s[5] = {base, base, base, base, base};

    s[1].sport++;
    s[2].dport++;
    s[3].host++;
    s[4].ip6 = true;
    gro_begin();
    for (unsigned k = 0; k < 3; k++)
        for (unsigned i = 0; i < 5; i++)
            more(&s[i], 100);
    CHECK_EQ(gr.count, 0);
    gro_flush(&gr.gro);
    CHECK_EQ(gr.count, 5);
    CHECK_EQ(gro_stats.gro_merged, 10);
    gro_end();
}

TEST(gro_drop_frees)
{
    struct gro_spec s = base, t = base;

    t.sport++;
    gro_begin();
    more(&s, 100);
    more(&s, 100);
    more(&t, 100);
    CHECK_EQ(gr.live, 3);
    gro_drop(&gr.gro);
    CHECK_EQ(gr.count, 0);
    CHECK_EQ(gr.live, 0);
    gro_end();
}

/* ---- frames that the device merged ------------------------------------- */

static void big(struct gro_spec *s, uint16_t payload, uint16_t gso_size)
{
    s->payload = payload;
    gro_in(frame, gro_make(frame, s), 4096, true, gso_size);
    s->seq += payload;
}

TEST(gro_frames_of_the_device_go_on)
{
    struct gro_spec s = base, want = base;

    gro_begin();
    big(&s, 14000, 1400);
    CHECK_EQ(gr.count, 0);
    more(&s, 1400);
    big(&s, 28000, 1400);
    more(&s, 7);
    CHECK_EQ(gr.count, 1);
    want.payload = 14000 + 1400 + 28000 + 7;
    gro_check(0, &want);
    CHECK(gr.got[0].merged);
    CHECK_EQ(gro_stats.gro_merged, 3);
    gro_end();
}

TEST(gro_frames_of_the_device_with_a_rest_end_it)
{
    struct gro_spec s = base;

    gro_begin();
    big(&s, 14001, 1400);
    CHECK_EQ(gr.count, 1);
    CHECK(gr.got[0].merged);
    big(&s, 2800, 1400);
    big(&s, 2801, 1400);
    CHECK_EQ(gr.count, 2);
    check_len(1, 5601);
    /* Less than one piece, whatever the device thinks of it. */
    big(&s, 100, 1400);
    CHECK_EQ(gr.count, 3);
    gro_end();
}

TEST(gro_frames_of_the_device_of_other_pieces)
{
    struct gro_spec s = base;

    gro_begin();
    big(&s, 2800, 1400);
    big(&s, 2600, 1300);
    CHECK_EQ(gr.count, 1);
    check_len(0, 2800);
    big(&s, 65000, 1300);
    CHECK_EQ(gr.count, 2);
    check_len(1, 2600);
    gro_flush(&gr.gro);
    check_len(2, 65000);
    CHECK_EQ(gro_stats.gro_merged, 0);
    CHECK_EQ(gro_stats.gro_out, 0);
    gro_end();
}

/* ---- frames that contradict themselves --------------------------------- */

/* Goes up at once, as it is, and counts for nothing. */
static void check_nonsense(uint32_t len)
{
    gro_begin();
    gro_in(frame, len, 0, true, 0);
    CHECK_EQ(gr.count, 1);
    CHECK_EQ(gr.got[0].len, len);
    CHECK_MEM_EQ(gr.got[0].frame, frame, len);
    CHECK_EQ(gro_stats.gro_in, 0);
    gro_end();
}

TEST(gro_lengths_that_do_not_fit)
{
    struct gro_spec s = base;
    uint32_t len;

    for (unsigned ip6 = 0; ip6 < 2; ip6++) {
        uint8_t *ip_len = frame + (ip6 ? 18 : 16);

        s.ip6 = ip6;
        len = gro_make(frame, &s);
        check_nonsense(len - 1);   /* less than the packet says */
        check_nonsense(len - 990); /* a good deal less */
        s.payload = 10;
        len = gro_make(frame, &s);
        ip_len[0] = 0;
        ip_len[1] = ip6 ? 19 : 39; /* ends in the header of TCP */
        check_nonsense(len);
        ip_len[1] = 0;
        check_nonsense(len);
        s.payload = base.payload;
    }
}

/* Changes one byte of the frame's headers to every value, with a good sum
 * over the IP header. Nothing is read behind the end of its pbufs. */
static void any_byte(uint32_t len, unsigned at, uint32_t piece)
{
    uint8_t was = frame[at];

    for (unsigned v = 0; v < 256; v++) {
        uint32_t sum = 0;

        frame[at] = (uint8_t)v;
        frame[24] = frame[25] = 0;
        for (unsigned i = 14; i < 34; i += 2)
            sum += (uint32_t)frame[i] << 8 | frame[i + 1];
        sum = (sum & 0xffff) + (sum >> 16);
        sum = ~((sum & 0xffff) + (sum >> 16));
        if (frame[12] == 8) {
            frame[24] = (uint8_t)(sum >> 8);
            frame[25] = (uint8_t)sum;
        }
        gro_in(frame, len, piece, true, 0);
        gro_in(frame, len, piece, true, 0);
        gro_flush(&gr.gro);
        gro_forget();
    }
    frame[at] = was;
}

TEST(gro_any_header_byte)
{
    struct gro_spec s = base;

    s.optlen = 12;
    s.payload = 20;
    for (unsigned ip6 = 0; ip6 < 2; ip6++) {
        unsigned hdr = ip6 ? 86 : 66;
        uint32_t len;

        s.ip6 = ip6;
        len = gro_make(frame, &s);
        gro_begin();
        for (unsigned at = 12; at < hdr; at++) {
            any_byte(len, at, 0);
            any_byte(hdr - 12, at, 0);      /* options cut off */
            any_byte(len, at, hdr - 12);    /* options elsewhere */
            any_byte(hdr - 32, at, 0);      /* nothing of TCP */
            any_byte(len, at, hdr - 20);    /* a part of TCP */
            any_byte(len, at, hdr);         /* data elsewhere */
        }
        gro_end();
    }
}
