/*
 * The PCI door of the model: a modern (or transitional) virtio function on
 * the synthetic bus. Virtio 1.3, section 4.1.
 *
 * Every register access is checked for width, order and direction.
 */
#ifndef PCI_MODEL_H
#define PCI_MODEL_H

#include "fake_pci.h"
#include "model.h"
#include "virtio/spec_pci.h"

/* Entries that the model has room for; the capability may say fewer. */
#define PCI_MODEL_VECTORS 8u

/* Where the structures are in BAR 4. */
enum {
    PCI_MODEL_COMMON = 0x0000,
    PCI_MODEL_ISR = 0x1000,
    PCI_MODEL_DEVICE = 0x2000,
    PCI_MODEL_NOTIFY = 0x3000,
    PCI_MODEL_BAR_BYTES = 0x4000,
};

/* Zero means the usual thing. */
struct pci_model_config {
    uint16_t bdf;         /* 00:03.0 */
    bool transitional;    /* id 0x1000 */
    uint64_t base;        /* of BAR 4; 0xfe000000 */
    uint32_t notify_mult; /* with `mult_zero` unset: 4 */
    bool mult_zero;       /* one doorbell address for all queues */
    unsigned vectors;     /* MSI-X entries; 4 */
    bool no_msix;
};

struct pci_model_queue {
    uint16_t size; /* 0: not written */
    uint16_t vector;
    bool enabled;
    uint32_t addr[6];     /* desc, driver, device: low and high */
    uint8_t addr_written; /* a bit each */
};

struct pci_model {
    struct model *m;
    struct fake_fn *fn;

    /* offsets of the capabilities, for tests that damage them */
    unsigned cap_common;
    unsigned cap_notify;
    unsigned cap_isr;
    unsigned cap_device;
    unsigned cap_msix;

    uint32_t notify_mult;
    uint16_t notify_off[MODEL_QUEUES];
    unsigned vectors;
    uint32_t table[PCI_MODEL_VECTORS][4];
    bool pending[PCI_MODEL_VECTORS];

    uint32_t device_select;
    uint32_t driver_select;
    uint16_t queue_select;
    uint16_t config_vector;
    uint8_t isr;
    struct pci_model_queue q[MODEL_QUEUES];
};

/* Puts the model on the bus. Freed by the test after the driver is gone. */
struct pci_model *pci_model_new(struct model *m,
                                const struct pci_model_config *config);
void pci_model_free(struct pci_model *pm);

/* Delivers message n as the MSI-X table has it. */
void pci_model_message(struct pci_model *pm, unsigned n);

/* Between the two files: the registers of the MSI-X table. */
uint32_t pci_model_table_read(void *arg, uint64_t off, unsigned width);
void pci_model_table_write(void *arg, uint64_t off, unsigned width,
                           uint32_t val);

#endif
