/*
 * The time record that a hypervisor shares with its guest (kvmclock). Linux,
 * Documentation/virt/kvm/x86/msr.rst, MSR_KVM_SYSTEM_TIME_NEW. Pure.
 */
#ifndef PVCLOCK_H
#define PVCLOCK_H

#include <stdatomic.h>
#include <stdint.h>

/* Written by the hypervisor at any time; version is odd meanwhile. */
struct pvclock {
    _Atomic uint32_t version;
    uint32_t pad;
    _Atomic uint64_t tsc;  /* counter at the time `ns` */
    _Atomic uint64_t ns;
    _Atomic uint32_t mult; /* ns per (cycle << shift), times 2^32 */
    _Atomic int8_t shift;
    uint8_t flags;
    uint8_t pad2[2];
};
_Static_assert(sizeof(struct pvclock) == 32, "the record's size");

/* The time now, from a consistent copy of the record. */
uint64_t pvclock_ns(const struct pvclock *p, uint64_t (*counter)(void));

/* The rate of the counter in Hz; 0 when the record is empty. */
uint64_t pvclock_hz(const struct pvclock *p);

#endif
