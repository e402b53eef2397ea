/*
 * net/apps/sockperf.c: peers that send nonsense, stop in the middle, do not
 * read, or send faster than they take; and memory that runs out.
 */
#include <stdlib.h>

#include "check.h"
#include "host.h"
#include "lwip/memp.h"
#include "lwip/stats.h"
#include "sockperf_rig.h"

static uint8_t out[1 << 20], due[1 << 20];

static void expect_nothing_left(void)
{
    CHECK_EQ(MEMP_STATS_GET(used, MEMP_TCP_PCB), 0);
    CHECK_EQ(vnet_bufs_held(rig.v), 0);
}

/* ---- lengths that cannot be ---------------------------------------------- */

/* The connection ends by a reset; another one does not notice. */
static void bad_length(uint32_t len, unsigned flags, uint32_t piece)
{
    struct sp_stream s = {.out = out, .due = due};
    struct peer p, other;
    uint64_t before = rig_stat("sockperf_bad_length");

    sp_add(&s, SP_CLIENT, 30);
    sp_add(&s, flags, 200);
    rig_put32(out + 30 + 10, len);
    peer_open(&p, SP_PORT);
    peer_open(&other, SP_PORT);
    for (uint32_t at = 0; at < s.out_len && !p.got_rst; at += piece) {
        peer_send(&p, out + at,
                  s.out_len - at < piece ? s.out_len - at : piece);
        rig_turn();
    }
    CHECK(p.got_rst);
    CHECK_EQ(rig_stat("sockperf_bad_length"), before + 1);
    s.out_len = s.due_len = 0;
    sp_add(&s, SP_ASK, 50);
    peer_send(&other, out, 50);
    rig_turn();
    CHECK_EQ(other.got_len, 50);
    peer_reset(&other);
    rig_turn();
    peer_free(&other);
    peer_free(&p);
    expect_nothing_left();
}

TEST(bad_lengths_end_the_connection)
{
    static const uint32_t lengths[] = {
        0, 1, 13, SP_MOST + 1, 1u << 30, (1u << 30) + 14, 1u << 31,
        (1u << 31) + 100, UINT32_MAX};

    rig_begin(MODEL_FEATURES, NULL);
    for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        bad_length(lengths[i], SP_ASK, 230);
        bad_length(lengths[i], 0, 230);
        bad_length(lengths[i], SP_CLIENT, 1);
    }
    rig_end();
}

/* An answer waits for room, and what comes behind it is nonsense. */
TEST(bad_length_behind_an_answer_that_waits)
{
    struct sp_stream s = {.out = out, .due = due};
    struct peer p;

    rig_begin(MODEL_FEATURES, NULL);
    peer_open(&p, SP_PORT);
    p.deaf = true;
    for (unsigned i = 0; i < 50; i++)
        sp_add(&s, SP_ASK, 1400);
    memset(out + s.out_len, 0xee, 2000);
    for (uint32_t at = 0; at < s.out_len + 2000; at += 1200) {
        peer_send(&p, out + at, 1200);
        rig_turn();
    }
    CHECK(!p.got_rst);
    p.deaf = false;
    peer_ack(&p);
    rig_run(3000);
    CHECK(p.got_rst);
    CHECK_EQ(rig_stat("sockperf_bad_length"), 1);
    CHECK_EQ(rig_stat("sockperf_failed"), 1);
    expect_nothing_left();
    rig_end();
}

/* ---- ends in the middle -------------------------------------------------- */

/* FIN, or a reset, behind that many bytes of a message of 100. */
static void ends_after(uint32_t bytes, unsigned flags, bool reset)
{
    struct sp_stream s = {.out = out, .due = due};
    struct peer p;
    uint64_t cut = rig_stat("sockperf_cut_short");

    sp_add(&s, SP_CLIENT, 55);
    sp_add(&s, flags, 100);
    peer_open(&p, SP_PORT);
    peer_send(&p, out, 55 + bytes);
    rig_turn();
    if (reset)
        peer_reset(&p);
    else
        peer_fin(&p);
    rig_run(20);
    if (!reset) {
        CHECK(p.got_fin);
        CHECK(!p.got_rst);
        CHECK_EQ(rig_stat("sockperf_cut_short") - cut,
                 bytes > 0 && bytes < 100);
        peer_ack(&p);
    }
    peer_free(&p);
}

TEST(connections_that_end_within_a_message)
{
    static const uint8_t bytes[] = {0, 1, 9, 13, 14, 15, 99, 100};

    rig_begin(MODEL_FEATURES, NULL);
    for (unsigned i = 0; i < sizeof(bytes); i++) {
        ends_after(bytes[i], SP_CLIENT, false);
        ends_after(bytes[i], SP_ASK, false);
        ends_after(bytes[i], SP_CLIENT, true);
        ends_after(bytes[i], SP_ASK, true);
    }
    rig_run(5000);
    expect_nothing_left();
    rig_end();
}

