/*
 * kernel/string.c under other names, against the C library: every length and
 * alignment that takes another path, both ways of copying.
 */
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define memcpy k_memcpy
#define memmove k_memmove
#define memset k_memset
#define memcmp k_memcmp
#define memchr k_memchr
#define strlen k_strlen
#define strcmp k_strcmp
#define strncmp k_strncmp
#define strchr k_strchr
#define strrchr k_strrchr
#define strstr k_strstr
#define strncpy k_strncpy
#define strtol k_strtol
#define strtoul k_strtoul
#define atoi k_atoi
#define snprintf k_snprintf
#define vsnprintf k_vsnprintf
#define __popcountdi2 k_popcountdi2
#define copy_by_rep k_copy_by_rep
#define copy_words k_copy_words
#define copy_rep k_copy_rep
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#include "../../kernel/string.c"
#pragma GCC diagnostic pop
#undef memcpy
#undef memmove
#undef memset
#undef memcmp
#undef memchr
#undef strlen
#undef strcmp
#undef strncmp
#undef strchr
#undef strrchr
#undef strstr
#undef strncpy
#undef strtol
#undef strtoul
#undef atoi
#undef snprintf

enum { AREA = 400, LEN = 300 };

static uint8_t src[AREA], dst[AREA], want[AREA];

static void fill(uint8_t *p, unsigned seed)
{
    for (unsigned i = 0; i < AREA; i++)
        p[i] = (uint8_t)(i * 7 + seed + i / 256);
}

static void copies(void)
{
    for (unsigned n = 0; n < LEN; n++) {
        for (unsigned a = 0; a < 9; a++) {
            unsigned b = (a * 5 + n) % 9;

            fill(src, 1);
            fill(dst, 99);
            fill(want, 99);
            memcpy(want + b, src + a, n);
            CHECK(k_memcpy(dst + b, src + a, n) == dst + b);
            CHECK_MEM_EQ(dst, want, AREA);
        }
    }
}

TEST(string_memcpy_by_words)
{
    k_copy_by_rep = false;
    copies();
}

TEST(string_memcpy_by_rep)
{
    k_copy_by_rep = true;
    copies();
    k_copy_by_rep = false;
}

TEST(string_memmove_every_overlap)
{
    for (unsigned n = 0; n < 100; n++) {
        for (unsigned from = 60; from <= 200; from += from < 140 ? 1 : 13) {
            fill(dst, 5);
            fill(want, 5);
            memmove(want + 100, want + from, n);
            CHECK(k_memmove(dst + 100, dst + from, n) == dst + 100);
            CHECK_MEM_EQ(dst, want, AREA);
        }
    }
}

TEST(string_memset)
{
    static const int val[] = {0, 1, 0x80, 0xff, 0x1234, -1};

    for (unsigned n = 0; n < LEN; n++) {
        for (unsigned a = 0; a < 9; a++) {
            int c = val[(n + a) % 6];

            fill(dst, 3);
            fill(want, 3);
            memset(want + a, c, n);
            CHECK(k_memset(dst + a, c, n) == dst + a);
            CHECK_MEM_EQ(dst, want, AREA);
        }
    }
}

static int sign(int v)
{
    return (v > 0) - (v < 0);
}

TEST(string_memcmp)
{
    fill(src, 1);
    for (unsigned n = 0; n < 80; n++) {
        memcpy(dst + 3, src, 80);
        CHECK_EQ(k_memcmp(src, dst + 3, n), 0);
        for (unsigned i = 0; i < 80; i++) {
            dst[3 + i] ^= 0x80;
            CHECK_EQ(sign(k_memcmp(src, dst + 3, n)),
                     sign(memcmp(src, dst + 3, n)));
            dst[3 + i] ^= 0x80;
        }
    }
}

TEST(string_search)
{
    static const char text[] = "the quick brown fox\xe4 jumps";

    for (int ch = 0; ch < 256; ch++) {
        CHECK_EQ(k_strchr(text, ch), strchr(text, ch));
        CHECK_EQ(k_strrchr(text, ch), strrchr(text, ch));
        CHECK_EQ(k_memchr(text, ch, 10), memchr(text, ch, 10));
    }
    CHECK_EQ(k_strstr(text, "fox"), strstr(text, "fox"));
    CHECK_EQ(k_strstr(text, "umps"), strstr(text, "umps"));
    CHECK_EQ(k_strstr(text, "jumpsx"), NULL);
    CHECK_EQ(k_strstr(text, ""), text);
    CHECK_EQ(k_strstr("", "a"), NULL);
}

TEST(string_compare)
{
    static const char *const w[] = {"", "a", "ab", "abc", "abd", "b", "\xff"};

    for (unsigned i = 0; i < 7; i++) {
        CHECK_EQ(k_strlen(w[i]), strlen(w[i]));
        for (unsigned k = 0; k < 7; k++) {
            CHECK_EQ(sign(k_strcmp(w[i], w[k])), sign(strcmp(w[i], w[k])));
            for (unsigned n = 0; n < 5; n++)
                CHECK_EQ(sign(k_strncmp(w[i], w[k], n)),
                         sign(strncmp(w[i], w[k], n)));
        }
    }
}

TEST(string_strncpy_fills_with_zeros)
{
    for (unsigned n = 0; n < 12; n++) {
        fill(dst, 9);
        fill(want, 9);
        strncpy((char *)want, "abcde", n);
        k_strncpy((char *)dst, "abcde", n);
        CHECK_MEM_EQ(dst, want, AREA);
    }
}

static const char *const numbers[] = {
    "0", "1", "-1", "+7", "  42", "\t\n-8x", "", "-", "+", " ", "x", "0x",
    "0x1f", "-0x1F", "0xg", "077", "08", "1e3", "7fffffffffffffff",
    "9223372036854775807", "9223372036854775808", "-9223372036854775808",
    "-9223372036854775809", "18446744073709551615", "18446744073709551616",
    "-18446744073709551615", "999999999999999999999999", "zz", "2147483648",
};

TEST(string_numbers)
{
    static const int bases[] = {0, 2, 8, 10, 16, 36};

    for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        const char *t = numbers[i];

        for (unsigned k = 0; k < 6; k++) {
            char *end1, *end2;

            CHECK_EQ(k_strtol(t, &end1, bases[k]), strtol(t, &end2, bases[k]));
            CHECK_EQ(end1, end2);
            CHECK_EQ(k_strtoul(t, &end1, bases[k]),
                     strtoul(t, &end2, bases[k]));
            CHECK_EQ(end1, end2);
        }
        CHECK_EQ(k_atoi(t), (int)strtol(t, NULL, 10));
    }
}

TEST(string_snprintf)
{
    char out[8];

    CHECK_EQ(k_snprintf(out, sizeof(out), "%d-%s", 12, "abcdefg"), 10);
    CHECK_STR_EQ(out, "12-abcd");
}

TEST(string_popcount)
{
    CHECK_EQ(k_popcountdi2(0), 0);
    CHECK_EQ(k_popcountdi2(-1), 64);
    CHECK_EQ(k_popcountdi2(0x5555), 8);
    CHECK_EQ(k_popcountdi2(LONG_MIN), 1);
}
