/*
 * Local APIC and I/O APIC. Intel SDM volume 3, chapter 10 (xAPIC, x2APIC,
 * timer, message signalled interrupts); 82093AA data sheet.
 *
 * Owns both. The local APIC is used in the mode in which the firmware left
 * it: by memory, or by MSRs when x2APIC is on.
 */
#include "apic.h"

#include <stddef.h>

#include "cpu.h"
#include "irq.h"
#include "paging.h"
#include "plat.h"
#include "time.h"

enum apic_reg {
    APIC_ID = 0x20,
    APIC_TPR = 0x80,
    APIC_EOI = 0xb0,
    APIC_SPURIOUS = 0xf0,
    APIC_LVT_TIMER = 0x320,
    APIC_LVT_THERMAL = 0x330,
    APIC_LVT_PERF = 0x340,
    APIC_LVT_LINT0 = 0x350,
    APIC_LVT_LINT1 = 0x360,
    APIC_LVT_ERROR = 0x370,
    APIC_TIMER_INITIAL = 0x380,
    APIC_TIMER_CURRENT = 0x390,
    APIC_TIMER_DIVIDE = 0x3e0,
};

enum apic_bits {
    APIC_ENABLE = 1 << 8,
    LVT_MASKED = 1 << 16,
    LVT_TSC_DEADLINE = 2 << 17,
    DIVIDE_BY_1 = 0x0b,
    BASE_X2APIC = 1 << 10,
    BASE_ENABLE = 1 << 11,
};

enum ioapic_reg { IOAPIC_SELECT = 0, IOAPIC_DATA = 0x10 };

enum ioapic_bits {
    IOAPIC_VERSION = 1,
    IOAPIC_REDIRECTION = 0x10,
    REDIRECT_ACTIVE_LOW = 1 << 13,
    REDIRECT_LEVEL = 1 << 15,
    REDIRECT_MASKED = 1 << 16,
};

#define MSI_ADDR UINT64_C(0xfee00000)
#define TIMER_SAMPLE_NS 2000000u
#define TIMER_SAMPLES 3

static volatile uint32_t *mmio; /* NULL in x2APIC mode */
static uint32_t id;
static bool deadline;        /* the timer compares with the TSC */
static uint64_t timer_mult;  /* timer ticks per ns, times 2^32 */
static unsigned timer_vector;

static uint32_t apic_read(unsigned reg)
{
    if (mmio)
        return mmio[reg / 4];
    return (uint32_t)rdmsr(MSR_X2APIC + reg / 16);
}

static void apic_write(unsigned reg, uint32_t val)
{
    if (mmio)
        mmio[reg / 4] = val;
    else
        wrmsr(MSR_X2APIC + reg / 16, val);
}

void apic_init(void)
{
    uint64_t base;

    if ((cpuid(1, 0).edx >> 9 & 1) == 0)
        plat_panic("this processor has no local APIC");
    base = rdmsr(MSR_APIC_BASE);
    if ((base & BASE_ENABLE) == 0) {
        base |= BASE_ENABLE;
        wrmsr(MSR_APIC_BASE, base);
    }
    if ((base & BASE_X2APIC) == 0) {
        mmio = paging_map_mmio(base & UINT64_C(0xffffff000), 4096);
        if (!mmio)
            plat_panic("local APIC at %p cannot be mapped", (void *)base);
    }
    id = mmio ? apic_read(APIC_ID) >> 24 : apic_read(APIC_ID);
    apic_write(APIC_TPR, 0);
    apic_write(APIC_LVT_TIMER, LVT_MASKED);
    apic_write(APIC_LVT_LINT0, LVT_MASKED);
    apic_write(APIC_LVT_LINT1, LVT_MASKED);
    apic_write(APIC_LVT_ERROR, LVT_MASKED);
    apic_write(APIC_SPURIOUS, APIC_ENABLE | VECTOR_SPURIOUS);
}

uint64_t apic_msi_addr(void)
{
    return MSI_ADDR | (uint64_t)(id & 0xff) << 12;
}

void apic_eoi(void)
{
    apic_write(APIC_EOI, 0);
}

/* All the timer has to do is to end the halt. */
static void timer_irq(void *arg, unsigned n)
{
    (void)arg;
    (void)n;
}

/* Ticks per ns times 2^32, over about TIMER_SAMPLE_NS; 0: it stands still. */
static uint64_t timer_sample(void)
{
    uint64_t start, ns;
    uint32_t ticks;

    apic_write(APIC_TIMER_INITIAL, UINT32_MAX);
    start = clock_ns();
    while ((ns = clock_ns() - start) < TIMER_SAMPLE_NS)
        cpu_pause();
    ticks = UINT32_MAX - apic_read(APIC_TIMER_CURRENT);
    apic_write(APIC_TIMER_INITIAL, 0);
    return ((uint64_t)ticks << 32) / ns;
}

bool apic_timer_init(void)
{
    timer_vector = irq_alloc(timer_irq, NULL, 0);
    if (timer_vector == 0)
        return false;
    if (cpuid(1, 0).ecx >> 24 & 1) {
        deadline = true;
        apic_write(APIC_LVT_TIMER, LVT_TSC_DEADLINE | timer_vector);
        /* Or the first deadline could overtake the write. */
        __asm__ volatile("mfence" : : : "memory");
        return true;
    }
    apic_write(APIC_TIMER_DIVIDE, DIVIDE_BY_1);
    for (int i = 0; i < TIMER_SAMPLES; i++) {
        uint64_t mult = timer_sample();

        /* An interruption of ours makes the rate look higher. */
        if (mult != 0 && (timer_mult == 0 || mult < timer_mult))
            timer_mult = mult;
    }
    apic_write(APIC_LVT_TIMER, timer_vector);
    return timer_mult != 0;
}

void apic_timer_arm(uint64_t ns)
{
    uint64_t ticks;

    if (ns > UINT32_MAX)
        ns = UINT32_MAX;
    if (deadline) {
        wrmsr(MSR_TSC_DEADLINE, rdtsc() + clock_cycles(ns));
        return;
    }
    ticks = (uint64_t)(((unsigned __int128)ns * timer_mult) >> 32);
    if (ticks > UINT32_MAX)
        ticks = UINT32_MAX;
    apic_write(APIC_TIMER_INITIAL, ticks ? (uint32_t)ticks : 1);
}

static uint32_t ioapic_read(volatile uint32_t *io, uint32_t reg)
{
    io[IOAPIC_SELECT] = reg;
    return io[IOAPIC_DATA / 4];
}

static void ioapic_write(volatile uint32_t *io, uint32_t reg, uint32_t val)
{
    io[IOAPIC_SELECT] = reg;
    io[IOAPIC_DATA / 4] = val;
}

bool ioapic_route(const struct ioapic_pin *pin, unsigned vector)
{
    volatile uint32_t *io = paging_map_mmio(pin->base, 4096);
    uint32_t last, low, reg = IOAPIC_REDIRECTION + 2 * pin->pin;

    if (!io || ioapic_read(io, IOAPIC_VERSION) == UINT32_MAX)
        return false;
    last = ioapic_read(io, IOAPIC_VERSION) >> 16 & 0xff;
    if (pin->pin > last)
        return false;
    for (uint32_t i = 0; i <= last; i++)
        ioapic_write(io, IOAPIC_REDIRECTION + 2 * i, REDIRECT_MASKED);
    low = vector | (pin->level ? REDIRECT_LEVEL : 0) |
          (pin->active_low ? REDIRECT_ACTIVE_LOW : 0);
    ioapic_write(io, reg + 1, id << 24);
    ioapic_write(io, reg, low);
    return true;
}
