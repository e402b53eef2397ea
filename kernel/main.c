/*
 * Start of day, then the loop.
 *
 * One context: nothing here is called from anywhere but from the boot code,
 * and nothing returns. Interrupts set flags and end the halt.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acpi.h"
#include "apic.h"
#include "bootinfo.h"
#include "cmdline.h"
#include "console.h"
#include "copy.h"
#include "cpu.h"
#include "idle.h"
#include "irq.h"
#include "mem.h"
#include "netstack.h"
#include "nic.h"
#include "paging.h"
#include "plat_kernel.h"
#include "random.h"
#include "stack.h"
#include "time.h"
#include "verr.h"

/* However much is lost, doorbell or interrupt: the rings are looked at again
 * after this time. */
#define SAFETY_NS UINT64_C(100000000)
#define POLLED_NIC_NS UINT64_C(1000000)
#define POLLED_CONSOLE_NS UINT64_C(20000000)

_Noreturn void kmain(uint32_t magic, uint64_t info);

static struct bootinfo boot;
static struct cmdline cmdline;

static void report(const char *line)
{
    plat_log(LOG_WARN, "%s", line);
}

/* Who started us, with what. */
static void boot_init(uint32_t magic, uint64_t info)
{
    int err = bootinfo_read(&boot, magic, info);

    console_printf("\nVireo, a virtio network driver on the bare machine\n");
    if (err != V_OK)
        plat_panic("not started by multiboot 1, multiboot 2 or PVH "
                   "(magic %08x)", magic);
    cmdline_parse(&cmdline, boot.cmdline, report);
    plat_log_level_set(cmdline.log);
    plat_log(LOG_INFO, "boot: %s, command line '%s'", boot.protocol,
             boot.cmdline);
    if (boot.cmdline_cut)
        plat_log(LOG_WARN, "boot: the command line was cut off at %u bytes",
                 BOOT_CMDLINE_MAX - 1);
    if (boot.no_map)
        plat_log(LOG_WARN, "boot: no memory map, using the upper memory size");
}

static void memory_init(void)
{
    struct mem_info m;

    mem_init_low(&boot);
    paging_init();
    mem_init_high();
    mem_info(&m);
    plat_log(LOG_INFO, "memory: %llu KiB free in %u ranges, %u modules kept",
             (unsigned long long)m.free / 1024, mem_ram()->count,
             boot.modules);
}

static void interrupts_init(void)
{
    bool timer, input;

    irq_mask_pic();
    apic_init();
    clock_init(cmdline.tsc_hz);
    timer = apic_timer_init();
    if (!timer)
        plat_panic("the local APIC's timer does not count");
    input = console_irq_init();
    irq_on();
    plat_log(LOG_INFO, "interrupts: local APIC and its timer, console %s",
             input ? "by interrupt" : "polled");
}

static bool pending(void)
{
    return nic_pending() || console_pending();
}

static void idle(void)
{
    uint64_t max = SAFETY_NS;

    if (console_polled())
        max = POLLED_CONSOLE_NS;
    if (nic_polled())
        max = POLLED_NIC_NS;
    if (!nic_arm())
        idle_wait(max, pending);
}

_Noreturn static void loop(void)
{
    for (;;) {
        unsigned frames = nic_poll(cmdline.budget);
        bool more = netstack_step();

        more = console_poll() || more;
        nic_flush();
        if (frames == 0 && !more)
            idle();
    }
}

_Noreturn void kmain(uint32_t magic, uint64_t info)
{
    irq_init();
    stack_paint();
    console_init();
    boot_init(magic, info);
    acpi_init(boot.rsdp);
    memory_init();
    interrupts_init();
    copy_choose();
    random_init();
    nic_init(&cmdline);
    plat_log(LOG_INFO, "ready; the console takes commands, try help");
    console_printf("> ");
    loop();
}
