/*
 * Modern virtio over PCI. Virtio 1.3, section 4.1.
 *
 * Owns the mapped registers of one function and its interrupt vectors. Runs
 * with `-device virtio-net-pci` under both its ids, 0x1041 and, where the
 * device is transitional, 0x1000. The capabilities are found by
 * virtio_pci_caps.c.
 */
#include "virtio/virtio_pci.h"

#include <string.h>

#include "virtio/virtio_pci_priv.h"

#define REG(vp, field) \
    ((vp)->common + offsetof(struct virtio_pci_common_cfg, field))
#define READ(vp, width, field) plat_mmio_read(REG(vp, field), width)
#define WRITE(vp, width, field, val) \
    plat_mmio_write(REG(vp, field), width, (uint32_t)(val))

static struct virtio_pci *vp_of(struct virtio_dev *dev)
{
    return (struct virtio_pci *)(void *)dev; /* dev is the first member */
}

static uint64_t vp_features(struct virtio_dev *dev)
{
    struct virtio_pci *vp = vp_of(dev);
    uint64_t low;

    WRITE(vp, 4, device_feature_select, 0);
    low = READ(vp, 4, device_feature);
    WRITE(vp, 4, device_feature_select, 1);
    return (uint64_t)READ(vp, 4, device_feature) << 32 | low;
}

static void vp_accept(struct virtio_dev *dev, uint64_t features)
{
    struct virtio_pci *vp = vp_of(dev);

    WRITE(vp, 4, driver_feature_select, 0);
    WRITE(vp, 4, driver_feature, features);
    WRITE(vp, 4, driver_feature_select, 1);
    WRITE(vp, 4, driver_feature, features >> 32);
}

static uint8_t vp_status(struct virtio_dev *dev)
{
    return (uint8_t)READ(vp_of(dev), 1, device_status);
}

static void vp_set_status(struct virtio_dev *dev, uint8_t status)
{
    WRITE(vp_of(dev), 1, device_status, status);
}

static uint16_t vp_queue_max(struct virtio_dev *dev, uint16_t q)
{
    struct virtio_pci *vp = vp_of(dev);

    if (q >= READ(vp, 2, num_queues))
        return 0;
    WRITE(vp, 2, queue_select, q);
    return (uint16_t)READ(vp, 2, queue_size);
}

/* 4.1.4.4: where the doorbell of the selected queue is. */
static void *doorbell(struct virtio_pci *vp)
{
    uint64_t off = (uint64_t)READ(vp, 2, queue_notify_off) * vp->notify_mult;

    if (vp->notify_len < 2 || off > vp->notify_len - 2) {
        plat_log(LOG_ERR, "%s: doorbell at 0x%llx is outside its area of "
                 "0x%x bytes", vp->dev.name, (unsigned long long)off,
                 vp->notify_len);
        return NULL;
    }
    return vp->notify + off;
}

/* 4.1.5.1.2: maps the vector, and looks whether the device took it. */
static void map_queue_vector(struct virtio_pci *vp, uint16_t q)
{
    if (vp->dev.irq_mode != VIRTIO_IRQ_MSIX)
        return;
    WRITE(vp, 2, queue_msix_vector, q + 1);
    if (READ(vp, 2, queue_msix_vector) == q + 1u)
        return;
    plat_log(LOG_WARN, "%s: vector %u for queue %u was refused, polling",
             vp->dev.name, q + 1, q);
    vp->dev.irq_mode = VIRTIO_IRQ_NONE;
}

static int vp_queue_enable(struct virtio_dev *dev, const struct virtq *vq)
{
    struct virtio_pci *vp = vp_of(dev);
    uint16_t q = virtq_index(vq);
    uint64_t desc = virtq_desc_dma(vq);
    uint64_t driver = virtq_driver_dma(vq);
    uint64_t device = virtq_device_dma(vq);

    if (q >= vp->nqueues)
        return V_INVAL;
    WRITE(vp, 2, queue_select, q);
    WRITE(vp, 2, queue_size, virtq_size(vq));
    if (READ(vp, 2, queue_size) != virtq_size(vq))
        return V_REFUSED;
    WRITE(vp, 4, queue_desc_lo, desc);
    WRITE(vp, 4, queue_desc_hi, desc >> 32);
    WRITE(vp, 4, queue_driver_lo, driver);
    WRITE(vp, 4, queue_driver_hi, driver >> 32);
    WRITE(vp, 4, queue_device_lo, device);
    WRITE(vp, 4, queue_device_hi, device >> 32);
    map_queue_vector(vp, q);
    vp->queue[q].doorbell = doorbell(vp);
    if (!vp->queue[q].doorbell)
        return V_BADDEV;
    WRITE(vp, 2, queue_enable, 1);
    return V_OK;
}

static void vp_notify(struct virtio_dev *dev, uint16_t q)
{
    plat_mmio_write(vp_of(dev)->queue[q].doorbell, 2, q);
}

/* 4.1.3.1: a field of 2 or 4 bytes in one access, everything else bytewise. */
static void vp_read_config(struct virtio_dev *dev, unsigned off, void *buf,
                           unsigned len)
{
    struct virtio_pci *vp = vp_of(dev);
    unsigned width = (len == 2 || len == 4) && off % len == 0 ? len : 1;
    uint8_t *out = buf;

    for (unsigned i = 0; i < len; i += width) {
        uint32_t val = 0;

        if (off + i + width <= dev->config_len)
            val = plat_mmio_read(vp->device + off + i, width);
        memcpy(out + i, &val, width);
    }
}

