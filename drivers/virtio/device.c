/*
 * Life cycle of a virtio device. Virtio 1.3, section 3.1.1, a function a
 * step; drivers/vnet/vnet.c calls them in order.
 */
#include "virtio/device.h"

#include <string.h>

#include "plat.h"
#include "verr.h"

/* All ones: nothing answers at the registers any more. */
#define STATUS_GONE 0xffu
#define CONFIG_READS_MAX 64 /* until the generation must have settled */

static void add_status(struct virtio_dev *dev, uint8_t bits)
{
    dev->ops->set_status(dev, dev->ops->status(dev) | bits);
}

int virtio_reset(struct virtio_dev *dev)
{
    uint64_t deadline = plat_now_ns() + VIRTIO_RESET_MS * UINT64_C(1000000);
    uint8_t status;

    dev->accepted = 0;
    dev->ops->set_status(dev, 0);
    while ((status = dev->ops->status(dev)) != 0) {
        if (status == STATUS_GONE) {
            plat_log(LOG_ERR, "%s: the device is gone", dev->name);
            return V_NODEV;
        }
        if (plat_now_ns() > deadline) {
            plat_log(LOG_ERR, "%s: reset did not finish within %u ms, "
                     "status 0x%02x", dev->name, VIRTIO_RESET_MS,
                     status);
            return V_TIMEOUT;
        }
        plat_relax();
    }
    return V_OK;
}

void virtio_acknowledge(struct virtio_dev *dev)
{
    add_status(dev, VIRTIO_S_ACKNOWLEDGE);
    add_status(dev, VIRTIO_S_DRIVER);
    dev->offered = dev->ops->features(dev);
}

int virtio_negotiate(struct virtio_dev *dev, uint64_t wanted)
{
    uint64_t accepted = wanted & dev->offered;

    if (!(accepted & VIRTIO_BIT(VIRTIO_F_VERSION_1))) {
        plat_log(LOG_ERR, "%s: VERSION_1 is needed; offered 0x%016llx",
                 dev->name, (unsigned long long)dev->offered);
        return V_UNSUPPORTED;
    }
    dev->ops->accept(dev, accepted);
    add_status(dev, VIRTIO_S_FEATURES_OK);
    if (!(dev->ops->status(dev) & VIRTIO_S_FEATURES_OK)) {
        plat_log(LOG_ERR, "%s: the device refused the features 0x%016llx; "
                 "it offered 0x%016llx", dev->name,
                 (unsigned long long)accepted,
                 (unsigned long long)dev->offered);
        return V_REFUSED;
    }
    dev->accepted = accepted;
    return V_OK;
}

void virtio_irq_setup(struct virtio_dev *dev, uint16_t nqueues)
{
    dev->irq_mode = dev->ops->irq_enable(dev, nqueues);
}

/* Largest power of two that is not above either limit; 0 when one is 0. */
static uint16_t ring_size(uint16_t wanted, uint16_t max)
{
    uint32_t limit = wanted < max ? wanted : max, n = 1;

    if (limit == 0)
        return 0;
    if (limit > VIRTQ_SIZE_MAX)
        limit = VIRTQ_SIZE_MAX;
    while (n * 2 <= limit)
        n *= 2;
    return (uint16_t)n;
}

static int queue_alloc(struct virtio_dev *dev, struct virtq *vq, uint16_t q,
                       uint16_t n)
{
    void *mem = plat_dma_alloc(virtq_mem_size(n), 4096);
    struct virtq_shadow *shadow;

    if (!mem)
        return V_NOMEM;
    shadow = plat_dma_alloc(n * sizeof(*shadow), 4096);
    if (!shadow) {
        plat_dma_free(mem, virtq_mem_size(n));
        return V_NOMEM;
    }
    return virtq_init(vq, q, n, mem, plat_dma_addr(mem), shadow,
                      virtio_has(dev, VIRTIO_F_EVENT_IDX));
}

int virtio_queue_setup(struct virtio_dev *dev, struct virtq *vq, uint16_t q,
                       uint16_t wanted)
{
    uint16_t max = dev->ops->queue_max(dev, q);
    uint16_t n = ring_size(wanted, max);
    int err;

    if (n == 0) {
        plat_log(LOG_ERR, "%s: there is no queue %u", dev->name, q);
        return V_NODEV;
    }
    err = queue_alloc(dev, vq, q, n);
    if (err) {
        plat_log(LOG_ERR, "%s: no memory for queue %u of %u", dev->name, q, n);
        return err;
    }
    err = dev->ops->queue_enable(dev, vq);
    if (err) {
        plat_log(LOG_ERR, "%s: queue %u of %u was refused: %s", dev->name, q,
                 n, verr_name(err));
        virtio_queue_free(vq);
    }
    return err;
}

void virtio_queue_free(struct virtq *vq)
{
    uint16_t n = virtq_size(vq);

    if (!virtq_mem(vq))
        return;
    plat_dma_free(virtq_shadow(vq), n * sizeof(struct virtq_shadow));
    plat_dma_free(virtq_mem(vq), virtq_mem_size(n));
    memset(vq, 0, sizeof(*vq));
}

int virtio_driver_ok(struct virtio_dev *dev)
{
    uint8_t status;

    add_status(dev, VIRTIO_S_DRIVER_OK);
    status = dev->ops->status(dev);
    if ((status & (VIRTIO_S_DRIVER_OK | VIRTIO_S_FAILED)) !=
        VIRTIO_S_DRIVER_OK) {
        plat_log(LOG_ERR, "%s: status 0x%02x after DRIVER_OK", dev->name,
                 status);
        return V_BADDEV;
    }
    return V_OK;
}

void virtio_fail(struct virtio_dev *dev)
{
    add_status(dev, VIRTIO_S_FAILED);
}

int virtio_read_config(struct virtio_dev *dev, unsigned off, void *buf,
                       unsigned len)
{
    for (int i = 0; i < CONFIG_READS_MAX; i++) {
        uint32_t before = dev->ops->config_generation(dev);

        dev->ops->read_config(dev, off, buf, len);
        if (dev->ops->config_generation(dev) == before)
            return V_OK;
        plat_relax();
    }
    plat_log(LOG_WARN, "%s: the configuration does not stand still",
             dev->name);
    return V_BADDEV;
}
