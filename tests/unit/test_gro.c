/*
 * net/gro.c and net/gro_seg.c, rule by rule: which segments become one frame,
 * byte by byte what it says, and why others do not.
 */
#include <stddef.h>
#include <string.h>

#include "check.h"
#include "gro_rig.h"

enum {
    FIN = 0x01,
    SYN = 0x02,
    RST = 0x04,
    PSH = 0x08,
    ACK = 0x10,
    URG = 0x20,
    ECE = 0x40,
    CWR = 0x80,
    NS = 0x100,
    LEN = 1000,
};

static const struct gro_spec base = {
    .mac = 1,
    .host = 2,
    .sport = 40000,
    .dport = 5201,
    .seq = 0xfffffc00u, /* the sequence wraps in the second segment */
    .ack = 7000,
    .wnd = 500,
    .payload = LEN,
};

static const struct gro_spec base6 = {
    .ip6 = true,
    .mac = 1,
    .host = 2,
    .sport = 40000,
    .dport = 5201,
    .seq = 0xfffffc00u,
    .ack = 7000,
    .wnd = 500,
    .payload = LEN,
};

/* The segment right behind *s. */
static struct gro_spec next_of(const struct gro_spec *s)
{
    struct gro_spec n = *s;

    n.seq += s->payload;
    return n;
}

/* Both arrive; then the turn ends. */
static void two(const struct gro_spec *a, const struct gro_spec *b)
{
    gro_in_spec(a);
    gro_in_spec(b);
    gro_flush(&gr.gro);
}

/* The pair becomes the one frame *want. */
static void check_merges(const struct gro_spec *a, const struct gro_spec *b,
                         const struct gro_spec *want)
{
    gro_begin();
    two(a, b);
    CHECK_EQ(gr.count, 1);
    gro_check(0, want);
    CHECK(gr.got[0].verified);
    CHECK(gr.got[0].merged);
    CHECK_EQ(gr.got[0].pieces, 2);
    CHECK_EQ(gro_stats.gro_in, 2);
    CHECK_EQ(gro_stats.gro_merged, 1);
    CHECK_EQ(gro_stats.gro_out, 1);
    gro_end();
}

/* The pair stays apart, in order and unchanged, for that reason. */
static void check_apart(const struct gro_spec *a, const struct gro_spec *b,
                        const uint64_t *reason)
{
    gro_begin();
    two(a, b);
    CHECK_EQ(gr.count, 2);
    gro_check(0, a);
    gro_check(1, b);
    CHECK(!gr.got[0].merged);
    CHECK(!gr.got[1].merged);
    CHECK_EQ(gro_stats.gro_merged, 0);
    CHECK_EQ(gro_stats.gro_out, 0);
    CHECK_EQ(*reason, 1);
    gro_end();
}

/* ---- joined ------------------------------------------------------------ */

static void check_both_versions(void (*check)(const struct gro_spec *))
{
    check(&base);
    check(&base6);
}

static void check_plain(const struct gro_spec *a)
{
    struct gro_spec b = next_of(a), want = *a;

    want.payload = 2 * LEN;
    check_merges(a, &b, &want);
}

TEST(gro_two_segments_become_one)
{
    check_both_versions(check_plain);
}

static void check_newest(const struct gro_spec *a)
{
    struct gro_spec b = next_of(a), want = *a;

    b.ack += 123456;
    b.wnd = 77;
    b.flags = ACK | PSH;
    b.payload = LEN - 1;
    want.ack = b.ack;
    want.wnd = b.wnd;
    want.flags = b.flags;
    want.payload = 2 * LEN - 1;
    check_merges(a, &b, &want);
}

TEST(gro_takes_the_newest_ack_window_and_push)
{
    check_both_versions(check_newest);
}

static void check_options(const struct gro_spec *s)
{
    struct gro_spec a = *s, b, want;

    memcpy(a.opt, "\1\1\10\12abcdefgh", 12);
    a.optlen = 12;
    b = next_of(&a);
    want = a;
    want.payload = 2 * LEN;
    check_merges(&a, &b, &want);
    b.opt[11]++;
    check_apart(&a, &b, &gro_stats.gro_flush_header);
    b = next_of(&a);
    b.optlen = 8;
    check_apart(&a, &b, &gro_stats.gro_flush_header);
}

