/* The local APIC with its timer, and the I/O APIC for the serial line. */
#ifndef APIC_H
#define APIC_H

#include <stdbool.h>
#include <stdint.h>

/* Switches the local APIC on; panics when the processor has none. */
void apic_init(void);

/* Where message signalled interrupts for this processor go. */
uint64_t apic_msi_addr(void);

void apic_eoi(void);

/*
 * Finds out the rate of the timer; clock_init must have been called. False
 * when no vector is free or the timer does not count.
 */
bool apic_timer_init(void);

/* One interrupt in ns nanoseconds; replaces what was asked for before. */
void apic_timer_arm(uint64_t ns);

struct ioapic_pin {
    uint64_t base;     /* physical address of the I/O APIC */
    uint32_t pin;      /* input of it */
    bool level;        /* otherwise edge */
    bool active_low;
};

/* Masks every input of the I/O APIC at `base` and lets one through to the
 * vector. False when there is no I/O APIC that answers. */
bool ioapic_route(const struct ioapic_pin *pin, unsigned vector);

#endif
