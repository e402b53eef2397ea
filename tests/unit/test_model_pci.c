/*
 * The model judged by itself: its PCI door, and the synthetic bus.
 */
#include "mini.h"
#include "pci_model.h"

#define F MODEL_FEATURES_MIN
#define REG(name)                                                            \
    (PCI_MODEL_COMMON + offsetof(struct virtio_pci_common_cfg, name))
#define BASE UINT64_C(0xfe000000)

static struct model *m;
static struct pci_model *pm;
static uint8_t *regs;
static uint8_t *table;
static unsigned interrupts;

static uint32_t rd(unsigned off, unsigned width)
{
    return plat_mmio_read(regs + off, width);
}

static void wr(unsigned off, unsigned width, uint32_t val)
{
    plat_mmio_write(regs + off, width, val);
}

static void start(void)
{
    m = model_new(F);
    pm = pci_model_new(m, NULL);
    plat_pci_write(pm->fn->bdf, 4, 2, 6);
    regs = plat_mmio_map(BASE, PCI_MODEL_BAR_BYTES);
    table = plat_mmio_map(0xfd000000, 4096);
    wr(REG(device_status), 1, 0);
    CHECK_EQ(rd(REG(device_status), 1), 0);
}

static void stop(void)
{
    pci_model_free(pm);
    model_free(m);
}

static void negotiate(void)
{
    wr(REG(device_status), 1, 1);
    wr(REG(device_status), 1, 3);
    wr(REG(driver_feature_select), 4, 1);
    wr(REG(driver_feature), 4, 1);
    wr(REG(device_status), 1, 11);
    CHECK_EQ(rd(REG(device_status), 1), 11);
}

TEST(features_by_halves)
{
    start();
    wr(REG(device_feature_select), 4, 0);
    CHECK_EQ(rd(REG(device_feature), 4), 0);
    wr(REG(device_feature_select), 4, 1);
    CHECK_EQ(rd(REG(device_feature), 4), 1);
    wr(REG(device_feature_select), 4, 2);
    CHECK_EQ(rd(REG(device_feature), 4), 0);
    stop();
}

TEST(rule_pci_02_widths)
{
    start();
    PROVOKE("PCI-02", rd(REG(device_status), 2));
    PROVOKE("PCI-02", rd(REG(device_status), 4));
    PROVOKE("PCI-02", rd(REG(num_queues), 1));
    PROVOKE("PCI-02", wr(REG(queue_select), 1, 0));
    PROVOKE("PCI-02", wr(REG(queue_desc_lo), 2, 0));
    PROVOKE("PCI-02", wr(REG(queue_desc_lo) + 2, 2, 0));
    PROVOKE("PCI-02", rd(PCI_MODEL_ISR, 4));
    PROVOKE("PCI-02", wr(PCI_MODEL_ISR, 1, 0));
    PROVOKE("PCI-02", rd(PCI_MODEL_COMMON + 0x100, 4));
    PROVOKE("PCI-02", rd(PCI_MODEL_NOTIFY, 2));
    negotiate();
    PROVOKE("PCI-02", rd(PCI_MODEL_DEVICE, 4));
    PROVOKE("PCI-02", plat_mmio_read(table, 2));
    PROVOKE("PCI-02", plat_mmio_write(table, 1, 0));
    rd(PCI_MODEL_DEVICE + 5, 1);
    PROVOKE("CFG-05", wr(PCI_MODEL_DEVICE, 1, 0));
    stop();
}

TEST(rule_pci_06_read_only)
{
    start();
    PROVOKE("PCI-06", wr(REG(device_feature), 4, 0));
    PROVOKE("PCI-06", wr(REG(num_queues), 2, 0));
    PROVOKE("PCI-06", wr(REG(config_generation), 1, 0));
    PROVOKE("PCI-06", wr(REG(queue_notify_off), 2, 0));
    negotiate();
    PROVOKE("PCI-06", wr(REG(queue_enable), 2, 0));
    stop();
}

TEST(rule_pci_07_08_queue_setup)
{
    start();
    negotiate();
    wr(REG(queue_select), 2, 0);
    CHECK_EQ(rd(REG(queue_size), 2), 256);
    PROVOKE("PCI-07", wr(REG(queue_size), 2, 512));
    PROVOKE("PCI-07", wr(REG(queue_size), 2, 100));
    PROVOKE("PCI-07", wr(REG(queue_size), 2, 0));
    wr(REG(queue_size), 2, 64);
    CHECK_EQ(rd(REG(queue_size), 2), 64);
    lint_expect("PCI-08");
    m->faults[0].left[FAULT_QUEUE_REFUSED] = 1;
    wr(REG(queue_enable), 2, 1);
    CHECK_EQ(lint_seen(), 1);
    CHECK_EQ(rd(REG(queue_enable), 2), 0);
    pm->q[0].enabled = true;
    PROVOKE("PCI-08", wr(REG(queue_size), 2, 32));
    wr(REG(queue_select), 2, 7);
    CHECK_EQ(rd(REG(queue_size), 2), 0);
    PROVOKE("RING-QUEUE", wr(REG(queue_size), 2, 32));
    stop();
}