TEST(gro_options_must_be_the_same)
{
    check_both_versions(check_options);
}

/* Short segments are padded by Ethernet: nothing of that may get in. */
static void check_padding(const struct gro_spec *s)
{
    struct gro_spec a = *s, b, want;

    a.payload = 3;
    a.pad = 17;
    b = next_of(&a);
    want = a;
    want.payload = 6;
    want.pad = 0;
    check_merges(&a, &b, &want);
}

TEST(gro_padding_is_cut_off)
{
    check_both_versions(check_padding);
}

TEST(gro_wraps_of_ack_are_not_older)
{
    struct gro_spec a = base, b, want;

    a.ack = 0xfffffff0u;
    b = next_of(&a);
    b.ack = 16;
    want = a;
    want.ack = 16;
    want.payload = 2 * LEN;
    check_merges(&a, &b, &want);
}

/* ---- kept apart -------------------------------------------------------- */

TEST(gro_other_flags_end_it)
{
    static const uint16_t flags[] = {
        ACK | FIN, ACK | FIN | PSH, ACK | SYN, SYN, RST, ACK | RST,
        ACK | URG, ACK | ECE, ACK | CWR, ACK | NS, PSH, ACK | 0x800,
    };

    for (unsigned i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        struct gro_spec b = next_of(&base), b6 = next_of(&base6);

        b.flags = b6.flags = flags[i];
        check_apart(&base, &b, &gro_stats.gro_flush_flags);
        check_apart(&base6, &b6, &gro_stats.gro_flush_flags);
    }
}

TEST(gro_pure_acks_are_never_joined)
{
    struct gro_spec b = next_of(&base);

    b.payload = 0;
    b.pad = 6;
    check_apart(&base, &b, &gro_stats.gro_flush_flags);
    b.ack++;
    check_apart(&base, &b, &gro_stats.gro_flush_flags);
    /* Repeated ones arrive one by one, at once. */
    gro_begin();
    for (unsigned i = 0; i < 5; i++) {
        gro_in_spec(&b);
        CHECK_EQ(gr.count, i + 1);
        gro_check(i, &b);
    }
    gro_end();
}

TEST(gro_other_headers_end_it)
{
    struct gro_spec b;

#define OTHER(start, field, value)                                   \
    b = next_of(&start);                                             \
    b.field = value;                                                 \
    check_apart(&start, &b, &gro_stats.gro_flush_header)
    OTHER(base, mac, 9);
    OTHER(base, tos, 1); /* congestion experienced, say */
    OTHER(base, ttl, 63);
    OTHER(base, frag, 0x4000);
    OTHER(base6, mac, 9);
    OTHER(base6, tos, 1);
    OTHER(base6, ttl, 63);
    OTHER(base6, label, 5);
#undef OTHER
}

TEST(gro_order_is_kept)
{
    struct gro_spec b = next_of(&base);

    b.seq++;
    check_apart(&base, &b, &gro_stats.gro_flush_order);
    b.seq -= 2;
    check_apart(&base, &b, &gro_stats.gro_flush_order);
    check_apart(&base, &base, &gro_stats.gro_flush_order);
    b = next_of(&base);
    b.ack--;
    check_apart(&base, &b, &gro_stats.gro_flush_order);
}

/* What may belong to any connection is not overtaken by any. */
TEST(gro_fragments_and_ip_options_end_it)
{
    struct gro_spec b = next_of(&base), c = next_of(&base6);

    b.frag = 0x2000;
    check_apart(&base, &b, &gro_stats.gro_flush_other);
    b.frag = 0x0001;
    check_apart(&base, &b, &gro_stats.gro_flush_other);
    b.frag = 0;
    b.host = 77;
    b.ihl = 6;
    gro_begin();
    two(&base, &b);
    CHECK_EQ(gr.count, 2);
    gro_check(0, &base);
    CHECK_EQ(gr.got[1].frame[14], 0x46);
    CHECK_EQ(gro_stats.gro_flush_other, 1);
    gro_end();
    c.next = 44;
    check_apart(&base6, &c, &gro_stats.gro_flush_other);
}

