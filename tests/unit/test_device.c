/*
 * drivers/virtio/device.c: the life cycle, a step at a time, against the
 * model in process.
 */
#include <string.h>

#include "check.h"
#include "host.h"
#include "lint.h"
#include "model.h"
#include "verr.h"

#define F MODEL_FEATURES

static struct model *m;
static struct virtio_dev *dev;
static struct virtq vq[2];

static void irq(struct virtio_dev *d, uint16_t q)
{
    (void)d;
    (void)q;
}

static void start(uint64_t features)
{
    m = model_new(features);
    dev = model_dev(m);
    dev->irq = irq;
}

static void negotiated(uint64_t features)
{
    start(features);
    CHECK_EQ(virtio_reset(dev), V_OK);
    virtio_acknowledge(dev);
    CHECK_EQ(virtio_negotiate(dev, features), V_OK);
    virtio_irq_setup(dev, 2);
}

static void stop(void)
{
    model_fault_none(m);
    virtio_reset(dev);
    model_free(m);
}

/* ---- steps 1 to 6 ------------------------------------------------------- */

TEST(reset_waits)
{
    start(F);
    model_preboot(m);
    model_fault(m, 0, FAULT_RESET_SLOW, 100);
    CHECK_EQ(virtio_reset(dev), V_OK);
    virtio_acknowledge(dev); /* INIT-10 is the model's to notice */
    stop();
}

TEST(reset_that_never_ends)
{
    uint64_t before;

    start(F);
    model_fault(m, 0, FAULT_RESET_NEVER, FAULT_ALWAYS);
    before = host_now;
    CHECK_EQ(virtio_reset(dev), V_TIMEOUT);
    CHECK(host_now - before >= VIRTIO_RESET_MS * UINT64_C(1000000));
    CHECK(host_now - before < 2 * VIRTIO_RESET_MS * UINT64_C(1000000));
    CHECK_EQ(host_log_count("reset did not finish"), 1);
    stop();
}

TEST(reset_of_a_device_that_is_gone)
{
    start(F);
    model_fault(m, 0, FAULT_GONE, FAULT_ALWAYS);
    CHECK_EQ(virtio_reset(dev), V_NODEV);
    stop();
}

TEST(negotiation_takes_what_is_offered)
{
    start(F & ~VIRTIO_BIT(VIRTIO_NET_F_MRG_RXBUF));
    CHECK_EQ(virtio_reset(dev), V_OK);
    virtio_acknowledge(dev);
    CHECK_EQ(dev->offered, F & ~VIRTIO_BIT(VIRTIO_NET_F_MRG_RXBUF));
    CHECK_EQ(virtio_negotiate(dev, F), V_OK);
    CHECK_EQ(dev->accepted, dev->offered);
    CHECK_EQ(m->accepted, dev->offered);
    CHECK(virtio_has(dev, VIRTIO_NET_F_CSUM));
    CHECK(!virtio_has(dev, VIRTIO_NET_F_MRG_RXBUF));
    CHECK(!virtio_offers(dev, VIRTIO_NET_F_MRG_RXBUF));
    stop();
}

TEST(negotiation_needs_version_1)
{
    start(F & ~VIRTIO_BIT(VIRTIO_F_VERSION_1));
    CHECK_EQ(virtio_reset(dev), V_OK);
    virtio_acknowledge(dev);
    CHECK_EQ(virtio_negotiate(dev, F), V_UNSUPPORTED);
    CHECK_EQ(host_log_count("VERSION_1"), 1);
    stop();
}

TEST(negotiation_refused)
{
    start(F);
    model_fault(m, 0, FAULT_FEATURES_REFUSED, 1);
    CHECK_EQ(virtio_reset(dev), V_OK);
    virtio_acknowledge(dev);
    CHECK_EQ(virtio_negotiate(dev, F), V_REFUSED);
    CHECK_EQ(dev->accepted, 0);
    CHECK_EQ(host_log_count("refused the features"), 1);
    virtio_fail(dev);
    CHECK(netdev_status(m) & VIRTIO_S_FAILED);
    /* INIT-08: a new attempt begins with a reset, and succeeds. */
    CHECK_EQ(virtio_reset(dev), V_OK);
    virtio_acknowledge(dev);
    CHECK_EQ(virtio_negotiate(dev, F), V_OK);
    stop();
}

/* ---- step 7 ------------------------------------------------------------- */

TEST(queue_sizes)
{
    static const struct {
        uint16_t wanted;
        uint16_t max;
        uint16_t size;
    } t[] = {
        {256, 256, 256},  {256, 1024, 256},    {256, 64, 64},
        {256, 2, 2},      {256, 1, 1},         {1000, 1024, 512},
        {1, 1024, 1},     {65535, 32768, 32768}, {8192, 8192, 8192},
        {300, 32768, 256},
    };

    for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
        negotiated(F);
        m->queue_max[0] = t[i].max;
        CHECK_EQ(virtio_queue_setup(dev, &vq[0], 0, t[i].wanted), V_OK);
        CHECK_EQ(virtq_size(&vq[0]), t[i].size);
        CHECK_EQ(virtio_driver_ok(dev), V_OK);
        CHECK_EQ(virtio_reset(dev), V_OK);
        virtio_queue_free(&vq[0]);
        CHECK(!virtq_mem(&vq[0]));
        virtio_queue_free(&vq[0]); /* nothing left: does nothing */
        stop();
    }
}

