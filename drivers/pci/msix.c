/*
 * MSI-X. PCI Local Bus Specification 3.0, section 6.8.2.
 */
#include <stddef.h>

#include "pci/pci.h"

#define MSIX_CONTROL 2u /* offsets in the capability */
#define MSIX_TABLE 4u
#define MSIX_CONTROL_SIZE 0x7ffu
#define MSIX_CONTROL_MASK_ALL 0x4000u
#define MSIX_CONTROL_ENABLE 0x8000u
#define MSIX_BIR 7u

enum msix_entry {
    MSIX_ADDR_LOW = 0,
    MSIX_ADDR_HIGH = 4,
    MSIX_DATA = 8,
    MSIX_VECTOR_CONTROL = 12,
    MSIX_ENTRY_SIZE = 16,
};

int pci_msix_init(struct pci_fn *f)
{
    unsigned cap = pci_cap_next(f, PCI_CAP_MSIX, 0);
    uint32_t control, table;

    f->msix.cap = 0;
    if (cap == 0 || cap > 0x100 - 12)
        return V_NODEV;
    control = plat_pci_read(f->bdf, cap + MSIX_CONTROL, 2);
    table = plat_pci_read(f->bdf, cap + MSIX_TABLE, 4);
    f->msix.count = (uint16_t)((control & MSIX_CONTROL_SIZE) + 1);
    f->msix.table = pci_map(f, table & MSIX_BIR, table & ~MSIX_BIR,
                            (uint64_t)f->msix.count * MSIX_ENTRY_SIZE);
    if (!f->msix.table)
        return V_BADDEV;
    f->msix.cap = (uint16_t)cap;
    return V_OK;
}

void pci_msix_enable(struct pci_fn *f, bool on)
{
    uint32_t control;

    if (f->msix.cap == 0)
        return;
    control = plat_pci_read(f->bdf, f->msix.cap + MSIX_CONTROL, 2);
    control &= ~(MSIX_CONTROL_MASK_ALL | MSIX_CONTROL_ENABLE);
    if (on)
        control |= MSIX_CONTROL_ENABLE;
    plat_pci_write(f->bdf, f->msix.cap + MSIX_CONTROL, 2, control);
}

void pci_msix_set(struct pci_fn *f, unsigned n, uint64_t addr, uint32_t data)
{
    uint8_t *e = f->msix.table + n * MSIX_ENTRY_SIZE;

    plat_mmio_write(e + MSIX_VECTOR_CONTROL, 4, 1);
    plat_mmio_write(e + MSIX_ADDR_LOW, 4, (uint32_t)addr);
    plat_mmio_write(e + MSIX_ADDR_HIGH, 4, (uint32_t)(addr >> 32));
    plat_mmio_write(e + MSIX_DATA, 4, data);
    plat_mmio_write(e + MSIX_VECTOR_CONTROL, 4, 0);
}

void pci_msix_mask(struct pci_fn *f, unsigned n)
{
    plat_mmio_write(f->msix.table + n * MSIX_ENTRY_SIZE + MSIX_VECTOR_CONTROL,
                    4, 1);
}
