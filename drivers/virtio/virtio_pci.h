/* The modern PCI transport. Virtio 1.3, section 4.1. */
#ifndef VIRTIO_PCI_H
#define VIRTIO_PCI_H

#include "pci/pci.h"
#include "virtio/device.h"

struct virtio_pci;

/* True when the function is a virtio device of this device id, by its own id
 * (0x1041 for network) or as a transitional one (0x1000). */
bool virtio_pci_match(const struct pci_fn *f, uint16_t device_id);

/*
 * Reads the capabilities of the function and makes a device of it. On V_OK,
 * *out is ready for the life cycle of virtio/device.h and lives until its
 * release operation. Every refusal is logged with what was found.
 */
int virtio_pci_open(const struct pci_fn *f, struct virtio_dev **out);

#endif
