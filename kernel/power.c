/*
 * Power off, reboot, and the failing end. ACPI 6.4, 4.8.3.2 (PM1 control),
 * 7.4.2 (soft off); reset control register 0xcf9 of PIIX and ICH.
 */
#include "power.h"

#include <stdint.h>

#include "acpi.h"
#include "cpu.h"
#include "plat.h"

enum {
    PM1_SLEEP_ENABLE = 1 << 13,
    PM1_SLEEP_TYPE = 10, /* shift */
    DEBUG_EXIT = 0xf4,
    DEBUG_EXIT_FAIL = 1, /* QEMU's exit code is twice this plus 1 */
    RESET_CONTROL = 0xcf9,
    RESET_HARD = 0x06,
    KBC = 0x64,
    KBC_BUSY = 2,
    KBC_RESET = 0xfe,
};

/* Where known machines have the register, should ACPI not say. */
static const uint16_t known_ports[] = {
    0x604,  /* QEMU pc and q35 */
    0xb004, /* QEMU without ACPI tables, Bochs */
    0x4004, /* VirtualBox */
};

/* The machine may take a moment to obey; a port read takes a microsecond on
 * hardware and no less under an emulator. */
static void settle(void)
{
    for (unsigned i = 0; i < 200000; i++)
        inb(KBC);
}

static void sleep_at(uint16_t port, uint8_t type)
{
    outw(port, (uint16_t)(PM1_SLEEP_ENABLE |
                          (type & 7u) << PM1_SLEEP_TYPE));
}

_Noreturn void power_off(void)
{
    const struct acpi_info *a = acpi_info();

    irq_off();
    if (a->s5 && a->pm1a_control != 0) {
        sleep_at(a->pm1a_control, a->s5_a);
        if (a->pm1b_control != 0)
            sleep_at(a->pm1b_control, a->s5_b);
        settle();
    }
    for (unsigned i = 0; i < sizeof(known_ports) / 2; i++) {
        sleep_at(known_ports[i], 0);
        settle();
    }
    plat_log(LOG_ERR, "power off has no effect here");
    cpu_halt();
}

_Noreturn void power_reboot(void)
{
    irq_off();
    outb(RESET_CONTROL, RESET_HARD);
    settle();
    for (unsigned i = 0; i < 100000 && (inb(KBC) & KBC_BUSY); i++)
        cpu_pause();
    outb(KBC, KBC_RESET);
    settle();
    plat_log(LOG_ERR, "reset has no effect here");
    cpu_halt();
}

_Noreturn void power_fail(void)
{
    outl(DEBUG_EXIT, DEBUG_EXIT_FAIL);
    cpu_halt();
}
