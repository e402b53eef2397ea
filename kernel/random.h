/* Random numbers that a peer cannot guess. */
#ifndef RANDOM_H
#define RANDOM_H

#include <stdint.h>

/* One block of ChaCha20 (RFC 8439, 2.3): 16 words of input, 64 bytes out. */
void chacha20_block(const uint32_t in[16], uint32_t out[16]);

/* Collects the seed; takes about a millisecond. Logs what it is made of. */
void random_init(void);

uint64_t random_u64(void);

#endif
