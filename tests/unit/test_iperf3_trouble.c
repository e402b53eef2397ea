/*
 * net/apps/iperf3*.c: clients that vanish, stall, or say what they must not.
 * After each of them, the next test must work.
 */
#include <string.h>

#include "apps/iperf3_priv.h"
#include "check.h"
#include "host.h"
#include "iperf3_rig.h"
#include "lwip/memp.h"

static struct client c, d;

/* ---- a client goes as far as this, and no further ------------------------ */

static void to_connect(void)
{
    client_connect(&c, client_cookie);
}

static void to_half_cookie(void)
{
    client_connect(&c, client_cookie);
    peer_send(&c.control, client_cookie, 20);
    rig_run(5);
}

static void to_cookie(void)
{
    client_hello(&c, client_cookie);
}

static void to_half_params(void)
{
    client_hello(&c, client_cookie);
    peer_send(&c.control, "\0\0\0\x40{\"tcp\":true", 15);
    rig_run(5);
}

static void to_params(void)
{
    client_hello(&c, client_cookie);
    client_params(&c, "\"tcp\":true,\"parallel\":2");
}

static void to_half_streams(void)
{
    to_params();
    client_stream(&c);
    rig_run(5);
}

static void to_running(void)
{
    client_start(&c, "\"tcp\":true,\"time\":5,\"bidirectional\":true", 2);
    peer_send(&c.stream[0], "data", 4);
    rig_run(20);
}

static void to_end(void)
{
    to_running();
    client_end(&c);
}

static void to_half_results(void)
{
    to_end();
    peer_send(&c.control, "\0\0\1\0{\"cpu", 9);
    rig_run(5);
}

static void to_results(void)
{
    to_end();
    client_take_results(&c);
}

static void (*const places[])(void) = {
    to_connect,      to_half_cookie, to_cookie, to_half_params,  to_params,
    to_half_streams, to_running,     to_end,    to_half_results, to_results,
};

enum { PLACES = sizeof(places) / sizeof(places[0]) };

static void nothing_is_left(void)
{
    rig_run(3000);
    CHECK_EQ(vnet_bufs_held(rig.v), 0);
    CHECK_EQ(MEMP_STATS_GET(used, MEMP_TCP_PCB), 0);
    CHECK_EQ(MEMP_STATS_GET(used, MEMP_TCP_SEG), 0);
}

/* ---- vanishing ----------------------------------------------------------- */

TEST(reset_anywhere)
{
    rig_begin(MODEL_FEATURES, NULL);
    for (unsigned i = 0; i < PLACES; i++) {
        places[i]();
        peer_reset(&c.control);
        for (unsigned n = 0; n < c.streams; n++)
            peer_reset(&c.stream[n]);
        rig_run(5);
        client_forget(&c);
        server_is_ready();
    }
    nothing_is_left();
    rig_end();
}

TEST(closed_anywhere)
{
    rig_begin(MODEL_FEATURES, NULL);
    for (unsigned i = 0; i < PLACES; i++) {
        places[i]();
        peer_fin(&c.control);
        rig_run(20);
        CHECK(c.control.got_fin || c.control.got_rst);
        for (unsigned n = 0; n < c.streams; n++)
            CHECK(c.stream[n].got_rst || c.stream[n].got_fin);
        server_is_ready();
        client_forget(&c);
    }
    rig_end();
}

/* The next client comes when the one before has been silent for a while. */
TEST(silent_anywhere_and_a_new_client)
{
    rig_begin(MODEL_FEATURES, NULL);
    for (unsigned i = 0; i < PLACES; i++) {
        places[i]();
        for (unsigned n = 0; n < c.streams; n++)
            c.stream[n].deaf = true;
        rig_run(places[i] == to_running ? 12000 : 4500);
        server_is_ready();
        client_forget(&c);
    }
    rig_end();
}

