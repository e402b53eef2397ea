/*
 * The PCI door: configuration space, capabilities, MSI-X. Virtio 1.3,
 * sections 4.1.2 and 4.1.4; PCI Local Bus Specification 3.0, section 6.8.2.
 * The registers of BAR 4 are in pci_model_regs.c.
 */
#include "pci_model.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "lint.h"
#include "pci_model_regs.h"

#define MSIX_BAR 1u
#define REGS_BAR 4u
#define MSIX_BAR_BASE UINT64_C(0xfd000000)
#define MSIX_ENABLE 0x8000u
#define MSIX_MASK_ALL 0x4000u

static const struct fake_bar_ops table_ops = {
    .read = pci_model_table_read,
    .write = pci_model_table_write,
};

static const struct fake_bar_ops regs_ops = {
    .read = pci_model_regs_read,
    .write = pci_model_regs_write,
};

static unsigned add_cap(struct pci_model *pm, uint8_t type, uint32_t off,
                        uint32_t len, const uint32_t *mult)
{
    uint8_t body[VIRTIO_PCI_NOTIFY_CAP_SIZE] = {0};
    unsigned size = mult ? VIRTIO_PCI_NOTIFY_CAP_SIZE : VIRTIO_PCI_CAP_SIZE;

    body[VIRTIO_PCI_CAP_LEN] = (uint8_t)size;
    body[VIRTIO_PCI_CAP_CFG_TYPE] = type;
    body[VIRTIO_PCI_CAP_BAR] = REGS_BAR;
    memcpy(body + VIRTIO_PCI_CAP_OFFSET, &off, 4);
    memcpy(body + VIRTIO_PCI_CAP_LENGTH, &len, 4);
    if (mult)
        memcpy(body + VIRTIO_PCI_NOTIFY_CAP_MULT, mult, 4);
    return fake_pci_cap(pm->fn, 0x09, body, size);
}

static void add_msix(struct pci_model *pm)
{
    uint8_t body[12] = {0};
    uint32_t table = MSIX_BAR, pba = 0x800 | MSIX_BAR;

    body[2] = (uint8_t)(pm->vectors - 1);
    memcpy(body + 4, &table, 4);
    memcpy(body + 8, &pba, 4);
    pm->cap_msix = fake_pci_cap(pm->fn, 0x11, body, sizeof(body));
    pm->fn->writable[pm->cap_msix + 3] = 0xc0;
    fake_pci_bar(pm->fn, MSIX_BAR, FAKE_BAR_MEM32, MSIX_BAR_BASE, 4096,
                 &table_ops, pm);
    for (unsigned i = 0; i < PCI_MODEL_VECTORS; i++)
        pm->table[i][3] = 1; /* masked */
}

static bool can_dma(struct model *m)
{
    struct pci_model *pm = m->door;

    return fake_pci_masters(pm->fn);
}

static void raise_message(struct model *m, uint16_t q)
{
    struct pci_model *pm = m->door;
    uint16_t vector = q == VIRTIO_IRQ_CONFIG ? pm->config_vector
                                             : pm->q[q].vector;

    pm->isr |= q == VIRTIO_IRQ_CONFIG ? VIRTIO_ISR_CONFIG : VIRTIO_ISR_QUEUE;
    if (vector != VIRTIO_MSI_NO_VECTOR)
        pci_model_message(pm, vector);
}

static uint32_t msix_control(const struct pci_model *pm)
{
    return pm->cap_msix ? fake_pci_get(pm->fn, pm->cap_msix + 2, 2) : 0;
}

void pci_model_message(struct pci_model *pm, unsigned n)
{
    uint32_t *e = pm->table[n];
    uint32_t control = msix_control(pm);

    if (!(control & MSIX_ENABLE) || n >= pm->vectors)
        return;
    if ((control & MSIX_MASK_ALL) || (e[3] & 1)) {
        pm->pending[n] = true;
        return;
    }
    pm->pending[n] = false;
    fake_pci_message((uint64_t)e[1] << 32 | e[0], e[2]);
}

