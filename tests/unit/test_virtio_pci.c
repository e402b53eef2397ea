/*
 * drivers/virtio/virtio_pci*.c against the model's PCI door, in which every
 * register access is checked.
 */
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "host.h"
#include "lint.h"
#include "pci_model.h"
#include "virtio/virtio_pci.h"

#define F MODEL_FEATURES

static struct model *m;
static struct pci_model *pm;
static struct pci_fn fn;
static struct virtio_dev *dev;
static struct virtq vq[2];
static unsigned irqs[3];

static void irq(struct virtio_dev *d, uint16_t q)
{
    (void)d;
    CHECK(q < 2 || q == VIRTIO_IRQ_CONFIG);
    irqs[q < 2 ? q : 2]++;
}

static void make(const struct pci_model_config *config)
{
    m = model_new(F);
    pm = pci_model_new(m, config);
}

static int open_it(void)
{
    CHECK_EQ(pci_probe(pm->fn->bdf, &fn), V_OK);
    dev = NULL;
    return virtio_pci_open(&fn, &dev);
}

static void done(void)
{
    pci_model_free(pm);
    model_free(m);
}

/* Opens, brings up both queues, DRIVER_OK. */
static int bring_up(void)
{
    int err = V_OK;

    dev->irq = irq;
    CHECK_EQ(virtio_reset(dev), V_OK);
    virtio_acknowledge(dev);
    CHECK_EQ(dev->offered, F);
    CHECK_EQ(virtio_negotiate(dev, F), V_OK);
    virtio_irq_setup(dev, 2);
    for (uint16_t q = 0; q < 2 && !err; q++)
        err = virtio_queue_setup(dev, &vq[q], q, 256);
    return err ? err : virtio_driver_ok(dev);
}

static void take_down(void)
{
    CHECK_EQ(virtio_reset(dev), V_OK);
    for (unsigned q = 0; q < 2; q++)
        virtio_queue_free(&vq[q]);
    dev->ops->release(dev);
    CHECK_EQ(fake_pci_vectors(), 0);
    CHECK(!fake_pci_masters(pm->fn));
}

/* A frame in, a frame out, each with its interrupt if there are any. */
static void traffic(void)
{
    uint8_t *page = plat_dma_alloc(4096, 4096);
    struct virtq_seg in = {plat_dma_addr(page), 2048};
    struct virtq_seg out = {plat_dma_addr(page) + 2048, 72};
    bool msix = dev->irq_mode == VIRTIO_IRQ_MSIX;
    uint8_t frame[60] = {0};
    uint32_t len;

    memset(irqs, 0, sizeof(irqs));
    m->tx_raw = true;
    CHECK_EQ(virtq_add(&vq[0], &in, 0, 1, page), V_OK);
    CHECK_EQ(virtq_add(&vq[1], &out, 1, 0, page), V_OK);
    virtq_arm(&vq[0], 0);
    virtq_arm(&vq[1], 0);
    for (uint16_t q = 0; q < 2; q++)
        if (virtq_publish(&vq[q]))
            dev->ops->notify(dev, q);
    model_check_idle(m);
    CHECK_EQ(m->n.tx_frames, 1);
    CHECK(model_rx(m, frame, 60, NULL));
    CHECK_EQ(irqs[0], msix);
    CHECK_EQ(irqs[1], msix);
    CHECK(virtq_get(&vq[0], &len) && len == 72);
    CHECK(virtq_get(&vq[1], &len));
    model_set_link(m, false);
    CHECK_EQ(irqs[2], msix);
    plat_dma_free(page, 4096);
}

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

/* ---- devices that work --------------------------------------------------------------- */

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

/* ---- which functions ------------------------------------------------------------------- */

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

/* ---- capabilities that are wrong (BC-061 to BC-070, PCI-03, PCI-05) ------------------------ */

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

/* ---- registers that lie ----------------------------------------------------------------- */

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
