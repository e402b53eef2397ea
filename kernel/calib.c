/*
 * Measures the rate of the time stamp counter.
 *
 * The references: HPET (IA-PC HPET Specification 1.0a, 2.3), ACPI PM timer
 * (ACPI 6.4, 4.8.3.3), PIT channel 2 (8254). Reading one takes time, and the
 * host may stop us in between; so a reading is framed by two readings of the
 * counter, the width of the frame bounds its error, and of several short
 * measurements the one with the smallest bound is taken.
 *
 * Owns PIT channel 2 and port 0x61.
 */
#include "calib.h"

#include <stdbool.h>
#include <stddef.h>

#include "acpi.h"
#include "cpu.h"
#include "paging.h"

#define SAMPLE_MS 5u
#define SAMPLES_MIN 3
#define SAMPLES_MAX 12
#define GOOD_PPM 200u
/* Readings after which a clock that has not moved on is called dead. */
#define PATIENCE 1000000u

#define HZ_MIN UINT64_C(10000000)
#define HZ_MAX UINT64_C(20000000000)

struct ref_clock {
    const char *name;
    uint64_t hz;
    uint64_t mask;
    bool (*start)(struct ref_clock *c); /* before each measurement */
    uint64_t (*read)(void);             /* counts upwards */
    bool (*valid)(void);                /* after it: no overflow */
};

/* ---- HPET ---- */

enum hpet_reg { HPET_PERIOD = 4, HPET_CONFIG = 0x10, HPET_COUNTER = 0xf0 };
#define HPET_FS_MAX 100000000u /* 100 ns, in femtoseconds */
#define HPET_FS_MIN 1000000u /* 1 ns */

static volatile uint32_t *hpet;

static bool always(void)
{
    return true;
}

static uint64_t hpet_read(void)
{
    return hpet[HPET_COUNTER / 4];
}

static bool hpet_start(struct ref_clock *c)
{
    uint32_t fs;

    if (!hpet && acpi_info()->hpet != 0)
        hpet = paging_map_mmio(acpi_info()->hpet, 1024);
    if (!hpet)
        return false;
    fs = hpet[HPET_PERIOD / 4];
    if (fs < HPET_FS_MIN || fs > HPET_FS_MAX)
        return false;
    c->hz = UINT64_C(1000000000000000) / fs;
    hpet[HPET_CONFIG / 4] |= 1;
    return true;
}

/* ---- ACPI PM timer ---- */

static bool pm_start(struct ref_clock *c)
{
    (void)c;
    return acpi_info()->pm_timer != 0;
}

static uint64_t pm_read(void)
{
    return inl(acpi_info()->pm_timer) & 0xffffff;
}

/* ---- PIT, channel 2, counting down from 65535 once ---- */

enum pit_port { PIT_CH2 = 0x42, PIT_COMMAND = 0x43, PIT_GATE = 0x61 };

enum pit_bits {
    PIT_CH2_ONCE = 0xb0, /* channel 2, both bytes, mode 0 */
    PIT_LATCH_CH2 = 0x80,
    GATE_ON = 0x01,
    GATE_SPEAKER = 0x02,
    GATE_OUT = 0x20, /* the count has passed zero */
};

static bool pit_start(struct ref_clock *c)
{
    (void)c;
    outb(PIT_GATE,
         (uint8_t)((inb(PIT_GATE) & ~(unsigned)GATE_SPEAKER) | GATE_ON));
    outb(PIT_COMMAND, PIT_CH2_ONCE);
    outb(PIT_CH2, 0xff);
    outb(PIT_CH2, 0xff);
    return true;
}

static uint64_t pit_read(void)
{
    unsigned low;

    outb(PIT_COMMAND, PIT_LATCH_CH2);
    low = inb(PIT_CH2);
    return 0xffff - (low | (unsigned)inb(PIT_CH2) << 8);
}

static bool pit_valid(void)
{
    return (inb(PIT_GATE) & GATE_OUT) == 0;
}

/* ---- measuring ---- */

struct stamp {
    uint64_t tsc;
    uint64_t width;
    uint64_t ref;
};

static struct stamp stamp(const struct ref_clock *c)
{
    struct stamp best = {0, UINT64_MAX, 0};

    for (int i = 0; i < 4; i++) {
        uint64_t before = rdtsc();
        uint64_t ref = c->read();
        uint64_t width = rdtsc() - before;

        if (width < best.width)
            best = (struct stamp){before + width / 2, width, ref};
    }
    return best;
}

/* One measurement; hz is 0 when it failed. */
static struct calib sample(struct ref_clock *c)
{
    struct calib none = {0, UINT64_MAX, c->name}, r = none;
    struct stamp a, b;
    uint64_t want, cycles;
    unsigned patience = PATIENCE;

    if (!c->start(c))
        return none;
    want = c->hz * SAMPLE_MS / 1000;
    a = stamp(c);
    while (((c->read() - a.ref) & c->mask) < want) {
        if (--patience == 0)
            return none;
    }
    b = stamp(c);
    cycles = b.tsc - a.tsc;
    /* Longer than a second or two: stopped, and the product below would
     * not fit. */
    if (!c->valid() || cycles == 0 || cycles >> 33 != 0)
        return none;
    r.hz = cycles * c->hz / ((b.ref - a.ref) & c->mask);
    /* Half of each frame, and one tick of the reference at either end. */
    r.error_ppm = (a.width + b.width) * 500000 / cycles + 2000000 / want;
    return r.hz >= HZ_MIN && r.hz <= HZ_MAX ? r : none;
}

static struct calib measure(struct ref_clock *c)
{
    struct calib best = sample(c);

    for (int i = 1; best.hz != 0 && i < SAMPLES_MAX; i++) {
        struct calib next = sample(c);

        if (next.hz != 0 && next.error_ppm < best.error_ppm)
            best = next;
        if (i + 1 >= SAMPLES_MIN && best.error_ppm < GOOD_PPM)
            break;
    }
    return best;
}

struct calib calib_tsc(void)
{
    struct ref_clock clocks[] = {
        {"HPET", 0, UINT32_MAX, hpet_start, hpet_read, always},
        {"ACPI PM timer", 3579545, 0xffffff, pm_start, pm_read, always},
        {"PIT", 1193182, 0xffff, pit_start, pit_read, pit_valid},
    };
    struct calib r = {0, 0, "nothing"};

    for (unsigned i = 0; i < 3 && r.hz == 0; i++)
        r = measure(&clocks[i]);
    return r;
}
