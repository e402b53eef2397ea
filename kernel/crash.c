/*
 * Deliberate crashes. Every kind must end in a report with a backtrace and a
 * failing exit code; the system tests run them all.
 */
#include "crash.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "console.h"
#include "cpu.h"
#include "image.h"
#include "plat.h"

/* Of no use but to be written or run. */
static uint8_t data_code[] = {0xc3};
static const uint8_t constant[] = {1};

static void write_byte(uintptr_t addr)
{
    /* The compiler must not know where this goes. */
    __asm__ volatile("movb $1, (%0)" : : "r"(addr) : "memory");
}

static void crash_null(void)
{
    write_byte(0);
}

/* Far above all memory, not a device register either. */
static void crash_pf(void)
{
    write_byte(UINT64_C(0x7ffffffff000));
}

static void crash_ud(void)
{
    __asm__ volatile("ud2");
}

static void crash_de(void)
{
    uint32_t zero = 0, low = 1, high = 0;

    __asm__ volatile("divl %2" : "+a"(low), "+d"(high) : "r"(zero));
}

/* An address that is not canonical. */
static void crash_gp(void)
{
    write_byte(UINT64_C(0x8000000000000000));
}

static void crash_int3(void)
{
    __asm__ volatile("int3");
}

/* Floating point is switched off: nothing here may use it unnoticed. */
static void crash_fpu(void)
{
    __asm__ volatile("fldz");
}

static void crash_sse(void)
{
    __asm__ volatile(".byte 0x0f, 0x57, 0xc0" /* xorps */);
}

static volatile bool deeper = true;

static __attribute__((noinline)) uint64_t recurse(uint64_t n)
{
    volatile uint64_t frame[16];

    frame[0] = n;
    return deeper ? recurse(n + 1) + frame[0] : n;
}

static void crash_stack(void)
{
    recurse(0);
}

static void crash_panic(void)
{
    plat_panic("asked for on the console");
}

static void crash_nx(void)
{
    void (*fn)(void) = (void (*)(void))(uintptr_t)data_code;

    fn();
}

static void crash_wx(void)
{
    write_byte(image_addr(image_start));
}

static void crash_ro(void)
{
    write_byte((uintptr_t)constant);
}

static const struct {
    const char *name;
    void (*run)(void);
} kinds[] = {
    {"null", crash_null}, {"pf", crash_pf},       {"ud", crash_ud},
    {"de", crash_de},     {"gp", crash_gp},       {"int3", crash_int3},
    {"fpu", crash_fpu},   {"sse", crash_sse},     {"stack", crash_stack},
    {"nx", crash_nx},     {"wx", crash_wx},       {"ro", crash_ro},
    {"panic", crash_panic},
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

void crash_list(void)
{
    console_printf("kinds:");
    for (unsigned i = 0; i < KINDS; i++)
        console_printf(" %s", kinds[i].name);
    console_printf("\n");
}

void crash(const char *kind)
{
    for (unsigned i = 0; i < KINDS; i++) {
        if (strcmp(kind, kinds[i].name) == 0)
            kinds[i].run();
    }
}
