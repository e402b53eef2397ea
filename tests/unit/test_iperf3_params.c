/*
 * net/apps/iperf3_params.c: what clients ask for, and what they must not get;
 * iperf3_pace.c: rates.
 */
#include <string.h>

#include "apps/iperf3_priv.h"
#include "check.h"
#include "host.h"

static struct iperf3_params p;

static enum iperf3_error reads(const char *text)
{
    return iperf3_read_params(text, strlen(text), &p);
}

TEST(tcp_of_a_stock_client)
{
    CHECK_EQ(reads("{\"tcp\":true,\"omit\":2,\"time\":10,\"num\":0,"
                   "\"blockcount\":0,\"nodelay\":true,\"parallel\":16,"
                   "\"len\":131072,\"pacing_timer\":1000,\"TOS\":16,"
                   "\"client_version\":\"3.12\"}"),
             ERROR_NONE);
    CHECK(!p.udp && !p.reverse && !p.bidir && !p.server_output && p.nodelay);
    CHECK_EQ(p.omit_s, 2);
    CHECK_EQ(p.time_s, 10);
    CHECK_EQ(p.parallel, 16);
    CHECK_EQ(p.block, 131072);
    CHECK_EQ(p.rate, 0);
    CHECK_EQ(p.bytes, 0);
    CHECK_EQ(p.tos, 16);
}

TEST(udp_of_a_stock_client)
{
    CHECK_EQ(reads("{\"udp\":true,\"omit\":0,\"time\":0,\"num\":5000000,"
                   "\"parallel\":2,\"bidirectional\":true,\"len\":1460,"
                   "\"bandwidth\":1048576,\"udp_counters_64bit\":1,"
                   "\"get_server_output\":1}"),
             ERROR_NONE);
    CHECK(p.udp && p.bidir && p.counters_64bit && p.server_output);
    CHECK_EQ(p.block, 1460);
    CHECK_EQ(p.rate, 1048576);
    CHECK_EQ(p.bytes, 5000000);
    CHECK_EQ(p.time_s, 0);
}

TEST(what_is_not_said)
{
    CHECK_EQ(reads("{}"), ERROR_NONE);
    CHECK_EQ(p.parallel, 1);
    CHECK_EQ(p.block, 128 * 1024);
    CHECK_EQ(reads("{\"udp\":true}"), ERROR_NONE);
    CHECK_EQ(p.block, 1448);
}

TEST(blocks_become_bytes)
{
    CHECK_EQ(reads("{\"blockcount\":500,\"len\":1000}"), ERROR_NONE);
    CHECK_EQ(p.bytes, 500000);
    CHECK_EQ(reads("{\"blockcount\":1e99,\"len\":1e99}"), ERROR_NONE);
    CHECK(p.bytes <= INT64_MAX);
    CHECK(p.bytes > UINT64_C(1) << 60);
}

TEST(the_lower_rate_holds)
{
    CHECK_EQ(reads("{\"bandwidth\":100,\"fqrate\":200}"), ERROR_NONE);
    CHECK_EQ(p.rate, 100);
    CHECK_EQ(reads("{\"bandwidth\":300,\"fqrate\":200}"), ERROR_NONE);
    CHECK_EQ(p.rate, 200);
    CHECK_EQ(reads("{\"fqrate\":200}"), ERROR_NONE);
    CHECK_EQ(p.rate, 200);
}

TEST(numbers_are_brought_into_range)
{
    CHECK_EQ(reads("{\"time\":-1,\"omit\":-1,\"len\":-1,\"bandwidth\":-1,"
                   "\"num\":-1,\"blockcount\":-1,\"TOS\":-1}"),
             ERROR_NONE);
    CHECK_EQ(p.time_s, 0);
    CHECK_EQ(p.omit_s, 0);
    CHECK_EQ(p.block, 128 * 1024);
    CHECK_EQ(p.rate, 0);
    CHECK_EQ(p.bytes, 0);
    CHECK_EQ(p.tos, 0);
    CHECK_EQ(reads("{\"time\":1e300,\"omit\":1e300,\"len\":1e300,"
                   "\"bandwidth\":1e300,\"TOS\":1e300}"),
             ERROR_NONE);
    CHECK_EQ(p.time_s, 86400);
    CHECK_EQ(p.omit_s, 600);
    CHECK_EQ(p.block, BLOCK_MAX);
    CHECK_EQ(p.tos, 255);
    /* Milliseconds of all that still fit 31 bits. */
    CHECK((p.time_s + p.omit_s) * UINT64_C(1000) + GRACE_MS < INT32_MAX);
}