TEST(queue_max_is_not_a_power_of_two)
{
    negotiated(F);
    model_fault(m, 0, FAULT_QUEUE_MAX_ODD, FAULT_ALWAYS);
    CHECK_EQ(virtio_queue_setup(dev, &vq[0], 0, 256), V_OK);
    CHECK_EQ(virtq_size(&vq[0]), 128);
    CHECK_EQ(virtio_reset(dev), V_OK);
    virtio_queue_free(&vq[0]);
    stop();
}

TEST(queue_that_is_not_there)
{
    negotiated(F);
    CHECK_EQ(virtio_queue_setup(dev, &vq[0], 2, 256), V_NODEV);
    model_fault(m, 0, FAULT_QUEUE_MAX_ZERO, 1);
    CHECK_EQ(virtio_queue_setup(dev, &vq[0], 0, 256), V_NODEV);
    CHECK_EQ(virtio_queue_setup(dev, &vq[0], 0, 0), V_NODEV);
    CHECK_EQ(host_dma_live(), 0);
    stop();
}

TEST(queue_refused)
{
    negotiated(F);
    model_fault(m, 1, FAULT_QUEUE_REFUSED, 1);
    CHECK_EQ(virtio_queue_setup(dev, &vq[1], 1, 256), V_REFUSED);
    CHECK_EQ(host_dma_live(), 0);
    stop();
}

TEST(queue_without_memory)
{
    for (unsigned n = 1; n <= 2; n++) {
        negotiated(F);
        host_fail_alloc(n);
        CHECK_EQ(virtio_queue_setup(dev, &vq[0], 0, 256), V_NOMEM);
        CHECK_EQ(host_dma_live(), 0);
        CHECK_EQ(virtio_queue_setup(dev, &vq[0], 0, 256), V_OK);
        CHECK_EQ(virtio_reset(dev), V_OK);
        virtio_queue_free(&vq[0]);
        stop();
    }
}

/* ---- step 8 ------------------------------------------------------------- */

TEST(driver_ok_refused)
{
    negotiated(F);
    model_fault(m, 0, FAULT_DRIVER_OK_REFUSED, 1);
    CHECK_EQ(virtio_driver_ok(dev), V_BADDEV);
    CHECK_EQ(host_log_count("after DRIVER_OK"), 1);
    stop();
}

TEST(the_whole_life_a_thousand_times)
{
    start(F);
    for (unsigned i = 0; i < 1000; i++) {
        CHECK_EQ(virtio_reset(dev), V_OK);
        virtio_acknowledge(dev);
        CHECK_EQ(virtio_negotiate(dev, F), V_OK);
        virtio_irq_setup(dev, 2);
        for (uint16_t q = 0; q < 2; q++)
            CHECK_EQ(virtio_queue_setup(dev, &vq[q], q, 64), V_OK);
        CHECK_EQ(virtio_driver_ok(dev), V_OK);
        CHECK_EQ(virtio_reset(dev), V_OK);
        for (uint16_t q = 0; q < 2; q++)
            virtio_queue_free(&vq[q]);
        CHECK_EQ(host_dma_live(), 0);
    }
    stop();
}

/* ---- configuration ------------------------------------------------------ */

TEST(config_read)
{
    uint8_t mac[6];
    uint8_t beyond[8] = {1, 1, 1, 1, 1, 1, 1, 1};

    negotiated(F);
    CHECK_EQ(virtio_read_config(dev, 0, mac, 6), V_OK);
    CHECK_MEM_EQ(mac, m->config, 6);
    m->config_len = 6; /* shorter than the fields: reads as zero */
    CHECK_EQ(virtio_read_config(dev, 6, beyond, 2), V_OK);
    CHECK_EQ(beyond[0] | beyond[1], 0);
    stop();
}

TEST(config_never_stands_still)
{
    uint8_t mac[6];

    negotiated(F);
    model_fault(m, 0, FAULT_GENERATION, FAULT_ALWAYS);
    CHECK_EQ(virtio_read_config(dev, 0, mac, 6), V_BADDEV);
    model_fault(m, 0, FAULT_GENERATION, 4);
    CHECK_EQ(virtio_read_config(dev, 0, mac, 6), V_OK);
    stop();
}

/* CFG-01: the address changes half-way through the read. */
static const struct virtio_ops *real;
static unsigned changes;

static void read_slowly(struct virtio_dev *d, unsigned off, void *buf,
                        unsigned len)
{
    static const uint8_t other[6] = {2, 2, 2, 2, 2, 2};

    real->read_config(d, off, buf, len / 2);
    if (changes) {
        changes--;
        model_set_mac(m, other);
    }
    real->read_config(d, off + len / 2, (uint8_t *)buf + len / 2,
                      len - len / 2);
}

TEST(config_halves_are_never_mixed)
{
    struct virtio_ops ops;
    uint8_t mac[6];

    negotiated(F);
    real = dev->ops;
    ops = *real;
    ops.read_config = read_slowly;
    dev->ops = &ops;
    changes = 1;
    CHECK_EQ(virtio_read_config(dev, 0, mac, 6), V_OK);
    CHECK_MEM_EQ(mac, "\2\2\2\2\2\2", 6);
    changes = FAULT_ALWAYS;
    CHECK_EQ(virtio_read_config(dev, 0, mac, 6), V_BADDEV);
    dev->ops = real;
    stop();
}

TEST(result_codes_have_names)
{
    for (int err = -20; err < 5; err++)
        CHECK(verr_name(err) && strlen(verr_name(err)) > 1);
    CHECK_STR_EQ(verr_name(V_OK), "ok");
    CHECK(strcmp(verr_name(V_DOWN), verr_name(-12)) != 0);
}
