/*
 * The registers behind the virtio capabilities. Virtio 1.3, sections 4.1.3,
 * 4.1.4.3 to 4.1.4.6 and 4.1.5.
 *
 * A read is answered and a write carried out only in the width of its field;
 * any other is a broken rule.
 */
#include "pci_model_regs.h"

#include <string.h>

#include "lint.h"

#define FIELD(name) offsetof(struct virtio_pci_common_cfg, name)

struct field {
    uint8_t off;
    uint8_t width;
    bool writable;
    const char *name;
};

static const struct field fields[] = {
    {FIELD(device_feature_select), 4, true, "device_feature_select"},
    {FIELD(device_feature), 4, false, "device_feature"},
    {FIELD(driver_feature_select), 4, true, "driver_feature_select"},
    {FIELD(driver_feature), 4, true, "driver_feature"},
    {FIELD(config_msix_vector), 2, true, "config_msix_vector"},
    {FIELD(num_queues), 2, false, "num_queues"},
    {FIELD(device_status), 1, true, "device_status"},
    {FIELD(config_generation), 1, false, "config_generation"},
    {FIELD(queue_select), 2, true, "queue_select"},
    {FIELD(queue_size), 2, true, "queue_size"},
    {FIELD(queue_msix_vector), 2, true, "queue_msix_vector"},
    {FIELD(queue_enable), 2, true, "queue_enable"},
    {FIELD(queue_notify_off), 2, false, "queue_notify_off"},
    {FIELD(queue_desc_lo), 4, true, "queue_desc_lo"},
    {FIELD(queue_desc_hi), 4, true, "queue_desc_hi"},
    {FIELD(queue_driver_lo), 4, true, "queue_driver_lo"},
    {FIELD(queue_driver_hi), 4, true, "queue_driver_hi"},
    {FIELD(queue_device_lo), 4, true, "queue_device_lo"},
    {FIELD(queue_device_hi), 4, true, "queue_device_hi"},
};

/* 4.1.3.1: natural widths of the device configuration. */
static const struct {
    uint8_t off;
    uint8_t len;
    uint8_t width;
} config_widths[] = {{0, 6, 1}, {6, 6, 2}, {12, 4, 4}, {16, 2, 1}, {18, 2, 2},
                     {20, 4, 4}};

void pci_model_regs_reset(struct pci_model *pm)
{
    memset(pm->q, 0, sizeof(pm->q));
    pm->config_vector = VIRTIO_MSI_NO_VECTOR;
    for (unsigned q = 0; q < MODEL_QUEUES; q++)
        pm->q[q].vector = VIRTIO_MSI_NO_VECTOR;
    pm->device_select = pm->driver_select = 0;
    pm->queue_select = 0;
    pm->isr = 0;
}

static const struct field *field_at(uint64_t off, unsigned width, bool write)
{
    for (unsigned i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        const struct field *f = &fields[i];

        if (off < f->off || off >= f->off + f->width)
            continue;
        if (off != f->off || width != f->width) {
            lint("PCI-02", "%s: access of width %u at 0x%llx", f->name, width,
                 (unsigned long long)off);
            return NULL;
        }
        if (write && !f->writable) {
            lint("PCI-06", "%s written", f->name);
            return NULL;
        }
        return f;
    }
    lint("PCI-02", "common configuration accessed at 0x%llx, width %u",
         (unsigned long long)off, width);
    return NULL;
}

/* The selected queue, or NULL when there is none of that number. */
static struct pci_model_queue *selected(struct pci_model *pm)
{
    return pm->queue_select < pm->m->num_queues ? &pm->q[pm->queue_select]
                                                : NULL;
}

static uint32_t read_feature(struct pci_model *pm)
{
    uint64_t f = netdev_features(pm->m);

    return pm->device_select > 1 ? 0
                                 : (uint32_t)(f >> 32 * pm->device_select);
}

