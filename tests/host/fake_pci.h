/*
 * A PCI bus made by the test, behind include/plat_pci.h.
 *
 * A function is 256 bytes of configuration space with the semantics of the
 * standard header (read-only fields, BAR sizing, command register), and up to
 * six BARs whose registers call back with offset and width of every access.
 */
#ifndef FAKE_PCI_H
#define FAKE_PCI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plat_pci.h"

struct fake_bar_ops {
    uint32_t (*read)(void *arg, uint64_t off, unsigned width);
    void (*write)(void *arg, uint64_t off, unsigned width, uint32_t val);
};

enum fake_bar_kind { FAKE_BAR_MEM32, FAKE_BAR_MEM64, FAKE_BAR_IO };

struct fake_bar {
    uint64_t size; /* a power of two; 0: not there */
    enum fake_bar_kind kind;
    const struct fake_bar_ops *ops; /* NULL: reads zero, ignores writes */
    void *arg;
};

struct fake_fn {
    uint16_t bdf;
    uint8_t config[256];
    uint8_t writable[256]; /* bits the driver may change */
    struct fake_bar bar[6];
    unsigned last_cap;     /* offset of the newest capability, 0: none */
    unsigned next_cap;     /* where the next one goes */
    bool gone;             /* pulled out: reads all ones */
    bool bars_decoded_while_sized; /* seen: a size probe with decoding on */
    unsigned config_writes;
};

void fake_pci_begin(void);
void fake_pci_end(void);

/* A function with this id; its configuration may be edited afterwards. */
struct fake_fn *fake_pci_add(uint16_t bdf, uint16_t vendor, uint16_t device);

/* Takes it off the bus for good; the slot may be used again. */
void fake_pci_remove(struct fake_fn *f);

/* A bridge whose secondary bus is `secondary`. */
struct fake_fn *fake_pci_add_bridge(uint16_t bdf, uint8_t secondary);

/* BAR n at bus address `base` (0: not assigned by the firmware). */
void fake_pci_bar(struct fake_fn *f, unsigned n, enum fake_bar_kind kind,
                  uint64_t base, uint64_t size, const struct fake_bar_ops *ops,
                  void *arg);

/* Appends a capability of `len` bytes, id and next included (the first two
 * of `body` are set here). Returns its offset. */
unsigned fake_pci_cap(struct fake_fn *f, uint8_t id, const void *body,
                      unsigned len);

/* Fields of the configuration space as the test sees them. */
uint32_t fake_pci_get(const struct fake_fn *f, unsigned off, unsigned width);
void fake_pci_set(struct fake_fn *f, unsigned off, unsigned width,
                  uint32_t val);

bool fake_pci_decodes(const struct fake_fn *f); /* memory space enabled */
bool fake_pci_masters(const struct fake_fn *f); /* bus mastering enabled */

/* plat_mmio_map fails from now on. */
void fake_pci_fail_map(bool on);
/* The n-th plat_msi_alloc from now on fails, and all after it (0: none). */
void fake_pci_fail_vector(unsigned n);

/* Vectors that plat_msi_alloc gave out and that are not freed. */
unsigned fake_pci_vectors(void);
/* A message arrives: calls the handler. Fails the test when it is nobody's. */
void fake_pci_message(uint64_t addr, uint32_t data);
/* Calls every handler once: a spurious interrupt on each vector. */
void fake_pci_storm(void);

#endif
