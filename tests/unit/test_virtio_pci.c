/*
 * drivers/virtio/virtio_pci*.c against the model's PCI door, in which every
 * register access is checked.
 */
#include "pci_rig.h"

static void works(const struct pci_model_config *config,
                  enum virtio_irq_mode mode)
{
    make(config);
    CHECK_EQ(open_it(), V_OK);
    CHECK_EQ(bring_up(), V_OK);
    CHECK_EQ(dev->irq_mode, mode);
    traffic();
    take_down();
    done();
}

/* ---- devices that work -------------------------------------------------- */

TEST(modern_device)
{
    works(NULL, VIRTIO_IRQ_MSIX);
}

TEST(transitional_device)
{
    works(&(struct pci_model_config){.transitional = true}, VIRTIO_IRQ_MSIX);
}

TEST(bar_above_4_gib)
{
    works(&(struct pci_model_config){.base = UINT64_C(0x3800000000)},
          VIRTIO_IRQ_MSIX);
}

TEST(one_doorbell_address_for_all)
{
    works(&(struct pci_model_config){.mult_zero = true}, VIRTIO_IRQ_MSIX);
}

TEST(odd_multiplier)
{
    works(&(struct pci_model_config){.notify_mult = 2}, VIRTIO_IRQ_MSIX);
    works(&(struct pci_model_config){.notify_mult = 1024}, VIRTIO_IRQ_MSIX);
}

TEST(on_another_bus)
{
    works(&(struct pci_model_config){.bdf = PCI_BDF(2, 1, 3)},
          VIRTIO_IRQ_MSIX);
}

/* PCI-14, PCI-15: vectors that are too few, or refused. */
TEST(no_msix_means_polling)
{
    works(&(struct pci_model_config){.no_msix = true}, VIRTIO_IRQ_NONE);
    CHECK(host_log_count("polling") > 0);
}

TEST(vector_counts)
{
    for (unsigned n = 1; n <= PCI_MODEL_VECTORS; n++)
        works(&(struct pci_model_config){.vectors = n},
              n >= 3 ? VIRTIO_IRQ_MSIX : VIRTIO_IRQ_NONE);
}

TEST(vector_refused_by_the_device)
{
    for (uint16_t q = 0; q < 3; q++) {
        make(NULL);
        model_fault(m, q, FAULT_VECTOR_REFUSED, FAULT_ALWAYS);
        CHECK_EQ(open_it(), V_OK);
        CHECK_EQ(bring_up(), V_OK);
        CHECK_EQ(dev->irq_mode, VIRTIO_IRQ_NONE);
        take_down();
        done();
    }
}

TEST(no_vector_free)
{
    for (unsigned n = 1; n <= 3; n++) {
        fake_pci_fail_vector(n);
        works(NULL, VIRTIO_IRQ_NONE);
        fake_pci_fail_vector(0);
        CHECK_EQ(fake_pci_vectors(), 0);
    }
}

TEST(interrupts_for_nothing)
{
    make(NULL);
    CHECK_EQ(open_it(), V_OK);
    CHECK_EQ(bring_up(), V_OK);
    fake_pci_storm();
    CHECK_EQ(irqs[0] + irqs[1] + irqs[2], 3);
    traffic();
    take_down();
    done();
}

TEST(up_and_down_a_hundred_times)
{
    make(NULL);
    CHECK_EQ(open_it(), V_OK);
    for (unsigned i = 0; i < 100; i++) {
        CHECK_EQ(bring_up(), V_OK);
        CHECK_EQ(fake_pci_vectors(), 3);
        CHECK_EQ(virtio_reset(dev), V_OK);
        for (unsigned q = 0; q < 2; q++)
            virtio_queue_free(&vq[q]);
    }
    CHECK_EQ(bring_up(), V_OK);
    traffic();
    take_down();
    done();
}

/* ---- which functions ---------------------------------------------------- */

