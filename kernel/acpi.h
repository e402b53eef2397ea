/* The few facts that this kernel takes from ACPI. */
#ifndef ACPI_H
#define ACPI_H

#include <stdbool.h>
#include <stdint.h>

#include "apic.h"

struct acpi_info {
    uint16_t pm1a_control; /* port, 0: unknown */
    uint16_t pm1b_control;
    uint8_t s5_a;          /* sleep type of soft off for either */
    uint8_t s5_b;
    bool s5;               /* they were found */
    uint16_t pm_timer;     /* port, 0: none */
    uint64_t hpet;         /* physical address, 0: none */
    bool uart_pin;         /* where COM1's interrupt arrives */
    struct ioapic_pin uart;
};

/*
 * Reads the tables, starting from the root pointer that the boot loader
 * gave (0: to be searched for), while everything below 4 GiB is mapped.
 * Nothing of ACPI is looked at later.
 */
void acpi_init(uint64_t rsdp);

const struct acpi_info *acpi_info(void);

#endif