/* Nobody comes, and the silent one is given up all the same. */
TEST(silent_anywhere_for_long)
{
    rig_begin(MODEL_FEATURES, NULL);
    for (unsigned i = 0; i < PLACES; i++) {
        places[i]();
        for (unsigned n = 0; n < c.streams; n++)
            c.stream[n].deaf = true;
        rig_run(places[i] == to_running ? 36000 : 11000);
        CHECK_EQ(iperf3_test.phase, PHASE_IDLE);
        CHECK(c.control.got_fin || c.control.got_rst);
        client_forget(&c);
    }
    server_is_ready();
    rig_end();
}

TEST(told_why)
{
    rig_begin(MODEL_FEATURES, NULL);
    to_params();
    rig_run(11000);
    CHECK_EQ(client_state(&c), -2);
    CHECK_EQ(client_state(&c), 0);
    CHECK_EQ(client_state(&c), 0);
    CHECK_EQ(client_state(&c), 0);
    CHECK_EQ((uint8_t)client_state(&c), 144);
    CHECK_EQ(c.control.got_len, c.seen + 4);
    CHECK_EQ(iperf3_stat("iperf3_timeout"), 1);
    rig_end();
}

/* A host that answers no more, not even to the probes of TCP. */
TEST(dead_host_is_noticed)
{
    rig_begin(MODEL_FEATURES, NULL);
    client_start(&c, "\"tcp\":true,\"time\":0", 1);
    client_forget(&c); /* frames for it go nowhere */
    rig_run(20000);
    CHECK_EQ(iperf3_stat("iperf3_client_gone"), 1);
    server_is_ready();
    rig_end();
}

/* ---- one at a time ------------------------------------------------------- */

static bool denied(void)
{
    bool is;

    client_connect(&d, other_cookie);
    peer_send(&d.control, other_cookie, 37);
    is = client_state(&d) == -1;
    if (is)
        CHECK(d.control.got_fin);
    client_forget(&d);
    return is;
}

TEST(others_are_denied)
{
    rig_begin(MODEL_FEATURES, NULL);
    for (unsigned i = 2; i < PLACES; i++) {
        places[i]();
        CHECK(denied());
        peer_reset(&c.control);
        rig_run(5);
        client_forget(&c);
    }
    CHECK_EQ(iperf3_stat("iperf3_denied"), PLACES - 2);
    server_is_ready();
    rig_end();
}

/* Time passes, and the client's TCP answers when it is probed. */
static void alive(unsigned ms)
{
    for (unsigned t = 0; t < ms; t += 1000) {
        rig_run(1000);
        peer_ack(&c.control);
    }
}

/* Quiet is not silent: by its rate, a block each 8 seconds is due. */
TEST(slow_tests_are_not_cut)
{
    rig_begin(MODEL_FEATURES, NULL);
    client_start(&c, "\"tcp\":true,\"len\":1000,\"bandwidth\":1000", 1);
    alive(30000);
    CHECK(denied());
    alive(10000);
    CHECK(!denied());
    CHECK_EQ(iperf3_stat("iperf3_preempted"), 1);
    rig_end();
}

TEST(long_tests_are_not_cut)
{
    rig_begin(MODEL_FEATURES, NULL);
    client_start(&c, "\"tcp\":true,\"time\":100", 1);
    for (unsigned i = 0; i < 20; i++) {
        peer_send(&c.stream[0], "x", 1);
        alive(5000);
        CHECK(i % 5 || denied());
    }
    client_finish(&c);
    CHECK_EQ(client_result(&c, 0, "bytes"), 20);
    rig_end();
}

/* ---- what must not be said ----------------------------------------------- */

static void says(const void *data, uint32_t len, const char *counter)
{
    uint64_t before = iperf3_stat(counter);

    peer_send(&c.control, data, len);
    rig_run(20);
    CHECK(c.control.got_fin || c.control.got_rst);
    CHECK_EQ(iperf3_stat(counter), before + 1);
    client_forget(&c);
    server_is_ready();
}

TEST(bad_cookies)
{
    static uint8_t long_one[1000] = "too long";
    static char no_end[37];

    rig_begin(MODEL_FEATURES, NULL);
    memset(no_end, 'a', sizeof(no_end));
    to_connect();
    says(long_one, sizeof(long_one), "iperf3_no_cookie");
    to_connect();
    says(no_end, sizeof(no_end), "iperf3_no_cookie");
    to_half_cookie();
    says(long_one, sizeof(long_one), "iperf3_no_cookie");
    rig_end();
}

