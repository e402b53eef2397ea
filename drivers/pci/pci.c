/*
 * PCI: configuration space, base address registers, capabilities, scan.
 *
 * PCI Local Bus Specification 3.0, chapter 6; bridges: PCI-to-PCI Bridge
 * Architecture 1.2. Everything is reached through include/plat_pci.h. MSI-X
 * is in msix.c.
 */
#include "pci/pci.h"

#include <stddef.h>
#include <string.h>

#define HEADER_MULTI_FUNCTION 0x80u
#define HEADER_TYPE_MASK 0x7fu
#define HEADER_NORMAL 0u
#define HEADER_BRIDGE 1u
#define STATUS_CAP_LIST 0x10u

#define BAR_IO 1u
#define BAR_TYPE_MASK 6u
#define BAR_TYPE_64 4u

static uint32_t bar_offset(unsigned n)
{
    return PCI_BAR0 + 4 * n;
}

/* Writes all ones, reads which bits stick, puts the old value back. */
static uint32_t bar_probe(uint16_t bdf, unsigned n, uint32_t *old)
{
    uint32_t mask;

    *old = plat_pci_read(bdf, bar_offset(n), 4);
    plat_pci_write(bdf, bar_offset(n), 4, UINT32_MAX);
    mask = plat_pci_read(bdf, bar_offset(n), 4);
    plat_pci_write(bdf, bar_offset(n), 4, *old);
    return mask;
}

static void bar_io(struct pci_bar *bar, uint32_t old, uint32_t mask)
{
    mask &= ~UINT32_C(3);
    bar->io = true;
    bar->base = old & ~UINT32_C(3);
    /* Devices may implement the low 16 bits only. */
    bar->size = mask ? (~mask & 0xffff) + 1 : 0;
}

/* Sizes BAR n; returns how many slots it takes, 1 or 2. */
static unsigned bar_read(uint16_t bdf, unsigned n, struct pci_bar *bar)
{
    uint32_t low, high = 0;
    uint64_t mask = bar_probe(bdf, n, &low);
    bool wide = (low & BAR_IO) == 0 && (low & BAR_TYPE_MASK) == BAR_TYPE_64;

    if (low & BAR_IO) {
        bar_io(bar, low, (uint32_t)mask);
        return 1;
    }
    if (wide && n < 5)
        mask |= (uint64_t)bar_probe(bdf, n + 1, &high) << 32;
    else
        mask |= UINT64_C(0xffffffff) << 32;
    mask &= ~UINT64_C(15);
    bar->base = ((uint64_t)high << 32 | low) & ~UINT64_C(15);
    bar->size = (uint32_t)mask || (wide && mask) ? ~mask + 1 : 0;
    return wide ? 2 : 1;
}

/* Decoding is off meanwhile: a BAR of all ones must not answer anything. */
static void bars_read(struct pci_fn *f)
{
    uint32_t command = plat_pci_read(f->bdf, PCI_COMMAND, 2);

    plat_pci_write(f->bdf, PCI_COMMAND, 2,
                   command & ~(uint32_t)(PCI_COMMAND_IO | PCI_COMMAND_MEMORY));
    for (unsigned n = 0; n < 6;)
        n += bar_read(f->bdf, n, &f->bar[n]);
    plat_pci_write(f->bdf, PCI_COMMAND, 2, command);
}

int pci_probe(uint16_t bdf, struct pci_fn *f)
{
    memset(f, 0, sizeof(*f));
    f->bdf = bdf;
    f->vendor = (uint16_t)plat_pci_read(bdf, PCI_VENDOR_ID, 2);
    if (f->vendor == 0xffff)
        return V_NODEV;
    f->device = (uint16_t)plat_pci_read(bdf, PCI_DEVICE_ID, 2);
    f->revision = (uint8_t)plat_pci_read(bdf, PCI_REVISION, 1);
    f->class = (uint16_t)plat_pci_read(bdf, PCI_CLASS, 2);
    if ((plat_pci_read(bdf, PCI_HEADER_TYPE, 1) & HEADER_TYPE_MASK) !=
        HEADER_NORMAL)
        return V_OK;
    f->subsystem_vendor =
        (uint16_t)plat_pci_read(bdf, PCI_SUBSYSTEM_VENDOR_ID, 2);
    f->subsystem = (uint16_t)plat_pci_read(bdf, PCI_SUBSYSTEM_ID, 2);
    bars_read(f);
    return V_OK;
}

/* One scan: the buses seen so far, so that a bridge loop ends. */
struct scan {
    int (*fn)(struct pci_fn *f, void *arg);
    void *arg;
    uint8_t pending[32]; /* buses found behind bridges, not visited yet */
    uint8_t seen[32];
};

