/*
 * include/plat.h for a measurement: memory without checks or poison, the
 * real clock, no log. tests/host/ is the platform for tests.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "plat.h"

#define PAGE 4096u

void *plat_dma_alloc(size_t size, size_t align)
{
    void *ptr = NULL;

    size = (size + PAGE - 1) / PAGE * PAGE;
    if (posix_memalign(&ptr, align < PAGE ? PAGE : align, size) != 0)
        return NULL;
    return memset(ptr, 0, size);
}

void plat_dma_free(void *ptr, size_t size)
{
    (void)size;
    free(ptr);
}

uint64_t plat_dma_addr(const void *ptr)
{
    return (uintptr_t)ptr;
}

uint64_t plat_now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

void plat_wakeup_at(uint64_t ns)
{
    (void)ns;
}

void plat_relax(void)
{
    __builtin_ia32_pause();
}

uint64_t plat_random(void)
{
    return UINT64_C(0x9e3779b97f4a7c15);
}

static void say(const char *fmt, va_list ap)
{
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
}

void plat_log(enum plat_log_level level, const char *fmt, ...)
{
    va_list ap;

    if (level > LOG_WARN)
        return;
    va_start(ap, fmt);
    say(fmt, ap);
    va_end(ap);
}

_Noreturn void plat_panic(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    say(fmt, ap);
    va_end(ap);
    abort();
}
