/*
 * Where a virtio PCI function keeps its structures. Virtio 1.3, section
 * 4.1.4: the capabilities are read, checked against their BAR, and mapped.
 *
 * The first usable instance of each type wins. Capabilities of a reserved
 * type, with a reserved BAR number, too short, in an I/O BAR, or reaching
 * past the end of their BAR are passed over.
 */
#include "virtio/virtio_pci_priv.h"

struct vp_cap {
    unsigned at; /* config offset */
    uint8_t type;
    uint8_t bar;
    uint8_t len;
    uint32_t offset;
    uint32_t length;
};

static void read_cap(const struct pci_fn *f, unsigned at, struct vp_cap *c)
{
    c->at = at;
    c->len = (uint8_t)plat_pci_read(f->bdf, at + VIRTIO_PCI_CAP_LEN, 1);
    c->type = (uint8_t)plat_pci_read(f->bdf, at + VIRTIO_PCI_CAP_CFG_TYPE, 1);
    c->bar = (uint8_t)plat_pci_read(f->bdf, at + VIRTIO_PCI_CAP_BAR, 1);
    c->offset = plat_pci_read(f->bdf, at + VIRTIO_PCI_CAP_OFFSET, 4);
    c->length = plat_pci_read(f->bdf, at + VIRTIO_PCI_CAP_LENGTH, 4);
}

/*
 * The next capability of this type at or after the walk's position that has
 * at least `need` bytes. Moves *at on. Returns false at the end of the list.
 */
static bool next_cap(const struct pci_fn *f, unsigned *at, uint8_t type,
                     unsigned cap_size, uint32_t need, struct vp_cap *c)
{
    while ((*at = pci_cap_next(f, PCI_CAP_VENDOR, *at)) != 0) {
        if (*at + cap_size > 0x100)
            continue;
        read_cap(f, *at, c);
        if (c->type == type && c->len >= cap_size && c->bar <= 5 &&
            c->length >= need)
            return true;
    }
    return false;
}

/* Maps the first usable structure of this type, `most` bytes of it at most;
 * c->length becomes what was mapped. */
static uint8_t *map_cap(struct virtio_pci *vp, uint8_t type, unsigned cap_size,
                        uint32_t need, uint32_t most, struct vp_cap *c)
{
    unsigned at = 0;

    while (next_cap(&vp->fn, &at, type, cap_size, need, c)) {
        uint8_t *p;

        if (c->length > most)
            c->length = most;
        p = pci_map(&vp->fn, c->bar, c->offset, c->length);
        if (p)
            return p;
    }
    return NULL;
}

static int missing(struct virtio_pci *vp, const char *what)
{
    plat_log(LOG_ERR, "%s: %04x:%04x has no usable %s structure%s",
             vp->dev.name, vp->fn.vendor, vp->fn.device, what,
             vp->fn.device < VIRTIO_PCI_DEVICE_MODERN
                 ? "; a legacy device is not supported"
                 : "");
    return V_UNSUPPORTED;
}

static int map_notify(struct virtio_pci *vp)
{
    struct vp_cap c;

    vp->notify = map_cap(vp, VIRTIO_PCI_CAP_NOTIFY_CFG,
                         VIRTIO_PCI_NOTIFY_CAP_SIZE, 2, UINT32_C(1) << 24, &c);
    if (!vp->notify)
        return missing(vp, "notification");
    vp->notify_len = c.length;
    vp->notify_mult =
        plat_pci_read(vp->fn.bdf, c.at + VIRTIO_PCI_NOTIFY_CAP_MULT, 4);
    return V_OK;
}

int virtio_pci_map(struct virtio_pci *vp)
{
    struct vp_cap c;

    vp->common = map_cap(vp, VIRTIO_PCI_CAP_COMMON_CFG, VIRTIO_PCI_CAP_SIZE,
                         VIRTIO_PCI_COMMON_CFG_SIZE,
                         sizeof(struct virtio_pci_common_cfg), &c);
    if (!vp->common)
        return missing(vp, "common configuration");
    vp->isr = map_cap(vp, VIRTIO_PCI_CAP_ISR_CFG, VIRTIO_PCI_CAP_SIZE, 1, 1,
                      &c);
    if (!vp->isr)
        return missing(vp, "ISR");
    vp->device = map_cap(vp, VIRTIO_PCI_CAP_DEVICE_CFG, VIRTIO_PCI_CAP_SIZE, 1,
                         4096, &c);
    vp->dev.config_len = vp->device ? c.length : 0;
    return map_notify(vp);
}