TEST(gro_other_protocols_do_not_end_it)
{
    static const uint8_t arp[42] = {[12] = 8, [13] = 6};
    struct gro_spec b = next_of(&base), udp = base, udp6 = base6;

    udp.next = udp6.next = 17;
    gro_begin();
    gro_in_spec(&base);
    gro_in_spec(&udp);
    gro_in_spec(&udp6);
    gro_in(arp, sizeof(arp), 0, false, 0);
    CHECK_EQ(gr.count, 3);
    gro_in_spec(&b);
    gro_flush(&gr.gro);
    CHECK_EQ(gr.count, 4);
    CHECK_EQ(gr.got[3].len, 54 + 2 * LEN);
    gro_end();
}

/* ---- checksums --------------------------------------------------------- */

TEST(gro_bad_checksums_go_to_the_stack_as_they_are)
{
    struct gro_spec b = next_of(&base), a = base;

    b.bad_csum = true;
    check_apart(&base, &b, &gro_stats.gro_flush_csum);
    gro_begin();
    two(&base, &b);
    CHECK(gr.got[0].verified);
    CHECK(!gr.got[1].verified);
    CHECK(gr.got[1].frame[14 + 20 + 17] != gr.got[0].frame[14 + 20 + 17]);
    CHECK_EQ(gro_stats.gro_csum_ok, 1);
    CHECK_EQ(gro_stats.gro_csum_bad, 1);
    gro_end();
    a.bad_csum = true;
    gro_begin();
    gro_in_spec(&a);
    CHECK_EQ(gr.count, 1);
    CHECK(!gr.got[0].verified);
    gro_end();
}

/* Whatever the device says of the segment in it. */
TEST(gro_bad_checksums_of_ip)
{
    static uint8_t f[GRO_FRAME_MAX];
    struct gro_spec a = base, b = next_of(&base);

    b.bad_ip_csum = true;
    check_apart(&base, &b, &gro_stats.gro_flush_csum);
    a.bad_ip_csum = true;
    gro_begin();
    gro_in(f, gro_make(f, &a), 0, true, 0);
    CHECK_EQ(gr.count, 1);
    gro_check(0, &a);
    CHECK_EQ(gro_stats.gro_csum_bad, 1);
    gro_end();
}

/* Of what the device vouches for, nothing is summed up. */
TEST(gro_trusts_the_device)
{
    static uint8_t f[GRO_FRAME_MAX];
    struct gro_spec a = base, b;

    a.bad_csum = true;
    b = next_of(&a);
    gro_begin();
    gro_in(f, gro_make(f, &a), 0, true, 0);
    gro_in(f, gro_make(f, &b), 0, true, 0);
    gro_flush(&gr.gro);
    CHECK_EQ(gr.count, 1);
    CHECK(gr.got[0].verified);
    CHECK_EQ(gro_stats.gro_csum_ok + gro_stats.gro_csum_bad, 0);
    gro_end();
}

/* Every byte from the addresses on counts, wherever pieces begin. */
TEST(gro_sums_up_pieces_of_any_length)
{
    static uint8_t f[GRO_FRAME_MAX];
    struct gro_spec a = base;
    uint32_t len;

    a.payload = 301;
    len = gro_make(f, &a);
    for (uint32_t piece = 55; piece < 120; piece++) {
        for (uint32_t at = 26; at < len; at += 7) {
            if (at >= 26 + 8 && at < 55)
                continue; /* ports and flags, which decide other things */
            f[at] ^= 0x10;
            gro_begin();
            gro_in(f, len, piece, false, 0);
            CHECK_EQ(gr.count, 1);
            CHECK(!gr.got[0].verified);
            f[at] ^= 0x10;
            gro_in(f, len, piece, false, 0);
            CHECK_EQ(gr.gro.count, 1);
            gro_flush(&gr.gro);
            CHECK(gr.got[1].verified);
            gro_end();
        }
    }
}