static void bit_set(uint8_t *map, unsigned bus)
{
    map[bus / 8] |= (uint8_t)(1u << bus % 8);
}

static bool bit_test(const uint8_t *map, unsigned bus)
{
    return (map[bus / 8] & 1u << bus % 8) != 0;
}

static int scan_function(struct scan *s, uint16_t bdf)
{
    struct pci_fn f;
    unsigned type = plat_pci_read(bdf, PCI_HEADER_TYPE, 1) & HEADER_TYPE_MASK;

    if (pci_probe(bdf, &f) != V_OK)
        return 0;
    if (type == HEADER_BRIDGE)
        bit_set(s->pending, plat_pci_read(bdf, PCI_SECONDARY_BUS, 1) & 0xff);
    return s->fn(&f, s->arg);
}

static int scan_device(struct scan *s, unsigned bus, unsigned dev)
{
    uint16_t first = PCI_BDF(bus, dev, 0);
    unsigned functions = 1;
    int ret = 0;

    if (plat_pci_read(first, PCI_VENDOR_ID, 2) == 0xffff)
        return 0;
    if (plat_pci_read(first, PCI_HEADER_TYPE, 1) & HEADER_MULTI_FUNCTION)
        functions = 8;
    for (unsigned fn = 0; fn < functions && !ret; fn++)
        ret = scan_function(s, PCI_BDF(bus, dev, fn));
    return ret;
}

static int scan_bus(struct scan *s, unsigned bus)
{
    int ret = 0;

    bit_set(s->seen, bus);
    for (unsigned dev = 0; dev < 32 && !ret; dev++)
        ret = scan_device(s, bus, dev);
    return ret;
}

int pci_scan(int (*fn)(struct pci_fn *f, void *arg), void *arg)
{
    struct scan s = {.fn = fn, .arg = arg};
    bool again = true;

    bit_set(s.pending, 0);
    while (again) {
        again = false;
        for (unsigned bus = 0; bus < 256; bus++) {
            int ret;

            if (!bit_test(s.pending, bus) || bit_test(s.seen, bus))
                continue;
            again = true;
            ret = scan_bus(&s, bus);
            if (ret)
                return ret;
        }
    }
    return 0;
}

static unsigned cap_pointer(const struct pci_fn *f, unsigned off)
{
    unsigned ptr = plat_pci_read(f->bdf, off, 1);

    return ptr >= 0x40 && ptr <= 0xfc && ptr % 4 == 0 ? ptr : 0;
}

unsigned pci_cap_next(const struct pci_fn *f, uint8_t id, unsigned after)
{
    uint64_t seen = 0; /* a bit for each place: a loop ends the walk */
    unsigned at = 0;
    bool passed = after == 0;

    if (plat_pci_read(f->bdf, PCI_STATUS, 2) & STATUS_CAP_LIST)
        at = cap_pointer(f, PCI_CAPABILITY_LIST);
    while (at != 0 && !(seen >> at / 4 & 1)) {
        seen |= UINT64_C(1) << at / 4;
        if (passed && plat_pci_read(f->bdf, at, 1) == id)
            return at;
        passed = passed || at == after;
        at = cap_pointer(f, at + 1);
    }
    return 0;
}

void pci_enable(struct pci_fn *f)
{
    uint32_t command = plat_pci_read(f->bdf, PCI_COMMAND, 2);

    plat_pci_write(f->bdf, PCI_COMMAND, 2,
                   command | PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER |
                       PCI_COMMAND_INTX_DISABLE);
}

void pci_disable(struct pci_fn *f)
{
    uint32_t command = plat_pci_read(f->bdf, PCI_COMMAND, 2);

    plat_pci_write(f->bdf, PCI_COMMAND, 2,
                   command & ~(uint32_t)PCI_COMMAND_MASTER);
}

void *pci_map(struct pci_fn *f, unsigned bar, uint64_t off, uint64_t len)
{
    const struct pci_bar *b;

    if (bar > 5)
        return NULL;
    b = &f->bar[bar];
    if (b->io || b->base == 0 || len == 0 || off > b->size ||
        len > b->size - off)
        return NULL;
    return plat_mmio_map(b->base + off, (size_t)len);
}

void pci_name(uint16_t bdf, char out[8])
{
    static const char hex[] = "0123456789abcdef";

    out[0] = hex[PCI_BUS(bdf) >> 4];
    out[1] = hex[PCI_BUS(bdf) & 15];
    out[2] = ':';
    out[3] = hex[PCI_DEV(bdf) >> 4];
    out[4] = hex[PCI_DEV(bdf) & 15];
    out[5] = '.';
    out[6] = hex[PCI_FN(bdf)];
    out[7] = '\0';
}