TEST(match)
{
    static const struct {
        uint16_t vendor, device, subsystem;
        bool match;
    } t[] = {
        {0x1af4, 0x1041, 0x1100, true}, {0x1af4, 0x1000, 1, true},
        {0x1af4, 0x1000, 2, false},     {0x1af4, 0x1042, 1, false},
        {0x1af4, 0x1001, 2, false},     {0x1af4, 0x1080, 1, false},
        {0x1af5, 0x1041, 1, false},     {0x1af4, 0x1040, 1, false},
        {0x1af4, 0x103f, 1, true},      {0x8086, 0x100e, 1, false},
        {0x1af4, 0x0fff, 1, false},     {0x1af4, 0x1110, 0x1100, false},
    };

    for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
        struct pci_fn f = {.vendor = t[i].vendor, .device = t[i].device,
                           .subsystem = t[i].subsystem};

        if (virtio_pci_match(&f, VIRTIO_ID_NET) != t[i].match)
            check_fail(__FILE__, __LINE__, "%04x:%04x sub %u", t[i].vendor,
                       t[i].device, t[i].subsystem);
    }
}

/* ---- registers that lie ------------------------------------------------- */

/* PCI-09: the doorbell's place is bounds-checked. */
TEST(doorbell_outside_its_area)
{
    static const struct {
        uint16_t off;
        uint32_t mult;
        uint32_t length;
        bool fits;
    } t[] = {
        {0, 4, 2, true},          {1, 4, 6, true},
        {1, 4, 5, false},         {1023, 4, 0x1000, true},
        {1024, 4, 0x1000, false}, {65535, 4, 0x1000, false},
        {65535, UINT32_MAX, 0x1000, false},
        {1, UINT32_MAX, 0x1000, false}, {1, 4096, 0x1000, false},
        {0, UINT32_MAX, 0x1000, true},
    };

    for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
        make(&(struct pci_model_config){.notify_mult = t[i].mult});
        fake_pci_set(pm->fn, pm->cap_notify + VIRTIO_PCI_CAP_LENGTH, 4,
                     t[i].length);
        pm->notify_off[0] = t[i].off;
        pm->notify_off[1] = 0;
        CHECK_EQ(open_it(), V_OK);
        CHECK_EQ(bring_up(), t[i].fits ? V_OK : V_BADDEV);
        if (!t[i].fits)
            CHECK_EQ(host_dma_live(), 1); /* the transport's own */
        take_down();
        done();
        host_end();
        host_begin();
    }
}

TEST(queue_refused)
{
    make(NULL);
    model_fault(m, 1, FAULT_QUEUE_MAX_ZERO, FAULT_ALWAYS);
    CHECK_EQ(open_it(), V_OK);
    CHECK_EQ(bring_up(), V_NODEV);
    take_down();
    done();
}

TEST(fewer_queues_than_needed)
{
    make(NULL);
    m->num_queues = 1;
    CHECK_EQ(open_it(), V_OK);
    CHECK_EQ(bring_up(), V_NODEV);
    take_down();
    done();
}

/* PCI: pulled out while running; everything reads all ones. */
TEST(device_is_pulled_out)
{
    uint8_t cfg[2];

    make(NULL);
    CHECK_EQ(open_it(), V_OK);
    CHECK_EQ(bring_up(), V_OK);
    pm->fn->gone = true;
    CHECK_EQ(dev->ops->status(dev), 0xff);
    dev->ops->notify(dev, 0);
    virtio_read_config(dev, 6, cfg, 2);
    CHECK(virtio_reset(dev) != V_OK);
    CHECK_EQ(virtio_driver_ok(dev) == V_OK, false);
    pm->fn->gone = false;
    take_down();
    done();
}

TEST(registers_cannot_be_mapped)
{
    make(NULL);
    CHECK_EQ(pci_probe(pm->fn->bdf, &fn), V_OK);
    fake_pci_fail_map(true);
    CHECK_EQ(virtio_pci_open(&fn, &dev), V_UNSUPPORTED);
    done();
}

/* INIT-06: each allocation fails in turn; nothing leaks. */
TEST(every_allocation_fails)
{
    for (unsigned n = 1;; n++) {
        unsigned before = host_allocs_failed();
        bool opened, up;

        make(NULL);
        host_fail_alloc(n);
        opened = open_it() == V_OK;
        up = opened && bring_up() == V_OK;
        if (opened)
            take_down();
        done();
        CHECK_EQ(host_dma_live(), 0);
        if (host_allocs_failed() == before) {
            CHECK(up && n == 6);
            break;
        }
        CHECK(!up);
    }
}
