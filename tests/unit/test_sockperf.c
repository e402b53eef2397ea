/*
 * net/apps/sockperf.c: which messages are answered, with what, and that their
 * borders are found wherever segments and buffers end.
 */
#include "check.h"
#include "sockperf_rig.h"

static uint8_t out[1 << 21], due[1 << 21];

static void check_counts(uint64_t messages, uint64_t answers)
{
    CHECK_EQ(rig_stat("sockperf_messages"), messages);
    CHECK_EQ(rig_stat("sockperf_answers"), answers);
    CHECK_EQ(rig_stat("sockperf_bad_length"), 0);
    CHECK_EQ(rig_stat("sockperf_cut_short"), 0);
    CHECK_EQ(vnet_bufs_held(rig.v), 0);
}

/* Sends in segments of that length, not faster than the window allows. */
static void send_in_pieces(struct peer *p, const uint8_t *data, uint32_t len,
                           uint32_t piece)
{
    unsigned patience = 20000;

    for (uint32_t at = 0; at < len && patience; patience--) {
        uint32_t room = p->their_wnd - (p->seq - p->acked);
        uint32_t n = len - at < piece ? len - at : piece;

        n = n < room ? n : room;
        if (n > 0)
            peer_send(p, data + at, n);
        at += n;
        rig_turn();
        if (n == 0)
            rig_run(5);
    }
    CHECK(patience);
    rig_run(60);
}

/* ---- TCP ----------------------------------------------------------------- */

TEST(ping_pong_comes_back_with_one_flag_cleared)
{
    struct peer p;
    uint8_t m[100], want[100];

    rig_begin(MODEL_FEATURES, NULL);
    peer_open(&p, SP_PORT);
    for (uint32_t i = 0; i < 50; i++) {
        sp_message(m, i, SP_ASK, 14 + i);
        memcpy(want, m, sizeof(m));
        want[9] = SP_ANSWER;
        p.got_len = 0;
        peer_send(&p, m, 14 + i);
        rig_turn(); /* at once: no timer has run */
        CHECK_EQ(p.got_len, 14 + i);
        CHECK_MEM_EQ(p.got, want, 14 + i);
    }
    check_counts(50, 50);
    peer_fin(&p);
    rig_run(20);
    CHECK(p.got_fin);
    CHECK_EQ(rig_stat("sockperf_closed"), 1);
    rig_end();
}

/* Flags that mean nothing to us go back as they came. */
TEST(unknown_flags_are_kept)
{
    struct sp_stream s = {.out = out, .due = due};
    struct peer p;

    rig_begin(MODEL_FEATURES, NULL);
    peer_open(&p, SP_PORT);
    sp_add(&s, 0xfff8 | SP_ASK, 40);
    peer_send(&p, out, s.out_len);
    rig_turn();
    CHECK_EQ(p.got_len, 40);
    CHECK_MEM_EQ(p.got, due, 40);
    rig_end();
}

static void throughput_of(uint32_t size)
{
    struct sp_stream s = {.out = out, .due = due};
    struct peer p;

    while (s.out_len + size <= 200000)
        sp_add(&s, SP_CLIENT, size);
    rig_begin(MODEL_FEATURES, NULL);
    peer_open(&p, SP_PORT);
    send_in_pieces(&p, out, s.out_len, 1448);
    CHECK_EQ(p.acked, p.seq);
    CHECK_EQ(p.got_len, 0);
    check_counts(s.messages, 0);
    CHECK_EQ(rig_stat("sockperf_rx_bytes"), s.out_len);
    rig_end();
}

TEST(throughput_14)
{
    throughput_of(14);
}

TEST(throughput_100)
{
    throughput_of(100);
}

TEST(throughput_500)
{
    throughput_of(500);
}

TEST(throughput_1400)
{
    throughput_of(1400);
}

TEST(throughput_2048)
{
    throughput_of(2048);
}

TEST(throughput_4096)
{
    throughput_of(4096);
}

TEST(throughput_65507)
{
    throughput_of(65507);
}

/* Every kind of message, in lengths that end headers everywhere. */
static void mix(struct sp_stream *s, uint32_t most)
{
    static const uint16_t length[] = {14, 15, 17, 27, 28, 29, 41, 100, 733};
    static const uint8_t flags[] = {SP_CLIENT, SP_ASK, SP_CLIENT, SP_ANSWER,
                                    SP_ASK, SP_ASK | SP_WARMUP, 0};

    for (unsigned i = 0; s->out_len + 733 <= most; i++)
        sp_add(s, flags[i % 7], length[i / 2 % 9]);
}

