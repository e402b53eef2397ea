/*
 * net/gso.c: what ends a frame, and that nothing is merged that differs in
 * more than it may.
 */
#include <string.h>

#include "check.h"
#include "gso_rig.h"

enum { FIN = 1, SYN = 2, RST = 4, PSH = 8, ACK = 16, URG = 32 };

TEST(gso_short_segment_is_the_last)
{
    struct gro_spec s = gso_base(50, 1460);

    gso_begin();
    gso_burst(s, 3);
    s.seq += 3 * 1460;
    s.payload = 17;
    s.flags = ACK | PSH;
    CHECK(gso_in_spec(&s));
    CHECK_EQ(gs.count, 1);
    CHECK_EQ(gso_stats.gso_flush_short, 1);
    s.seq = 50;
    s.payload = 3 * 1460 + 17;
    gso_check(0, &s, 1460);
    gso_end();
}

/* A longer one begins anew. */
TEST(gso_longer_segment_begins_anew)
{
    static uint8_t f[2000];
    struct gro_spec s = gso_base(50, 100);
    uint32_t len = gro_make(f, &s);
    static const uint16_t pieces[] = {54, 0};

    gso_begin();
    CHECK(gso_in(f, len, pieces));
    s.seq += 100;
    s.payload = 101;
    CHECK(gso_in_spec(&s));
    CHECK_EQ(gs.count, 1);
    gso_check_same(0, f, len);
    CHECK_EQ(gso_stats.gso_alone, 1);
    s.seq += 101;
    CHECK(gso_in_spec(&s));
    gso_flush(&gs.gso);
    s.seq = 150;
    s.payload = 202;
    gso_check(1, &s, 101);
    gso_end();
}

/* PSH in the middle does not end the frame; it is set on the whole. */
TEST(gso_push_is_kept)
{
    struct gro_spec s = gso_base(3, 500);

    gso_begin();
    for (unsigned i = 0; i < 4; i++) {
        s.flags = i == 1 ? ACK | PSH : ACK;
        CHECK(gso_in_spec(&s));
        s.seq += 500;
    }
    gso_flush(&gs.gso);
    CHECK_EQ(gs.count, 1);
    s.seq = 3;
    s.payload = 2000;
    s.flags = ACK | PSH;
    gso_check(0, &s, 500);
    gso_end();
}

/* One field of the second segment differs: two frames, as they were. */
static void check_apart(struct gro_spec a, struct gro_spec b,
                        const uint64_t *reason)
{
    static uint8_t f[2][2000];
    static const uint16_t pieces[] = {100, 0};
    uint32_t len[2];

    len[0] = gro_make(f[0], &a);
    len[1] = gro_make(f[1], &b);
    gso_begin();
    gso_in(f[0], len[0], pieces);
    gso_in(f[1], len[1], pieces);
    CHECK_EQ(*reason, 1);
    gso_flush(&gs.gso);
    CHECK_EQ(gs.count, 2);
    gso_check_same(0, f[0], len[0]);
    gso_check_same(1, f[1], len[1]);
    gso_end();
}

TEST(gso_other_headers_stay_apart)
{
    for (unsigned k = 0; k < 13; k++) {
        struct gro_spec a = gso_base(100, 600);
        struct gro_spec b = gso_base(700, 600);

        a.optlen = b.optlen = 4;
        memset(a.opt, 1, 4);
        memset(b.opt, 1, 4);
        switch (k) {
        case 0:
            b.sport++;
            break;
        case 1:
            b.dport++;
            break;
        case 2:
            b.host = 9;
            break;
        case 3:
            b.mac = 9;
            break;
        case 4:
            b.tos = 4;
            break;
        case 5:
            b.ttl = 63;
            break;
        case 6:
            b.ack++;
            break;
        case 7:
            b.wnd++;
            break;
        case 8:
            b.opt[3] = 0;
            break;
        case 9:
            b.optlen = 8;
            memset(b.opt, 1, 8);
            break;
        case 10:
            b.ip6 = true;
            break;
        case 11:
            b.frag = 0x4000;
            break;
        default:
            b.optlen = 0;
            break;
        }
        check_apart(a, b, &gso_stats.gso_flush_header);
    }
    for (unsigned k = 0; k < 2; k++) {
        struct gro_spec a = gso_base(100, 600);
        struct gro_spec b = gso_base(700, 600);

        a.ip6 = b.ip6 = true;
        if (k == 0)
            b.label = 5;
        else
            b.ttl = 9;
        check_apart(a, b, &gso_stats.gso_flush_header);
    }
}

TEST(gso_other_flags_stay_apart)
{
    static const uint16_t flags[] = {ACK | FIN, ACK | SYN,  ACK | RST,
                                     ACK | URG, ACK | 0x40, ACK | 0x80,
                                     PSH,       0x100 | ACK};

    for (unsigned k = 0; k < 8; k++) {
        struct gro_spec b = gso_base(700, 600);

        b.flags = flags[k];
        check_apart(gso_base(100, 600), b,
                    flags[k] & 0x100 ? &gso_stats.gso_flush_header
                                     : &gso_stats.gso_flush_other);
    }
    check_apart(gso_base(100, 600), gso_base(700, 0),
                &gso_stats.gso_flush_other);
}

TEST(gso_order_is_kept)
{
    check_apart(gso_base(100, 600), gso_base(699, 600),
                &gso_stats.gso_flush_order);
    check_apart(gso_base(100, 600), gso_base(701, 600),
                &gso_stats.gso_flush_order);
    check_apart(gso_base(100, 600), gso_base(100, 600),
                &gso_stats.gso_flush_order);
}

/* New data, then a retransmission of three: they merge among themselves. */
TEST(gso_retransmission_is_a_frame_of_its_own)
{
    struct gro_spec s = gso_base(90000, 1000);

    gso_begin();
    gso_burst(s, 4);
    s.seq = 80000;
    gso_burst(s, 3);
    gso_flush(&gs.gso);
    CHECK_EQ(gs.count, 2);
    s.seq = 90000;
    s.payload = 4000;
    gso_check(0, &s, 1000);
    s.seq = 80000;
    s.payload = 3000;
    gso_check(1, &s, 1000);
    CHECK_EQ(gso_stats.gso_flush_order, 1);
    gso_end();
}

/* What is no segment goes behind what is pending. */
TEST(gso_other_protocols_wait_their_turn)
{
    static uint8_t f[2000];
    static const uint16_t pieces[] = {0};
    struct gro_spec s = gso_base(1, 800);
    struct gro_spec icmp = gso_base(9, 100);
    struct gro_spec fragment = gso_base(9, 100);

    icmp.next = 1;
    fragment.frag = 0x2000;
    gso_begin();
    gso_burst(s, 2);
    CHECK(!gso_in(f, gro_make(f, &icmp), pieces));
    s.seq += 1600;
    gso_burst(s, 2);
    CHECK(!gso_in(f, gro_make(f, &fragment), pieces));
    CHECK_EQ(gs.count, 4);
    CHECK(gs.got[0].merged && !gs.got[1].merged);
    CHECK(gs.got[2].merged && !gs.got[3].merged);
    CHECK_EQ(gso_stats.gso_flush_other, 2);
    gso_end();
}
