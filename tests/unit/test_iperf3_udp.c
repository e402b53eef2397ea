/*
 * net/apps/iperf3_udp.c: streams of datagrams, the count of what is missing,
 * jitter, and sending.
 */
#include <string.h>

#include "apps/iperf3_priv.h"
#include "check.h"
#include "host.h"
#include "iperf3_rig.h"

static struct client c;

static uint32_t get32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 |
           p[3];
}

static void put32(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 24);
    p[1] = (uint8_t)(v >> 16);
    p[2] = (uint8_t)(v >> 8);
    p[3] = (uint8_t)v;
}

/* A stream makes itself known from this port; is it answered? The last one
 * may be followed by data at once. */
static bool connects(uint16_t port, uint32_t word)
{
    unsigned before = rig.udp_count;

    rig_udp(port, 5201, &word, 4);
    rig_run(5);
    return rig.udp_count > before;
}

static void begin(const char *params, unsigned streams)
{
    rig_begin(MODEL_FEATURES, NULL);
    client_hello(&c, client_cookie);
    client_params(&c, params);
    for (unsigned i = 0; i < streams; i++)
        CHECK(connects((uint16_t)(CLIENT_UDP_PORT + i), 0x36373839));
    client_runs(&c);
}

static void datagram(unsigned stream, uint32_t number, uint64_t sent_us,
                     uint32_t len)
{
    static uint8_t d[1500];

    put32(d, (uint32_t)(sent_us / 1000000));
    put32(d + 4, (uint32_t)(sent_us % 1000000));
    put32(d + 8, number);
    rig_udp((uint16_t)(CLIENT_UDP_PORT + stream), 5201, d, len);
    rig_turn();
}

static void numbers(unsigned stream, const uint32_t *n)
{
    for (; *n; n++)
        datagram(stream, *n, 1000, 100);
}

#define NUMBERS(stream, ...)                                                 \
    numbers(stream, (const uint32_t[]){__VA_ARGS__, 0})

TEST(nothing_is_missing)
{
    begin("\"udp\":true,\"len\":100", 1);
    NUMBERS(0, 1, 2, 3, 4, 5);
    client_finish(&c);
    CHECK_EQ(client_result(&c, 0, "bytes"), 500);
    CHECK_EQ(client_result(&c, 0, "packets"), 5);
    CHECK_EQ(client_result(&c, 0, "errors"), 0);
    CHECK(!strstr(c.results, "congestion_used"));
    rig_end();
}

/* Missing is what never came; what came late was missing for a while. */
TEST(missing_and_out_of_order)
{
    begin("\"udp\":true,\"parallel\":3", 3);
    NUMBERS(0, 1, 2, 5, 6, 10);
    NUMBERS(1, 1, 3, 2, 4);
    NUMBERS(2, 4, 4, 4);
    client_finish(&c);
    CHECK_EQ(client_result(&c, 0, "packets"), 10);
    CHECK_EQ(client_result(&c, 0, "errors"), 5);
    CHECK_EQ(client_result(&c, 1, "packets"), 4);
    CHECK_EQ(client_result(&c, 1, "errors"), 0);
    CHECK_EQ(client_result(&c, 2, "packets"), 4);
    CHECK_EQ(client_result(&c, 2, "errors"), 1);
    CHECK_EQ(client_result(&c, 2, "bytes"), 300);
    CHECK_EQ(host_log_count("lost 6 of 18 (33.33%)"), 1);
    rig_end();
}

TEST(numbers_of_64_bits)
{
    uint8_t d[100] = {0};

    begin("\"udp\":true,\"udp_counters_64bit\":1", 1);
    put32(d + 8, 5);
    put32(d + 12, 7);
    rig_udp(CLIENT_UDP_PORT, 5201, d, sizeof(d));
    rig_run(5);
    client_finish(&c);
    CHECK_EQ(client_result(&c, 0, "packets"), UINT64_C(0x500000007));
    CHECK_EQ(client_result(&c, 0, "errors"), UINT64_C(0x500000006));
    rig_end();
}

/* Sent every millisecond, arriving each 1 ms and each 3 ms in turns: the
 * difference is 1 ms each time, and so the jitter becomes 1 ms. */
TEST(jitter)
{
    begin("\"udp\":true", 1);
    for (uint32_t i = 1; i <= 200; i++) {
        host_advance_ms(i % 2 ? 1 : 3);
        datagram(0, i, 1000000 + 2000 * (uint64_t)i, 100);
    }
    CHECK_EQ(iperf3_streams[0].jitter16_ns / 16, 999997);
    client_finish(&c);
    CHECK(strstr(c.results, "\"jitter\":0.000999997,"));
    rig_end();
}

TEST(jitter_of_absurd_times)
{
    begin("\"udp\":true", 1);
    for (uint32_t i = 1; i <= 1000; i++)
        datagram(0, i, i % 2 ? UINT64_C(0xffffffff) * 1000000 : 0, 100);
    CHECK(iperf3_streams[0].jitter16_ns >= 0);
    CHECK(iperf3_streams[0].jitter16_ns / 16 <= INT64_C(1000000000000));
    client_finish(&c);
    rig_end();
}

/* ---- making itself known ------------------------------------------------- */

static uint32_t answer(void)
{
    uint32_t word;

    memcpy(&word, rig.udp, 4);
    return word;
}

