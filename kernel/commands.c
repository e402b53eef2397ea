/* The commands of the console. */
#include <string.h>

#include "console.h"
#include "cpu.h"
#include "crash.h"
#include "idle.h"
#include "image.h"
#include "irq.h"
#include "mem.h"
#include "netstack.h"
#include "nic.h"
#include "plat_kernel.h"
#include "power.h"
#include "stack.h"
#include "time.h"

typedef unsigned long long ull;

static bool show_zeros;

static void cmd_help(int argc, char *argv[])
{
    (void)argc;
    (void)argv;
    for (unsigned i = 0; i < command_count; i++)
        console_printf("  %-9s %-12s %s\n", command_table[i].name,
                       command_table[i].args, command_table[i].help);
    for (unsigned i = 0; i < netstack_command_count; i++)
        console_printf("  %-9s %-12s %s\n", netstack_commands[i].name,
                       netstack_commands[i].args, netstack_commands[i].help);
}

static void print_counter(const char *name, uint64_t value)
{
    if (value != 0 || show_zeros)
        console_printf("  %-22s %14llu\n", name, (ull)value);
}

static void print_nic_stats(struct vnet *v)
{
    const char *base = (const char *)vnet_stats(v);

    console_printf("%s:\n", vnet_info(v)->name);
    for (unsigned i = 0; i < vnet_stat_count; i++) {
        const struct vnet_stat_desc *d = &vnet_stat_table[i];
        uint64_t value;

        memcpy(&value, base + d->offset, sizeof(value));
        if (value != 0 || show_zeros)
            console_printf("  %-22s %14llu  %s\n", d->name, (ull)value,
                           d->meaning);
    }
    console_printf("  %-22s %14u  %s\n", "rx_bufs_held", vnet_bufs_held(v),
                   "receive buffers that the stack has now");
}

/* Busy share since the start and since the last call, in tenths of a
 * percent. */
static void print_cpu(void)
{
    static uint64_t last_now, last_idle;
    uint64_t now = clock_ns(), idle = clock_cycles_ns(idle_stats.cycles);
    uint64_t busy = now ? (now - idle) * 1000 / now : 0;
    uint64_t span = now - last_now;
    uint64_t recent = span ? (span - (idle - last_idle)) * 1000 / span : 0;

    console_printf("cpu:\n");
    print_counter("uptime_ms", now / 1000000);
    console_printf("  %-22s %12llu.%llu  percent, since the start\n", "busy",
                   (ull)busy / 10, (ull)busy % 10);
    console_printf("  %-22s %12llu.%llu  percent, since the last stats\n",
                   "busy_recent", (ull)recent / 10, (ull)recent % 10);
    print_counter("halts", idle_stats.halts);
    print_counter("interrupts", irq_counts.total);
    print_counter("interrupts_stray", irq_counts.stray);
    last_now = now;
    last_idle = idle;
}

static void cmd_stats(int argc, char *argv[])
{
    show_zeros = argc > 1 && strcmp(argv[1], "all") == 0;
    print_cpu();
    for (unsigned i = 0; i < nic_count; i++)
        print_nic_stats(nics[i]);
    console_printf("stack:\n");
    netstack_stats(print_counter);
    console_printf("end of stats\n");
}

static void cmd_net(int argc, char *argv[])
{
    static const char *const mode[] = {
        [VNET_RX_SMALL] = "small",
        [VNET_RX_BIG] = "big",
        [VNET_RX_MERGEABLE] = "mergeable",
    };

    (void)argc;
    (void)argv;
    if (nic_count == 0)
        console_printf("no network device\n");
    for (unsigned i = 0; i < nic_count; i++) {
        const struct vnet_info *n = vnet_info(nics[i]);

        console_printf("%s: mac %02x:%02x:%02x:%02x:%02x:%02x mtu %u link "
                       "%s%s\n", n->name, n->mac[0], n->mac[1], n->mac[2],
                       n->mac[3], n->mac[4], n->mac[5], n->mtu,
                       n->link ? "up" : "down", n->polled ? " polled" : "");
        console_printf("  rings rx %u tx %u; receive mode %s; features "
                       "%016llx;%s%s%s%s\n", n->rx_ring, n->tx_ring,
                       mode[n->rx_mode], (ull)n->features,
                       n->tx_csum ? " tx-csum" : "",
                       n->tx_tso4 ? " tx-tso4" : "",
                       n->tx_tso6 ? " tx-tso6" : "",
                       n->rx_csum ? " rx-csum" : "");
    }
}

static void cmd_mem(int argc, char *argv[])
{
    const struct ranges *ram = mem_ram();
    struct mem_info m;

    (void)argc;
    (void)argv;
    mem_info(&m);
    for (unsigned i = 0; i < ram->count; i++)
        console_printf("ram   %012llx .. %012llx  %llu KiB\n",
                       (ull)ram->r[i].start, (ull)ram->r[i].end - 1,
                       (ull)(ram->r[i].end - ram->r[i].start) / 1024);
    console_printf("image %012llx .. %012llx  %llu KiB\n",
                   (ull)image_addr(image_start),
                   (ull)image_addr(image_end) - 1,
                   (ull)(image_addr(image_end) - image_addr(image_start)) /
                       1024);
    console_printf("pages %llu KiB, %llu KiB free, largest run %llu KiB, "
                   "%llu requests refused\n", (ull)m.total / 1024,
                   (ull)m.free / 1024, (ull)m.largest / 1024,
                   (ull)m.failures);
    console_printf("stack %llu bytes, %llu used at most\n",
                   (ull)(image_addr(stack_top) - image_addr(stack_bottom)),
                   (ull)stack_used());
}

static void cmd_log(int argc, char *argv[])
{
    static const char *const names[] = {"err", "warn", "info", "debug"};

    for (unsigned i = 0; argc > 1 && i < 4; i++) {
        if (strcmp(argv[1], names[i]) == 0) {
            plat_log_level_set((enum plat_log_level)i);
            return;
        }
    }
    console_printf("levels: err warn info debug\n");
}

static void cmd_crash(int argc, char *argv[])
{
    if (argc > 1)
        crash(argv[1]);
    crash_list();
}

static void cmd_poweroff(int argc, char *argv[])
{
    (void)argc;
    (void)argv;
    console_printf("power off\n");
    power_off();
}

static void cmd_reboot(int argc, char *argv[])
{
    (void)argc;
    (void)argv;
    console_printf("reboot\n");
    power_reboot();
}

const struct command command_table[] = {
    {"help", "", "this list", cmd_help},
    {"stats", "[all]", "counters that are not zero, or all", cmd_stats},
    {"net", "", "network devices", cmd_net},
    {"mem", "", "memory", cmd_mem},
    {"log", "LEVEL", "what to print: err warn info debug", cmd_log},
    {"crash", "[KIND]", "crash in a chosen way, or list the ways", cmd_crash},
    {"poweroff", "", "switch the machine off", cmd_poweroff},
    {"reboot", "", "restart the machine", cmd_reboot},
};
const unsigned command_count =
    sizeof(command_table) / sizeof(command_table[0]);
