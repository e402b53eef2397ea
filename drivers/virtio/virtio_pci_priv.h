/* Inside the PCI transport: shared by virtio_pci.c and virtio_pci_caps.c. */
#ifndef VIRTIO_PCI_PRIV_H
#define VIRTIO_PCI_PRIV_H

#include "pci/pci.h"
#include "virtio/device.h"
#include "virtio/spec_pci.h"

/* Queues of one device that the transport can serve; the driver uses two. */
#define VIRTIO_PCI_QUEUES 16u

struct vp_vector {
    uint64_t addr; /* what the MSI-X entry holds */
    uint32_t data;
};

struct vp_queue {
    void *doorbell;
};

struct virtio_pci {
    struct virtio_dev dev; /* first */
    struct pci_fn fn;

    /* set by virtio_pci_map, mapped registers */
    uint8_t *common;
    uint8_t *isr;
    uint8_t *device; /* NULL: no device configuration */
    uint8_t *notify;
    uint32_t notify_len;
    uint32_t notify_mult;

    /* set by irq_enable and queue_enable */
    uint16_t nqueues;
    uint16_t nvectors;
    struct vp_vector vector[VIRTIO_PCI_QUEUES + 1];
    struct vp_queue queue[VIRTIO_PCI_QUEUES];
};

/*
 * Finds and maps the structures of 4.1.4. V_OK; V_UNSUPPORTED when one is
 * missing, with a line in the log that says which.
 */
int virtio_pci_map(struct virtio_pci *vp);

#endif
