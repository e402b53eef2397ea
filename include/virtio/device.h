/*
 * TRANSPORT SEAM: a virtio device, whatever it is attached by.
 *
 * A transport (drivers/virtio/virtio_pci.c, the model in tests/model) fills
 * a `struct virtio_dev` with its operations; the driver talks to nothing
 * else. The life cycle below is virtio 1.3, section 3.1.1, a function a
 * step; vnet.c calls them in the order in which they stand here.
 */
#ifndef VIRTIO_DEVICE_H
#define VIRTIO_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "virtio/spec.h"
#include "virtio/virtq.h"

struct virtio_dev;

/* The queue number that stands for a configuration change in irq(). */
#define VIRTIO_IRQ_CONFIG 0xffffu

/* How the device can call us. */
enum virtio_irq_mode {
    VIRTIO_IRQ_NONE, /* not at all: the rings are polled by a timer */
    VIRTIO_IRQ_MSIX, /* one vector a queue and one for the configuration */
};

/*
 * All functions are called from the driver's one context. Only notify is on
 * the hot path. A transport whose device has vanished returns what all-ones
 * registers would give and must not wait.
 */
struct virtio_ops {
    /* Features offered (2.2): bits 0 .. 63. */
    uint64_t (*features)(struct virtio_dev *dev);
    /* Features accepted; a subset of those offered. */
    void (*accept)(struct virtio_dev *dev, uint64_t features);
    /* Device status (2.1); writing 0 starts a reset. */
    uint8_t (*status)(struct virtio_dev *dev);
    void (*set_status)(struct virtio_dev *dev, uint8_t status);
    /* Largest size of queue q; 0: there is no such queue. */
    uint16_t (*queue_max)(struct virtio_dev *dev, uint16_t q);
    /*
     * Programs size, addresses and vector of the queue and enables it.
     * V_OK, or V_REFUSED when the device did not take one of them.
     */
    int (*queue_enable)(struct virtio_dev *dev, const struct virtq *vq);
    /* The doorbell (4.1.5.2); after DRIVER_OK only. */
    void (*notify)(struct virtio_dev *dev, uint16_t q);
    /*
     * Device configuration bytes off .. off+len-1, each byte once. Bytes
     * past the end of the device's area read as zero.
     */
    void (*read_config)(struct virtio_dev *dev, unsigned off, void *buf,
                        unsigned len);
    uint32_t (*config_generation)(struct virtio_dev *dev);
    /*
     * Readies interrupts for nqueues queues and the configuration, before
     * queue_enable, and maps the configuration's. Says what was possible.
     */
    enum virtio_irq_mode (*irq_enable)(struct virtio_dev *dev,
                                       uint16_t nqueues);
    /* The last call: gives back vectors; the device has been reset. */
    void (*release)(struct virtio_dev *dev);
};

struct virtio_dev {
    /* set by the transport */
    const struct virtio_ops *ops;
    char name[24];       /* for messages: "pci 00:03.0" */
    uint16_t device_id;  /* enum virtio_device_id */
    uint32_t config_len; /* bytes of device configuration */

    /* set by device.c */
    uint64_t offered;
    uint64_t accepted;
    enum virtio_irq_mode irq_mode;

    /*
     * Set by the driver before virtio_irq_setup. Called by the transport in
     * interrupt context for queue q or VIRTIO_IRQ_CONFIG: may set a flag.
     */
    void (*irq)(struct virtio_dev *dev, uint16_t q);
    void *driver;
};

static inline bool virtio_has(const struct virtio_dev *dev, unsigned bit)
{
    return (dev->accepted & VIRTIO_BIT(bit)) != 0;
}

static inline bool virtio_offers(const struct virtio_dev *dev, unsigned bit)
{
    return (dev->offered & VIRTIO_BIT(bit)) != 0;
}

/* How long a device may take to finish a reset. */
#define VIRTIO_RESET_MS 1000u

/* Step 1: reset, and wait for it (2.4.2). V_OK, V_TIMEOUT, or V_NODEV when
 * nothing answers at the registers any more. */
int virtio_reset(struct virtio_dev *dev);

/* Steps 2 and 3: ACKNOWLEDGE, DRIVER; then reads the features offered. */
void virtio_acknowledge(struct virtio_dev *dev);

/*
 * Steps 4 to 6: accepts wanted & offered, FEATURES_OK, reads it back.
 * V_UNSUPPORTED without VERSION_1, V_REFUSED when the device did not keep
 * FEATURES_OK; each says so in the log.
 */
int virtio_negotiate(struct virtio_dev *dev, uint64_t wanted);

/*
 * Step 7: interrupts, then each queue. virtio_queue_setup takes the smaller
 * of `wanted` and what the device allows (a power of two), allocates ring
 * and shadow, and enables the queue. V_OK, V_NODEV when there is no such
 * queue, V_NOMEM, V_BADDEV, V_REFUSED.
 */
void virtio_irq_setup(struct virtio_dev *dev, uint16_t nqueues);
int virtio_queue_setup(struct virtio_dev *dev, struct virtq *vq, uint16_t q,
                       uint16_t wanted);

/* Step 8: DRIVER_OK. V_OK, or V_BADDEV when the status does not show it. */
int virtio_driver_ok(struct virtio_dev *dev);

/* Gives up on the device: FAILED (2.1.1). */
void virtio_fail(struct virtio_dev *dev);

/* Frees what virtio_queue_setup allocated; after a reset only. */
void virtio_queue_free(struct virtq *vq);

/*
 * Device configuration under a stable generation (2.5.1): off .. off+len-1,
 * len up to 32. V_OK, or V_BADDEV when it never stands still.
 */
int virtio_read_config(struct virtio_dev *dev, unsigned off, void *buf,
                       unsigned len);

#endif
