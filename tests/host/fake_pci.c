/*
 * PCI for a Linux process: include/plat_pci.h in front of functions that the
 * test makes. Owns the functions, the reserved address space that stands for
 * mapped registers, and the table of interrupt vectors.
 *
 * PCI Local Bus Specification 3.0, chapter 6.
 */
#include "fake_pci.h"

#include <string.h>
#include <sys/mman.h>

#include "check.h"
#include "host.h"
#include "verr.h"

#define FNS_MAX 64u
#define MAPS_MAX 256u
#define VECTORS_MAX 64u
#define WINDOW (UINT64_C(1) << 32) /* address space for mapped registers */
#define MSI_ADDR UINT64_C(0xfee01000)
#define MSI_DATA 0x4041u
#define REMOVED 0xffffu /* the address of a slot that is free again */

enum {
    CFG_COMMAND = 0x04,
    CFG_STATUS = 0x06,
    CFG_HEADER = 0x0e,
    CFG_BAR0 = 0x10,
    CFG_CAPS = 0x34,
    COMMAND_MEMORY = 2,
    COMMAND_MASTER = 4,
};

struct mapping {
    uint8_t *ptr;
    uint64_t len;
    uint64_t phys;
};

struct vector {
    void (*fn)(void *arg, unsigned n);
    void *arg;
    unsigned n;
};

static struct fake_fn fns[FNS_MAX];
static unsigned nfns;
static struct mapping maps[MAPS_MAX];
static unsigned nmaps;
static uint8_t *window;
static uint64_t window_used;
static bool fail_map;
static struct vector vectors[VECTORS_MAX];
static unsigned vectors_left; /* allocations until they fail, 0: never */

