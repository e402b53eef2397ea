/*
 * The in-process door: struct virtio_ops in front of the model. No registers
 * and no vectors; the driver's calls arrive as they are.
 */
#include <stdio.h>
#include <string.h>

#include "lint.h"
#include "model.h"
#include "verr.h"

static struct model *model_of(struct virtio_dev *dev)
{
    return (struct model *)(void *)dev; /* dev is the first member */
}

static uint64_t tm_features(struct virtio_dev *dev)
{
    return netdev_features(model_of(dev));
}

static void tm_accept(struct virtio_dev *dev, uint64_t features)
{
    netdev_accept(model_of(dev), 0, (uint32_t)features);
    netdev_accept(model_of(dev), 1, (uint32_t)(features >> 32));
}

static uint8_t tm_status(struct virtio_dev *dev)
{
    return netdev_status(model_of(dev));
}

static void tm_set_status(struct virtio_dev *dev, uint8_t status)
{
    netdev_set_status(model_of(dev), status);
}

static uint16_t tm_queue_max(struct virtio_dev *dev, uint16_t q)
{
    return netdev_queue_max(model_of(dev), q);
}

static int tm_queue_enable(struct virtio_dev *dev, const struct virtq *vq)
{
    return netdev_queue_enable(model_of(dev), virtq_index(vq), virtq_size(vq),
                               virtq_desc_dma(vq), virtq_driver_dma(vq),
                               virtq_device_dma(vq))
               ? V_OK
               : V_REFUSED;
}

static void tm_notify(struct virtio_dev *dev, uint16_t q)
{
    netdev_notify(model_of(dev), q);
}

static void tm_read_config(struct virtio_dev *dev, unsigned off, void *buf,
                           unsigned len)
{
    uint8_t *out = buf;

    for (unsigned i = 0; i < len; i++)
        out[i] = netdev_config(model_of(dev), off + i);
}

static uint32_t tm_config_generation(struct virtio_dev *dev)
{
    return netdev_generation(model_of(dev));
}

static enum virtio_irq_mode tm_irq_enable(struct virtio_dev *dev,
                                          uint16_t nqueues)
{
    struct model *m = model_of(dev);

    (void)nqueues;
    if (!dev->irq)
        lint("SEAM-IRQ", "interrupts enabled without a handler");
    return m->no_interrupts ? VIRTIO_IRQ_NONE : VIRTIO_IRQ_MSIX;
}

static void tm_release(struct virtio_dev *dev)
{
    struct model *m = model_of(dev);

    if (m->status != 0)
        lint("SEAM-RELEASE", "released with status 0x%02x", m->status);
    m->raise = NULL;
}

static const struct virtio_ops ops = {
    .features = tm_features,
    .accept = tm_accept,
    .status = tm_status,
    .set_status = tm_set_status,
    .queue_max = tm_queue_max,
    .queue_enable = tm_queue_enable,
    .notify = tm_notify,
    .read_config = tm_read_config,
    .config_generation = tm_config_generation,
    .irq_enable = tm_irq_enable,
    .release = tm_release,
};

static void raise_in_process(struct model *m, uint16_t q)
{
    if (!m->no_interrupts && m->dev.irq)
        m->dev.irq(&m->dev, q);
}

struct virtio_dev *model_dev(struct model *m)
{
    m->dev.ops = &ops;
    m->dev.device_id = VIRTIO_ID_NET;
    m->dev.config_len = m->config_len;
    snprintf(m->dev.name, sizeof(m->dev.name), "model");
    m->raise = raise_in_process;
    return &m->dev;
}
