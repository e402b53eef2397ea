/*
 * Random numbers: ChaCha20 with a key that is replaced by part of every
 * block's output, so that what was given out cannot be computed later.
 *
 * The key is stirred from RDRAND where the processor has it, and always from
 * the low bits of the time stamp counter around port accesses, whose duration
 * no peer can see, and from the real time clock. Every refill stirs in the
 * counter, and RDRAND, again.
 */
#include "random.h"

#include <stdbool.h>
#include <string.h>

#include "cpu.h"
#include "plat.h"

#define KEY 4u /* words 4 .. 11 of the block's input */
#define KEY_WORDS 8u
#define JITTER_SAMPLES 512u
#define RTC_BYTES 10u

static uint32_t state[16] = {
    0x61707865, 0x3320646e, 0x79622d32, 0x6b206574,
};
static uint64_t out[4];
static unsigned left;
static bool have_rdrand;

static bool rdrand(uint64_t *val)
{
    for (int i = 0; i < 10; i++) {
        bool ok;

        __asm__ volatile("rdrand %0" : "=r"(*val), "=@ccc"(ok));
        if (ok)
            return true;
    }
    return false;
}

/* A block; half of it becomes the key, half is for giving out. */
static void step(void)
{
    uint32_t block[16];

    state[12]++;
    chacha20_block(state, block);
    memcpy(&state[KEY], block, KEY_WORDS * 4);
    memcpy(out, block + KEY_WORDS, sizeof(out));
    memset(block, 0, sizeof(block));
    /* The compiler must not find the clearing useless. */
    __asm__ volatile("" : : "r"(block) : "memory");
}

static void stir(uint64_t val)
{
    state[KEY] ^= (uint32_t)val;
    state[KEY + 1] ^= (uint32_t)(val >> 32);
    step();
}

static uint64_t rtc(void)
{
    uint64_t val = 0;

    for (unsigned i = 0; i < RTC_BYTES; i++) {
        outb(0x70, (uint8_t)i);
        val = val * 257 + inb(0x71);
    }
    return val;
}

void random_init(void)
{
    uint64_t hw;

    have_rdrand = (cpuid(1, 0).ecx >> 30 & 1) != 0;
    stir(rtc());
    for (unsigned i = 0; i < JITTER_SAMPLES; i++) {
        inb(0x61);
        stir(rdtsc());
    }
    for (unsigned i = 0; have_rdrand && i < 4; i++) {
        if (rdrand(&hw))
            stir(hw);
        else
            have_rdrand = false;
    }
    left = 0;
    plat_log(LOG_INFO, "random: seeded from %sclock jitter",
             have_rdrand ? "RDRAND and " : "");
}

uint64_t random_u64(void)
{
    uint64_t hw;

    if (left == 0) {
        stir(rdtsc());
        if (have_rdrand && rdrand(&hw))
            stir(hw);
        left = sizeof(out) / sizeof(out[0]);
    }
    return out[--left];
}
