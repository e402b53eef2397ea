/*
 * Chooses how large blocks are copied, by trying both on this very machine.
 * See kernel/string.c for the two ways.
 */
#include "copy.h"

#include <stdint.h>

#include "cpu.h"
#include "plat.h"

#define BLOCK 1536u
#define ROUNDS 6
#define COPIES 8

static uint8_t from[BLOCK];
static uint8_t to[BLOCK];

/* The best of several rounds: anything may interrupt one of them. */
static uint64_t cycles(void (*copy)(void *dst, const void *src, size_t n))
{
    uint64_t best = UINT64_MAX;

    for (int i = 0; i < ROUNDS; i++) {
        uint64_t start = rdtsc();

        for (int k = 0; k < COPIES; k++)
            copy(to, from, BLOCK);
        start = rdtsc() - start;
        if (start < best)
            best = start;
    }
    return best;
}

void copy_choose(void)
{
    uint64_t words = cycles(copy_words);
    uint64_t rep = cycles(copy_rep);

    /* A small advantage is not worth the start-up cost of short copies. */
    copy_by_rep = rep < words - words / 8;
    plat_log(LOG_DEBUG, "copy: %u bytes take %llu cycles by words, %llu by "
             "rep movsb", BLOCK, (unsigned long long)words / COPIES,
             (unsigned long long)rep / COPIES);
}