static void mix_in_pieces(uint32_t most, uint32_t piece)
{
    struct sp_stream s = {.out = out, .due = due};
    struct peer p;

    mix(&s, most);
    peer_open(&p, SP_PORT);
    send_in_pieces(&p, out, s.out_len, piece);
    CHECK_EQ(p.got_len, s.due_len);
    CHECK_MEM_EQ(p.got, due, s.due_len);
    peer_fin(&p);
    rig_run(20);
    CHECK(p.got_fin);
    CHECK(!p.got_rst);
    peer_free(&p);
}

TEST(borders_anywhere)
{
    rig_begin(MODEL_FEATURES, NULL);
    for (uint32_t piece = 1; piece <= 44; piece++)
        mix_in_pieces(3000, piece);
    CHECK_EQ(rig_stat("sockperf_cut_short"), 0);
    CHECK_EQ(vnet_bufs_held(rig.v), 0);
    rig_end();
}

TEST(borders_in_frames_of_64k)
{
    rig_begin(MODEL_FEATURES, NULL);
    mix_in_pieces(1000000, 40001);
    mix_in_pieces(1000000, 1460);
    CHECK_EQ(vnet_bufs_held(rig.v), 0);
    rig_end();
}

TEST(kinds_are_counted_apart)
{
    struct sp_stream s = {.out = out, .due = due};
    struct peer p;

    sp_add(&s, SP_CLIENT, 20);
    sp_add(&s, SP_ASK, 20);
    sp_add(&s, SP_ASK | SP_WARMUP, 20);
    sp_add(&s, SP_CLIENT | SP_WARMUP, 20);
    sp_add(&s, SP_ANSWER, 20);
    sp_add(&s, 0, 20);
    sp_add(&s, SP_ANSWER | SP_WARMUP, 20);
    rig_begin(MODEL_FEATURES, NULL);
    peer_open(&p, SP_PORT);
    peer_send(&p, out, s.out_len);
    rig_turn();
    check_counts(2, 1);
    CHECK_EQ(rig_stat("sockperf_warmup"), 2);
    CHECK_EQ(rig_stat("sockperf_not_client"), 3);
    CHECK_EQ(p.got_len, 20);
    CHECK_MEM_EQ(p.got, due, 20);
    rig_end();
}

/* The longest that the client can send is answered, though we never keep as
 * much: the answer begins before the end has come. */
TEST(longest_message)
{
    struct sp_stream s = {.out = out, .due = due};
    struct peer p;

    sp_add(&s, SP_CLIENT, SP_MOST);
    rig_begin(MODEL_FEATURES, NULL);
    peer_open(&p, SP_PORT);
    send_in_pieces(&p, out, s.out_len, 30000);
    s.out_len = 0;
    sp_add(&s, SP_ASK, SP_MOST);
    send_in_pieces(&p, out, s.out_len, 30000);
    CHECK_EQ(p.got_len, SP_MOST);
    CHECK_MEM_EQ(p.got, due, SP_MOST);
    check_counts(2, 1);
    rig_end();
}

TEST(two_clients_at_once)
{
    struct sp_stream a = {.out = out, .due = due};
    struct sp_stream b = {.out = out + 60000, .due = due + 60000};
    struct peer p, q;

    mix(&a, 50000);
    for (unsigned i = 0; i < 500; i++)
        sp_add(&b, SP_ASK, 100);
    rig_begin(MODEL_FEATURES, NULL);
    peer_open(&p, SP_PORT);
    peer_open(&q, SP_PORT);
    for (uint32_t at = 0; at + 90 <= 50000; at += 90) {
        peer_send(&q, b.out + at, 90);
        if (at + 90 <= a.out_len)
            peer_send(&p, a.out + at, 90);
        rig_turn();
    }
    rig_run(60);
    CHECK_EQ(q.got_len, 49950); /* half of the last message */
    CHECK_MEM_EQ(q.got, b.due, q.got_len);
    CHECK(p.got_len > a.due_len - 1500);
    CHECK_MEM_EQ(p.got, a.due, p.got_len);
    rig_end();
}

/* The window becomes a wide one when nobody has asked for an answer in a
 * long time, and only then. */
TEST(window_follows_the_kind_of_test)
{
    struct sp_stream s = {.out = out, .due = due};
    struct peer p, q;

    rig_begin(MODEL_FEATURES, NULL);
    peer_open(&p, SP_PORT);
    for (unsigned i = 0; i < 700; i++)
        sp_add(&s, SP_CLIENT, 1400);
    send_in_pieces(&p, out, 200 * 1024, 1448);
    CHECK(p.their_wnd <= 65535);
    send_in_pieces(&p, out + 200 * 1024, s.out_len - 200 * 1024, 1448);
    CHECK(p.their_wnd > 1000000);
    peer_open(&q, SP_PORT);
    memset(&s, 0, sizeof(s));
    s.out = out;
    s.due = due;
    sp_add(&s, SP_ASK, 14);
    for (unsigned i = 0; i < 700; i++)
        sp_add(&s, SP_CLIENT, 1400);
    send_in_pieces(&q, out, s.out_len, 1448);
    CHECK(q.their_wnd <= 65535);
    CHECK(q.their_wnd > 60000);
    rig_end();
}

