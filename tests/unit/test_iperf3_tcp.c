/*
 * net/apps/iperf3*.c: TCP tests of a client that keeps to the protocol.
 */
#include <stdlib.h>
#include <string.h>

#include "apps/iperf3_json.h"
#include "apps/iperf3_priv.h"
#include "check.h"
#include "host.h"
#include "iperf3_rig.h"
#include "lwip/memp.h"

static struct client c;

static void send_data(struct peer *p, unsigned segments)
{
    static const uint8_t data[1460];

    for (unsigned i = 0; i < segments; i++) {
        peer_send(p, data, sizeof(data));
        if (i % 16 == 15)
            rig_turn();
    }
    rig_turn();
}

TEST(forward)
{
    rig_begin(MODEL_FEATURES, NULL);
    client_start(&c, "\"tcp\":true,\"time\":1", 1);
    send_data(&c.stream[0], 1000); /* more than a window */
    rig_run(1000);
    CHECK_EQ(vnet_bufs_held(rig.v), 0);
    client_finish(&c);
    CHECK_EQ(client_result(&c, 0, "id"), 1);
    CHECK_EQ(client_result(&c, 0, "bytes"), 1000 * 1460);
    CHECK_EQ(client_result(&c, 0, "end_time"), 1);
    CHECK(strstr(c.results, "\"sender_has_retransmits\":-1"));
    CHECK(strstr(c.results, "\"congestion_used\":\"reno\""));
    CHECK(!strstr(c.results, "server_output"));
    CHECK_EQ(iperf3_stat("iperf3_rx_bytes"), 1000 * 1460);
    CHECK_EQ(host_log_count("TCP, 1 stream received 1460000 bytes"), 1);
    rig_end();
}

TEST(one_after_the_other)
{
    rig_begin(MODEL_FEATURES, NULL);
    for (unsigned i = 0; i < 50; i++)
        server_is_ready();
    CHECK_EQ(iperf3_stat("iperf3_done"), 50);
    rig_run(5000);
    CHECK_EQ(MEMP_STATS_GET(used, MEMP_TCP_PCB), 0);
    rig_end();
}

static void check_pattern(const struct peer *p)
{
    for (uint32_t i = 0; i < p->got_len; i++)
        CHECK_EQ(p->got[i], '0' + i % IPERF3_PATTERN % 10);
}

/* The end of the test ends what we send, or clients would wait in a read. */
TEST(reverse)
{
    rig_begin(MODEL_FEATURES, NULL);
    client_start(&c, "\"tcp\":true,\"time\":1,\"reverse\":true", 1);
    for (unsigned i = 0; i < 100 && c.stream[0].got_len < 1000000; i++)
        rig_turn();
    CHECK(c.stream[0].got_len >= 1000000);
    CHECK(!c.stream[0].got_fin);
    client_end(&c);
    rig_run(20);
    CHECK(c.stream[0].got_fin);
    check_pattern(&c.stream[0]);
    client_take_results(&c);
    /* Sent is what has left, not all that has been written. */
    CHECK(client_result(&c, 0, "bytes") <= c.stream[0].got_len);
    CHECK(client_result(&c, 0, "bytes") + TCP_SND_BUF >= c.stream[0].got_len);
    CHECK(strstr(c.results, "\"sender_has_retransmits\":0"));
    rig_end();
}

/* What still waits for the client's window has not been sent. */
TEST(reverse_to_a_client_that_takes_no_more)
{
    rig_begin(MODEL_FEATURES, NULL);
    client_hello(&c, client_cookie);
    client_params(&c, "\"tcp\":true,\"reverse\":true");
    client_stream(&c)->deaf = true;
    client_runs(&c);
    rig_run(50);
    client_end(&c);
    client_take_results(&c);
    CHECK(client_result(&c, 0, "bytes") > c.stream[0].got_len);
    CHECK(client_result(&c, 0, "bytes") <=
          c.stream[0].got_len + 4 * CLIENT_WINDOW);
    rig_end();
}

/* A client may close its streams and take its time over the rest: lwIP will
 * have freed the connections by then. */
TEST(streams_closed_long_before_the_results)
{
    rig_begin(MODEL_FEATURES, NULL);
    client_start(&c, "\"tcp\":true,\"parallel\":2,\"reverse\":true", 2);
    rig_run(50);
    client_end(&c);
    rig_run(50);
    peer_fin(&c.stream[0]);
    peer_fin(&c.stream[1]);
    rig_run(5000);
    CHECK_EQ(MEMP_STATS_GET(used, MEMP_TCP_PCB), 1);
    client_take_results(&c);
    peer_send(&c.control, "\x10", 1);
    peer_fin(&c.control);
    rig_run(3000);
    CHECK_EQ(MEMP_STATS_GET(used, MEMP_TCP_PCB), 0);
    server_is_ready();
    rig_end();
}