void fake_pci_begin(void)
{
    nfns = nmaps = 0;
    window_used = 0;
    fail_map = false;
    vectors_left = 0;
    memset(vectors, 0, sizeof(vectors));
    window = mmap(NULL, WINDOW, PROT_NONE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(window != MAP_FAILED);
}

void fake_pci_end(void)
{
    munmap(window, WINDOW);
}

/* ---- the test's side ---------------------------------------------------- */

uint32_t fake_pci_get(const struct fake_fn *f, unsigned off, unsigned width)
{
    uint32_t val = 0;

    CHECK(off + width <= 256);
    memcpy(&val, f->config + off, width);
    return val;
}

void fake_pci_set(struct fake_fn *f, unsigned off, unsigned width,
                  uint32_t val)
{
    CHECK(off + width <= 256);
    memcpy(f->config + off, &val, width);
}

struct fake_fn *fake_pci_add(uint16_t bdf, uint16_t vendor, uint16_t device)
{
    unsigned i = 0;
    struct fake_fn *f;

    while (i < nfns && fns[i].bdf != REMOVED)
        i++;
    CHECK(i < FNS_MAX);
    nfns += i == nfns;
    f = &fns[i];
    memset(f, 0, sizeof(*f));
    f->bdf = bdf;
    f->next_cap = 0x40;
    fake_pci_set(f, 0x00, 2, vendor);
    fake_pci_set(f, 0x02, 2, device);
    f->writable[CFG_COMMAND] = 0x47;
    f->writable[CFG_COMMAND + 1] = 0x05;
    f->writable[0x0c] = f->writable[0x3c] = 0xff; /* cache line, int. line */
    return f;
}

void fake_pci_remove(struct fake_fn *f)
{
    memset(f, 0, sizeof(*f));
    f->bdf = REMOVED;
    f->gone = true;
}

struct fake_fn *fake_pci_add_bridge(uint16_t bdf, uint8_t secondary)
{
    struct fake_fn *f = fake_pci_add(bdf, 0x1b36, 0x0001);

    fake_pci_set(f, 0x0a, 2, 0x0604);
    fake_pci_set(f, CFG_HEADER, 1, 1);
    fake_pci_set(f, 0x18, 1, PCI_BUS(bdf));
    fake_pci_set(f, 0x19, 1, secondary);
    fake_pci_set(f, 0x1a, 1, secondary);
    return f;
}

void fake_pci_bar(struct fake_fn *f, unsigned n, enum fake_bar_kind kind,
                  uint64_t base, uint64_t size, const struct fake_bar_ops *ops,
                  void *arg)
{
    unsigned off = CFG_BAR0 + 4 * n;
    uint64_t mask = ~(size - 1) & (kind == FAKE_BAR_IO ? ~UINT64_C(3)
                                                       : ~UINT64_C(15));

    CHECK(n < 6 && size >= 4 && (size & (size - 1)) == 0);
    CHECK((base & (size - 1)) == 0);
    f->bar[n] = (struct fake_bar){size, kind, ops, arg};
    fake_pci_set(f, off, 4,
                 (uint32_t)base | (kind == FAKE_BAR_IO      ? 1u
                                   : kind == FAKE_BAR_MEM64 ? 4u
                                                            : 0u));
    memcpy(f->writable + off, &mask, kind == FAKE_BAR_MEM64 ? 8 : 4);
    if (kind == FAKE_BAR_MEM64) {
        CHECK(n < 5);
        fake_pci_set(f, off + 4, 4, (uint32_t)(base >> 32));
    }
}

unsigned fake_pci_cap(struct fake_fn *f, uint8_t id, const void *body,
                      unsigned len)
{
    unsigned at = f->next_cap;

    CHECK(len >= 2 && at + len <= 256);
    memcpy(f->config + at, body, len);
    f->config[at] = id;
    f->config[at + 1] = 0;
    f->config[f->last_cap ? f->last_cap + 1 : CFG_CAPS] = (uint8_t)at;
    f->config[CFG_STATUS] |= 0x10;
    f->last_cap = at;
    f->next_cap = (at + len + 3) & ~3u;
    return at;
}

bool fake_pci_decodes(const struct fake_fn *f)
{
    return !f->gone && (fake_pci_get(f, CFG_COMMAND, 2) & COMMAND_MEMORY);
}

bool fake_pci_masters(const struct fake_fn *f)
{
    return !f->gone && (fake_pci_get(f, CFG_COMMAND, 2) & COMMAND_MASTER);
}

void fake_pci_fail_map(bool on)
{
    fail_map = on;
}

/* ---- configuration space ------------------------------------------------ */

static struct fake_fn *find(uint16_t bdf)
{
    for (unsigned i = 0; i < nfns; i++)
        if (fns[i].bdf == bdf)
            return &fns[i];
    return NULL;
}

static uint32_t all_ones(unsigned width)
{
    return width == 4 ? UINT32_MAX : (UINT32_C(1) << 8 * width) - 1;
}

static void check_access(const char *what, unsigned off, unsigned width)
{
    if ((width != 1 && width != 2 && width != 4) || off % width != 0 ||
        off + width > 256)
        check_fail(__FILE__, __LINE__, "%s of width %u at 0x%x", what, width,
                   off);
}

uint32_t plat_pci_read(uint16_t bdf, unsigned off, unsigned width)
{
    struct fake_fn *f = find(bdf);

    check_access("configuration read", off, width);
    if (!f || f->gone)
        return all_ones(width);
    return fake_pci_get(f, off, width);
}

static void note_bar_probe(struct fake_fn *f, unsigned off, unsigned width,
                           uint32_t val)
{
    bool bar = off >= CFG_BAR0 && off < CFG_BAR0 + 24 &&
               f->config[CFG_HEADER] == 0;

    if (bar && width == 4 && val == UINT32_MAX && fake_pci_decodes(f))
        f->bars_decoded_while_sized = true;
}

void plat_pci_write(uint16_t bdf, unsigned off, unsigned width, uint32_t val)
{
    struct fake_fn *f = find(bdf);

    check_access("configuration write", off, width);
    if (!f || f->gone)
        return;
    f->config_writes++;
    note_bar_probe(f, off, width, val);
    for (unsigned i = 0; i < width; i++) {
        uint8_t w = f->writable[off + i];
        uint8_t b = (uint8_t)(val >> 8 * i);

        f->config[off + i] = (uint8_t)((f->config[off + i] & ~w) | (b & w));
    }
}

/* ---- registers ---------------------------------------------------------- */

static uint64_t bar_base(const struct fake_fn *f, unsigned n)
{
    uint64_t base = fake_pci_get(f, CFG_BAR0 + 4 * n, 4) & ~UINT32_C(15);

    if (f->bar[n].kind == FAKE_BAR_MEM64)
        base |= (uint64_t)fake_pci_get(f, CFG_BAR0 + 4 * n + 4, 4) << 32;
    return base;
}

/* The memory BAR that answers at `phys`; NULL when none does. */
static struct fake_bar *decode(uint64_t phys, uint64_t len, uint64_t *off)
{
    for (unsigned i = 0; i < nfns; i++) {
        if (!fake_pci_decodes(&fns[i]))
            continue;
        for (unsigned n = 0; n < 6; n++) {
            struct fake_bar *b = &fns[i].bar[n];

            *off = phys - bar_base(&fns[i], n);
            if (b->size && b->kind != FAKE_BAR_IO && *off < b->size &&
                len <= b->size - *off)
                return b;
        }
    }
    return NULL;
}

void *plat_mmio_map(uint64_t phys, size_t len)
{
    uint64_t in_page = phys & 4095, need = (in_page + len + 8191) & ~4095ull;
    struct mapping *m = &maps[nmaps];

    CHECK(len > 0);
    if (fail_map || nmaps == MAPS_MAX || need > WINDOW - window_used)
        return NULL;
    m->ptr = window + window_used + in_page;
    m->len = len;
    m->phys = phys;
    nmaps++;
    window_used += need;
    return m->ptr;
}

static uint64_t mapped(const void *reg, unsigned width)
{
    for (unsigned i = 0; i < nmaps; i++) {
        uint64_t off = (uint64_t)((uintptr_t)reg - (uintptr_t)maps[i].ptr);

        if (off >= maps[i].len)
            continue;
        if ((width != 1 && width != 2 && width != 4) ||
            width > maps[i].len - off || (maps[i].phys + off) % width != 0)
            check_fail(__FILE__, __LINE__, "register access of width %u at "
                       "0x%llx of a mapping of 0x%llx bytes", width,
                       (unsigned long long)off,
                       (unsigned long long)maps[i].len);
        return maps[i].phys + off;
    }
    check_fail(__FILE__, __LINE__, "register access at %p: not mapped", reg);
}

uint32_t plat_mmio_read(const void *reg, unsigned width)
{
    uint64_t off, phys = mapped(reg, width);
    struct fake_bar *b = decode(phys, width, &off);

    if (!b)
        return all_ones(width); /* nobody answers */
    if (!b->ops || !b->ops->read)
        return 0;
    return b->ops->read(b->arg, off, width) & all_ones(width);
}

void plat_mmio_write(void *reg, unsigned width, uint32_t val)
{
    uint64_t off, phys = mapped(reg, width);
    struct fake_bar *b = decode(phys, width, &off);

    if (b && b->ops && b->ops->write)
        b->ops->write(b->arg, off, width, val & all_ones(width));
}

/* ---- message signalled interrupts --------------------------------------- */

void fake_pci_fail_vector(unsigned n)
{
    vectors_left = n;
}

int plat_msi_alloc(void (*fn)(void *arg, unsigned n), void *arg, unsigned n,
                   uint64_t *addr, uint32_t *data)
{
    CHECK(fn);
    if (vectors_left == 1)
        return V_NOMEM;
    if (vectors_left)
        vectors_left--;
    for (unsigned i = 0; i < VECTORS_MAX; i++) {
        if (vectors[i].fn)
            continue;
        vectors[i] = (struct vector){fn, arg, n};
        *addr = MSI_ADDR + 0x1000 * (i & 3);
        *data = MSI_DATA + i;
        return V_OK;
    }
    return V_NOMEM;
}

static struct vector *vector_of(uint64_t addr, uint32_t data)
{
    uint32_t i = data - MSI_DATA;

    if (i >= VECTORS_MAX || addr != MSI_ADDR + 0x1000 * (i & 3) ||
        !vectors[i].fn)
        check_fail(__FILE__, __LINE__, "message 0x%x at 0x%llx is no vector "
                   "of ours", data, (unsigned long long)addr);
    return &vectors[i];
}

void plat_msi_free(uint64_t addr, uint32_t data)
{
    vector_of(addr, data)->fn = NULL;
}

unsigned fake_pci_vectors(void)
{
    unsigned count = 0;

    for (unsigned i = 0; i < VECTORS_MAX; i++)
        count += vectors[i].fn != NULL;
    return count;
}

void fake_pci_message(uint64_t addr, uint32_t data)
{
    struct vector *v = vector_of(addr, data);

    v->fn(v->arg, v->n);
}

void fake_pci_storm(void)
{
    for (unsigned i = 0; i < VECTORS_MAX; i++)
        if (vectors[i].fn)
            vectors[i].fn(vectors[i].arg, vectors[i].n);
}
