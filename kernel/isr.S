/*
 * Entry of every interrupt and exception: 256 entries of 16 bytes each, which
 * make the stack look like struct trap_frame (kernel/irq.h) and go on in C.
 *
 * The processor aligns the stack to 16 bytes before it pushes 5 words; with
 * the error code, the vector and 15 registers the total is a multiple of 16,
 * so that C finds the alignment it expects. No floating point registers are
 * saved: no code in this image uses them.
 */

/* Exceptions that push an error code: 8, 10-14, 17, 21, 29, 30. */
#define HAS_ERROR_CODE 0x60227d00

    .text
    .balign 16
    .globl isr_entries
isr_entries:
    .set vector, 0
    .rept 256
    .balign 16
    .set bit, 0
    .if vector < 32
    .set bit, (HAS_ERROR_CODE >> vector) & 1
    .endif
    .if bit == 0
    pushq $0
    .endif
    pushq $vector
    jmp isr_common
    .set vector, vector + 1
    .endr

    .balign 16
    .type isr_common, @function
isr_common:
    pushq %rax
    pushq %rbx
    pushq %rcx
    pushq %rdx
    pushq %rsi
    pushq %rdi
    pushq %rbp
    pushq %r8
    pushq %r9
    pushq %r10
    pushq %r11
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    cld
    movq %rsp, %rdi
    call isr_dispatch
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %r11
    popq %r10
    popq %r9
    popq %r8
    popq %rbp
    popq %rdi
    popq %rsi
    popq %rdx
    popq %rcx
    popq %rbx
    popq %rax
    addq $16, %rsp /* vector, error code */
    iretq
    .size isr_common, . - isr_common

    .section .note.GNU-stack, "", @progbits
