/*
 * Descriptor tables and dispatch. Intel SDM volume 3, chapters 6 and 8.7.
 *
 * Owns the IDT, the task state segment and the table of vectors. Double
 * faults, machine checks and NMIs run on a stack of their own, so that the
 * overflow of the main stack ends in a report.
 */
#include "irq.h"

#include <stddef.h>

#include "apic.h"
#include "cpu.h"
#include "image.h"
#include "panic.h"

#define SEL_CODE 0x08u
#define SEL_TSS 0x18u
#define GATE_INTERRUPT 0x8eu /* present, 64-bit interrupt gate */
#define TSS_AVAILABLE 0x89u
#define IST_FAULT 1u

enum { TRAP_NMI = 2, TRAP_DOUBLE_FAULT = 8, TRAP_MACHINE_CHECK = 18 };

struct gate {
    uint16_t offset_low;
    uint16_t selector;
    uint8_t ist;
    uint8_t type;
    uint16_t offset_mid;
    uint32_t offset_high;
    uint32_t reserved;
};

struct __attribute__((packed)) table_pointer {
    uint16_t limit;
    uint64_t base;
};

struct __attribute__((packed)) tss {
    uint32_t reserved0;
    uint64_t rsp[3];
    uint64_t reserved1;
    uint64_t ist[7];
    uint64_t reserved2;
    uint16_t reserved3;
    uint16_t iomap;
};

struct handler {
    void (*fn)(void *arg, unsigned n);
    void *arg;
    unsigned n;
};

extern const char isr_entries[];
extern uint64_t gdt[];
void isr_dispatch(struct trap_frame *f);

struct irq_counts irq_counts;

static _Alignas(16) struct gate idt[256];
static struct tss tss;
static struct handler handlers[VECTOR_LAST + 1];

static void gate_set(unsigned vector, unsigned ist)
{
    uintptr_t entry = (uintptr_t)isr_entries + 16 * vector;

    idt[vector] = (struct gate){
        .offset_low = (uint16_t)entry,
        .selector = SEL_CODE,
        .ist = (uint8_t)ist,
        .type = GATE_INTERRUPT,
        .offset_mid = (uint16_t)(entry >> 16),
        .offset_high = (uint32_t)(entry >> 32),
    };
}

static void tss_load(void)
{
    uint64_t base = (uintptr_t)&tss;

    tss.ist[IST_FAULT - 1] = image_addr(fault_stack_top);
    tss.iomap = sizeof(tss);
    gdt[SEL_TSS / 8] = (sizeof(tss) - 1) | (base & 0xffffff) << 16 |
                       (uint64_t)TSS_AVAILABLE << 40 | (base >> 24 & 0xff)
                                                           << 56;
    gdt[SEL_TSS / 8 + 1] = base >> 32;
    __asm__ volatile("ltr %w0" : : "r"(SEL_TSS) : "memory");
}

void irq_init(void)
{
    struct table_pointer p = {sizeof(idt) - 1, (uintptr_t)idt};

    for (unsigned v = 0; v < 256; v++)
        gate_set(v, 0);
    gate_set(TRAP_NMI, IST_FAULT);
    gate_set(TRAP_DOUBLE_FAULT, IST_FAULT);
    gate_set(TRAP_MACHINE_CHECK, IST_FAULT);
    tss_load();
    __asm__ volatile("lidt %0" : : "m"(p) : "memory");
}

/* Even a masked 8259 can raise its spurious interrupts 7 and 15: they must
 * not look like exceptions. */
void irq_mask_pic(void)
{
    enum { PIC1 = 0x20, PIC2 = 0xa0, ICW1 = 0x11, ICW4 = 0x01 };

    outb(PIC1, ICW1);
    outb(PIC2, ICW1);
    outb(PIC1 + 1, VECTOR_PIC);
    outb(PIC2 + 1, VECTOR_PIC + 8);
    outb(PIC1 + 1, 4);
    outb(PIC2 + 1, 2);
    outb(PIC1 + 1, ICW4);
    outb(PIC2 + 1, ICW4);
    outb(PIC1 + 1, 0xff);
    outb(PIC2 + 1, 0xff);
}

unsigned irq_alloc(void (*fn)(void *arg, unsigned n), void *arg, unsigned n)
{
    for (unsigned v = VECTOR_FIRST; v <= VECTOR_LAST; v++) {
        if (handlers[v].fn)
            continue;
        handlers[v].arg = arg;
        handlers[v].n = n;
        __atomic_store_n(&handlers[v].fn, fn, __ATOMIC_RELEASE);
        return v;
    }
    return 0;
}

void irq_free(unsigned vector)
{
    if (vector >= VECTOR_FIRST && vector <= VECTOR_LAST)
        handlers[vector].fn = NULL;
}

static void irq_dispatch(unsigned vector)
{
    irq_counts.total++;
    if (vector >= VECTOR_FIRST && vector <= VECTOR_LAST) {
        const struct handler *h = &handlers[vector];

        if (h->fn)
            h->fn(h->arg, h->n);
        else
            irq_counts.stray++;
        apic_eoi();
        return;
    }
    /* Spurious ones of either controller want no acknowledgement. */
    irq_counts.stray++;
}

void isr_dispatch(struct trap_frame *f)
{
    if (f->vector < VECTOR_EXCEPTIONS)
        trap_report(f);
    irq_dispatch((unsigned)f->vector);
}
