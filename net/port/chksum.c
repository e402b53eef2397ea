/*
 * The Internet checksum (RFC 1071) of a run of bytes.
 *
 * 32-bit words are added into 64-bit sums, so that no carry is lost before
 * the end and no flag is needed between two additions: four sums keep the
 * processor busy, and an emulator likes it as well. The result is in the
 * order of the bytes in memory, as lwIP wants it.
 */
#include <string.h>

#include "lwip/arch.h"

static inline uint32_t load32(const uint8_t *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof(v));
    return v;
}

/* The bytes after the last full word, as if zeros followed. */
static uint32_t load_tail(const uint8_t *p, unsigned len)
{
    uint32_t v = 0;

    for (unsigned i = 0; i < len; i++)
        v |= (uint32_t)p[i] << 8 * i;
    return v;
}

static uint16_t fold(uint64_t sum)
{
    sum = (sum & 0xffffffff) + (sum >> 32);
    sum = (sum & 0xffffffff) + (sum >> 32);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)sum;
}

uint16_t port_chksum(const void *data, int len)
{
    const uint8_t *p = data;
    uint64_t a = 0, b = 0, c = 0, d = 0;

    for (; len >= 32; len -= 32, p += 32) {
        a += load32(p);
        b += load32(p + 4);
        c += load32(p + 8);
        d += load32(p + 12);
        a += load32(p + 16);
        b += load32(p + 20);
        c += load32(p + 24);
        d += load32(p + 28);
    }
    for (; len >= 4; len -= 4, p += 4)
        a += load32(p);
    if (len > 0)
        b += load_tail(p, (unsigned)len);
    return fold(a + b + c + d);
}
