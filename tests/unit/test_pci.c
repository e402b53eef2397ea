/*
 * drivers/pci against a synthetic bus: scan and BARs.
 */
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "fake_pci.h"
#include "host.h"
#include "pci/pci.h"

#define BDF PCI_BDF(0, 4, 0)

static uint16_t seen[64];
static unsigned nseen;

static int note(struct pci_fn *f, void *arg)
{
    CHECK(nseen < 64);
    seen[nseen++] = f->bdf;
    return arg && f->bdf == *(uint16_t *)arg ? 7 : 0;
}

static struct fake_fn *plain(uint16_t bdf)
{
    struct fake_fn *f = fake_pci_add(bdf, 0x8086, 0x100e);

    fake_pci_set(f, PCI_CLASS, 2, 0x0200);
    return f;
}

/* ---- scan --------------------------------------------------------------- */

TEST(scan_of_an_empty_bus)
{
    CHECK_EQ(pci_scan(note, NULL), 0);
    CHECK_EQ(nseen, 0);
}

TEST(scan_in_order_with_functions_and_bridges)
{
    struct fake_fn *multi = plain(PCI_BDF(0, 2, 0));

    fake_pci_set(multi, PCI_HEADER_TYPE, 1, 0x80);
    plain(PCI_BDF(0, 2, 3));
    plain(PCI_BDF(0, 2, 7));
    plain(PCI_BDF(0, 31, 0));
    plain(PCI_BDF(0, 5, 1)); /* no function 0: not there */
    fake_pci_add_bridge(PCI_BDF(0, 3, 0), 7);
    fake_pci_add_bridge(PCI_BDF(7, 0, 0), 200);
    plain(PCI_BDF(7, 1, 0));
    plain(PCI_BDF(200, 1, 0));
    plain(PCI_BDF(9, 1, 0)); /* behind nothing */
    CHECK_EQ(pci_scan(note, NULL), 0);
    CHECK_EQ(nseen, 8);
    CHECK_EQ(seen[0], PCI_BDF(0, 2, 0));
    CHECK_EQ(seen[1], PCI_BDF(0, 2, 3));
    CHECK_EQ(seen[2], PCI_BDF(0, 2, 7));
    CHECK_EQ(seen[3], PCI_BDF(0, 3, 0));
    CHECK_EQ(seen[4], PCI_BDF(0, 31, 0));
    CHECK_EQ(seen[5], PCI_BDF(7, 0, 0));
    CHECK_EQ(seen[6], PCI_BDF(7, 1, 0));
    CHECK_EQ(seen[7], PCI_BDF(200, 1, 0));
}

TEST(scan_ends_when_told)
{
    uint16_t last = PCI_BDF(0, 3, 0);

    plain(PCI_BDF(0, 2, 0));
    plain(last);
    plain(PCI_BDF(0, 4, 0));
    CHECK_EQ(pci_scan(note, &last), 7);
    CHECK_EQ(nseen, 2);
}

/* Bridges that lead back to bus 0, to themselves, to a bus below. */
TEST(scan_of_a_bridge_loop_ends)
{
    alarm(10);
    fake_pci_add_bridge(PCI_BDF(0, 1, 0), 0);
    fake_pci_add_bridge(PCI_BDF(0, 2, 0), 5);
    fake_pci_add_bridge(PCI_BDF(0, 3, 0), 3);
    fake_pci_add_bridge(PCI_BDF(5, 1, 0), 3);
    fake_pci_add_bridge(PCI_BDF(3, 1, 0), 5);
    CHECK_EQ(pci_scan(note, NULL), 0);
    CHECK_EQ(nseen, 5);
}

/* A function that ignores its function number shows up eight times; a single
 * function device is taken once. */
TEST(scan_takes_one_function_of_a_single_function_device)
{
    plain(PCI_BDF(0, 2, 0));
    plain(PCI_BDF(0, 2, 1));
    pci_scan(note, NULL);
    CHECK_EQ(nseen, 1);
}

/* ---- BARs --------------------------------------------------------------- */