static uint32_t vp_config_generation(struct virtio_dev *dev)
{
    return READ(vp_of(dev), 1, config_generation);
}

/* An interrupt: n is the table entry, 0 the configuration's. */
static void vp_irq(void *arg, unsigned n)
{
    struct virtio_pci *vp = arg;

    vp->dev.irq(&vp->dev, n == 0 ? VIRTIO_IRQ_CONFIG : (uint16_t)(n - 1));
}

static void free_vectors(struct virtio_pci *vp)
{
    if (vp->fn.msix.cap == 0)
        return;
    for (unsigned n = 0; n < vp->nvectors; n++) {
        pci_msix_mask(&vp->fn, n);
        plat_msi_free(vp->vector[n].addr, vp->vector[n].data);
    }
    vp->nvectors = 0;
    pci_msix_enable(&vp->fn, false);
}

/* One vector for the configuration and one for each queue; all or none. */
static bool alloc_vectors(struct virtio_pci *vp, unsigned count)
{
    if (vp->nvectors == count)
        return true;
    while (vp->nvectors < count) {
        unsigned n = vp->nvectors;
        struct vp_vector *v = &vp->vector[n];

        if (plat_msi_alloc(vp_irq, vp, n, &v->addr, &v->data) != V_OK) {
            free_vectors(vp);
            return false;
        }
        pci_msix_set(&vp->fn, n, v->addr, v->data);
        vp->nvectors++;
    }
    pci_msix_enable(&vp->fn, true);
    return true;
}

static enum virtio_irq_mode polling(struct virtio_pci *vp, const char *why)
{
    plat_log(LOG_WARN, "%s: no interrupts (%s), polling", vp->dev.name, why);
    return VIRTIO_IRQ_NONE;
}

static enum virtio_irq_mode vp_irq_enable(struct virtio_dev *dev,
                                          uint16_t nqueues)
{
    struct virtio_pci *vp = vp_of(dev);
    unsigned want = nqueues + 1u;

    if (nqueues > VIRTIO_PCI_QUEUES)
        return polling(vp, "too many queues");
    vp->nqueues = nqueues;
    if (vp->fn.msix.cap == 0)
        return polling(vp, "the device has no MSI-X");
    if (want > vp->fn.msix.count)
        return polling(vp, "too few MSI-X vectors");
    if (!alloc_vectors(vp, want))
        return polling(vp, "no vector free");
    WRITE(vp, 2, config_msix_vector, 0);
    if (READ(vp, 2, config_msix_vector) != 0) {
        free_vectors(vp);
        return polling(vp, "the configuration vector was refused");
    }
    return VIRTIO_IRQ_MSIX;
}

static void vp_release(struct virtio_dev *dev)
{
    struct virtio_pci *vp = vp_of(dev);

    free_vectors(vp);
    pci_disable(&vp->fn);
    plat_dma_free(vp, sizeof(*vp));
}

static const struct virtio_ops vp_ops = {
    .features = vp_features,
    .accept = vp_accept,
    .status = vp_status,
    .set_status = vp_set_status,
    .queue_max = vp_queue_max,
    .queue_enable = vp_queue_enable,
    .notify = vp_notify,
    .read_config = vp_read_config,
    .config_generation = vp_config_generation,
    .irq_enable = vp_irq_enable,
    .release = vp_release,
};

bool virtio_pci_match(const struct pci_fn *f, uint16_t device_id)
{
    if (f->vendor != VIRTIO_PCI_VENDOR)
        return false;
    if (f->device == VIRTIO_PCI_DEVICE_MODERN + device_id)
        return true;
    /* 4.1.2.1: a transitional device says what it is by its subsystem. */
    return f->device >= VIRTIO_PCI_DEVICE_FIRST &&
           f->device < VIRTIO_PCI_DEVICE_MODERN && f->subsystem == device_id;
}

static void set_name(struct virtio_dev *dev, uint16_t bdf)
{
    memcpy(dev->name, "pci ", 4);
    pci_name(bdf, dev->name + 4);
}

int virtio_pci_open(const struct pci_fn *f, struct virtio_dev **out)
{
    struct virtio_pci *vp = plat_dma_alloc(sizeof(*vp), 4096);
    int err;

    if (!vp)
        return V_NOMEM;
    vp->fn = *f;
    vp->dev.ops = &vp_ops;
    vp->dev.device_id = f->device >= VIRTIO_PCI_DEVICE_MODERN
                            ? (uint16_t)(f->device - VIRTIO_PCI_DEVICE_MODERN)
                            : f->subsystem;
    set_name(&vp->dev, f->bdf);
    pci_enable(&vp->fn);
    err = virtio_pci_map(vp);
    if (err) {
        pci_disable(&vp->fn);
        plat_dma_free(vp, sizeof(*vp));
        return err;
    }
    if (pci_msix_init(&vp->fn) == V_BADDEV)
        plat_log(LOG_WARN, "%s: the MSI-X table is outside its BAR",
                 vp->dev.name);
    *out = &vp->dev;
    return V_OK;
}
