/*
 * The PCI transport in front of the model's PCI door.
 */
#ifndef PCI_RIG_H
#define PCI_RIG_H

#include <string.h>
#include <unistd.h>

#include "check.h"
#include "host.h"
#include "lint.h"
#include "pci_model.h"
#include "virtio/virtio_pci.h"

#define F MODEL_FEATURES

static struct model *m;
static struct pci_model *pm;
static struct pci_fn fn;
static struct virtio_dev *dev;
static struct virtq vq[2];
static unsigned irqs[3];

static inline void irq(struct virtio_dev *d, uint16_t q)
{
    (void)d;
    CHECK(q < 2 || q == VIRTIO_IRQ_CONFIG);
    irqs[q < 2 ? q : 2]++;
}

static inline void make(const struct pci_model_config *config)
{
    m = model_new(F);
    pm = pci_model_new(m, config);
}

static inline int open_it(void)
{
    CHECK_EQ(pci_probe(pm->fn->bdf, &fn), V_OK);
    dev = NULL;
    return virtio_pci_open(&fn, &dev);
}

static inline void done(void)
{
    pci_model_free(pm);
    model_free(m);
}

/* Opens, brings up both queues, DRIVER_OK. */
static inline int bring_up(void)
{
    int err = V_OK;

    dev->irq = irq;
    CHECK_EQ(virtio_reset(dev), V_OK);
    virtio_acknowledge(dev);
    CHECK_EQ(dev->offered, F);
    CHECK_EQ(virtio_negotiate(dev, F), V_OK);
    virtio_irq_setup(dev, 2);
    for (uint16_t q = 0; q < 2 && !err; q++)
        err = virtio_queue_setup(dev, &vq[q], q, 256);
    return err ? err : virtio_driver_ok(dev);
}

static inline void take_down(void)
{
    CHECK_EQ(virtio_reset(dev), V_OK);
    for (unsigned q = 0; q < 2; q++)
        virtio_queue_free(&vq[q]);
    dev->ops->release(dev);
    CHECK_EQ(fake_pci_vectors(), 0);
    CHECK(!fake_pci_masters(pm->fn));
}

/* A frame in, a frame out, each with its interrupt if there are any. */
static inline void traffic(void)
{
    uint8_t *page = plat_dma_alloc(4096, 4096);
    struct virtq_seg in = {plat_dma_addr(page), 2048};
    struct virtq_seg out = {plat_dma_addr(page) + 2048, 72};
    bool msix = dev->irq_mode == VIRTIO_IRQ_MSIX;
    uint8_t frame[60] = {0};
    uint32_t len;

    memset(irqs, 0, sizeof(irqs));
    m->tx_raw = true;
    CHECK_EQ(virtq_add(&vq[0], &in, 0, 1, page), V_OK);
    CHECK_EQ(virtq_add(&vq[1], &out, 1, 0, page), V_OK);
    virtq_arm(&vq[0], 0);
    virtq_arm(&vq[1], 0);
    for (uint16_t q = 0; q < 2; q++)
        if (virtq_publish(&vq[q]))
            dev->ops->notify(dev, q);
    model_check_idle(m);
    CHECK_EQ(m->n.tx_frames, 1);
    CHECK(model_rx(m, frame, 60, NULL));
    CHECK_EQ(irqs[0], msix);
    CHECK_EQ(irqs[1], msix);
    CHECK(virtq_get(&vq[0], &len) && len == 72);
    CHECK(virtq_get(&vq[1], &len));
    model_set_link(m, false);
    CHECK_EQ(irqs[2], msix);
    plat_dma_free(page, 4096);
}

#endif
