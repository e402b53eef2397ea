/*
 * Reports of exceptions and panics: registers, backtrace, end of the run.
 *
 * The backtrace follows the frame pointers; each is looked at only when it
 * lies on one of the stacks. A fault inside the report ends it at once.
 */
#include "panic.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "console.h"
#include "cpu.h"
#include "format.h"
#include "image.h"
#include "paging.h"
#include "plat.h"
#include "power.h"

#define BACKTRACE_MAX 40

enum trap_vector { TRAP_DF = 8, TRAP_PF = 14 };

static bool reporting;

static const char *trap_name(uint64_t vector)
{
    static const char *const names[] = {
        "divide error", "debug", "non-maskable interrupt", "breakpoint",
        "overflow", "bound range exceeded", "invalid opcode",
        "device not available", "double fault", "coprocessor overrun",
        "invalid TSS", "segment not present", "stack fault",
        "general protection fault", "page fault", "reserved",
        "x87 floating point error", "alignment check", "machine check",
        "SIMD floating point error", "virtualization exception",
        "control protection exception",
    };

    return vector < sizeof(names) / sizeof(names[0]) ? names[vector]
                                                     : "exception";
}

static bool on_main_stack(uint64_t addr)
{
    return addr >= image_addr(stack_bottom) &&
           addr + 16 <= image_addr(stack_top);
}

static bool on_fault_stack(uint64_t addr)
{
    return addr >= image_addr(fault_stack_bottom) &&
           addr + 16 <= image_addr(fault_stack_top);
}

/* A frame pointer that can be followed from one at `from`: higher up, or
 * from the stack for faults to the main one. */
static bool frame_good(uint64_t from, uint64_t rbp)
{
    if (rbp % 8 != 0)
        return false;
    if (on_main_stack(rbp))
        return rbp > from || !on_main_stack(from);
    return on_fault_stack(rbp) && rbp > from;
}

/* A return address may be the first byte of the next function: look for the
 * call before it. */
static void print_address(unsigned n, uint64_t addr, bool is_return)
{
    uintptr_t offset;
    const char *name = symbol_find(is_return ? addr - 1 : addr, &offset);

    if (name)
        console_printf("  #%-2u %016llx %s+0x%llx\n", n,
                       (unsigned long long)addr, name,
                       (unsigned long long)offset + (is_return ? 1 : 0));
    else
        console_printf("  #%-2u %016llx\n", n, (unsigned long long)addr);
}

static void backtrace(uint64_t rip, bool is_return, uint64_t rbp)
{
    uint64_t from = 0;

    console_printf("backtrace:\n");
    print_address(0, rip, is_return);
    for (unsigned n = 1; n < BACKTRACE_MAX && frame_good(from, rbp); n++) {
        const uint64_t *frame = (const uint64_t *)rbp;

        if (frame[1] == 0)
            return;
        print_address(n, frame[1], true);
        from = rbp;
        rbp = frame[0];
    }
}

static void print_page_fault(uint64_t error, uint64_t addr)
{
    const char *what = error & 0x10  ? "execution"
                       : error & 2   ? "write"
                                     : "read";
    const char *hint = "";

    if (addr < 4096)
        hint = ", a null pointer";
    else if (addr >= image_addr(stack_guard) &&
             addr < image_addr(stack_bottom))
        hint = ", the stack has overflowed";
    console_printf("%s of %016llx, which %s%s\n", what,
                   (unsigned long long)addr,
                   error & 1 ? "does not permit it" : "is not mapped", hint);
}

static void print_registers(const struct trap_frame *f)
{
    static const char *const name[] = {
        "r15", "r14", "r13", "r12", "r11", "r10", "r9 ", "r8 ",
        "rbp", "rdi", "rsi", "rdx", "rcx", "rbx", "rax",
    };
    const uint64_t *reg = &f->r15;

    console_printf("rip %016llx rsp %016llx rflags %08llx cs %llx ss %llx\n",
                   (unsigned long long)f->rip, (unsigned long long)f->rsp,
                   (unsigned long long)f->rflags, (unsigned long long)f->cs,
                   (unsigned long long)f->ss);
    for (unsigned i = 0; i < 15; i++)
        console_printf("%s %016llx%s", name[14 - i],
                       (unsigned long long)reg[14 - i],
                       i % 4 == 3 || i == 14 ? "\n" : " ");
    console_printf("cr0 %016llx cr2 %016llx cr3 %016llx\n",
                   (unsigned long long)read_cr0(),
                   (unsigned long long)read_cr2(),
                   (unsigned long long)read_cr3());
}

_Noreturn void trap_report(const struct trap_frame *f)
{
    uint64_t cr2 = read_cr2();

    irq_off();
    if (reporting)
        power_fail();
    reporting = true;
    console_printf("\nEXCEPTION %llu: %s, error code %llx\n",
                   (unsigned long long)f->vector, trap_name(f->vector),
                   (unsigned long long)f->error);
    if (f->vector == TRAP_PF)
        print_page_fault(f->error, cr2);
    else if (f->vector == TRAP_DF && cr2 >= image_addr(stack_guard) &&
             cr2 < image_addr(stack_bottom))
        console_printf("the stack has overflowed, at %016llx\n",
                       (unsigned long long)cr2);
    print_registers(f);
    backtrace(f->rip, false, f->rbp);
    power_fail();
}

_Noreturn void plat_panic(const char *fmt, ...)
{
    char text[256];
    va_list ap;

    irq_off();
    if (reporting)
        power_fail();
    reporting = true;
    va_start(ap, fmt);
    format_v(text, sizeof(text), fmt, ap);
    va_end(ap);
    console_printf("\nPANIC: %s\n", text);
    backtrace((uintptr_t)__builtin_return_address(0), true,
              *(const uint64_t *)__builtin_frame_address(0));
    power_fail();
}
