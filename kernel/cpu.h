/*
 * Instructions of the processor that C has no words for. Kernel only.
 *
 * Intel SDM volume 2; nothing beyond x86-64 is used without asking CPUID.
 */
#ifndef CPU_H
#define CPU_H

#include <stdbool.h>
#include <stdint.h>

enum cpu_rflags { RFLAGS_IF = 0x200 };

enum cpu_cr0 { CR0_WP = 1 << 16 };

enum cpu_msr {
    MSR_APIC_BASE = 0x1b,
    MSR_TSC_DEADLINE = 0x6e0,
    MSR_X2APIC = 0x800,
    MSR_KVM_SYSTEM_TIME_NEW = 0x4b564d01,
};
#define MSR_EFER 0xc0000080u
#define EFER_NXE 0x800u

struct cpuid {
    uint32_t eax;
    uint32_t ebx;
    uint32_t ecx;
    uint32_t edx;
};

static inline void outb(uint16_t port, uint8_t val)
{
    __asm__ volatile("outb %0, %1" : : "a"(val), "Nd"(port) : "memory");
}

static inline void outw(uint16_t port, uint16_t val)
{
    __asm__ volatile("outw %0, %1" : : "a"(val), "Nd"(port) : "memory");
}

static inline void outl(uint16_t port, uint32_t val)
{
    __asm__ volatile("outl %0, %1" : : "a"(val), "Nd"(port) : "memory");
}

static inline uint8_t inb(uint16_t port)
{
    uint8_t val;

    __asm__ volatile("inb %1, %0" : "=a"(val) : "Nd"(port) : "memory");
    return val;
}

static inline uint16_t inw(uint16_t port)
{
    uint16_t val;

    __asm__ volatile("inw %1, %0" : "=a"(val) : "Nd"(port) : "memory");
    return val;
}

static inline uint32_t inl(uint16_t port)
{
    uint32_t val;

    __asm__ volatile("inl %1, %0" : "=a"(val) : "Nd"(port) : "memory");
    return val;
}

static inline uint64_t rdtsc(void)
{
    uint32_t lo, hi;

    __asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi) : : "memory");
    return (uint64_t)hi << 32 | lo;
}

static inline uint64_t rdmsr(uint32_t msr)
{
    uint32_t lo, hi;

    __asm__ volatile("rdmsr" : "=a"(lo), "=d"(hi) : "c"(msr));
    return (uint64_t)hi << 32 | lo;
}

static inline void wrmsr(uint32_t msr, uint64_t val)
{
    __asm__ volatile("wrmsr"
                     :
                     : "c"(msr), "a"((uint32_t)val),
                       "d"((uint32_t)(val >> 32))
                     : "memory");
}

static inline struct cpuid cpuid(uint32_t leaf, uint32_t sub)
{
    struct cpuid r;

    __asm__ volatile("cpuid"
                     : "=a"(r.eax), "=b"(r.ebx), "=c"(r.ecx), "=d"(r.edx)
                     : "a"(leaf), "c"(sub));
    return r;
}

/* The leaf, or zeros where the processor has none of that number. */
static inline struct cpuid cpuid_leaf(uint32_t leaf)
{
    struct cpuid none = {0, 0, 0, 0};

    if (cpuid(leaf & 0xf0000000u, 0).eax < leaf)
        return none;
    return cpuid(leaf, 0);
}

/* The leaf 0x40000000 + n of the hypervisor, or zeros. */
static inline struct cpuid cpuid_hypervisor(uint32_t n)
{
    struct cpuid none = {0, 0, 0, 0};

    if ((cpuid(1, 0).ecx >> 31 & 1) == 0)
        return none;
    return n == 0 ? cpuid(0x40000000u, 0) : cpuid_leaf(0x40000000u + n);
}

static inline uint64_t read_cr2(void)
{
    uint64_t val;

    __asm__ volatile("mov %%cr2, %0" : "=r"(val));
    return val;
}

static inline uint64_t read_cr0(void)
{
    uint64_t val;

    __asm__ volatile("mov %%cr0, %0" : "=r"(val));
    return val;
}

static inline uint64_t read_cr3(void)
{
    uint64_t val;

    __asm__ volatile("mov %%cr3, %0" : "=r"(val));
    return val;
}

static inline void write_cr3(uint64_t val)
{
    __asm__ volatile("mov %0, %%cr3" : : "r"(val) : "memory");
}

static inline uint64_t read_rflags(void)
{
    uint64_t val;

    __asm__ volatile("pushfq; popq %0" : "=r"(val) : : "memory");
    return val;
}

static inline void irq_off(void)
{
    __asm__ volatile("cli" : : : "memory");
}

static inline void irq_on(void)
{
    __asm__ volatile("sti" : : : "memory");
}

static inline void cpu_pause(void)
{
    __asm__ volatile("pause" : : : "memory");
}

/* The end: interrupts off for good. */
static inline _Noreturn void cpu_halt(void)
{
    for (;;)
        __asm__ volatile("cli; hlt" : : : "memory");
}

#endif