TEST(bad_parameters)
{
    static uint8_t deep[5004] = {0, 0, 5000 >> 8, 5000 & 0xff};

    rig_begin(MODEL_FEATURES, NULL);
    memset(deep + 4, '[', 5000);
    to_cookie();
    says("\0\0\0\0", 4, "iperf3_bad_params");
    to_cookie();
    says("\xff\xff\xff\xff", 4, "iperf3_bad_params");
    to_cookie();
    says("\0\0\x20\1{", 5, "iperf3_bad_params");
    to_cookie();
    says("\0\0\0\2[]", 6, "iperf3_bad_params");
    to_cookie();
    says("\0\0\0\x12{\"parallel\":1000}}", 22, "iperf3_bad_params");
    to_cookie();
    for (unsigned at = 0; at < 4000; at += 1000)
        peer_send(&c.control, deep + at, 1000);
    says(deep + 4000, 1004, "iperf3_bad_params");
    rig_end();
}

TEST(bad_messages)
{
    rig_begin(MODEL_FEATURES, NULL);
    to_running();
    says("\x63", 1, "iperf3_bad_message");
    to_running();
    says("\x10", 1, "iperf3_bad_message"); /* not yet */
    to_params();
    says("\x04", 1, "iperf3_bad_message");
    to_results();
    says("\x04", 1, "iperf3_bad_message");
    to_running();
    says("\x0c", 1, "iperf3_client_quit");
    to_end();
    says("\x7f\0\0\0", 4, "iperf3_bad_params");
    rig_end();
}

/* Cookie and all in single bytes, and in one piece as far as it may be. */
TEST(any_cut_of_the_bytes)
{
    static const char params[] = "\0\0\0\x0c{\"tcp\":true}";

    rig_begin(MODEL_FEATURES, NULL);
    to_connect();
    for (unsigned i = 0; i < 37; i++) {
        peer_send(&c.control, client_cookie + i, 1);
        rig_turn();
    }
    CHECK_EQ(client_state(&c), 9);
    for (unsigned i = 0; i < 16; i++) {
        peer_send(&c.control, params + i, 1);
        rig_turn();
    }
    CHECK_EQ(client_state(&c), 10);
    client_stream(&c);
    client_runs(&c);
    /* TEST_END and results, before they are asked for. */
    peer_send(&c.control, "\x04\0\0\0\2{}\x10", 8);
    rig_run(20);
    CHECK_EQ(iperf3_stat("iperf3_done"), 1);
    rig_end();
}

TEST(stream_of_another_cookie)
{
    rig_begin(MODEL_FEATURES, NULL);
    to_params();
    CHECK(denied());
    client_stream(&c);
    CHECK(denied());
    client_stream(&c);
    client_runs(&c);
    rig_end();
}

TEST(many_silent_connections)
{
    static struct peer silent[60];

    rig_begin(MODEL_FEATURES, NULL);
    for (unsigned i = 0; i < 60; i++)
        peer_open(&silent[i], 5201);
    CHECK(silent[0].got_rst);
    CHECK(!silent[59].got_rst);
    client_hello(&c, client_cookie);
    client_forget(&c);
    rig_run(25000);
    for (unsigned i = 0; i < 60; i++)
        CHECK(silent[i].got_rst);
    server_is_ready();
    rig_end();
}

/* Memory comes and goes while tests run; then all is as before. */
TEST(out_of_memory)
{
    rig_begin(MODEL_FEATURES, NULL);
    for (unsigned i = 0; i < 3 * PLACES; i++) {
        places[i % PLACES]();
        host_fail_alloc_all(true);
        rig_run(20);
        if (c.streams)
            peer_send(&c.stream[0], "more", 4);
        peer_send(&c.control, "\x04", 1);
        rig_run(100);
        host_fail_alloc_all(false);
        peer_reset(&c.control);
        rig_run(20);
        client_forget(&c);
        server_is_ready();
    }
    rig_end();
}
