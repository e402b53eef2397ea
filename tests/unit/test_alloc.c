/*
 * net/port/alloc.c: sizes, exhaustion, return of memory, and the errors that
 * the sanitizer must see.
 */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/cc.h"
#include "check.h"
#include "host.h"
#include "port/alloc.h"

static const unsigned sizes[] = {1,     7,     8,     24,     56,
                                 57,    120,   184,   185,    1460,
                                 1656,  1657,  4600,  10808,  10809,
                                 32768, 65535, 70000, 1 << 20};

enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

TEST(alloc_every_size_is_ours)
{
    uint8_t *p[SIZES];

    for (unsigned i = 0; i < SIZES; i++) {
        p[i] = port_mem_alloc(sizes[i]);
        CHECK(p[i]);
        CHECK_EQ((uintptr_t)p[i] % 8, 0);
        memset(p[i], (int)i, sizes[i]);
    }
    CHECK_EQ(port_mem_stats.in_use, SIZES);
    for (unsigned i = 0; i < SIZES; i++)
        for (unsigned k = 0; k < sizes[i]; k++)
            CHECK_EQ(p[i][k], i);
    for (unsigned i = 0; i < SIZES; i++)
        port_mem_free(p[i]);
    CHECK_EQ(port_mem_stats.in_use, 0);
    host_leak_baseline(); /* one chunk of each class stays */
}

TEST(alloc_no_two_overlap)
{
    enum { N = 3000 };
    static uint32_t *p[N];
    static unsigned len[N];

    for (unsigned i = 0; i < 20 * N; i++) {
        unsigned at = (unsigned)(plat_random() % N);

        if (p[at]) {
            CHECK_EQ(p[at][0], at);
            CHECK_EQ(p[at][len[at] / 4 - 1], at);
            port_mem_free(p[at]);
        }
        len[at] = 8 + (unsigned)(plat_random() % 2500) / 4 * 4;
        p[at] = port_mem_alloc(len[at]);
        CHECK(p[at]);
        p[at][0] = at;
        p[at][len[at] / 4 - 1] = at;
    }
    for (unsigned i = 0; i < N; i++)
        if (p[i])
            port_mem_free(p[i]);
    host_leak_baseline();
}

TEST(alloc_gives_back_what_is_free)
{
    enum { N = 500 };
    static void *p[N];
    uint64_t most;

    for (unsigned i = 0; i < N; i++)
        p[i] = port_mem_alloc(1500);
    most = port_mem_stats.bytes_held;
    CHECK_EQ(most, host_dma_live_bytes());
    for (unsigned i = 0; i < N; i++)
        port_mem_free(p[i]);
    CHECK(port_mem_stats.bytes_held <= 32768);
    CHECK_EQ(port_mem_stats.bytes_held, host_dma_live_bytes());
    CHECK(most >= N * 1500u);
    host_leak_baseline();
}

TEST(alloc_without_memory)
{
    void *p;

    host_fail_alloc_all(true);
    CHECK(!port_mem_alloc(100));
    CHECK(!port_mem_alloc(100000));
    CHECK(!port_mem_calloc(10, 10));
    CHECK_EQ(port_mem_stats.failures, 3);
    host_fail_alloc_all(false);
    p = port_mem_alloc(100);
    CHECK(p);
    port_mem_free(p);
    host_leak_baseline();
}

TEST(alloc_limit_and_absurd_sizes)
{
    void *p;

    port_mem_limit = 40000;
    p = port_mem_alloc(100);
    CHECK(p);
    CHECK(!port_mem_alloc(300));
    port_mem_limit = 0;
    CHECK(!port_mem_alloc((4 << 20) + 1));
    CHECK(!port_mem_alloc(SIZE_MAX));
    CHECK(!port_mem_alloc(SIZE_MAX - 4));
    CHECK(!port_mem_calloc(SIZE_MAX / 2, 3));
    port_mem_free(p);
    host_leak_baseline();
}

TEST(alloc_calloc_clears)
{
    uint8_t *p = port_mem_alloc(200);

    memset(p, 0xaa, 200);
    port_mem_free(p);
    p = port_mem_calloc(20, 10);
    for (unsigned i = 0; i < 200; i++)
        CHECK_EQ(p[i], 0);
    port_mem_free(p);
    host_leak_baseline();
}

/* ---- what must not pass unnoticed -------------------------------------- */

/* Does fn die? In a process of its own, with its complaint thrown away. */
static bool dies(void (*fn)(void))
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        if (!freopen("/dev/null", "w", stderr))
            _exit(0);
        if (!freopen("/dev/null", "w", stdout))
            _exit(0);
        fn();
        _exit(0);
    }
    CHECK(pid > 0);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

static void write_behind(void)
{
    volatile uint8_t *p = port_mem_alloc(100);

    p[100] = 1;
}

static void write_before(void)
{
    volatile uint8_t *p = port_mem_alloc(100);

    p[-1] = 1;
}

static void read_after_free(void)
{
    volatile uint8_t *p = port_mem_alloc(100);

    port_mem_free((void *)(uintptr_t)p);
    (void)p[50];
}

static void free_twice(void)
{
    void *p = port_mem_alloc(100);

    port_mem_free(p);
    port_mem_free(p);
}

static void behave(void)
{
    volatile uint8_t *p = port_mem_alloc(100);

    p[0] = p[99] = 1;
    port_mem_free((void *)(uintptr_t)p);
}

TEST(alloc_errors_are_seen)
{
    CHECK(!dies(behave));
    CHECK(dies(write_behind));
    CHECK(dies(write_before));
    CHECK(dies(read_after_free));
    CHECK(dies(free_twice));
}