TEST(answers_of_all_generations)
{
    rig_begin(MODEL_FEATURES, NULL);
    client_hello(&c, client_cookie);
    client_params(&c, "\"udp\":true,\"parallel\":4");
    CHECK(connects(CLIENT_UDP_PORT, 0x36373839));
    CHECK_EQ(answer(), 0x39383736);
    CHECK(connects(CLIENT_UDP_PORT + 1, 0x39383736)); /* of the other order */
    CHECK_EQ(answer(), 0x36373839);
    CHECK(connects(CLIENT_UDP_PORT + 2, 123456789));
    CHECK_EQ(answer(), 987654321);
    CHECK_EQ(client_state(&c), NO_STATE);
    CHECK(connects(CLIENT_UDP_PORT + 3, 0x36373839));
    client_runs(&c);
    rig_end();
}

TEST(asking_again_makes_no_second_stream)
{
    rig_begin(MODEL_FEATURES, NULL);
    client_hello(&c, client_cookie);
    client_params(&c, "\"udp\":true,\"parallel\":2");
    for (unsigned i = 0; i < 5; i++)
        CHECK(connects(CLIENT_UDP_PORT, 0x36373839));
    CHECK_EQ(client_state(&c), NO_STATE);
    CHECK(connects(CLIENT_UDP_PORT + 1, 0x36373839));
    client_runs(&c);
    CHECK(connects(CLIENT_UDP_PORT + 1, 0x36373839));
    CHECK_EQ(iperf3_test.streams_len, 2);
    rig_end();
}

/* Datagrams of the test before are no new streams. */
TEST(late_datagrams_are_no_streams)
{
    uint8_t d[100] = {0};

    rig_begin(MODEL_FEATURES, NULL);
    client_hello(&c, client_cookie);
    client_params(&c, "\"udp\":true");
    rig_udp(CLIENT_UDP_PORT, 5201, d, sizeof(d));
    rig_udp(CLIENT_UDP_PORT, 5201, d, 3);
    rig_udp(CLIENT_UDP_PORT, 5201, d, 0);
    CHECK_EQ(client_state(&c), NO_STATE);
    CHECK_EQ(iperf3_stat("iperf3_stray_udp"), 3);
    CHECK_EQ(rig.udp_count, 0);
    rig_end();
}

TEST(datagrams_of_nobody)
{
    uint8_t d[100] = {0};

    begin("\"udp\":true", 1);
    rig_udp(CLIENT_UDP_PORT + 1, 5201, d, sizeof(d));
    rig_udp(CLIENT_UDP_PORT, 5201, d, 11);
    rig_run(5);
    CHECK_EQ(iperf3_stat("iperf3_stray_udp"), 2);
    client_finish(&c);
    CHECK_EQ(client_result(&c, 0, "bytes"), 0);
    CHECK_EQ(vnet_bufs_held(rig.v), 0);
    rig_end();
}

TEST(no_answer_without_a_test)
{
    rig_begin(MODEL_FEATURES, NULL);
    CHECK(!connects(CLIENT_UDP_PORT, 0x36373839));
    client_hello(&c, client_cookie);
    CHECK(!connects(CLIENT_UDP_PORT, 0x36373839));
    client_params(&c, "\"tcp\":true");
    CHECK(!connects(CLIENT_UDP_PORT, 0x36373839));
    rig_end();
}

/* ---- sending ------------------------------------------------------------- */

TEST(reverse_keeps_the_rate)
{
    begin("\"udp\":true,\"reverse\":true,\"len\":1000,\"bandwidth\":800000",
          1);
    rig.udp_count = 0;
    rig_run(2000);
    CHECK(rig.udp_count >= 198 && rig.udp_count <= 204);
    CHECK_EQ(rig.udp_len, 1000);
    CHECK_EQ(rig.udp_sport, 5201);
    CHECK_EQ(get32(rig.udp + 8), iperf3_streams[0].packets);
    CHECK_EQ(rig.udp[12], '0');
    client_finish(&c);
    CHECK_EQ(client_result(&c, 0, "packets"), rig.udp_count + 1u);
    rig_end();
}

TEST(reverse_smallest_of_64_bits)
{
    begin("\"udp\":true,\"reverse\":true,\"len\":16,\"bandwidth\":12800,"
          "\"udp_counters_64bit\":1",
          1);
    rig_run(1000);
    CHECK_EQ(rig.udp_len, 16);
    CHECK_EQ(get32(rig.udp + 8), 0);
    CHECK_EQ(get32(rig.udp + 12), iperf3_streams[0].packets);
    rig_end();
}

/* Without a rate: what finds no room is sent later, under the same number. */
TEST(reverse_as_fast_as_possible)
{
    begin("\"udp\":true,\"reverse\":true,\"len\":1400,\"bandwidth\":0", 1);
    rig.m->tx_hold = true;
    for (unsigned i = 0; i < 20; i++)
        rig_turn();
    CHECK(iperf3_stat("iperf3_tx_retry") > 0);
    rig.m->tx_hold = false;
    model_tx_release(rig.m, UINT32_MAX);
    rig_run(5);
    CHECK(rig.udp_count > 300);
    CHECK_EQ(get32(rig.udp + 8) + 1u, rig.udp_count);
    client_finish(&c);
    rig_end();
}

TEST(omit_time_of_datagrams)
{
    begin("\"udp\":true,\"omit\":1,\"time\":1", 1);
    NUMBERS(0, 1, 2, 5);
    rig_run(1050);
    NUMBERS(0, 6, 8);
    client_finish(&c);
    CHECK_EQ(client_result(&c, 0, "bytes"), 200);
    CHECK_EQ(client_result(&c, 0, "packets"), 8);
    CHECK_EQ(client_result(&c, 0, "omitted_packets"), 5);
    CHECK_EQ(client_result(&c, 0, "errors"), 3);
    CHECK_EQ(client_result(&c, 0, "omitted_errors"), 2);
    CHECK_EQ(host_log_count("lost 1 of 3"), 1);
    rig_end();
}