TEST(datagrams_have_room_for_their_header)
{
    CHECK_EQ(reads("{\"udp\":true,\"len\":1}"), ERROR_NONE);
    CHECK_EQ(p.block, UDP_BLOCK_MIN);
    CHECK_EQ(reads("{\"udp\":true,\"len\":1000000}"), ERROR_NONE);
    CHECK_EQ(p.block, UDP_BLOCK_MAX);
}

TEST(types_are_looked_at)
{
    CHECK_EQ(reads("{\"time\":\"10\",\"parallel\":[3],\"len\":null}"),
             ERROR_STREAMS);
    CHECK_EQ(reads("{\"udp\":\"true\",\"reverse\":[true],\"time\":{}}"),
             ERROR_NONE);
    CHECK(!p.udp && !p.reverse);
    CHECK_EQ(p.time_s, 0);
}

TEST(refused)
{
    CHECK_EQ(reads("{\"parallel\":128}"), ERROR_NONE);
    CHECK_EQ(reads("{\"parallel\":129}"), ERROR_STREAMS);
    CHECK_EQ(reads("{\"parallel\":0}"), ERROR_STREAMS);
    CHECK_EQ(reads("{\"parallel\":-3}"), ERROR_STREAMS);
    CHECK_EQ(reads("{\"parallel\":1e999}"), ERROR_STREAMS);
    CHECK_EQ(reads("{\"sctp\":true}"), ERROR_PROTOCOL);
    CHECK_EQ(reads("{\"tcp\":true"), ERROR_PARAMS);
    CHECK_EQ(reads("[]"), ERROR_PARAMS);
    CHECK_EQ(reads(""), ERROR_PARAMS);
}

/* ---- rates --------------------------------------------------------------- */

/* What a stream of this rate sends in `ms`, asked when it wants to be. */
static uint64_t paced(struct iperf3_stream *s, uint32_t block, unsigned ms)
{
    uint64_t end = host_now + ms * UINT64_C(1000000);
    uint64_t sum = 0;

    while (host_now <= end) {
        uint32_t n = iperf3_allowed(s, block, block);
        uint64_t wake;

        s->paced += n;
        sum += n;
        if (n > 0)
            continue;
        wake = host_wakeup_take();
        CHECK(wake > host_now);
        host_now = wake;
    }
    return sum;
}

static void rate(struct iperf3_stream *s, uint64_t bits)
{
    memset(s, 0, sizeof(*s));
    iperf3_test.params.rate = bits;
    s->pace_us = sys_now_us();
    host_wakeup_take();
}

TEST(rates_are_kept)
{
    static const uint64_t rates[] = {8000,     1000000,    10000000,
                                     12345678, 1000000000, 10000000000};
    struct iperf3_stream s;

    for (unsigned i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
        uint64_t want = rates[i] / 8 * 3, sent;

        rate(&s, rates[i]);
        sent = paced(&s, 1000, 3000);
        CHECK(sent >= want);
        CHECK(sent <= want + want / 1000 + 2000);
    }
}

TEST(no_rate_no_limit)
{
    struct iperf3_stream s;

    rate(&s, 0);
    CHECK_EQ(iperf3_allowed(&s, 1000, 65535), 65535);
    CHECK_EQ(host_wakeup(), UINT64_MAX);
}

/* A stream that was held up makes up for a second of it, not for all. */
TEST(long_delays_are_not_made_up_for)
{
    struct iperf3_stream s;
    uint64_t sent;

    rate(&s, 8000000); /* a block each millisecond */
    host_advance_ms(900);
    sent = paced(&s, 1000, 0);
    CHECK(sent >= 900000 && sent <= 902000);
    host_advance_ms(60000);
    sent = paced(&s, 1000, 0);
    CHECK(sent <= 1001000);
}

TEST(lowest_and_highest_rate)
{
    struct iperf3_stream s;

    rate(&s, 1);
    CHECK_EQ(iperf3_allowed(&s, BLOCK_MAX, BLOCK_MAX), BLOCK_MAX);
    s.paced += BLOCK_MAX;
    CHECK_EQ(iperf3_allowed(&s, BLOCK_MAX, BLOCK_MAX), 0);
    CHECK_EQ(host_wakeup_take(),
             host_now + BLOCK_MAX * UINT64_C(8) * 1000000000);
    CHECK_EQ(iperf3_bytes_us(UINT64_C(1) << 60, 1000000000000),
             (UINT64_C(1) << 63) / 1000000);
}
