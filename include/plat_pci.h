/*
 * PLATFORM SEAM, the part that only drivers/pci and the PCI transports need:
 * access to configuration space and to the registers behind a BAR.
 *
 * Link-time functions, so that a test can put a synthetic device behind
 * them and see the width of every single access.
 */
#ifndef PLAT_PCI_H
#define PLAT_PCI_H

#include <stddef.h>
#include <stdint.h>

/* Bus, device, function packed as in a requester id. */
#define PCI_BDF(bus, dev, fn) \
    ((uint16_t)((bus) << 8 | ((dev)&31) << 3 | ((fn)&7)))
#define PCI_BUS(bdf) ((unsigned)(bdf) >> 8)
#define PCI_DEV(bdf) ((unsigned)(bdf) >> 3 & 31)
#define PCI_FN(bdf) ((unsigned)(bdf)&7)

/*
 * Configuration space. width is 1, 2 or 4 bytes, off is a multiple of it and
 * below 256. Reading where no function is gives all ones in that width.
 */
uint32_t plat_pci_read(uint16_t bdf, unsigned off, unsigned width);
void plat_pci_write(uint16_t bdf, unsigned off, unsigned width, uint32_t val);

/*
 * Makes `len` bytes of device registers at bus address `phys` accessible,
 * uncached, and returns a pointer to be used with the two functions below
 * only; NULL when that is not possible. Never undone.
 */
void *plat_mmio_map(uint64_t phys, size_t len);

/* One access of width 1, 2 or 4 at a register; never split, never merged. */
uint32_t plat_mmio_read(const void *reg, unsigned width);
void plat_mmio_write(void *reg, unsigned width, uint32_t val);

/*
 * A free interrupt vector whose handler calls fn(arg, n), or V_NOMEM.
 * On V_OK, *addr and *data are what an MSI-X table entry must hold.
 * fn runs in interrupt context: it may set a flag and nothing else.
 */
int plat_msi_alloc(void (*fn)(void *arg, unsigned n), void *arg, unsigned n,
                   uint64_t *addr, uint32_t *data);

/* Releases the vector that an earlier call described by addr and data. */
void plat_msi_free(uint64_t addr, uint32_t data);

#endif
