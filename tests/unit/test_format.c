/* kernel/format.c: against the C library for what both understand. */
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "../../kernel/format.h"
#include "check.h"

/* The same text and the same result as the C library's, at any size. */
#define SAME(...)                                                            \
    do {                                                                     \
        char want[600], got[600];                                            \
        int n = snprintf(want, sizeof(want), __VA_ARGS__);                   \
                                                                             \
        CHECK_EQ(format(got, sizeof(got), __VA_ARGS__), n);                  \
        CHECK_STR_EQ(got, want);                                             \
        for (int size = 0; size <= n + 1; size++) {                          \
            memset(got, '#', sizeof(got));                                   \
            memset(want, '#', sizeof(want));                                 \
            CHECK_EQ(format(got, (size_t)size, __VA_ARGS__), n);             \
            snprintf(want, (size_t)size, __VA_ARGS__);                       \
            CHECK_MEM_EQ(got, want, sizeof(got));                            \
        }                                                                    \
    } while (0)

#pragma GCC diagnostic ignored "-Wformat-overflow"
#pragma GCC diagnostic ignored "-Wformat-truncation"
#pragma GCC diagnostic ignored "-Wformat-zero-length"

TEST(format_strings)
{
    SAME("plain");
    SAME("");
    SAME("%s", "abc");
    SAME("[%5s] [%-5s] [%2s]", "abc", "abc", "abc");
    SAME("[%.2s] [%.0s] [%5.1s] [%-5.1s] [%.9s]", "abc", "abc", "abc", "abc",
         "abc");
    SAME("[%*s] [%-*s] [%.*s]", 6, "abc", 6, "abc", 2, "abc");
    SAME("[%*s] [%.*s]", -6, "abc", -1, "abc");
    SAME("%c%c%3c%-3c|", 'a', 'b', 'c', 'd');
    SAME("100%%");
}

TEST(format_unterminated_string_with_precision)
{
    char raw[3] = {'a', 'b', 'c'};
    char out[10];

    format(out, sizeof(out), "%.3s", raw);
    CHECK_STR_EQ(out, "abc");
}

TEST(format_null_string)
{
    char out[10];
    const char *volatile none = NULL;

    format(out, sizeof(out), "%s", none);
    CHECK_STR_EQ(out, "(null)");
}

TEST(format_signed)
{
    static const int val[] = {0, 1, -1, 9, 10, -10, 12345, INT_MAX, INT_MIN};

    for (unsigned i = 0; i < sizeof(val) / sizeof(val[0]); i++) {
        SAME("%d %i", val[i], val[i]);
        SAME("[%8d] [%-8d] [%08d] [%3d]", val[i], val[i], val[i], val[i]);
        SAME("[%.5d] [%8.5d] [%-8.5d] [%.0d]", val[i], val[i], val[i],
             val[i]);
        SAME("%hd %hhd", (short)val[i], (signed char)val[i]);
    }
    SAME("%ld %lld %zd", LONG_MIN, LLONG_MAX, (ssize_t)-5);
}

TEST(format_unsigned)
{
    static const unsigned val[] = {0, 1, 9, 10, 255, 256, 0xabcdef, UINT_MAX};

    for (unsigned i = 0; i < sizeof(val) / sizeof(val[0]); i++) {
        SAME("%u %x %X", val[i], val[i], val[i]);
        SAME("[%8u] [%-8x] [%08X] [%.4x] [%10.4x]", val[i], val[i], val[i],
             val[i], val[i]);
        SAME("%hu %hhu %hx %hhX", (unsigned short)val[i],
             (unsigned char)val[i], (unsigned short)val[i],
             (unsigned char)val[i]);
    }
    SAME("%lu %llx %zu", ULONG_MAX, ULLONG_MAX, SIZE_MAX);
    SAME("[%016llx] [%20lu]", 0x1234ull, 5ul);
}

TEST(format_pointer)
{
    SAME("%p", (void *)0x1234);
    SAME("[%20p] [%-20p]", (void *)0xdeadbeef, (void *)0xdeadbeef);
}

TEST(format_mixed_line)
{
    SAME("pci %02x:%02x.%u: mac %02x:%02x mtu %u%s", 0, 3, 0u, 0x52, 0x54,
         1500u, " up");
}

/* The rest is printed as it stands, and nothing is read for it. */
TEST(format_unknown_conversions)
{
    static const char *const odd[] = {"%", "%5", "%-", "%.3", "%l", "%q",
                                      "%n", "%f", "a%"};

    for (unsigned i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        char out[40];
        int n;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
        n = format(out, sizeof(out), odd[i]);
#pragma GCC diagnostic pop
        CHECK_STR_EQ(out, odd[i]);
        CHECK_EQ(n, strlen(odd[i]));
    }
}

TEST(format_huge_width_is_bounded)
{
    static char out[2000];

    CHECK(format(out, sizeof(out), "%99999d", 1) < 1000);
    CHECK(format(out, sizeof(out), "%.99999d", 1) < 1000);
    CHECK(format(out, sizeof(out), "%*d", INT_MIN, 1) < 1000);
}

/* Nothing is written beyond the end, and there always is a zero. */
TEST(format_cut_at_every_size)
{
    char out[64];

    for (unsigned size = 0; size < 40; size++) {
        memset(out, '#', sizeof(out));
        CHECK_EQ(format(out, size, "%s-%08x-%d", "abcdefgh", 0x1234u, -77),
                 21);
        for (unsigned i = size; i < sizeof(out); i++)
            CHECK_EQ(out[i], '#');
        if (size > 0)
            CHECK(memchr(out, '\0', size) != NULL);
    }
}