/* Of a client that closes first, and one that resets: no stream is left. */
TEST(streams_that_go_first)
{
    rig_begin(MODEL_FEATURES, NULL);
    client_start(&c, "\"tcp\":true,\"parallel\":2,\"reverse\":true", 2);
    rig_run(20);
    peer_fin(&c.stream[0]);
    peer_reset(&c.stream[1]);
    rig_run(5000);
    client_end(&c);
    rig_run(3000);
    client_take_results(&c);
    peer_send(&c.control, "\x10", 1);
    peer_fin(&c.control);
    rig_run(3000);
    CHECK_EQ(MEMP_STATS_GET(used, MEMP_TCP_PCB), 0);
    server_is_ready();
    rig_end();
}

/* With both directions, the client's own come first. */
TEST(both_directions)
{
    rig_begin(MODEL_FEATURES, NULL);
    client_start(&c, "\"tcp\":true,\"parallel\":2,\"bidirectional\":true", 4);
    send_data(&c.stream[0], 10);
    send_data(&c.stream[1], 20);
    rig_run(50);
    CHECK_EQ(c.stream[0].got_len, 0);
    CHECK_EQ(c.stream[1].got_len, 0);
    CHECK(c.stream[2].got_len > 100000);
    CHECK(c.stream[3].got_len > 100000);
    client_finish(&c);
    CHECK_EQ(client_result(&c, 0, "bytes"), 14600);
    CHECK_EQ(client_result(&c, 1, "bytes"), 29200);
    CHECK_EQ(client_result(&c, 0, "id"), 1);
    CHECK_EQ(client_result(&c, 1, "id"), 3);
    CHECK_EQ(client_result(&c, 2, "id"), 4);
    CHECK_EQ(client_result(&c, 3, "id"), 5);
    rig_end();
}

/* The cookie of the first connection comes behind that of the second: the
 * second waits. */
TEST(streams_keep_their_order)
{
    struct peer *first = &c.stream[0], *second = &c.stream[1];

    rig_begin(MODEL_FEATURES, NULL);
    client_hello(&c, client_cookie);
    client_params(&c, "\"tcp\":true,\"bidirectional\":true");
    peer_open(first, 5201);
    peer_open(second, 5201);
    peer_send(second, client_cookie, 37);
    rig_run(500);
    CHECK_EQ(client_state(&c), NO_STATE);
    peer_send(first, client_cookie, 37);
    client_runs(&c);
    rig_run(20);
    CHECK_EQ(first->got_len, 0);
    CHECK(second->got_len > 0);
    rig_end();
}

/* ... but not for ever: the first may be nobody's. */
TEST(a_silent_connection_does_not_keep_streams_waiting)
{
    struct peer silent;

    rig_begin(MODEL_FEATURES, NULL);
    client_hello(&c, client_cookie);
    client_params(&c, "\"tcp\":true");
    peer_open(&silent, 5201);
    client_stream(&c);
    CHECK_EQ(client_state(&c), NO_STATE);
    rig_run(1100);
    client_runs(&c);
    rig_end();
}

TEST(as_many_streams_as_there_can_be)
{
    /* All of them answer at once. */
    static const struct vnet_config config = {.rx_ring = 512};

    rig_begin(MODEL_FEATURES, &config);
    client_hello(&c, client_cookie);
    client_params(&c, "\"tcp\":true,\"parallel\":128,\"bidirectional\":true");
    c.window = 365; /* a segment: more answers at once do not fit the ring */
    for (unsigned i = 0; i < 256; i++)
        client_stream(&c);
    client_runs(&c);
    for (unsigned i = 0; i < 128; i++)
        send_data(&c.stream[i], 2);
    rig_run(300);
    for (unsigned i = 128; i < 256; i++)
        CHECK(c.stream[i].got_len > 10000);
    CHECK(MEMP_STATS_GET(used, MEMP_TCP_SEG) <= MEMP_NUM_TCP_SEG / 2);
    for (unsigned i = 128; i < 256; i += 2)
        c.stream[i].deaf = true;
    client_finish(&c);
    for (unsigned i = 0; i < 128; i++)
        CHECK_EQ(client_result(&c, i, "bytes"), 2920);
    CHECK_EQ(client_result(&c, 255, "id"), 257);
    server_is_ready();
    rig_end();
}

/* -n: so much of whole blocks, and no more. */
TEST(number_of_bytes)
{
    rig_begin(MODEL_FEATURES, NULL);
    client_start(&c,
                 "\"tcp\":true,\"reverse\":true,\"parallel\":2,"
                 "\"num\":1000000,\"len\":30000",
                 2);
    rig_run(2000);
    CHECK(c.stream[0].got_len + c.stream[1].got_len >= 1000000);
    CHECK(c.stream[0].got_len + c.stream[1].got_len < 1060000);
    CHECK_EQ(c.stream[0].got_len % 30000, 0);
    CHECK_EQ(c.stream[1].got_len % 30000, 0);
    client_finish(&c);
    rig_end();
}