/* ---- UDP ----------------------------------------------------------------- */

TEST(udp_ping_pong)
{
    static const uint16_t length[] = {14, 15, 100, 128, 129, 500, 1472};
    static uint8_t m[1472];

    rig_begin(MODEL_FEATURES, NULL);
    for (unsigned i = 0; i < 7; i++) {
        sp_message(m, i, SP_ASK, length[i]);
        rig_udp(5000, SP_PORT, m, length[i]);
        rig_run(5);
        CHECK_EQ(rig.udp_count, i + 1);
        CHECK_EQ(rig.udp_sport, SP_PORT);
        CHECK_EQ(rig.udp_len, length[i]);
        m[9] = SP_ANSWER;
        CHECK_MEM_EQ(rig.udp, m, length[i]);
    }
    check_counts(7, 7);
    CHECK_EQ(rig_stat("sockperf_udp_in"), 7);
    CHECK_EQ(rig_stat("sockperf_udp_out"), 7);
    CHECK_EQ(rig.bad_csum, 0);
    rig_end();
}

/* Eleven bytes of the header in one fragment, the rest in another. */
TEST(udp_header_in_two_fragments)
{
    uint8_t d[8 + 40] = {0};

    rig_put16(d, 5000);
    rig_put16(d + 2, SP_PORT);
    rig_put16(d + 4, sizeof(d));
    sp_message(d + 8, 1, SP_ASK, 40);
    rig_begin(MODEL_FEATURES, NULL);
    rig_fragment(17, 7, d, 16, 0, true);
    rig_fragment(17, 7, d + 16, sizeof(d) - 16, 16, false);
    rig_run(10);
    CHECK_EQ(rig.udp_count, 1);
    d[8 + 9] = SP_ANSWER;
    CHECK_EQ(rig.udp_len, 40);
    CHECK_MEM_EQ(rig.udp, d + 8, 40);
    check_counts(1, 1);
    rig_end();
}

TEST(udp_throughput_is_not_answered)
{
    uint8_t m[300];

    rig_begin(MODEL_FEATURES, NULL);
    for (unsigned i = 0; i < 200; i++) {
        sp_message(m, i, SP_CLIENT, sizeof(m));
        rig_udp(5000, SP_PORT, m, sizeof(m));
        rig_turn();
    }
    CHECK_EQ(rig.udp_count, 0);
    check_counts(200, 0);
    CHECK_EQ(rig_stat("sockperf_udp_in"), 200);
    CHECK_EQ(rig_stat("sockperf_rx_bytes"), 200 * sizeof(m));
    rig_end();
}

TEST(udp_others_are_counted_and_dropped)
{
    uint8_t m[40];

    rig_begin(MODEL_FEATURES, NULL);
    sp_message(m, 0, SP_ASK | SP_WARMUP, 40);
    rig_udp(5000, SP_PORT, m, 40);
    sp_message(m, 0, SP_ANSWER, 40);
    rig_udp(5000, SP_PORT, m, 40);
    sp_message(m, 0, SP_ASK, 40);
    rig_udp(7, SP_PORT, m, 40);
    rig_run(10);
    CHECK_EQ(rig.udp_count, 0);
    CHECK_EQ(rig_stat("sockperf_warmup"), 1);
    CHECK_EQ(rig_stat("sockperf_not_client"), 1);
    CHECK_EQ(rig_stat("sockperf_udp_ignored"), 1);
    CHECK_EQ(rig_stat("sockperf_udp_in"), 3);
    CHECK_EQ(rig_stat("sockperf_answers"), 0);
    rig_end();
}

TEST(udp_length_must_be_the_datagrams)
{
    static const uint32_t wrong[] = {0, 13, 14, 39, 41, 65536 + 40,
                                     UINT32_MAX, 0x80000028};
    uint8_t m[40];

    rig_begin(MODEL_FEATURES, NULL);
    for (unsigned i = 0; i < 8; i++) {
        sp_message(m, i, SP_ASK, 40);
        rig_put32(m + 10, wrong[i]);
        rig_udp(5000, SP_PORT, m, 40);
    }
    for (uint32_t len = 0; len < SP_HEADER; len++) {
        sp_message(m, len, SP_ASK, 40);
        rig_put32(m + 10, len);
        rig_udp(5000, SP_PORT, m, len);
    }
    rig_run(10);
    CHECK_EQ(rig.udp_count, 0);
    CHECK_EQ(rig_stat("sockperf_bad_length"), 8 + SP_HEADER);
    CHECK_EQ(rig_stat("sockperf_messages"), 0);
    CHECK_EQ(vnet_bufs_held(rig.v), 0);
    rig_end();
}
