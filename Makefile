# Vireo. `make help` lists the targets.

CC ?= gcc
OBJCOPY ?= objcopy
BUILD := build
LWIP_DIR ?= $(BUILD)/lwip

# ---- sources ---------------------------------------------------------------

# Compiled unchanged into the kernel and into a Linux process.
DRIVER_SRCS := $(wildcard drivers/pci/*.c drivers/virtio/*.c drivers/vnet/*.c)
NET_SRCS := $(wildcard net/*.c net/port/*.c net/apps/*.c)
CORE_SRCS := $(DRIVER_SRCS) $(NET_SRCS)
LWIP_SRCS := $(wildcard $(LWIP_DIR)/src/core/*.c \
	$(LWIP_DIR)/src/core/ipv4/*.c $(LWIP_DIR)/src/core/ipv6/*.c) \
	$(LWIP_DIR)/src/netif/ethernet.c
KERNEL_SRCS := $(wildcard kernel/*.c)
KERNEL_ASM := $(wildcard boot/*.S kernel/*.S)
# Of the kernel, what is free of the machine: tested as a Linux process.
KERNEL_PURE_SRCS := $(patsubst %,kernel/%.c,bootinfo chacha cmdline format \
	kmem pvclock ranges)

# ---- flags -----------------------------------------------------------------

INCLUDES := -Iinclude -Idrivers -Inet -Inet/port
LWIP_INCLUDES := -isystem $(LWIP_DIR)/src/include
WARN := -Wall -Wextra -Wmissing-prototypes -Wshadow -Werror
# lwIP is not ours to clean up.
LWIP_WARN := -w
CSTD := -std=c11

# The full barrier must be an mfence: an emulator that runs one processor may
# turn a locked instruction into a plain one.
MFENCE := $(shell $(CC) -mtune-ctrl=^avoid_mfence -E -x c /dev/null \
	>/dev/null 2>&1 && echo -mtune-ctrl=^avoid_mfence)

# Freestanding, but memcpy and the like mean what they mean in C: a copy of a
# few bytes need not be a call.
KERNEL_CFLAGS := $(CSTD) -O2 -g -ffreestanding -fbuiltin -fno-pic -fno-pie \
	-mcmodel=small -mno-red-zone -mgeneral-regs-only $(MFENCE) \
	-fno-omit-frame-pointer -fno-stack-protector -fcf-protection=none \
	-fno-asynchronous-unwind-tables -fno-strict-aliasing \
	-U_FORTIFY_SOURCE -ffunction-sections -fdata-sections -MMD -MP
KERNEL_LDFLAGS := -nostdlib -static -no-pie -Wl,--build-id=none \
	-Wl,-z,max-page-size=4096 -Wl,-z,noexecstack -Wl,--gc-sections

HOST_CFLAGS := $(CSTD) -D_GNU_SOURCE -O1 -g -fno-omit-frame-pointer \
	-fsanitize=address,undefined -fno-sanitize-recover=undefined \
	-U_FORTIFY_SOURCE -MMD -MP
HOST_LDFLAGS := -fsanitize=address,undefined -pthread

# ---- kernel image ----------------------------------------------------------

NM ?= nm
STRIP ?= strip
KOBJ := $(BUILD)/kernel-obj
NO_LOOP_CALLS := $(shell $(CC) -Werror -fno-tree-loop-distribute-patterns -E \
	-x c /dev/null >/dev/null 2>&1 && \
	echo -fno-tree-loop-distribute-patterns || echo -fno-builtin)
KERNEL_OBJS := $(patsubst %.c,$(KOBJ)/%.o,$(KERNEL_SRCS) $(CORE_SRCS)) \
	$(patsubst %.S,$(KOBJ)/%.o,$(KERNEL_ASM)) \
	$(patsubst $(LWIP_DIR)/%.c,$(KOBJ)/lwip/%.o,$(LWIP_SRCS))

kernel: $(BUILD)/vireo32.elf $(BUILD)/vireo.elf ## build the kernel image

# For -kernel by multiboot 1: an ELF32 container, and the header that the
# ELF64 must not have (boot/multiboot.S says why).
$(BUILD)/vireo32.elf: $(BUILD)/vireo.elf
	$(OBJCOPY) -O binary -j .multiboot1_template \
		--set-section-flags .multiboot1_template=alloc $< $@.header
	$(OBJCOPY) -O elf32-i386 --update-section .multiboot1=$@.header $< $@

# Linked twice: names and addresses of the functions are taken from the first
# link, and their table comes behind the code, so that adding it moves none.
$(BUILD)/vireo.elf: $(KERNEL_OBJS) linker.ld kernel/ksyms.awk
	$(CC) $(KERNEL_LDFLAGS) -T linker.ld -o $(KOBJ)/first.elf $(KERNEL_OBJS)
	$(NM) -n $(KOBJ)/first.elf | awk -f kernel/ksyms.awk >$(KOBJ)/ksyms.S
	$(CC) -c -o $(KOBJ)/ksyms.o $(KOBJ)/ksyms.S
	$(CC) $(KERNEL_LDFLAGS) -T linker.ld -o $@ $(KERNEL_OBJS) $(KOBJ)/ksyms.o
	@$(NM) -n $@ | awk -f kernel/ksyms.awk | cmp - $(KOBJ)/ksyms.S || \
		{ echo "the symbol table moved the code"; rm -f $@; exit 1; }

iso: $(BUILD)/vireo.iso ## build an image that GRUB boots (multiboot 2)

$(BUILD)/vireo.iso: $(BUILD)/vireo.elf boot/grub.cfg
	@mkdir -p $(BUILD)/iso/boot/grub
	cp $(BUILD)/vireo.elf $(BUILD)/iso/boot/vireo.elf
	$(STRIP) --strip-debug $(BUILD)/iso/boot/vireo.elf
	cp boot/grub.cfg $(BUILD)/iso/boot/grub/grub.cfg
	grub-mkrescue -o $@ $(BUILD)/iso >$(BUILD)/iso.log 2>&1 || \
		{ cat $(BUILD)/iso.log; rm -f $@; exit 1; }

# The compiler must not make calls to memcpy out of memcpy's own loops.
$(KOBJ)/kernel/string.o: KERNEL_CFLAGS += $(NO_LOOP_CALLS)

$(KOBJ)/lwip/%.o: $(LWIP_DIR)/%.c
	@mkdir -p $(@D)
	$(CC) $(KERNEL_CFLAGS) $(LWIP_WARN) $(INCLUDES) $(LWIP_INCLUDES) -c -o $@ $<

$(KOBJ)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(KERNEL_CFLAGS) $(WARN) $(INCLUDES) $(LWIP_INCLUDES) -c -o $@ $<

$(KOBJ)/%.o: %.S
	@mkdir -p $(@D)
	$(CC) $(KERNEL_CFLAGS) $(INCLUDES) -c -o $@ $<

-include $(KERNEL_OBJS:.o=.d)

.PHONY: kernel iso
