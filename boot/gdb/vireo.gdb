# For a guest that waits at a debugger stub, stopped at its first instruction:
#
#     gdb build/vireo.elf -ex 'target remote HOST:PORT' -x boot/gdb/vireo.gdb
#
# Goes to the kernel's first C function. A hardware breakpoint gets there: the
# image is not in memory yet, and the processor not in 64-bit mode. From there
# on breakpoints are ordinary ones.

set pagination off
set print pretty on
set disassemble-next-line auto
set architecture i386:x86-64

hbreak kmain
continue
delete breakpoints