/* Half a header, and then silence: ended in a minute. */
TEST(half_a_header_and_silence)
{
    struct peer p;

    rig_begin(MODEL_FEATURES, NULL);
    peer_open(&p, SP_PORT);
    peer_send(&p, "1234567", 7);
    rig_run(59000);
    CHECK(!p.got_rst);
    rig_run(3000);
    CHECK(p.got_rst);
    CHECK_EQ(rig_stat("sockperf_stalled"), 1);
    expect_nothing_left();
    rig_end();
}

/* ---- peers that do not read ---------------------------------------------- */

/* Sends questions until the window is shut, or a segment is not taken; returns
 * the bytes that were. */
static uint32_t stuff(struct peer *p, const struct sp_stream *s,
                      uint32_t piece)
{
    uint32_t at = 0;

    while (at + piece <= s->out_len &&
           p->their_wnd >= p->seq - p->acked + piece) {
        peer_send(p, s->out + at, piece);
        rig_run(60); /* acknowledged, if it was taken */
        if (p->acked != p->seq) {
            p->seq -= piece;
            break;
        }
        at += piece;
    }
    return at;
}

static void rest_follows(struct peer *p, const struct sp_stream *s,
                         uint32_t at)
{
    for (unsigned i = 0; at < s->out_len && i < 5000; i++) {
        uint32_t n = s->out_len - at < 1400 ? s->out_len - at : 1400;

        rig_run(5);
        if (p->their_wnd < p->seq - p->acked + n)
            continue;
        peer_send(p, s->out + at, n);
        at += n;
    }
    rig_run(500);
    CHECK_EQ(p->got_len, s->due_len);
    CHECK_MEM_EQ(p->got, s->due, s->due_len);
}

TEST(slow_reader_gets_everything)
{
    struct sp_stream s = {.out = out, .due = due};
    struct peer p;
    uint32_t at;

    for (unsigned i = 0; i < 3000; i++)
        sp_add(&s, SP_ASK, 100);
    rig_begin(MODEL_FEATURES, NULL);
    peer_open(&p, SP_PORT);
    p.deaf = true;
    at = stuff(&p, &s, 1000);
    CHECK(at >= 65535);
    CHECK(at <= 2 * 65536);
    CHECK(vnet_bufs_held(rig.v) <= 33);
    p.deaf = false;
    peer_ack(&p);
    rest_follows(&p, &s, at);
    CHECK_EQ(rig_stat("sockperf_answers"), 3000);
    rig_end();
}

/* A wide window, and then questions, and no reading: memory is bounded all
 * the same; what was not taken is sent again, and nothing is lost. */
TEST(slow_reader_with_a_wide_window)
{
    struct sp_stream s = {.out = out, .due = due};
    struct peer p;
    uint32_t at;

    rig_begin(MODEL_FEATURES, NULL);
    peer_open(&p, SP_PORT);
    for (unsigned i = 0; i < 300; i++) {
        sp_message(out, i, SP_CLIENT, 1400);
        peer_send(&p, out, 1400);
        rig_turn();
    }
    rig_run(60);
    CHECK(p.their_wnd > 900000);
    for (unsigned i = 0; i < 700; i++)
        sp_add(&s, SP_ASK, 1000);
    p.deaf = true;
    at = stuff(&p, &s, 20000);
    CHECK(at > 100000);
    CHECK(at < 200000);
    CHECK(p.their_wnd > 800000);
    p.deaf = false;
    peer_ack(&p);
    rig_run(1000);
    CHECK_EQ(p.got_len, at);
    rest_follows(&p, &s, at);
    CHECK_EQ(rig_stat("sockperf_answers"), 700);
    peer_fin(&p);
    rig_run(20);
    CHECK(p.got_fin);
    rig_end();
}

/* Questions and the FIN in one go, and no reading: the answers come all the
 * same, and then our FIN. */
TEST(fin_behind_answers_that_wait)
{
    struct sp_stream s = {.out = out, .due = due};
    struct peer p;

    for (unsigned i = 0; i < 100; i++)
        sp_add(&s, SP_ASK, 1000);
    rig_begin(MODEL_FEATURES, NULL);
    peer_open(&p, SP_PORT);
    p.deaf = true;
    CHECK_EQ(stuff(&p, &s, 1000), s.out_len);
    peer_fin(&p);
    rig_run(100);
    CHECK(!p.got_fin);
    p.deaf = false;
    peer_ack(&p);
    rig_run(3000);
    CHECK_EQ(p.got_len, s.due_len);
    CHECK_MEM_EQ(p.got, due, s.due_len);
    CHECK(p.got_fin);
    CHECK(!p.got_rst);
    CHECK_EQ(rig_stat("sockperf_cut_short"), 0);
    rig_end();
}