uint32_t pci_model_table_read(void *arg, uint64_t off, unsigned width)
{
    struct pci_model *pm = arg;

    if (width != 4)
        lint("PCI-02", "MSI-X table read of width %u", width);
    if (off / 16 >= pm->vectors)
        return 0;
    return pm->table[off / 16][off / 4 % 4];
}

void pci_model_table_write(void *arg, uint64_t off, unsigned width,
                           uint32_t val)
{
    struct pci_model *pm = arg;
    unsigned n = (unsigned)(off / 16), word = (unsigned)(off / 4 % 4);

    if (width != 4)
        lint("PCI-02", "MSI-X table write of width %u", width);
    if (n >= pm->vectors) {
        lint("PCI-14", "MSI-X entry %u of %u", n, pm->vectors);
        return;
    }
    if (word < 3 && !(pm->table[n][3] & 1) &&
        (msix_control(pm) & MSIX_ENABLE))
        lint("PCI-MSIX", "entry %u changed while it is not masked", n);
    pm->table[n][word] = val;
    if (word == 3 && !(val & 1) && pm->pending[n])
        pci_model_message(pm, n);
}

static struct pci_model_config complete(const struct pci_model_config *config)
{
    struct pci_model_config c = {0};

    if (config)
        c = *config;
    if (!c.bdf)
        c.bdf = PCI_BDF(0, 3, 0);
    if (!c.base)
        c.base = 0xfe000000;
    if (!c.notify_mult && !c.mult_zero)
        c.notify_mult = 4;
    if (!c.vectors)
        c.vectors = 4;
    return c;
}

static void add_function(struct pci_model *pm,
                         const struct pci_model_config *c)
{
    struct fake_fn *f = fake_pci_add(c->bdf, VIRTIO_PCI_VENDOR,
                                     c->transitional ? 0x1000 : 0x1041);

    pm->fn = f;
    fake_pci_set(f, 0x08, 1, c->transitional ? 0 : 1);
    fake_pci_set(f, 0x0a, 2, 0x0200);
    fake_pci_set(f, 0x2c, 2, VIRTIO_PCI_VENDOR);
    fake_pci_set(f, 0x2e, 2, c->transitional ? 1 : 0x1100);
    fake_pci_bar(f, 0, FAKE_BAR_IO, 0xc000, 32, NULL, NULL);
    fake_pci_bar(f, REGS_BAR, FAKE_BAR_MEM64, c->base, PCI_MODEL_BAR_BYTES,
                 &regs_ops, pm);
}

struct pci_model *pci_model_new(struct model *m,
                                const struct pci_model_config *config)
{
    struct pci_model_config c = complete(config);
    struct pci_model *pm = calloc(1, sizeof(*pm));

    CHECK(pm && c.vectors <= PCI_MODEL_VECTORS);
    pm->m = m;
    pm->vectors = c.vectors;
    pm->notify_mult = c.notify_mult;
    for (unsigned q = 0; q < MODEL_QUEUES; q++)
        pm->notify_off[q] = (uint16_t)q;
    add_function(pm, &c);
    if (!c.no_msix)
        add_msix(pm);
    pm->cap_common = add_cap(pm, VIRTIO_PCI_CAP_COMMON_CFG, PCI_MODEL_COMMON,
                             0x1000, NULL);
    pm->cap_isr = add_cap(pm, VIRTIO_PCI_CAP_ISR_CFG, PCI_MODEL_ISR, 0x1000,
                          NULL);
    pm->cap_device = add_cap(pm, VIRTIO_PCI_CAP_DEVICE_CFG, PCI_MODEL_DEVICE,
                             0x1000, NULL);
    pm->cap_notify = add_cap(pm, VIRTIO_PCI_CAP_NOTIFY_CFG, PCI_MODEL_NOTIFY,
                             0x1000, &c.notify_mult);
    m->door = pm;
    m->raise = raise_message;
    m->can_dma = can_dma;
    pci_model_regs_reset(pm);
    return pm;
}

void pci_model_free(struct pci_model *pm)
{
    pm->m->door = NULL;
    pm->m->raise = NULL;
    pm->m->can_dma = NULL;
    fake_pci_remove(pm->fn);
    free(pm);
}
