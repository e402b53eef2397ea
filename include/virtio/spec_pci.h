/*
 * Virtio 1.3, section 4.1: virtio over PCI.
 */
#ifndef VIRTIO_SPEC_PCI_H
#define VIRTIO_SPEC_PCI_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

/* 4.1.2 PCI Device Discovery */
#define VIRTIO_PCI_VENDOR 0x1af4u
#define VIRTIO_PCI_DEVICE_FIRST 0x1000u      /* transitional ids */
#define VIRTIO_PCI_DEVICE_MODERN 0x1040u     /* plus the virtio device id */
#define VIRTIO_PCI_DEVICE_LAST 0x107fu
#define VIRTIO_PCI_DEVICE_NET_TRANS 0x1000u  /* network, transitional */

/* 4.1.4 Virtio Structure PCI Capabilities */
enum virtio_pci_cfg_type {
    VIRTIO_PCI_CAP_COMMON_CFG = 1,
    VIRTIO_PCI_CAP_NOTIFY_CFG = 2,
    VIRTIO_PCI_CAP_ISR_CFG = 3,
    VIRTIO_PCI_CAP_DEVICE_CFG = 4,
    VIRTIO_PCI_CAP_PCI_CFG = 5,
    VIRTIO_PCI_CAP_SHARED_MEMORY_CFG = 8,
    VIRTIO_PCI_CAP_VENDOR_CFG = 9,
};

/* struct virtio_pci_cap: offsets inside the capability */
enum virtio_pci_cap_offset {
    VIRTIO_PCI_CAP_VNDR = 0,
    VIRTIO_PCI_CAP_NEXT = 1,
    VIRTIO_PCI_CAP_LEN = 2,
    VIRTIO_PCI_CAP_CFG_TYPE = 3,
    VIRTIO_PCI_CAP_BAR = 4,
    VIRTIO_PCI_CAP_OFFSET = 8,
    VIRTIO_PCI_CAP_LENGTH = 12,
    VIRTIO_PCI_NOTIFY_CAP_MULT = 16,
};
#define VIRTIO_PCI_CAP_SIZE 16u
#define VIRTIO_PCI_NOTIFY_CAP_SIZE 20u

/* 4.1.4.3 Common configuration structure layout */
struct virtio_pci_common_cfg {
    uint32_t device_feature_select; /* rw */
    uint32_t device_feature;        /* r  */
    uint32_t driver_feature_select; /* rw */
    uint32_t driver_feature;        /* rw */
    uint16_t config_msix_vector;    /* rw */
    uint16_t num_queues;            /* r  */
    uint8_t device_status;          /* rw */
    uint8_t config_generation;      /* r  */
    uint16_t queue_select;          /* rw */
    uint16_t queue_size;            /* rw */
    uint16_t queue_msix_vector;     /* rw */
    uint16_t queue_enable;          /* rw */
    uint16_t queue_notify_off;      /* r  */
    uint32_t queue_desc_lo;         /* rw */
    uint32_t queue_desc_hi;
    uint32_t queue_driver_lo;       /* rw */
    uint32_t queue_driver_hi;
    uint32_t queue_device_lo;       /* rw */
    uint32_t queue_device_hi;
    uint16_t queue_notif_config_data; /* r, NOTIF_CONFIG_DATA */
    uint16_t queue_reset;           /* rw, RING_RESET */
};
#define VIRTIO_PCI_COMMON_CFG_SIZE 56u /* up to queue_device, always there */
static_assert(offsetof(struct virtio_pci_common_cfg, device_status) == 20,
              "4.1.4.3");
static_assert(offsetof(struct virtio_pci_common_cfg, queue_desc_lo) == 32,
              "4.1.4.3");
static_assert(offsetof(struct virtio_pci_common_cfg,
                       queue_notif_config_data) == 56, "4.1.4.3");

/* 4.1.4.5 ISR status */
enum virtio_isr { VIRTIO_ISR_QUEUE = 1, VIRTIO_ISR_CONFIG = 2 };

/* 4.1.5.1.2 MSI-X Vector Configuration */
#define VIRTIO_MSI_NO_VECTOR 0xffffu

#endif
