/*
 * drivers/pci against a synthetic bus: capabilities, MSI-X, and
 * configuration spaces of random bytes.
 */
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "fake_pci.h"
#include "host.h"
#include "pci/pci.h"

#define BDF PCI_BDF(0, 4, 0)

static struct fake_fn *plain(uint16_t bdf)
{
    struct fake_fn *f = fake_pci_add(bdf, 0x8086, 0x100e);

    fake_pci_set(f, PCI_CLASS, 2, 0x0200);
    return f;
}

/* ---- capabilities ------------------------------------------------------- */

static struct pci_fn probed(void)
{
    struct pci_fn fn;

    CHECK_EQ(pci_probe(BDF, &fn), V_OK);
    return fn;
}

TEST(capabilities_in_turn)
{
    struct fake_fn *f = plain(BDF);
    uint8_t body[20] = {0};
    unsigned a = fake_pci_cap(f, 9, body, 16), at;
    unsigned b = fake_pci_cap(f, 1, body, 8);
    unsigned c = fake_pci_cap(f, 9, body, 20);
    struct pci_fn fn = probed();

    CHECK_EQ(pci_cap_next(&fn, 9, 0), a);
    CHECK_EQ(pci_cap_next(&fn, 9, a), c);
    CHECK_EQ(pci_cap_next(&fn, 9, c), 0);
    CHECK_EQ(pci_cap_next(&fn, 1, 0), b);
    CHECK_EQ(pci_cap_next(&fn, 1, a), b);
    CHECK_EQ(pci_cap_next(&fn, 1, b), 0);
    CHECK_EQ(pci_cap_next(&fn, 5, 0), 0);
    at = fake_pci_get(f, PCI_STATUS, 2) & ~0x10u;
    fake_pci_set(f, PCI_STATUS, 2, at);
    CHECK_EQ(pci_cap_next(&fn, 9, 0), 0);
}

TEST(capability_pointers_that_are_wrong)
{
    static const uint8_t bad[] = {0x00, 0x04, 0x3c, 0x3f, 0x41, 0x42,
                                  0x43, 0xfd, 0xfe, 0xff};
    struct fake_fn *f = plain(BDF);
    uint8_t body[16] = {0};
    unsigned a = fake_pci_cap(f, 9, body, 16);
    struct pci_fn fn = probed();

    for (unsigned i = 0; i < sizeof(bad); i++) {
        fake_pci_set(f, a + 1, 1, bad[i]);
        CHECK_EQ(pci_cap_next(&fn, 9, a), 0);
        fake_pci_set(f, PCI_CAPABILITY_LIST, 1, bad[i]);
        CHECK_EQ(pci_cap_next(&fn, 9, 0), 0);
        fake_pci_set(f, PCI_CAPABILITY_LIST, 1, a);
    }
}

/* Walking a list that is a loop ends, and names each capability once. */
static void walk_ends(struct pci_fn *fn, unsigned expected)
{
    unsigned at = 0, count = 0;

    while ((at = pci_cap_next(fn, 9, at)) != 0) {
        count++;
        CHECK(count <= 48);
    }
    CHECK_EQ(count, expected);
}

TEST(capability_loops_end)
{
    struct fake_fn *f = plain(BDF);
    uint8_t body[16] = {0};
    unsigned a = fake_pci_cap(f, 9, body, 16);
    unsigned b = fake_pci_cap(f, 9, body, 16);
    unsigned c = fake_pci_cap(f, 9, body, 16);
    struct pci_fn fn = probed();

    alarm(10);
    fake_pci_set(f, c + 1, 1, a);
    walk_ends(&fn, 3);
    fake_pci_set(f, c + 1, 1, b);
    walk_ends(&fn, 3);
    fake_pci_set(f, c + 1, 1, c);
    walk_ends(&fn, 3);
    fake_pci_set(f, a + 1, 1, a);
    walk_ends(&fn, 1);
}

TEST(as_many_capabilities_as_fit)
{
    struct fake_fn *f = plain(BDF);
    uint8_t body[4] = {0};
    struct pci_fn fn;

    for (unsigned i = 0; i < 48; i++)
        fake_pci_cap(f, 9, body, 4);
    fn = probed();
    walk_ends(&fn, 48);
}

/* ---- MSI-X -------------------------------------------------------------- */

static unsigned add_msix(struct fake_fn *f, unsigned entries, uint32_t table)
{
    uint8_t body[12] = {0};
    unsigned cap;

    body[2] = (uint8_t)(entries - 1);
    body[3] = (uint8_t)((entries - 1) >> 8);
    memcpy(body + 4, &table, 4);
    cap = fake_pci_cap(f, 0x11, body, 12);
    f->writable[cap + 3] = 0xc0;
    return cap;
}

