/* net/apps/iperf3_text.c: numbers, and the end of the buffer. */
#include <string.h>

#include "apps/iperf3_text.h"
#include "check.h"

static char buf[64];
static struct text txt;

static const char *fixed(uint64_t v, unsigned decimals)
{
    text_begin(&txt, buf, sizeof(buf));
    text_fixed(&txt, v, decimals);
    CHECK_EQ(strlen(buf), text_len(&txt));
    CHECK(!txt.cut);
    return buf;
}

TEST(whole_numbers)
{
    text_begin(&txt, buf, sizeof(buf));
    CHECK_STR_EQ(buf, "");
    text_u64(&txt, 0);
    text_str(&txt, " ");
    text_u64(&txt, 10);
    text_str(&txt, " ");
    text_u64(&txt, UINT64_MAX);
    CHECK_STR_EQ(buf, "0 10 18446744073709551615");
}

TEST(fixed_point)
{
    CHECK_STR_EQ(fixed(0, 0), "0");
    CHECK_STR_EQ(fixed(0, 3), "0.000");
    CHECK_STR_EQ(fixed(5, 3), "0.005");
    CHECK_STR_EQ(fixed(999, 3), "0.999");
    CHECK_STR_EQ(fixed(1000, 3), "1.000");
    CHECK_STR_EQ(fixed(1234567, 6), "1.234567");
    CHECK_STR_EQ(fixed(UINT64_MAX, 9), "18446744073.709551615");
    CHECK_STR_EQ(fixed(UINT64_MAX, 18), "18.446744073709551615");
    CHECK_STR_EQ(fixed(1, 18), "0.000000000000000001");
    CHECK_STR_EQ(fixed(1, 1000), "0.000000000000000001");
}

/* A part is there as a whole or not at all, and nothing comes behind a gap. */
TEST(end_of_the_buffer)
{
    for (size_t size = 1; size < 16; size++) {
        memset(buf, 'x', sizeof(buf));
        text_begin(&txt, buf, size);
        text_str(&txt, "abc");
        text_u64(&txt, 12345);
        text_str(&txt, "de");
        CHECK_EQ(buf[size], 'x');
        CHECK_EQ(strlen(buf), text_len(&txt));
        CHECK_STR_EQ(buf, size > 10  ? "abc12345de"
                          : size > 8 ? "abc12345"
                          : size > 3 ? "abc"
                                     : "");
        CHECK_EQ(txt.cut, size <= 10);
    }
}

TEST(nothing_behind_a_gap)
{
    text_begin(&txt, buf, 5);
    text_str(&txt, "too long");
    text_str(&txt, "ab");
    CHECK_STR_EQ(buf, "");
    CHECK(txt.cut);
}
