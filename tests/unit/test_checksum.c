/*
 * net/port/chksum.c against the plainest way to compute the same.
 */
#include <string.h>

#include "check.h"
#include "lwip/arch.h"
#include "lwip/inet_chksum.h"

/* RFC 1071 word for word: 16-bit words in memory order, carries at the end. */
static uint16_t naive(const uint8_t *p, int len)
{
    uint64_t sum = 0;

    for (int i = 0; i < len; i++)
        sum += (uint64_t)p[i] << (i & 1 ? 8 : 0);
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)sum;
}

static void fill(uint8_t *p, unsigned len, uint32_t seed)
{
    for (unsigned i = 0; i < len; i++) {
        seed = seed * 1664525 + 1013904223;
        p[i] = (uint8_t)(seed >> 24);
    }
}

TEST(checksum_all_lengths_and_offsets)
{
    static uint8_t buf[400];

    fill(buf, sizeof(buf), 1);
    for (int off = 0; off < 16; off++)
        for (int len = 0; len <= 300; len++)
            CHECK_EQ(port_chksum(buf + off, len), naive(buf + off, len));
}

TEST(checksum_long)
{
    static uint8_t buf[65536];

    for (uint32_t seed = 0; seed < 20; seed++) {
        fill(buf, sizeof(buf), seed);
        CHECK_EQ(port_chksum(buf + 1, 65535), naive(buf + 1, 65535));
        CHECK_EQ(port_chksum(buf, 1460), naive(buf, 1460));
    }
}

/* Every word at its maximum: carries in every addition. */
TEST(checksum_carries)
{
    static uint8_t buf[65536];

    memset(buf, 0xff, sizeof(buf));
    for (int len = 65000; len <= 65536; len++)
        CHECK_EQ(port_chksum(buf, len), naive(buf, len));
}

TEST(checksum_nothing)
{
    static const uint8_t zero[64];

    CHECK_EQ(port_chksum(zero, 0), 0);
    CHECK_EQ(port_chksum(zero, 64), 0);
}

/* An example with a known answer: the IPv4 header of RFC 1071-style texts. */
TEST(checksum_known_header)
{
    static const uint8_t header[20] = {
        0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11,
        0xb8, 0x61, 0xc0, 0xa8, 0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7,
    };

    CHECK_EQ(inet_chksum(header, sizeof(header)), 0);
}