TEST(bars_of_all_kinds)
{
    struct fake_fn *f = plain(BDF);
    struct pci_fn fn;
    uint8_t before[256];

    fake_pci_bar(f, 0, FAKE_BAR_IO, 0xc040, 32, NULL, NULL);
    fake_pci_bar(f, 1, FAKE_BAR_MEM32, 0xfebd1000, 4096, NULL, NULL);
    fake_pci_bar(f, 2, FAKE_BAR_MEM64, UINT64_C(0x800000000),
                 UINT64_C(1) << 33, NULL, NULL);
    fake_pci_bar(f, 4, FAKE_BAR_MEM64, UINT64_C(0x3fe00000), 1 << 20, NULL,
                 NULL);
    fake_pci_set(f, PCI_COMMAND, 2, 7);
    memcpy(before, f->config, 256);
    CHECK_EQ(pci_probe(BDF, &fn), V_OK);
    CHECK_MEM_EQ(f->config, before, 256); /* everything put back */
    CHECK(!f->bars_decoded_while_sized);
    CHECK(fn.bar[0].io);
    CHECK_EQ(fn.bar[0].base, 0xc040);
    CHECK_EQ(fn.bar[0].size, 32);
    CHECK(!fn.bar[1].io);
    CHECK_EQ(fn.bar[1].base, 0xfebd1000);
    CHECK_EQ(fn.bar[1].size, 4096);
    CHECK_EQ(fn.bar[2].base, UINT64_C(0x800000000));
    CHECK_EQ(fn.bar[2].size, UINT64_C(1) << 33);
    CHECK_EQ(fn.bar[3].size, 0); /* BC-061: the upper half is no BAR */
    CHECK_EQ(fn.bar[4].base, 0x3fe00000);
    CHECK_EQ(fn.bar[4].size, 1 << 20);
    CHECK_EQ(fn.bar[5].size, 0);
}

TEST(bar_64_bit_in_the_last_slot)
{
    struct fake_fn *f = plain(BDF);
    struct pci_fn fn;

    fake_pci_set(f, PCI_BAR0 + 20, 4, 0xfe000004);
    f->writable[PCI_BAR0 + 22] = f->writable[PCI_BAR0 + 23] = 0xff;
    CHECK_EQ(pci_probe(BDF, &fn), V_OK);
    CHECK_EQ(fn.bar[5].base, 0xfe000000);
    CHECK_EQ(fn.bar[5].size, 65536);
}

TEST(bar_that_ignores_writes)
{
    struct fake_fn *f = plain(BDF);
    struct pci_fn fn;

    fake_pci_set(f, PCI_BAR0, 4, 0xfe000000);
    fake_pci_set(f, PCI_BAR0 + 4, 4, 0xfe000004);
    CHECK_EQ(pci_probe(BDF, &fn), V_OK);
    /* The bits that stick say a size; mapping more than that is refused. */
    CHECK(!pci_map(&fn, 0, 0, fn.bar[0].size + 1));
}

TEST(probe_where_nothing_is)
{
    struct pci_fn fn;

    CHECK_EQ(pci_probe(BDF, &fn), V_NODEV);
}

/* A bridge has two BARs; behind them are bus numbers, not to be written. */
TEST(probe_of_a_bridge_leaves_its_numbers)
{
    struct fake_fn *f = fake_pci_add_bridge(BDF, 9);
    struct pci_fn fn;

    memset(f->writable + 0x18, 0xff, 16);
    CHECK_EQ(pci_probe(BDF, &fn), V_OK);
    CHECK_EQ(f->config_writes, 0);
    CHECK_EQ(fn.class, 0x0604);
}

TEST(map_checks_the_bar)
{
    struct fake_fn *f = plain(BDF);
    struct pci_fn fn;

    fake_pci_bar(f, 0, FAKE_BAR_IO, 0xc040, 32, NULL, NULL);
    fake_pci_bar(f, 1, FAKE_BAR_MEM32, 0xfebd0000, 65536, NULL, NULL);
    fake_pci_bar(f, 2, FAKE_BAR_MEM32, 0, 4096, NULL, NULL);
    CHECK_EQ(pci_probe(BDF, &fn), V_OK);
    CHECK(pci_map(&fn, 1, 0, 65536));
    CHECK(pci_map(&fn, 1, 65535, 1));
    CHECK(!pci_map(&fn, 1, 0, 65537));
    CHECK(!pci_map(&fn, 1, 65536, 1));
    CHECK(!pci_map(&fn, 1, 1, 65536));
    CHECK(!pci_map(&fn, 1, UINT64_MAX, 2));
    CHECK(!pci_map(&fn, 1, 2, UINT64_MAX));
    CHECK(!pci_map(&fn, 1, 0, 0));
    CHECK(!pci_map(&fn, 0, 0, 4));  /* I/O */
    CHECK(!pci_map(&fn, 2, 0, 4));  /* not assigned */
    CHECK(!pci_map(&fn, 3, 0, 4));  /* not there */
    CHECK(!pci_map(&fn, 6, 0, 4));
    CHECK(!pci_map(&fn, 255, 0, 4));
    fake_pci_fail_map(true);
    CHECK(!pci_map(&fn, 1, 0, 4096));
}

TEST(enable_and_disable)
{
    struct fake_fn *f = plain(BDF);
    struct pci_fn fn;

    CHECK_EQ(pci_probe(BDF, &fn), V_OK);
    CHECK_EQ(fake_pci_get(f, PCI_COMMAND, 2), 0);
    pci_enable(&fn);
    CHECK_EQ(fake_pci_get(f, PCI_COMMAND, 2), 0x406);
    pci_disable(&fn);
    CHECK_EQ(fake_pci_get(f, PCI_COMMAND, 2) & 4, 0);
}