TEST(msix_table_is_checked)
{
    static const struct {
        unsigned entries;
        uint32_t table;
        int result;
    } t[] = {
        {1, 1, V_OK},           {256, 1, V_OK},      {257, 1, V_BADDEV},
        {2048, 1, V_BADDEV},    {1, 0xff1, V_BADDEV}, {1, 0xff9, V_BADDEV},
        {2, 4096 - 32 + 1, V_OK}, {1, 0, V_BADDEV},   {1, 2, V_BADDEV},
        {1, 6, V_BADDEV},       {1, 7, V_BADDEV},    {1, 0xfffffff9, V_BADDEV},
    };

    for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
        struct fake_fn *f;
        struct pci_fn fn;
        int err;

        host_end();
        host_begin();
        f = plain(BDF);
        fake_pci_bar(f, 0, FAKE_BAR_IO, 0xc040, 32, NULL, NULL);
        fake_pci_bar(f, 1, FAKE_BAR_MEM32, 0xfebd0000, 4096, NULL, NULL);
        add_msix(f, t[i].entries, t[i].table);
        fn = probed();
        err = pci_msix_init(&fn);
        if (t[i].table == 0xff1) /* 16 bytes at 0xff0 just fit */
            CHECK_EQ(err, V_OK);
        else
            CHECK_EQ(err, t[i].result);
        CHECK_EQ(fn.msix.cap != 0, err == V_OK);
    }
}

TEST(msix_absent_or_cut_off)
{
    struct fake_fn *f = plain(BDF);
    struct pci_fn fn = probed();

    CHECK_EQ(pci_msix_init(&fn), V_NODEV);
    pci_msix_enable(&fn, true); /* does nothing */
    fake_pci_bar(f, 1, FAKE_BAR_MEM32, 0xfebd0000, 4096, NULL, NULL);
    fake_pci_set(f, PCI_STATUS, 2, 0x10);
    fake_pci_set(f, PCI_CAPABILITY_LIST, 1, 0xf8);
    fake_pci_set(f, 0xf8, 1, 0x11);
    fn = probed();
    CHECK(pci_msix_init(&fn) != V_OK);
}

struct writes {
    uint32_t word[64];
    unsigned order[16];
    unsigned n;
};

static void table_write(void *arg, uint64_t off, unsigned width, uint32_t val)
{
    struct writes *w = arg;

    CHECK_EQ(width, 4);
    w->word[off / 4] = val;
    w->order[w->n++ % 16] = (unsigned)off;
}

TEST(msix_entry_is_masked_while_it_changes)
{
    static const struct fake_bar_ops ops = {.write = table_write};
    struct fake_fn *f = plain(BDF);
    struct writes w = {.n = 0};
    struct pci_fn fn;
    unsigned cap;

    fake_pci_bar(f, 1, FAKE_BAR_MEM32, 0xfebd0000, 4096, &ops, &w);
    cap = add_msix(f, 4, 1);
    fn = probed();
    CHECK_EQ(pci_msix_init(&fn), V_OK);
    CHECK_EQ(fn.msix.count, 4);
    pci_enable(&fn);
    pci_msix_set(&fn, 2, UINT64_C(0x1fee00000), 0x4141);
    CHECK_EQ(w.order[0], 44);
    CHECK_EQ(w.order[w.n - 1], 44);
    CHECK_EQ(w.word[8], 0xfee00000);
    CHECK_EQ(w.word[9], 1);
    CHECK_EQ(w.word[10], 0x4141);
    CHECK_EQ(w.word[11], 0);
    pci_msix_mask(&fn, 2);
    CHECK_EQ(w.word[11], 1);
    pci_msix_enable(&fn, true);
    CHECK_EQ(fake_pci_get(f, cap + 2, 2), 0x8003);
    pci_msix_enable(&fn, false);
    CHECK_EQ(fake_pci_get(f, cap + 2, 2), 3);
}

TEST(names)
{
    char name[8];

    pci_name(PCI_BDF(0xfa, 31, 7), name);
    CHECK_STR_EQ(name, "fa:1f.7");
    pci_name(PCI_BDF(0, 3, 0), name);
    CHECK_STR_EQ(name, "00:03.0");
}

/* ---- anything at all ---------------------------------------------------- */


static int use_any(struct pci_fn *f, void *arg)
{
    unsigned at = 0, count = 0;

    (void)arg;
    pci_msix_init(f);
    for (unsigned bar = 0; bar < 8; bar++)
        pci_map(f, bar, plat_random() % 8192, plat_random() % 8192);
    while ((at = pci_cap_next(f, 9, at)) != 0)
        CHECK(++count <= 48);
    return 0;
}

TEST(random_configuration_spaces)
{
    alarm(60);
    for (unsigned i = 0; i < 400; i++) {
        host_end();
        host_begin();
        host_seed(i);
        for (unsigned k = 0; k < 4; k++) {
            struct fake_fn *f = plain(PCI_BDF(0, k, 0));

            for (unsigned b = 4; b < 256; b++) {
                f->config[b] = (uint8_t)plat_random();
                f->writable[b] = (uint8_t)plat_random();
            }
            f->config[PCI_HEADER_TYPE] &= 0x81;
            for (unsigned b = 0x34; k & 1 && b < 256; b += 4) {
                f->config[b] = 9; /* many capabilities, many loops */
                f->config[b + 1] &= 0xfc;
            }
        }
        CHECK_EQ(pci_scan(use_any, NULL), 0);
    }
}
