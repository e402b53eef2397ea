/*
 * include/plat.h for a Linux process: clock, chance, log, and the check for
 * leaks at the end of a test. Memory is in arena.c.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "arena.h"
#include "check.h"
#include "fake_pci.h"
#include "host.h"

#define PROBES_MAX 8u
#define LOG_MAX (256u << 10)

struct probe {
    const char *what;
    uint64_t (*count)(void);
    uint64_t baseline;
};

uint64_t host_now;
uint64_t host_now_step;
uint64_t host_relax_step;
bool host_clock_real;
bool host_verbose;

static uint64_t wakeup;
static uint64_t random_state;
static char *log_text; /* lines, each ended by a newline */
static size_t log_len;
static struct probe probe[PROBES_MAX];
static unsigned nprobes;

static uint64_t count_dma(void)
{
    return host_dma_live();
}

static uint64_t count_vectors(void)
{
    return fake_pci_vectors();
}

void host_begin(void)
{
    host_now = UINT64_C(1000000000);
    host_now_step = 0;
    host_relax_step = 10000;
    host_clock_real = false;
    wakeup = UINT64_MAX;
    nprobes = 0;
    host_seed(1);
    free(log_text);
    log_text = calloc(1, LOG_MAX + 1);
    CHECK(log_text);
    log_len = 0;
    arena_begin();
    fake_pci_begin();
    host_leak_probe("DMA allocations", count_dma);
    host_leak_probe("interrupt vectors", count_vectors);
}

void host_end(void)
{
    host_leak_check();
    fake_pci_end();
    arena_end();
    free(log_text);
    log_text = NULL;
}

void host_leak_probe(const char *what, uint64_t (*count)(void))
{
    CHECK(nprobes < PROBES_MAX);
    probe[nprobes++] = (struct probe){what, count, count()};
}

void host_leak_baseline(void)
{
    for (unsigned i = 0; i < nprobes; i++)
        probe[i].baseline = probe[i].count();
}

void host_leak_check(void)
{
    for (unsigned i = 0; i < nprobes; i++) {
        uint64_t now = probe[i].count();

        if (now > probe[i].baseline)
            check_fail(__FILE__, __LINE__, "leak: %" PRIu64 " %s outstanding",
                       now - probe[i].baseline, probe[i].what);
    }
}

uint64_t plat_now_ns(void)
{
    struct timespec ts;

    if (host_clock_real) {
        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (uint64_t)ts.tv_sec * UINT64_C(1000000000) +
               (uint64_t)ts.tv_nsec;
    }
    host_now += host_now_step;
    return host_now;
}

void plat_relax(void)
{
    host_now += host_relax_step;
}

void plat_wakeup_at(uint64_t ns)
{
    if (ns < wakeup)
        wakeup = ns;
}

uint64_t host_wakeup(void)
{
    return wakeup;
}

uint64_t host_wakeup_take(void)
{
    uint64_t ns = wakeup;

    wakeup = UINT64_MAX;
    return ns;
}

void host_seed(uint64_t seed)
{
    random_state = seed;
}

/* A Weyl sequence through a multiply-xorshift mixer: same seed, same tests. */
uint64_t plat_random(void)
{
    uint64_t x = random_state += UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* The newest lines matter: when the buffer is full the older half goes. */
static void log_append(const char *line)
{
    size_t len = strlen(line);

    if (log_len + len + 1 > LOG_MAX) {
        log_len = LOG_MAX / 2;
        memmove(log_text, log_text + LOG_MAX / 2, log_len);
    }
    memcpy(log_text + log_len, line, len);
    log_len += len;
    log_text[log_len++] = '\n';
    log_text[log_len] = '\0';
}

void plat_log(enum plat_log_level level, const char *fmt, ...)
{
    char line[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(line, sizeof(line), fmt, ap);
    va_end(ap);
    if (host_verbose)
        fprintf(stderr, "    <%d> %s\n", (int)level, line);
    if (log_text)
        log_append(line);
}

unsigned host_log_count(const char *text)
{
    unsigned n = 0;
    char *at = log_text;
    char *end;

    while ((end = strchr(at, '\n')) != NULL) {
        *end = '\0';
        n += strstr(at, text) != NULL;
        *end = '\n';
        at = end + 1;
    }
    return n;
}

void host_log_clear(void)
{
    log_len = 0;
    log_text[0] = '\0';
}

_Noreturn void plat_panic(const char *fmt, ...)
{
    char line[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(line, sizeof(line), fmt, ap);
    va_end(ap);
    check_fail(__FILE__, __LINE__, "panic: %s", line);
}
