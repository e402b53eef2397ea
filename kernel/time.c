/*
 * The clock. The time stamp counter, multiplied and shifted; under KVM the
 * hypervisor's own conversion of it (kvmclock).
 *
 * The rate comes from, in this order: the command line; kvmclock; CPUID
 * (leaves 0x40000010, 0x15, 0x16), compared with a measurement; the
 * measurement. Owns the page that kvmclock writes to.
 */
#include "time.h"

#include <stdbool.h>
#include <stddef.h>

#include "calib.h"
#include "cpu.h"
#include "mem.h"
#include "plat.h"
#include "pvclock.h"

#define NS_PER_S UINT64_C(1000000000)

static uint64_t hz;
static uint64_t ns_mult;    /* ns per cycle, times 2^32 */
static uint64_t cycle_mult; /* cycles per ns, times 2^32 */
static uint64_t start;      /* counter, or kvmclock, at the beginning */
static uint64_t latest;
static const struct pvclock *pvclock;

static uint64_t scale(uint64_t val, uint64_t mult)
{
    return (uint64_t)(((unsigned __int128)val * mult) >> 32);
}

/* Of a KVM that offers it. Its page stays shared with the hypervisor. */
static const struct pvclock *kvmclock_start(void)
{
    enum { KVM_FEATURES = 1, KVM_CLOCKSOURCE2 = 3 };
    struct cpuid c = cpuid_hypervisor(0);
    void *page;

    if (c.ebx != 0x4b4d564b || c.ecx != 0x564b4d56 || c.edx != 0x4d)
        return NULL;
    if ((cpuid_hypervisor(KVM_FEATURES).eax >> KVM_CLOCKSOURCE2 & 1) == 0)
        return NULL;
    page = mem_pages_alloc(1, 1);
    if (!page)
        return NULL;
    wrmsr(MSR_KVM_SYSTEM_TIME_NEW, (uintptr_t)page | 1);
    return page;
}

/* What CPUID says of the counter's rate, or 0. */
static uint64_t cpuid_hz(void)
{
    struct cpuid c = cpuid_hypervisor(0x10);

    if (c.eax != 0)
        return (uint64_t)c.eax * 1000;
    c = cpuid_leaf(0x15);
    if (c.eax != 0 && c.ebx != 0 && c.ecx != 0)
        return (uint64_t)c.ecx * c.ebx / c.eax;
    c = cpuid_leaf(0x16);
    return (uint64_t)(c.eax & 0xffff) * 1000000;
}

static bool close_to(uint64_t a, uint64_t b)
{
    uint64_t diff = a > b ? a - b : b - a;

    return diff <= b / 50;
}

static uint64_t find_hz(void)
{
    struct calib m = calib_tsc();
    uint64_t said = cpuid_hz();

    if (said != 0 && (m.hz == 0 || close_to(said, m.hz))) {
        plat_log(LOG_INFO, "clock: %llu kHz by CPUID",
                 (unsigned long long)said / 1000);
        return said;
    }
    if (said != 0)
        plat_log(LOG_WARN, "clock: CPUID says %llu kHz, measured otherwise",
                 (unsigned long long)said / 1000);
    if (m.hz == 0)
        plat_panic("no clock to measure the time stamp counter against; "
                   "give its rate as tsc=HZ");
    plat_log(LOG_INFO, "clock: %llu kHz measured by %s, within %llu ppm",
             (unsigned long long)m.hz / 1000, m.clock,
             (unsigned long long)m.error_ppm);
    return m.hz;
}

void clock_init(uint64_t tsc_hz)
{
    if (tsc_hz != 0)
        plat_log(LOG_INFO, "clock: %llu kHz as told",
                 (unsigned long long)tsc_hz / 1000);
    else
        pvclock = kvmclock_start();
    if (pvclock && pvclock_hz(pvclock) == 0)
        pvclock = NULL; /* the hypervisor did not fill it in */
    if (pvclock) {
        tsc_hz = pvclock_hz(pvclock);
        plat_log(LOG_INFO, "clock: kvmclock, %llu kHz",
                 (unsigned long long)tsc_hz / 1000);
    }
    hz = tsc_hz ? tsc_hz : find_hz();
    ns_mult = (NS_PER_S << 32) / hz;
    /* In two parts, for hz << 32 may not fit. */
    cycle_mult = (hz / NS_PER_S << 32) + (hz % NS_PER_S << 32) / NS_PER_S;
    start = pvclock ? pvclock_ns(pvclock, rdtsc) : rdtsc();
}

uint64_t clock_ns(void)
{
    uint64_t now;

    if (hz == 0)
        return 0;
    now = pvclock ? pvclock_ns(pvclock, rdtsc) - start
                  : scale(rdtsc() - start, ns_mult);
    /* A host that moves us to another machine may set the counter back. */
    if (now - latest > UINT64_MAX / 2)
        return latest;
    latest = now;
    return now;
}

uint64_t clock_tsc_hz(void)
{
    return hz;
}

uint64_t clock_cycles(uint64_t ns)
{
    return scale(ns, cycle_mult);
}

uint64_t clock_cycles_ns(uint64_t cycles)
{
    return scale(cycles, ns_mult);
}
