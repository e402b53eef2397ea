/*
 * The image's first instructions and the headers by which it is found.
 *
 * Three ways in: Multiboot 1 (the ELF32 copy given to -kernel), Multiboot 2
 * (GRUB), and the PVH entry of Xen's x86/HVM direct boot ABI (the ELF64 given
 * to -kernel). All three arrive in 32-bit protected mode without paging. The
 * code here clears the bss, maps the first 4 GiB one to one with large pages,
 * switches to 64-bit mode and calls kmain(magic, info). kernel/paging.c makes
 * the final page tables.
 *
 * Owns: boot page tables, the GDT.
 */

#define MB1_MAGIC 0x1badb002
#define MB1_FLAGS 3 /* modules on page boundaries, memory map wanted */
#define MB2_MAGIC 0xe85250d6
#define MB2_ARCH_I386 0
#define PVH_MAGIC 0x336ec578 /* of the start info; nothing is in eax */
#define PVH_NOTE_PHYS32_ENTRY 18

#define CR0_PE 0x00000001
#define CR0_EM 0x00000004 /* no floating point here: it must fault */
#define CR0_ET 0x00000010
#define CR0_NE 0x00000020
#define CR0_WP 0x00010000
#define CR0_PG 0x80000000
#define CR4_PAE 0x20
#define MSR_EFER 0xc0000080
#define EFER_LME 0x100
#define EFER_NXE 0x800
#define PTE_TABLE 0x03 /* present, writable */
#define PTE_LARGE 0x83 /* present, writable, 2 MiB */

#define SEL_CODE 0x08
#define SEL_DATA 0x10

#define COM1 0x3f8
#define COM1_LSR 0x3fd
#define LSR_THRE 0x20
#define DEBUG_EXIT 0xf4

/*
 * The Multiboot 1 header exists in the ELF32 copy only: an ELF64 with this
 * header is refused by QEMU before it looks for the PVH note. The Makefile
 * puts the template into the place that is kept free here.
 */
    .section .multiboot1_template, "", @progbits
    .long MB1_MAGIC
    .long MB1_FLAGS
    .long -(MB1_MAGIC + MB1_FLAGS)

    .section .multiboot1, "a", @progbits
    .balign 4
    .fill 12, 1, 0

    .section .multiboot2, "a", @progbits
    .balign 8
mb2_header:
    .long MB2_MAGIC
    .long MB2_ARCH_I386
    .long mb2_header_end - mb2_header
    .long -(MB2_MAGIC + MB2_ARCH_I386 + (mb2_header_end - mb2_header))
    .word 0 /* end tag */
    .word 0
    .long 8
mb2_header_end:

    .section .note.pvh, "a", @note
    .balign 4
    .long 4 /* name */
    .long 4 /* descriptor */
    .long PVH_NOTE_PHYS32_ENTRY
    .asciz "Xen"
    .long pvh_start

    .code32
    .section .text.boot, "ax", @progbits
    .globl pvh_start
    .type pvh_start, @function
pvh_start:
    movl $PVH_MAGIC, %eax

    .globl _start
    .type _start, @function
_start:
    cli
    cld
    movl %eax, %esi
    movl $bss_start, %edi
    movl $bss_end, %ecx
    subl %edi, %ecx
    shrl $2, %ecx
    xorl %eax, %eax
    rep stosl
    movl $stack_top, %esp
    pushl %ebx /* info */
    pushl %esi /* magic */

    /* A processor without 64-bit mode cannot run anything below. */
    movl $0x80000000, %eax
    cpuid
    cmpl $0x80000001, %eax
    jb no_long_mode
    movl $0x80000001, %eax
    cpuid
    btl $29, %edx
    jnc no_long_mode
    movl $EFER_LME, %esi
    btl $20, %edx
    jnc 1f
    orl $EFER_NXE, %esi
1:
    call boot_tables
    movl $boot_pml4, %eax
    movl %eax, %cr3
    movl $CR4_PAE, %eax
    movl %eax, %cr4
    movl $MSR_EFER, %ecx
    rdmsr
    orl %esi, %eax
    wrmsr
    movl $(CR0_PG | CR0_WP | CR0_NE | CR0_ET | CR0_EM | CR0_PE), %eax
    movl %eax, %cr0
    popl %edi
    popl %esi
    lgdt gdt_pointer
    ljmp $SEL_CODE, $start64

/* One to one, 4 x 512 pages of 2 MiB. */
boot_tables:
    movl $(boot_pdpt + PTE_TABLE), boot_pml4
    movl $(boot_pd + PTE_TABLE), %eax
    xorl %ecx, %ecx
1:
    movl %eax, boot_pdpt(, %ecx, 8)
    addl $4096, %eax
    incl %ecx
    cmpl $4, %ecx
    jb 1b
    movl $PTE_LARGE, %eax
    xorl %ecx, %ecx
1:
    movl %eax, boot_pd(, %ecx, 8)
    addl $0x200000, %eax
    incl %ecx
    cmpl $2048, %ecx
    jb 1b
    ret

/* Says so on the serial line, as far as there is one, and gives up. */
no_long_mode:
    movl $no_long_mode_text, %esi
1:
    lodsb
    testb %al, %al
    jz 3f
    movb %al, %bl
    movl $100000, %ecx
2:
    movw $COM1_LSR, %dx
    inb %dx, %al
    testb $LSR_THRE, %al
    loopz 2b
    movb %bl, %al
    movw $COM1, %dx
    outb %al, %dx
    jmp 1b
3:
    movb $1, %al
    outb %al, $DEBUG_EXIT
4:
    cli
    hlt
    jmp 4b

    .code64
start64:
    movw $SEL_DATA, %ax
    movw %ax, %ds
    movw %ax, %es
    movw %ax, %ss
    xorl %eax, %eax
    movw %ax, %fs
    movw %ax, %gs
    movl $stack_top, %esp
    movl %edi, %edi /* the upper halves are undefined after the switch */
    movl %esi, %esi
    xorl %ebp, %ebp /* where a backtrace ends */
    call kmain
1:
    cli
    hlt
    jmp 1b

    .section .rodata.boot, "a", @progbits
no_long_mode_text:
    .asciz "vireo: this processor has no 64-bit mode\r\n"

    .section .data.boot, "aw", @progbits
    .balign 8
    .globl gdt
gdt:
    .quad 0
    .quad 0x00af9a000000ffff /* SEL_CODE */
    .quad 0x00cf92000000ffff /* SEL_DATA */
    .quad 0 /* task state segment, filled in by kernel/irq.c */
    .quad 0
gdt_end:
    .globl gdt_pointer
gdt_pointer:
    .word gdt_end - gdt - 1
    .quad gdt

    .section .bss.boot, "aw", @nobits
    .balign 4096
boot_pml4:
    .skip 4096
boot_pdpt:
    .skip 4096
boot_pd:
    .skip 4 * 4096

    .section .note.GNU-stack, "", @progbits