/* ---- memory -------------------------------------------------------------- */

/* All of lwIP's segments, for others to have none. */
static void take_segments(void *held[MEMP_NUM_TCP_SEG], bool take)
{
    for (unsigned i = 0; i < MEMP_NUM_TCP_SEG; i++) {
        if (take)
            held[i] = memp_malloc(MEMP_TCP_SEG);
        else if (held[i])
            memp_free(MEMP_TCP_SEG, held[i]);
    }
}

/* An answer that cannot be queued is not lost, and tried again. */
TEST(out_of_segments_delays_answers)
{
    static void *held[MEMP_NUM_TCP_SEG];
    struct sp_stream s = {.out = out, .due = due};
    struct peer p;

    for (unsigned i = 0; i < 200; i++)
        sp_add(&s, i % 3 ? SP_ASK : SP_CLIENT, 200);
    rig_begin(MODEL_FEATURES, NULL);
    peer_open(&p, SP_PORT);
    for (uint32_t at = 0; at < s.out_len; at += 5000) {
        uint32_t had = p.got_len;

        take_segments(held, true);
        peer_send(&p, out + at, 5000);
        rig_run(600);
        CHECK_EQ(p.got_len, had);
        take_segments(held, false);
        rig_run(600);
        CHECK(p.got_len > had + 3000);
    }
    CHECK_EQ(p.got_len, s.due_len);
    CHECK_MEM_EQ(p.got, due, s.due_len);
    rig_end();
}

/* No memory for anything, now and then; frames that find no buffer are sent
 * again. */
TEST(out_of_memory_comes_and_goes)
{
    struct sp_stream s = {.out = out, .due = due};
    struct peer p;

    for (unsigned i = 0; i < 2000; i++)
        sp_add(&s, i % 3 ? SP_ASK : SP_CLIENT, 200);
    rig_begin(MODEL_FEATURES, NULL);
    peer_open(&p, SP_PORT);
    for (uint32_t at = 0; at < s.out_len;) {
        host_fail_alloc_all(true);
        peer_send(&p, out + at, 10000);
        rig_turn();
        host_fail_alloc_all(false);
        rig_run(60);
        if (p.acked == p.seq)
            at += 10000;
        else
            p.seq -= 10000;
    }
    CHECK(host_allocs_failed() > 0);
    rig_run(2000);
    CHECK_EQ(p.got_len, s.due_len);
    CHECK_MEM_EQ(p.got, due, s.due_len);
    rig_end();
}

/* ---- anything ------------------------------------------------------------ */

/* Bytes by chance, or messages by chance with a byte changed here and there,
 * in pieces by chance, from peers that end by chance. */
TEST(nonsense)
{
    uint64_t ends;

    srand(11);
    rig_begin(MODEL_FEATURES, NULL);
    for (unsigned round = 0; round < 400; round++) {
        struct sp_stream s = {.out = out, .due = due};
        struct peer p;

        while (s.out_len < 4000)
            sp_add(&s, (unsigned)rand() & 7, 14 + (uint32_t)rand() % 900);
        for (unsigned n = (unsigned)rand() % 8; n > 0; n--)
            out[(unsigned)rand() % s.out_len] = (uint8_t)rand();
        if (round % 4 == 0)
            rig_pattern(out, s.out_len, round);
        s.out_len -= (uint32_t)rand() % 50;
        peer_open(&p, SP_PORT);
        for (uint32_t at = 0; at < s.out_len && !p.got_rst;) {
            uint32_t n = 1 + (uint32_t)rand() % 700;

            n = n < s.out_len - at ? n : s.out_len - at;
            peer_send(&p, out + at, n);
            rig_udp(5000, SP_PORT, out + at, n);
            rig_turn();
            at += n;
        }
        if (rand() % 3)
            peer_fin(&p);
        else
            peer_reset(&p);
        rig_run(5);
        peer_free(&p);
    }
    rig_run(5000);
    expect_nothing_left();
    ends = rig_stat("sockperf_closed") + rig_stat("sockperf_failed");
    CHECK_EQ(rig_stat("sockperf_accepted"), 400);
    CHECK_EQ(ends, 400);
    CHECK(rig_stat("sockperf_bad_length") > 100);
    CHECK(rig_stat("sockperf_cut_short") > 10);
    rig_end();
}
