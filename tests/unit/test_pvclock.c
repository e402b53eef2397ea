/* kernel/pvclock.c: shifts, large deltas, empty and unsteady records. */
#include "../../kernel/pvclock.h"
#include "check.h"

static uint64_t now;

static uint64_t counter(void)
{
    return now;
}

TEST(pvclock_two_gigahertz)
{
    /* Half a ns a cycle: mult is 2^32 * 0.5. */
    struct pvclock p = {
        .version = 2, .tsc = 1000, .ns = 5000, .mult = 0x80000000u};

    now = 1000;
    CHECK_EQ(pvclock_ns(&p, counter), 5000);
    now = 1000 + 2000000000ull;
    CHECK_EQ(pvclock_ns(&p, counter), 5000 + 1000000000ull);
    CHECK_EQ(pvclock_hz(&p), 2000000000u);
}

TEST(pvclock_shifts)
{
    /* 4 GHz as 2^32 * 0.5 after a shift to the right by one; 500 MHz as a
     * shift to the left by two. */
    struct pvclock right = {.mult = 0x80000000u, .shift = -1};
    struct pvclock left = {.mult = 0x80000000u, .shift = 2};

    now = 4000;
    CHECK_EQ(pvclock_ns(&right, counter), 1000);
    CHECK_EQ(pvclock_hz(&right), 4000000000u);
    now = 500;
    CHECK_EQ(pvclock_ns(&left, counter), 1000);
    CHECK_EQ(pvclock_hz(&left), 500000000u);
}

TEST(pvclock_long_runs_do_not_overflow)
{
    struct pvclock p = {.mult = 0x80000000u};

    now = 2000000000ull * 86400 * 365 * 10;
    CHECK_EQ(pvclock_ns(&p, counter), 1000000000ull * 86400 * 365 * 10);
}

TEST(pvclock_counter_behind_the_record)
{
    struct pvclock p = {.tsc = 100, .ns = 7, .mult = 0x80000000u};

    now = 99;
    CHECK_EQ(pvclock_ns(&p, counter), 7);
}

TEST(pvclock_empty_or_unsteady_record_ends)
{
    struct pvclock empty = {0};
    struct pvclock odd = {.version = 3, .mult = 0x80000000u, .shift = 99};

    now = 1000;
    CHECK_EQ(pvclock_hz(&empty), 0);
    CHECK_EQ(pvclock_ns(&empty, counter), 0);
    CHECK_EQ(pvclock_hz(&odd), 0);
    pvclock_ns(&odd, counter);
}
