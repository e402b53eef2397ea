/* The ChaCha20 block function. RFC 8439, 2.1 to 2.3. Pure; also in a unit
 * test. */
#include "random.h"

static uint32_t rotate(uint32_t v, unsigned n)
{
    return v << n | v >> (32 - n);
}

static void quarter(uint32_t *s, unsigned a, unsigned b, unsigned c,
                    unsigned d)
{
    s[a] += s[b];
    s[d] = rotate(s[d] ^ s[a], 16);
    s[c] += s[d];
    s[b] = rotate(s[b] ^ s[c], 12);
    s[a] += s[b];
    s[d] = rotate(s[d] ^ s[a], 8);
    s[c] += s[d];
    s[b] = rotate(s[b] ^ s[c], 7);
}

void chacha20_block(const uint32_t in[16], uint32_t out[16])
{
    uint32_t s[16];

    for (int i = 0; i < 16; i++)
        s[i] = in[i];
    for (int i = 0; i < 10; i++) {
        quarter(s, 0, 4, 8, 12);
        quarter(s, 1, 5, 9, 13);
        quarter(s, 2, 6, 10, 14);
        quarter(s, 3, 7, 11, 15);
        quarter(s, 0, 5, 10, 15);
        quarter(s, 1, 6, 11, 12);
        quarter(s, 2, 7, 8, 13);
        quarter(s, 3, 4, 9, 14);
    }
    for (int i = 0; i < 16; i++)
        out[i] = s[i] + in[i];
}
