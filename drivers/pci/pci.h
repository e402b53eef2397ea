/*
 * PCI functions: scan, base address registers, capabilities, MSI-X.
 *
 * Rests on include/plat_pci.h. Nothing here trusts the device: capability
 * lists are walked with a bound, sizes are checked against the BAR.
 */
#ifndef PCI_H
#define PCI_H

#include <stdbool.h>
#include <stdint.h>

#include "plat.h"
#include "plat_pci.h"
#include "verr.h"

enum pci_cfg {
    PCI_VENDOR_ID = 0x00,
    PCI_DEVICE_ID = 0x02,
    PCI_COMMAND = 0x04,
    PCI_STATUS = 0x06,
    PCI_REVISION = 0x08,
    PCI_CLASS = 0x0a, /* base class in the high byte */
    PCI_HEADER_TYPE = 0x0e,
    PCI_BAR0 = 0x10,
    PCI_SECONDARY_BUS = 0x19,
    PCI_SUBSYSTEM_VENDOR_ID = 0x2c,
    PCI_SUBSYSTEM_ID = 0x2e,
    PCI_CAPABILITY_LIST = 0x34,
    PCI_INTERRUPT_LINE = 0x3c,
    PCI_INTERRUPT_PIN = 0x3d,
};

enum pci_command {
    PCI_COMMAND_IO = 1,
    PCI_COMMAND_MEMORY = 2,
    PCI_COMMAND_MASTER = 4,
    PCI_COMMAND_INTX_DISABLE = 0x400,
};

enum pci_cap_id { PCI_CAP_VENDOR = 0x09, PCI_CAP_MSIX = 0x11 };

#define PCI_CLASS_NETWORK 0x02u

struct pci_bar {
    uint64_t base; /* bus address, 0: not assigned */
    uint64_t size; /* bytes, 0: no such BAR */
    bool io;
};

struct pci_msix {
    uint16_t cap;   /* config offset of the capability, 0: none */
    uint16_t count; /* table entries, 1 .. 2048 */
    uint8_t *table; /* mapped */
};

struct pci_fn {
    uint16_t bdf;
    uint16_t vendor;
    uint16_t device;
    uint16_t subsystem_vendor;
    uint16_t subsystem;
    uint16_t class; /* base class in the high byte */
    uint8_t revision;
    struct pci_bar bar[6];
    struct pci_msix msix;
};

/*
 * Calls fn for every function behind the host bridge, buses behind bridges
 * included, in order of bus, device, function, until it returns non-zero;
 * returns that, or 0. The function's BARs have been sized.
 */
int pci_scan(int (*fn)(struct pci_fn *f, void *arg), void *arg);

/* Fills *f from configuration space; V_NODEV when nothing answers. */
int pci_probe(uint16_t bdf, struct pci_fn *f);

/*
 * The next capability with this id after config offset `after` (0: the
 * first); 0 when there is none. A pointer outside 0x40 .. 0xfc, off a multiple
 * of four, or to a capability that was passed already ends the walk.
 */
unsigned pci_cap_next(const struct pci_fn *f, uint8_t id, unsigned after);

/* Memory decoding and bus mastering on, INTx off. */
void pci_enable(struct pci_fn *f);

/* Bus mastering off: the function can no longer reach memory. */
void pci_disable(struct pci_fn *f);

/*
 * Maps `len` bytes at `off` of a memory BAR. NULL when the BAR does not
 * exist, is I/O, is not assigned, or is too small.
 */
void *pci_map(struct pci_fn *f, unsigned bar, uint64_t off, uint64_t len);

/* Finds and maps the MSI-X table. V_OK, V_NODEV (no capability), V_BADDEV. */
int pci_msix_init(struct pci_fn *f);

/* MSI-X on or off as a whole. */
void pci_msix_enable(struct pci_fn *f, bool on);

/* Points table entry n at a vector, and unmasks it; or masks it. */
void pci_msix_set(struct pci_fn *f, unsigned n, uint64_t addr, uint32_t data);
void pci_msix_mask(struct pci_fn *f, unsigned n);

/* "00:03.0" */
void pci_name(uint16_t bdf, char out[8]);

#endif