TEST(rate_of_a_sender)
{
    rig_begin(MODEL_FEATURES, NULL);
    client_start(&c,
                 "\"tcp\":true,\"reverse\":true,\"len\":1000,"
                 "\"bandwidth\":8000000",
                 1);
    rig_run(1000);
    CHECK(c.stream[0].got_len >= 990000);
    CHECK(c.stream[0].got_len <= 1020000);
    client_finish(&c);
    rig_end();
}

TEST(small_blocks_without_delay_are_segments)
{
    rig_begin(MODEL_FEATURES, NULL);
    client_start(&c,
                 "\"tcp\":true,\"reverse\":true,\"nodelay\":true,"
                 "\"len\":100,\"bandwidth\":1600000",
                 1);
    rig_run(100); /* ten are due at each step */
    CHECK(c.stream[0].got_len >= 19000);
    CHECK(c.stream[0].acks >= c.stream[0].got_len / 100);
    client_finish(&c);
    rig_end();
}

TEST(omit_time_does_not_count)
{
    rig_begin(MODEL_FEATURES, NULL);
    client_start(&c, "\"tcp\":true,\"omit\":1,\"time\":2", 1);
    send_data(&c.stream[0], 100);
    rig_run(1050);
    send_data(&c.stream[0], 30);
    rig_run(2000);
    client_finish(&c);
    CHECK_EQ(client_result(&c, 0, "bytes"), 30 * 1460);
    CHECK_EQ(client_result(&c, 0, "end_time"), 2);
    rig_end();
}

/* What arrives behind TEST_END was sent before it. */
TEST(late_data_counts)
{
    rig_begin(MODEL_FEATURES, NULL);
    client_start(&c, "\"tcp\":true", 1);
    send_data(&c.stream[0], 10);
    client_end(&c);
    send_data(&c.stream[0], 5);
    client_take_results(&c);
    send_data(&c.stream[0], 3);
    CHECK_EQ(client_result(&c, 0, "bytes"), 15 * 1460);
    peer_send(&c.control, "\x10", 1);
    rig_run(20);
    CHECK_EQ(host_log_count("received 21900 bytes"), 1);
    rig_end();
}

/* Other connections may be slower than that of the results. */
TEST(late_data_is_waited_for)
{
    rig_begin(MODEL_FEATURES, NULL);
    client_start(&c, "\"tcp\":true", 1);
    client_end(&c);
    client_message(&c, "{}");
    for (unsigned i = 0; i < 10; i++) {
        rig_run(30);
        send_data(&c.stream[0], 1);
    }
    CHECK_EQ(c.control.got_len, c.seen);
    rig_run(60);
    client_read_results(&c);
    CHECK_EQ(client_result(&c, 0, "bytes"), 10 * 1460);
    rig_end();
}

TEST(late_data_is_not_waited_for_without_end)
{
    rig_begin(MODEL_FEATURES, NULL);
    client_start(&c, "\"tcp\":true", 1);
    client_end(&c);
    client_message(&c, "{}");
    for (unsigned i = 0; i < 100; i++) {
        rig_run(30);
        send_data(&c.stream[0], 1);
    }
    client_read_results(&c);
    CHECK(client_result(&c, 0, "bytes") < 80 * 1460);
    rig_end();
}

TEST(server_output)
{
    rig_begin(MODEL_FEATURES, NULL);
    client_start(&c, "\"tcp\":true,\"get_server_output\":1", 1);
    send_data(&c.stream[0], 10);
    client_finish(&c);
    CHECK(strstr(c.results, "\"server_output_text\":\"[1] received 14600"));
    rig_end();
}

TEST(a_line_each_second_for_those_who_ask)
{
    rig_begin(MODEL_FEATURES, NULL);
    client_start(&c, "\"tcp\":true", 1);
    send_data(&c.stream[0], 100);
    rig_run(3050);
    CHECK_EQ(host_log_count("iperf3: received 146000 bytes in 1.00 s"), 1);
    CHECK_EQ(host_log_count("iperf3: received 0 bytes in 1.00 s"), 2);
    rig_end();
}

static void no_member(void *arg, const char *key, size_t len,
                      const struct json_value *v)
{
    (void)arg;
    (void)key;
    (void)len;
    (void)v;
}

/* The longest numbers everywhere: the results still fit. */
TEST(results_have_room)
{
    static char buf[RESULTS_TEXT_MAX];
    struct iperf3_test *test = &iperf3_test;
    struct text txt;

    memset(iperf3_streams, 0xff, sizeof(iperf3_streams));
    memset(&test->params, 1, sizeof(test->params));
    test->streams_len = STREAMS_MAX;
    test->end_us = UINT64_MAX;
    for (unsigned i = 0; i < STREAMS_MAX; i++) {
        iperf3_streams[i].pcb = NULL;
        iperf3_streams[i].sender = i % 2;
        iperf3_streams[i].omit_bytes = 0;
        iperf3_streams[i].jitter16_ns = INT64_MAX;
    }
    text_begin(&txt, buf, sizeof(buf));
    iperf3_results(&txt);
    CHECK(!txt.cut);
    CHECK(json_object(buf, text_len(&txt), no_member, NULL));
}
