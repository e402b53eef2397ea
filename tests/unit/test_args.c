/*
 * net/args.c: arguments of console commands, good ones and any others.
 */
#include "args.h"
#include "check.h"
#include "host.h"

static bool number(const char *text, uint64_t *out)
{
    *out = 99;
    return args_number(text, ARG_NUMBER, out);
}

static bool duration(const char *text, uint64_t *out)
{
    *out = 99;
    return args_number(text, ARG_TIME, out);
}

TEST(numbers_with_units)
{
    uint64_t n;

    CHECK(number("0", &n));
    CHECK_EQ(n, 0);
    CHECK(number("20k", &n));
    CHECK_EQ(n, 20000);
    CHECK(number("3M", &n));
    CHECK_EQ(n, 3000000);
    CHECK(number("2G", &n));
    CHECK_EQ(n, 2000000000);
    CHECK(number("18446744073709551615", &n));
    CHECK_EQ(n, UINT64_MAX);
}

TEST(times_are_nanoseconds)
{
    uint64_t n;

    CHECK(duration("5", &n));
    CHECK_EQ(n, 5000000000u);
    CHECK(duration("5s", &n));
    CHECK_EQ(n, 5000000000u);
    CHECK(duration("300ms", &n));
    CHECK_EQ(n, 300000000);
    CHECK(duration("20us", &n));
    CHECK_EQ(n, 20000);
    CHECK(duration("2m", &n));
    CHECK_EQ(n, 120000000000u);
}

TEST(what_is_no_number_is_refused)
{
    static const char *const bad[] = {
        "", " ", "-1", "+1", "k", "1kk", "1 k", "0x10", "1.5", "1e3", "12a",
        "18446744073709551616", "18446744073709551615k", "\xff",
        "99999999999999999999999999999",
    };
    uint64_t n;

    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        CHECK(!number(bad[i], &n));
        CHECK_EQ(n, 99);
        CHECK(!duration(bad[i], &n));
        CHECK_EQ(n, 99);
    }
    CHECK(!number("5ms", &n));
    CHECK(!duration("5k", &n));
}

static uint64_t len, wait;
static const struct arg args[] = {
    {"len", ARG_NUMBER, 60, 1514, &len},
    {"wait", ARG_TIME, 1000000, 10000000000, &wait},
};

static bool read2(const char *a, const char *b)
{
    char *argv[] = {(char *)a, (char *)b};

    len = wait = 0;
    host_log_clear();
    return args_read("cmd", b ? 2 : 1, argv, args, 2);
}

TEST(words_set_values)
{
    CHECK(read2("wait=250ms", "len=1k"));
    CHECK_EQ(len, 1000);
    CHECK_EQ(wait, 250000000);
    CHECK(read2("len=60", 0));
    CHECK_EQ(len, 60);
    CHECK_EQ(wait, 0);
    CHECK_EQ(host_log_count("cmd"), 0);
    CHECK(args_read("cmd", 0, 0, args, 2));
}

TEST(wrong_words_are_named)
{
    CHECK(!read2("len=59", 0));
    CHECK_EQ(host_log_count("cmd: 'len=59': 60 to 1514 expected"), 1);
    CHECK(!read2("len=2k", 0));
    CHECK(!read2("wait=11", 0));
    CHECK_EQ(host_log_count("'wait=11': 1 ms to 10 s expected"), 1);
    CHECK(!read2("len=", 0));
    CHECK_EQ(host_log_count("cmd: 'len=': not a number"), 1);
    CHECK(!read2("wait=x", 0));
    CHECK_EQ(host_log_count("cmd: 'wait=x': not a time"), 1);
    CHECK(!read2("len", 0));
    CHECK_EQ(host_log_count("cmd: 'len' not understood"), 1);
    CHECK(!read2("lens=60", 0));
    CHECK(!read2("=60", 0));
    CHECK(!read2("", 0));
    CHECK(!read2("len=60", "len=61"));
    CHECK_EQ(host_log_count("cmd: len= given twice"), 1);
    CHECK(!read2("len=60", "what=1"));
}

TEST(ports)
{
    static const char *const bad[] = {"0", "65536", "", "x", "80x", "-1"};
    uint16_t port = 7;

    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CHECK(!args_port("cmd", bad[i], &port));
    CHECK_EQ(port, 7);
    CHECK_EQ(host_log_count("is not a port"), 6);
    CHECK(args_port("cmd", "65535", &port));
    CHECK_EQ(port, 65535);
    CHECK(args_port("cmd", "9k", &port));
    CHECK_EQ(port, 9000);
}