TEST(rule_pci_09_10_doorbell)
{
    start();
    negotiate();
    PROVOKE("PCI-10", wr(PCI_MODEL_NOTIFY, 4, 0));
    PROVOKE("PCI-09", wr(PCI_MODEL_NOTIFY + 2, 2, 0));
    PROVOKE("PCI-09", wr(PCI_MODEL_NOTIFY + 4, 2, 0));
    PROVOKE("PCI-09", wr(PCI_MODEL_NOTIFY + 4, 2, 77));
    PROVOKE("INIT-05", wr(PCI_MODEL_NOTIFY + 4, 2, 1));
    stop();
}

static void handler(void *arg, unsigned n)
{
    CHECK_EQ(n, 5);
    ++*(unsigned *)arg;
}

static uint64_t addr;
static uint32_t data;

static void vector(void)
{
    CHECK_EQ(plat_msi_alloc(handler, &interrupts, 5, &addr, &data), 0);
    plat_mmio_write(table + 16, 4, (uint32_t)addr);
    plat_mmio_write(table + 20, 4, (uint32_t)(addr >> 32));
    plat_mmio_write(table + 24, 4, data);
}

TEST(msix_mask_and_enable)
{
    start();
    vector();
    pci_model_message(pm, 1); /* MSI-X is off: lost */
    CHECK_EQ(interrupts, 0);
    plat_pci_write(pm->fn->bdf, pm->cap_msix + 2, 2, 0x8000);
    pci_model_message(pm, 1); /* masked: kept */
    CHECK_EQ(interrupts, 0);
    plat_mmio_write(table + 28, 4, 0);
    CHECK_EQ(interrupts, 1);
    pci_model_message(pm, 1);
    CHECK_EQ(interrupts, 2);
    PROVOKE("PCI-MSIX", plat_mmio_write(table + 24, 4, data));
    PROVOKE("PCI-12", rd(PCI_MODEL_ISR, 1));
    plat_msi_free(addr, data);
    stop();
}

TEST(rule_pci_14_vectors)
{
    start();
    negotiate();
    PROVOKE("PCI-14", plat_mmio_write(table + 64, 4, 0));
    PROVOKE("PCI-14", wr(REG(config_msix_vector), 2, 4));
    wr(REG(config_msix_vector), 2, 3);
    CHECK_EQ(rd(REG(config_msix_vector), 2), 3);
    model_fault(m, MODEL_QUEUES - 1, FAULT_VECTOR_REFUSED, 1);
    wr(REG(config_msix_vector), 2, 3);
    CHECK_EQ(rd(REG(config_msix_vector), 2), 0xffff);
    model_fault(m, 1, FAULT_VECTOR_REFUSED, 1);
    wr(REG(queue_select), 2, 1);
    wr(REG(queue_msix_vector), 2, 2);
    CHECK_EQ(rd(REG(queue_msix_vector), 2), 0xffff);
    stop();
}

TEST(no_bus_mastering_no_work)
{
    start();
    m->status = NETDEV_ORDER;
    CHECK(netdev_live(m));
    plat_pci_write(pm->fn->bdf, 4, 2, 2);
    CHECK(!netdev_live(m));
    plat_pci_write(pm->fn->bdf, 4, 2, 4);
    CHECK(netdev_live(m));
    CHECK_EQ(rd(REG(device_status), 1), 0xff); /* no decoding, no answer */
    stop();
}

TEST(bus_reads_ones_where_nothing_is)
{
    CHECK_EQ(plat_pci_read(PCI_BDF(0, 9, 0), 0, 4), UINT32_MAX);
    CHECK_EQ(plat_pci_read(PCI_BDF(0, 9, 0), 0, 2), 0xffff);
    CHECK_EQ(plat_pci_read(PCI_BDF(0, 9, 0), 0, 1), 0xff);
}

TEST(bar_sizing)
{
    start();
    plat_pci_write(pm->fn->bdf, 0x20, 4, UINT32_MAX);
    CHECK(pm->fn->bars_decoded_while_sized);
    CHECK_EQ(plat_pci_read(pm->fn->bdf, 0x20, 4), 0xffffc004);
    plat_pci_write(pm->fn->bdf, 0x24, 4, UINT32_MAX);
    CHECK_EQ(plat_pci_read(pm->fn->bdf, 0x24, 4), UINT32_MAX);
    plat_pci_write(pm->fn->bdf, 0x10, 4, UINT32_MAX);
    CHECK_EQ(plat_pci_read(pm->fn->bdf, 0x10, 4), 0xffffffe1);
    plat_pci_write(pm->fn->bdf, 0x18, 4, UINT32_MAX); /* no such BAR */
    CHECK_EQ(plat_pci_read(pm->fn->bdf, 0x18, 4), 0);
    stop();
}
