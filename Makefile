# Vireo. `make help` lists the targets.
#
# Adding a file to a folder of sources or of tests is enough; a fresh clone
# fetches lwIP by itself (boot/fetch-lwip.sh).

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# All cores, unless the user, or the make that called this one, said how many.
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc)
endif

# V=1 shows the commands instead of what they make.
Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-4s %s\n' $(1) $(patsubst $(BUILD)/%,%,$@))

ifeq ($(origin CC),default)
CC := gcc
endif
OBJCOPY ?= objcopy
BUILD := build
LWIP_DIR ?= $(BUILD)/lwip

# ---- sources ---------------------------------------------------------------

# Compiled unchanged into the kernel and into a Linux process.
DRIVER_SRCS := $(wildcard drivers/pci/*.c drivers/virtio/*.c drivers/vnet/*.c)
NET_SRCS := $(wildcard net/*.c net/port/*.c net/apps/*.c)
CORE_SRCS := $(DRIVER_SRCS) $(NET_SRCS)
# By name: the files may not be there yet when this is read.
LWIP_CORE := altcp altcp_alloc altcp_tcp def dns inet_chksum init ip mem memp \
	netif pbuf raw stats sys tcp tcp_in tcp_out timeouts udp
LWIP_IPV4 := acd autoip dhcp etharp icmp igmp ip4 ip4_addr ip4_frag
LWIP_IPV6 := dhcp6 ethip6 icmp6 inet6 ip6 ip6_addr ip6_frag mld6 nd6
LWIP_SRCS := $(LWIP_CORE:%=$(LWIP_DIR)/src/core/%.c) \
	$(LWIP_IPV4:%=$(LWIP_DIR)/src/core/ipv4/%.c) \
	$(LWIP_IPV6:%=$(LWIP_DIR)/src/core/ipv6/%.c) \
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
# It takes the address of a member of a null pointer in one place (icmp6.c).
LWIP_HOST := -fno-sanitize=null
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

# ---- lwIP ------------------------------------------------------------------

# A copy of the user's own is taken as it is.
ifeq ($(origin LWIP_DIR),file)
LWIP_READY := $(LWIP_DIR)/.verified

$(LWIP_READY):
	@boot/fetch-lwip.sh

$(LWIP_SRCS): | $(LWIP_READY) ;
endif

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
	$(call say,COPY)
	$(Q)$(OBJCOPY) -O binary -j .multiboot1_template \
		--set-section-flags .multiboot1_template=alloc $< $@.header
	$(Q)$(OBJCOPY) -O elf32-i386 --update-section .multiboot1=$@.header $< $@

# Linked twice: names and addresses of the functions are taken from the first
# link, and their table comes behind the code, so that adding it moves none.
$(BUILD)/vireo.elf: $(KERNEL_OBJS) linker.ld kernel/ksyms.awk
	$(call say,LD)
	$(Q)$(CC) $(KERNEL_LDFLAGS) -T linker.ld -o $(KOBJ)/first.elf $(KERNEL_OBJS)
	$(Q)$(NM) -n $(KOBJ)/first.elf | awk -f kernel/ksyms.awk >$(KOBJ)/ksyms.S
	$(Q)$(CC) -c -o $(KOBJ)/ksyms.o $(KOBJ)/ksyms.S
	$(Q)$(CC) $(KERNEL_LDFLAGS) -T linker.ld -o $@ $(KERNEL_OBJS) $(KOBJ)/ksyms.o
	@$(NM) -n $@ | awk -f kernel/ksyms.awk | cmp - $(KOBJ)/ksyms.S || \
		{ echo "the symbol table moved the code"; rm -f $@; exit 1; }

iso: $(BUILD)/vireo.iso ## build an image that GRUB boots (multiboot 2)

$(BUILD)/vireo.iso: $(BUILD)/vireo.elf boot/grub.cfg
	@mkdir -p $(BUILD)/iso/boot/grub
	$(call say,ISO)
	$(Q)cp $(BUILD)/vireo.elf $(BUILD)/iso/boot/vireo.elf
	$(Q)$(STRIP) --strip-debug $(BUILD)/iso/boot/vireo.elf
	$(Q)cp boot/grub.cfg $(BUILD)/iso/boot/grub/grub.cfg
	$(Q)grub-mkrescue -o $@ $(BUILD)/iso >$(BUILD)/iso.log 2>&1 || \
		{ cat $(BUILD)/iso.log; rm -f $@; exit 1; }

# The compiler must not make calls to memcpy out of memcpy's own loops.
$(KOBJ)/kernel/string.o: KERNEL_CFLAGS += $(NO_LOOP_CALLS)

$(KOBJ)/lwip/%.o: $(LWIP_DIR)/%.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(KERNEL_CFLAGS) $(LWIP_WARN) $(INCLUDES) $(LWIP_INCLUDES) -c -o $@ $<

$(KOBJ)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(KERNEL_CFLAGS) $(WARN) $(INCLUDES) $(LWIP_INCLUDES) -c -o $@ $<

$(KOBJ)/%.o: %.S
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(KERNEL_CFLAGS) $(INCLUDES) -c -o $@ $<

-include $(KERNEL_OBJS:.o=.d)

.PHONY: kernel iso

# ---- hosted build ----------------------------------------------------------

# The core, the model of the device and the platform under them as a library;
# each tests/unit/test_*.c is a program linked with it. Other files of that
# folder are shared by several programs, and part of the library.
HOBJ := $(BUILD)/host-obj
UNIT_SRCS := $(wildcard tests/unit/test_*.c)
UNIT_BINS := $(UNIT_SRCS:tests/unit/%.c=$(BUILD)/unit/%)
HOST_SRCS := $(wildcard tests/host/*.c tests/model/*.c) \
	$(filter-out $(UNIT_SRCS),$(wildcard tests/unit/*.c)) \
	$(CORE_SRCS) $(KERNEL_PURE_SRCS)
HOST_OBJS := $(patsubst %.c,$(HOBJ)/%.o,$(HOST_SRCS)) \
	$(patsubst $(LWIP_DIR)/%.c,$(HOBJ)/lwip/%.o,$(LWIP_SRCS))
UNIT_OBJS := $(patsubst %.c,$(HOBJ)/%.o,$(UNIT_SRCS))
HOST_INCLUDES := $(INCLUDES) -Itests -Itests/host -Itests/model

$(UNIT_BINS): $(BUILD)/unit/%: $(HOBJ)/tests/unit/%.o $(BUILD)/libvireo.a
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(HOST_LDFLAGS) -o $@ $^

$(BUILD)/libvireo.a: $(HOST_OBJS)
	@rm -f $@
	$(call say,AR)
	$(Q)$(AR) rcs $@ $(HOST_OBJS)

$(HOBJ)/lwip/%.o: $(LWIP_DIR)/%.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(HOST_CFLAGS) $(LWIP_WARN) $(LWIP_HOST) $(INCLUDES) $(LWIP_INCLUDES) -c -o $@ $<

$(HOBJ)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(HOST_CFLAGS) $(WARN) $(HOST_INCLUDES) $(LWIP_INCLUDES) -c -o $@ $<

-include $(HOST_OBJS:.o=.d) $(UNIT_OBJS:.o=.d)

# Objects of another compiler or of other flags are stale, and none can be
# made before lwIP is here.
KERNEL_HOW := $(CC) $(KERNEL_CFLAGS) $(WARN) $(LWIP_INCLUDES)
HOST_HOW := $(CC) $(HOST_CFLAGS) $(WARN) $(LWIP_INCLUDES)

$(KERNEL_OBJS): $(KOBJ)/how | $(LWIP_READY)
$(HOST_OBJS) $(UNIT_OBJS): $(HOBJ)/how | $(LWIP_READY)

$(KOBJ)/how: HOW = $(KERNEL_HOW)
$(HOBJ)/how: HOW = $(HOST_HOW)
$(KOBJ)/how $(HOBJ)/how: FORCE
	@mkdir -p $(@D)
	@echo '$(HOW)' | cmp -s - $@ || echo '$(HOW)' >$@

FORCE:

# ---- measurements ----------------------------------------------------------

# The driver as it is, optimized and without sanitizers, as a Linux process.
BENCH := $(BUILD)/bench
BENCH_CFLAGS := $(CSTD) -D_GNU_SOURCE -O2 -g -pthread -U_FORTIFY_SOURCE
BENCH_DRIVER := $(wildcard drivers/vnet/*.c) \
	$(patsubst %,drivers/virtio/%.c,device verr virtq_split)
BENCH_HDRS := $(wildcard include/*.h include/*/*.h drivers/*/*.h \
	tests/bench/hosted/*.h)
RX_BENCH_SRCS := $(BENCH_DRIVER) $(patsubst %,tests/bench/hosted/%.c,dev plat \
	rx_bench)

$(BENCH)/rx_bench: $(RX_BENCH_SRCS) $(BENCH_HDRS)
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(BENCH_CFLAGS) $(WARN) $(INCLUDES) -Itests/bench/hosted -o $@ \
		$(RX_BENCH_SRCS)

# The same with the stack on top.
GRO_BENCH_SRCS := $(BENCH_DRIVER) $(NET_SRCS) $(patsubst \
	%,tests/bench/hosted/%.c,dev plat peer gro_bench)
GRO_BENCH_OBJS := $(patsubst %.c,$(BENCH)/obj/%.o,$(GRO_BENCH_SRCS)) \
	$(patsubst $(LWIP_DIR)/%.c,$(BENCH)/obj/lwip/%.o,$(LWIP_SRCS))

$(BENCH)/gro_bench: $(GRO_BENCH_OBJS)
	$(call say,LD)
	$(Q)$(CC) $(BENCH_CFLAGS) -o $@ $^

$(BENCH)/obj/lwip/%.o: $(LWIP_DIR)/%.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(BENCH_CFLAGS) -MMD -MP $(LWIP_WARN) $(INCLUDES) \
		$(LWIP_INCLUDES) -c -o $@ $<

$(BENCH)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(BENCH_CFLAGS) -MMD -MP $(WARN) $(INCLUDES) $(LWIP_INCLUDES) \
		-Itests/bench/hosted -c -o $@ $<

$(GRO_BENCH_OBJS): | $(LWIP_READY)
-include $(GRO_BENCH_OBJS:.o=.d)

$(BENCH)/udp_send: tests/bench/hosted/udp_send.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(BENCH_CFLAGS) $(WARN) -o $@ $<

# Parts that can be named by ONLY.
BENCH_SEEDS := $(patsubst tests/bench/seeds/%.py,%,$(wildcard \
	$(patsubst %,tests/bench/seeds/%.py,rx)))

bench-programs: $(patsubst %,$(BENCH)/%,rx_bench gro_bench udp_send)

# ---- what people type ------------------------------------------------------

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 18

# For NET=tap: the dollars in it are the shell's, not make's.
override CMD := $(value CMD)
export CMD

# A new make after setup: what this one found out about the compiler may have
# been found without one.
demo: ## install what is missing, build, boot, and run iperf3 against it
	@boot/setup.sh demo
	@$(MAKE) --no-print-directory kernel
	@tests/system/demo.py

run: ## boot with the console here (NET=tap: in a namespace, with a shell)
	@boot/setup.sh demo $(if $(filter tap,$(NET)),run-tap)
	@$(MAKE) --no-print-directory kernel
	@boot/run.sh

debug: ## boot stopped at a debugger stub, and start gdb
	@boot/setup.sh demo debug
	@$(MAKE) --no-print-directory kernel
	@boot/debug.sh

test: ## everything that is a test
	@boot/setup.sh test
	@boot/setup.sh proof || true
	@$(MAKE) --no-print-directory kernel iso unit-programs
	@tests/run

unit-programs: $(UNIT_BINS)

unit: unit-programs ## the unit tests
	@tests/run unit

system: kernel iso ## the tests that boot the kernel
	@tests/run system

test-wire: kernel ## captures checked by tshark, bad cables: all combinations
	@boot/setup.sh run-tap capture
	@VIREO_WIRE=all tests/run tests/system/test_wire.py tests/system/test_loss.py

bench-seeds: ## measurements of the driver's parts (ONLY=rx; QUICK=1: fewer)
	@boot/setup.sh bench
	@$(MAKE) --no-print-directory kernel bench-programs
	@set -e; for part in $(or $(ONLY),$(BENCH_SEEDS)); do \
		tests/bench/seeds/$$part.py; done

proof: ## the models of the protocol between driver and device
	@boot/setup.sh proof || true
	@tests/run proof

lint: ## rules of the sources, formatting, static analysis
	@tests/lint --all

format: ## format the sources (clang-format)
	@tests/lint --format

clean: ## remove what was built; lwIP stays
	rm -rf $(KOBJ) $(HOBJ) $(BUILD)/unit $(BUILD)/libvireo.a $(BUILD)/iso \
		$(BUILD)/iso.log $(BUILD)/vireo*

.PHONY: help demo run debug test test-wire unit-programs unit system proof bench-seeds \
	bench-programs lint format clean FORCE