static uint32_t read_queue(struct pci_model *pm, uint64_t off)
{
    struct pci_model_queue *q = selected(pm);

    if (!q)
        return off == FIELD(queue_msix_vector) ? VIRTIO_MSI_NO_VECTOR : 0;
    switch (off) {
    case FIELD(queue_size):
        return q->size ? q->size : netdev_queue_max(pm->m, pm->queue_select);
    case FIELD(queue_msix_vector):
        return q->vector;
    case FIELD(queue_enable):
        return q->enabled;
    case FIELD(queue_notify_off):
        return pm->notify_off[pm->queue_select];
    default:
        return q->addr[(off - FIELD(queue_desc_lo)) / 4];
    }
}

static uint32_t read_common(struct pci_model *pm, uint64_t off,
                            unsigned width)
{
    const struct field *f = field_at(off, width, false);

    if (!f)
        return 0;
    if (off != FIELD(device_status))
        netdev_check_ready(pm->m, f->name);
    switch (off) {
    case FIELD(device_feature_select):
        return pm->device_select;
    case FIELD(device_feature):
        return read_feature(pm);
    case FIELD(driver_feature_select):
        return pm->driver_select;
    case FIELD(driver_feature):
        return pm->driver_select > 1
                   ? 0
                   : (uint32_t)(pm->m->accepted >> 32 * pm->driver_select);
    case FIELD(config_msix_vector):
        return pm->config_vector;
    case FIELD(num_queues):
        return pm->m->num_queues;
    case FIELD(device_status):
        return netdev_status(pm->m);
    case FIELD(config_generation):
        return netdev_generation(pm->m);
    case FIELD(queue_select):
        return pm->queue_select;
    default:
        return read_queue(pm, off);
    }
}

static uint16_t map_vector(struct pci_model *pm, unsigned q, uint32_t val)
{
    if (val != VIRTIO_MSI_NO_VECTOR && val >= pm->vectors) {
        lint("PCI-14", "vector %u of %u mapped", val, pm->vectors);
        return VIRTIO_MSI_NO_VECTOR;
    }
    if (fault_hit(&pm->m->faults[q], FAULT_VECTOR_REFUSED))
        return VIRTIO_MSI_NO_VECTOR;
    return (uint16_t)val;
}

static void enable_queue(struct pci_model *pm, struct pci_model_queue *q,
                         uint32_t val)
{
    uint64_t a[3];

    if (val != 1) {
        lint("PCI-06", "%u written to queue_enable", val);
        return;
    }
    if (q->addr_written != 0x3f)
        lint("PCI-08", "queue %u enabled before its addresses are set",
             pm->queue_select);
    for (unsigned i = 0; i < 3; i++)
        a[i] = (uint64_t)q->addr[2 * i + 1] << 32 | q->addr[2 * i];
    q->enabled = netdev_queue_enable(
        pm->m, pm->queue_select,
        q->size ? q->size : netdev_queue_max(pm->m, pm->queue_select), a[0],
        a[1], a[2]);
}

static void set_queue_size(struct pci_model *pm, struct pci_model_queue *q,
                           uint32_t val)
{
    if (val == 0 || (val & (val - 1)) != 0 ||
        val > pm->m->queue_max[pm->queue_select])
        lint("PCI-07", "size %u written for queue %u of at most %u", val,
             pm->queue_select, pm->m->queue_max[pm->queue_select]);
    else
        q->size = (uint16_t)val;
}

static void write_queue(struct pci_model *pm, uint64_t off, uint32_t val)
{
    struct pci_model_queue *q = selected(pm);
    unsigned i = (unsigned)(off - FIELD(queue_desc_lo)) / 4;

    if (!q) {
        lint("RING-QUEUE", "queue %u written to, of %u", pm->queue_select,
             pm->m->num_queues);
        return;
    }
    if (q->enabled && off != FIELD(queue_enable))
        lint("PCI-08", "queue %u changed while enabled", pm->queue_select);
    switch (off) {
    case FIELD(queue_size):
        set_queue_size(pm, q, val);
        break;
    case FIELD(queue_msix_vector):
        q->vector = map_vector(pm, pm->queue_select, val);
        break;
    case FIELD(queue_enable):
        enable_queue(pm, q, val);
        break;
    default:
        q->addr[i] = val;
        q->addr_written |= (uint8_t)(1u << i);
    }
}

