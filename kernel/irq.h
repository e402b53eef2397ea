/*
 * Interrupts and exceptions: descriptor tables, vectors, dispatch.
 *
 * An interrupt handler sets a flag and returns; all work is done by the main
 * loop.
 */
#ifndef IRQ_H
#define IRQ_H

#include <stdint.h>

/* What kernel/isr.S leaves on the stack, lowest address first. */
struct trap_frame {
    uint64_t r15;
    uint64_t r14;
    uint64_t r13;
    uint64_t r12;
    uint64_t r11;
    uint64_t r10;
    uint64_t r9;
    uint64_t r8;
    uint64_t rbp;
    uint64_t rdi;
    uint64_t rsi;
    uint64_t rdx;
    uint64_t rcx;
    uint64_t rbx;
    uint64_t rax;
    uint64_t vector;
    uint64_t error;
    uint64_t rip;
    uint64_t cs;
    uint64_t rflags;
    uint64_t rsp;
    uint64_t ss;
};

enum irq_vector {
    VECTOR_EXCEPTIONS = 0x20, /* below: the processor's own */
    VECTOR_PIC = 0x20,        /* 16: the masked legacy controller */
    VECTOR_FIRST = 0x30,      /* given out by irq_alloc */
    VECTOR_LAST = 0xef,
    VECTOR_SPURIOUS = 0xff,
};

/* The very first: task state, gates. Interrupts stay off. */
void irq_init(void);

/* The legacy interrupt controller: moved out of the way and masked. */
void irq_mask_pic(void);

/* A free vector whose interrupts call fn(arg, n), or 0. */
unsigned irq_alloc(void (*fn)(void *arg, unsigned n), void *arg, unsigned n);
void irq_free(unsigned vector);

struct irq_counts {
    uint64_t total;    /* interrupts of all vectors */
    uint64_t stray;    /* of them, without a handler */
};
extern struct irq_counts irq_counts;

#endif
