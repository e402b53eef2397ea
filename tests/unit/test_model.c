/*
 * The model judged by itself: life cycle and ring memory. Every rule is broken
 * once and must be noticed; a correct sequence must not be.
 */
#include "mini.h"

#define F MODEL_FEATURES_MIN
#define F_OK (VIRTIO_S_ACKNOWLEDGE | VIRTIO_S_DRIVER | VIRTIO_S_FEATURES_OK)

static struct mini d;

static void start(uint64_t features)
{
    mini_start(&d, model_new(features | VIRTIO_BIT(VIRTIO_NET_F_MRG_RXBUF)),
               features | VIRTIO_BIT(VIRTIO_NET_F_MRG_RXBUF));
}

/* ---- life cycle --------------------------------------------------------- */

TEST(rule_init_01_reset_first)
{
    struct model *m = model_new(F);

    mini_prepare(&d, m);
    PROVOKE("INIT-01", netdev_set_status(m, VIRTIO_S_ACKNOWLEDGE));
    PROVOKE("INIT-01", netdev_features(m));
    mini_stop(&d);
}

TEST(rule_init_01_order)
{
    struct model *m = model_new(F);

    mini_prepare(&d, m);
    netdev_set_status(m, 0);
    netdev_status(m);
    PROVOKE("INIT-01", netdev_set_status(m, VIRTIO_S_DRIVER));
    netdev_set_status(m, 0);
    netdev_status(m);
    PROVOKE("INIT-01", netdev_accept(m, 0, 0));
    PROVOKE("FEAT-05", netdev_set_status(m, F_OK));
    PROVOKE("INIT-01", netdev_set_status(m, NETDEV_ORDER));
    mini_stop(&d);
}

TEST(rule_init_02_features_ok_refused)
{
    struct model *m = model_new(F);

    mini_prepare(&d, m);
    model_fault(m, 0, FAULT_FEATURES_REFUSED, 1);
    netdev_set_status(m, 0);
    netdev_status(m);
    netdev_set_status(m, VIRTIO_S_ACKNOWLEDGE | VIRTIO_S_DRIVER);
    netdev_accept(m, 1, 1);
    netdev_set_status(m, F_OK);
    CHECK_EQ(netdev_status(m), VIRTIO_S_ACKNOWLEDGE | VIRTIO_S_DRIVER);
    PROVOKE("INIT-02", mini_enable(&d, 0));
    PROVOKE("INIT-02", netdev_set_status(m, NETDEV_ORDER));
    mini_stop(&d);
}

TEST(rule_init_03_features_late)
{
    start(F);
    PROVOKE("INIT-03", netdev_accept(d.m, 0, 0));
    mini_stop(&d);
}

TEST(rule_init_04_config_before_driver)
{
    struct model *m = model_new(F);

    mini_prepare(&d, m);
    netdev_set_status(m, 0);
    netdev_status(m);
    PROVOKE("INIT-04", netdev_config(m, 0));
    mini_stop(&d);
}

TEST(rule_init_05_doorbell_early)
{
    struct model *m = model_new(F);

    mini_prepare(&d, m);
    mini_negotiate(&d, F);
    mini_enable(&d, 1);
    PROVOKE("INIT-05", netdev_notify(m, 1));
    CHECK_EQ(m->n.doorbells[1], 0);
    mini_stop(&d);
}

TEST(rule_init_07_status_loses_bits)
{
    start(F);
    PROVOKE("INIT-07", netdev_set_status(d.m, VIRTIO_S_ACKNOWLEDGE));
    mini_stop(&d);
}

TEST(rule_init_08_after_failed)
{
    start(F);
    netdev_set_status(d.m, NETDEV_ORDER | VIRTIO_S_FAILED);
    PROVOKE("INIT-08", netdev_set_status(d.m, NETDEV_ORDER |
                                                  VIRTIO_S_FAILED));
    mini_stop(&d);
}