static void write_common(struct pci_model *pm, uint64_t off, unsigned width,
                         uint32_t val)
{
    const struct field *f = field_at(off, width, true);

    if (!f)
        return;
    if (off != FIELD(device_status))
        netdev_check_ready(pm->m, f->name);
    switch (off) {
    case FIELD(device_feature_select):
        pm->device_select = val;
        break;
    case FIELD(driver_feature_select):
        pm->driver_select = val;
        break;
    case FIELD(driver_feature):
        netdev_accept(pm->m, pm->driver_select, val);
        break;
    case FIELD(config_msix_vector):
        /* The spare queue's faults stand for the configuration's. */
        pm->config_vector = map_vector(pm, MODEL_QUEUES - 1, val);
        break;
    case FIELD(device_status):
        if (val == 0)
            pci_model_regs_reset(pm);
        netdev_set_status(pm->m, (uint8_t)val);
        break;
    case FIELD(queue_select):
        pm->queue_select = (uint16_t)val;
        break;
    default:
        write_queue(pm, off, val);
    }
}

static uint32_t read_isr(struct pci_model *pm)
{
    uint8_t isr = pm->isr;
    uint32_t control = pm->cap_msix
                           ? fake_pci_get(pm->fn, pm->cap_msix + 2, 2)
                           : 0;

    if (control & 0x8000)
        lint("PCI-12", "ISR read with MSI-X enabled");
    pm->isr = 0;
    return isr;
}

static uint32_t read_config(struct pci_model *pm, uint64_t off, unsigned width)
{
    uint32_t val = 0;

    for (unsigned i = 0; i < sizeof(config_widths) / sizeof(config_widths[0]);
         i++)
        if (off - config_widths[i].off < config_widths[i].len &&
            width != config_widths[i].width)
            lint("PCI-02", "configuration byte %llu read in width %u",
                 (unsigned long long)off, width);
    for (unsigned i = 0; i < width; i++)
        val |= (uint32_t)netdev_config(pm->m, (unsigned)off + i) << 8 * i;
    return val;
}

uint32_t pci_model_regs_read(void *arg, uint64_t off, unsigned width)
{
    struct pci_model *pm = arg;

    if (off < PCI_MODEL_ISR)
        return read_common(pm, off, width);
    if (off == PCI_MODEL_ISR && width == 1)
        return read_isr(pm);
    if (off >= PCI_MODEL_DEVICE && off < PCI_MODEL_NOTIFY)
        return read_config(pm, off - PCI_MODEL_DEVICE, width);
    lint("PCI-02", "read at 0x%llx of width %u", (unsigned long long)off,
         width);
    return 0;
}

static void ring_doorbell(struct pci_model *pm, uint64_t off, unsigned width,
                          uint32_t val)
{
    if (width != 2) {
        lint("PCI-10", "doorbell of width %u", width);
        return;
    }
    if (val >= MODEL_QUEUES ||
        off != (uint64_t)pm->notify_off[val] * pm->notify_mult) {
        lint("PCI-09", "doorbell at 0x%llx for queue %u",
             (unsigned long long)off, val);
        return;
    }
    netdev_notify(pm->m, (uint16_t)val);
}

void pci_model_regs_write(void *arg, uint64_t off, unsigned width,
                          uint32_t val)
{
    struct pci_model *pm = arg;

    if (off < PCI_MODEL_ISR)
        write_common(pm, off, width, val);
    else if (off >= PCI_MODEL_NOTIFY)
        ring_doorbell(pm, off - PCI_MODEL_NOTIFY, width, val);
    else if (off >= PCI_MODEL_DEVICE)
        lint("CFG-05", "device configuration written at 0x%llx",
             (unsigned long long)off - PCI_MODEL_DEVICE);
    else
        lint("PCI-02", "write at 0x%llx", (unsigned long long)off);
}
