/*
 * drivers/virtio/virtio_pci_caps.c against capabilities that are missing,
 * damaged, or in a loop.
 */
#include "pci_rig.h"

/* ---- capabilities that are wrong (BC-061 to BC-070, PCI-03, PCI-05) ----- */

static unsigned *cap_of(unsigned i)
{
    unsigned *caps[] = {&pm->cap_common, &pm->cap_notify, &pm->cap_isr};

    return caps[i];
}

/* One byte or word of a needed capability is damaged: refused, and said. */
static void damaged(unsigned off, unsigned width, uint32_t val)
{
    for (unsigned i = 0; i < 3; i++) {
        make(NULL);
        fake_pci_set(pm->fn, *cap_of(i) + off, width, val);
        host_log_clear();
        CHECK_EQ(open_it(), V_UNSUPPORTED);
        CHECK_EQ(host_log_count("no usable"), 1);
        CHECK(!fake_pci_masters(pm->fn));
        CHECK_EQ(host_dma_live(), 0);
        done();
        host_end();
        host_begin();
    }
}

TEST(capability_of_a_reserved_type)
{
    damaged(VIRTIO_PCI_CAP_CFG_TYPE, 1, 0);
    damaged(VIRTIO_PCI_CAP_CFG_TYPE, 1, 10);
    damaged(VIRTIO_PCI_CAP_CFG_TYPE, 1, 255);
}

TEST(capability_with_a_wrong_bar)
{
    damaged(VIRTIO_PCI_CAP_BAR, 1, 0); /* I/O */
    damaged(VIRTIO_PCI_CAP_BAR, 1, 2); /* not there */
    damaged(VIRTIO_PCI_CAP_BAR, 1, 5); /* upper half of a 64-bit one */
    damaged(VIRTIO_PCI_CAP_BAR, 1, 6); /* reserved */
    damaged(VIRTIO_PCI_CAP_BAR, 1, 255);
}

TEST(capability_outside_its_bar)
{
    damaged(VIRTIO_PCI_CAP_OFFSET, 4, PCI_MODEL_BAR_BYTES);
    damaged(VIRTIO_PCI_CAP_OFFSET, 4, PCI_MODEL_BAR_BYTES + 4);
    damaged(VIRTIO_PCI_CAP_OFFSET, 4, UINT32_MAX & ~3u);
    damaged(VIRTIO_PCI_CAP_LENGTH, 4, 0);
}

TEST(capability_too_short)
{
    damaged(VIRTIO_PCI_CAP_LEN, 1, 0);
    damaged(VIRTIO_PCI_CAP_LEN, 1, 15);
    make(NULL);
    fake_pci_set(pm->fn, pm->cap_notify + VIRTIO_PCI_CAP_LEN, 1, 16);
    CHECK_EQ(open_it(), V_UNSUPPORTED); /* the multiplier is missing */
    done();
}

TEST(structure_too_short)
{
    make(NULL);
    fake_pci_set(pm->fn, pm->cap_common + VIRTIO_PCI_CAP_LENGTH, 4, 55);
    CHECK_EQ(open_it(), V_UNSUPPORTED);
    fake_pci_set(pm->fn, pm->cap_common + VIRTIO_PCI_CAP_LENGTH, 4, 56);
    CHECK_EQ(open_it(), V_OK);
    CHECK_EQ(bring_up(), V_OK);
    take_down();
    done();
}

TEST(longer_than_known_is_fine)
{
    make(NULL);
    fake_pci_set(pm->fn, pm->cap_notify + VIRTIO_PCI_CAP_LEN, 1, 24);
    fake_pci_set(pm->fn, pm->cap_common + VIRTIO_PCI_CAP_LENGTH, 4, 0x2000);
    CHECK_EQ(open_it(), V_OK);
    CHECK_EQ(bring_up(), V_OK);
    take_down();
    done();
}

TEST(first_usable_instance_wins)
{
    uint8_t copy[20];
    struct fake_fn *f;

    make(NULL);
    f = pm->fn;
    memcpy(copy, f->config + pm->cap_common, 16);
    fake_pci_cap(f, 9, copy, 16);
    memcpy(copy, f->config + pm->cap_notify, 20);
    fake_pci_cap(f, 9, copy, 20);
    fake_pci_set(f, pm->cap_common + VIRTIO_PCI_CAP_BAR, 1, 6);
    fake_pci_set(f, pm->cap_notify + VIRTIO_PCI_CAP_BAR, 1, 0);
    CHECK_EQ(open_it(), V_OK);
    CHECK_EQ(bring_up(), V_OK);
    traffic();
    take_down();
    done();
}

TEST(no_device_configuration)
{
    uint8_t mac[6] = {1, 1, 1, 1, 1, 1};

    make(NULL);
    fake_pci_set(pm->fn, pm->cap_device + VIRTIO_PCI_CAP_CFG_TYPE, 1, 99);
    CHECK_EQ(open_it(), V_OK);
    CHECK_EQ(dev->config_len, 0);
    CHECK_EQ(bring_up(), V_OK);
    CHECK_EQ(virtio_read_config(dev, 0, mac, 6), V_OK);
    CHECK_MEM_EQ(mac, "\0\0\0\0\0\0", 6);
    take_down();
    done();
}

TEST(short_device_configuration)
{
    uint8_t cfg[12];

    make(NULL);
    fake_pci_set(pm->fn, pm->cap_device + VIRTIO_PCI_CAP_LENGTH, 4, 7);
    CHECK_EQ(open_it(), V_OK);
    CHECK_EQ(dev->config_len, 7);
    CHECK_EQ(bring_up(), V_OK);
    CHECK_EQ(virtio_read_config(dev, 0, cfg, 6), V_OK);
    CHECK_EQ(cfg[0], 0x52);
    CHECK_EQ(virtio_read_config(dev, 6, cfg, 2), V_OK); /* half of it */
    CHECK_EQ(cfg[0] | cfg[1], 0);
    take_down();
    done();
}

TEST(capability_list_is_a_loop)
{
    alarm(10);
    make(NULL);
    fake_pci_set(pm->fn, pm->cap_notify + 1, 1, pm->cap_common);
    CHECK_EQ(open_it(), V_OK); /* everything is in it */
    dev->irq = irq;
    virtio_reset(dev);
    dev->ops->release(dev);
    fake_pci_set(pm->fn, pm->cap_isr + 1, 1, pm->cap_common);
    CHECK_EQ(open_it(), V_UNSUPPORTED);
    fake_pci_set(pm->fn, pm->cap_common + 1, 1, pm->cap_common);
    CHECK_EQ(open_it(), V_UNSUPPORTED);
    done();
}

TEST(legacy_device_is_refused_in_words)
{
    make(&(struct pci_model_config){.transitional = true});
    fake_pci_set(pm->fn, PCI_CAPABILITY_LIST, 1, pm->cap_msix);
    fake_pci_set(pm->fn, pm->cap_msix + 1, 1, 0);
    CHECK_EQ(open_it(), V_UNSUPPORTED);
    CHECK_EQ(host_log_count("legacy"), 1);
    done();
}

TEST(msix_table_outside_its_bar)
{
    make(NULL);
    fake_pci_set(pm->fn, pm->cap_msix + 4, 4, 0xff9);
    CHECK_EQ(open_it(), V_OK);
    CHECK_EQ(bring_up(), V_OK);
    CHECK_EQ(dev->irq_mode, VIRTIO_IRQ_NONE);
    traffic();
    take_down();
    done();
}