TEST(rule_init_10_reset_not_awaited)
{
    start(F);
    model_fault(d.m, 0, FAULT_RESET_SLOW, 3);
    netdev_set_status(d.m, 0);
    PROVOKE("INIT-10", netdev_set_status(d.m, VIRTIO_S_ACKNOWLEDGE));
    CHECK(netdev_status(d.m) != 0);
    PROVOKE("INIT-10", netdev_queue_max(d.m, 0));
    CHECK(netdev_status(d.m) != 0);
    CHECK(netdev_status(d.m) != 0);
    mini_stop(&d);
}

TEST(rule_queues)
{
    start(F);
    PROVOKE("RING-QUEUE", netdev_notify(d.m, 2));
    netdev_set_status(d.m, 0);
    netdev_status(d.m);
    mini_negotiate(&d, F);
    CHECK(mini_enable(&d, 0));
    PROVOKE("PCI-08", mini_enable(&d, 0));
    PROVOKE("PCI-07", netdev_queue_enable(d.m, 1, 512, 0, 0, 0));
    mini_stop(&d);
}

TEST(rule_init_01_queue_after_driver_ok)
{
    struct model *m = model_new(F);

    mini_prepare(&d, m);
    mini_negotiate(&d, F);
    netdev_set_status(m, NETDEV_ORDER);
    PROVOKE("INIT-01", mini_enable(&d, 0));
    mini_stop(&d);
}

/* ---- ring memory -------------------------------------------------------- */

static void enable_at(uint16_t size, uint64_t desc, uint64_t avail,
                      uint64_t used)
{
    netdev_set_status(d.m, 0);
    netdev_status(d.m);
    mini_negotiate(&d, F);
    netdev_queue_enable(d.m, 0, size, desc, avail, used);
}

TEST(rule_spl_01_alignment)
{
    uint64_t a, b, c;

    mini_prepare(&d, model_new(F));
    a = plat_dma_addr(d.q[0].desc);
    b = plat_dma_addr(d.q[0].avail);
    c = plat_dma_addr(d.q[0].used);
    PROVOKE("SPL-01", enable_at(8, a + 8, b, c));
    PROVOKE("SPL-01", enable_at(8, a, b + 1, c));
    PROVOKE("SPL-01", enable_at(8, a, b, c + 2));
    PROVOKE("SPL-01", enable_at(8, a, b, c + 4096 - 32));
    PROVOKE("SPL-01", enable_at(8, 16, b, c));
    enable_at(8, a + 16, b + 2, c + 4);
    mini_stop(&d);
}

TEST(rule_spl_01_used_ring_in_static_memory)
{
    static _Alignas(16) uint8_t memory[4096];

    mini_prepare(&d, model_new(F));
    PROVOKE("SPL-01", enable_at(8, plat_dma_addr(d.q[0].desc),
                                plat_dma_addr(d.q[0].avail),
                                plat_dma_addr(memory)));
    mini_stop(&d);
}

TEST(rule_spl_02_size)
{
    uint64_t a, b, c;

    mini_prepare(&d, model_new(F));
    a = plat_dma_addr(d.q[0].desc);
    b = plat_dma_addr(d.q[0].avail);
    c = plat_dma_addr(d.q[0].used);
    PROVOKE("SPL-02", enable_at(7, a, b, c));
    PROVOKE("SPL-02", enable_at(0, a, b, c));
    mini_stop(&d);
}

TEST(rule_spl_17_used_not_zeroed)
{
    mini_prepare(&d, model_new(F));
    atomic_store(&d.q[0].used->flags, 1);
    PROVOKE("SPL-17", enable_at(8, plat_dma_addr(d.q[0].desc),
                                plat_dma_addr(d.q[0].avail),
                                plat_dma_addr(d.q[0].used)));
    mini_stop(&d);
}

TEST(rule_seam)
{
    struct model *m = model_new(F);
    struct virtio_dev *dev = model_dev(m);

    PROVOKE("SEAM-IRQ", dev->ops->irq_enable(dev, 2));
    m->status = 1;
    PROVOKE("SEAM-RELEASE", dev->ops->release(dev));
    model_free(m);
}
