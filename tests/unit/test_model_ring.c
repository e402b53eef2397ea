/*
 * The model judged by itself: the ring. Every rule about chains, ownership,
 * doorbells and interrupts is broken once and must be noticed; a correct
 * sequence must not be.
 */
#include "mini.h"

#define F MODEL_FEATURES_MIN
#define FE (F | VIRTIO_BIT(VIRTIO_F_EVENT_IDX))

static struct mini d;

static void start(uint64_t features)
{
    mini_start(&d, model_new(features | VIRTIO_BIT(VIRTIO_NET_F_MRG_RXBUF)),
               features | VIRTIO_BIT(VIRTIO_NET_F_MRG_RXBUF));
}

/* ---- chains ------------------------------------------------------------- */

TEST(rule_chain_out_of_range)
{
    start(F);
    PROVOKE("RING-HEAD", mini_offer(&d.q[1], 8); netdev_notify(d.m, 1));
    CHECK(d.m->status & VIRTIO_S_NEEDS_RESET);
    mini_stop(&d);
    start(F);
    mini_desc(&d.q[1], 0, d.page[0], 100, VIRTQ_DESC_F_NEXT, 8);
    mini_offer(&d.q[1], 0);
    PROVOKE("RING-NEXT", netdev_notify(d.m, 1));
    mini_stop(&d);
}

TEST(rule_spl_05_loop)
{
    start(F);
    mini_desc(&d.q[1], 0, d.page[0], 100, VIRTQ_DESC_F_NEXT, 1);
    mini_desc(&d.q[1], 1, d.page[1], 100, VIRTQ_DESC_F_NEXT, 0);
    mini_offer(&d.q[1], 0);
    PROVOKE("SPL-05", netdev_notify(d.m, 1));
    mini_stop(&d);
}

TEST(rule_spl_05_too_long)
{
    static uint8_t data[16];

    start(F);
    mini_desc(&d.q[1], 0, data, 16, VIRTQ_DESC_F_NEXT, 1);
    mini_desc(&d.q[1], 1, data, UINT32_MAX, 0, 0);
    mini_offer(&d.q[1], 0);
    PROVOKE("SPL-05", netdev_notify(d.m, 1));
    mini_stop(&d);
}

TEST(rule_spl_03_order_of_parts)
{
    start(F);
    mini_desc(&d.q[1], 0, d.page[0], 100,
              VIRTQ_DESC_F_NEXT | VIRTQ_DESC_F_WRITE, 1);
    mini_desc(&d.q[1], 1, d.page[1], 100, 0, 0);
    mini_offer(&d.q[1], 0);
    PROVOKE("SPL-03", netdev_notify(d.m, 1));
    mini_stop(&d);
}

TEST(rule_zero_length_and_flags)
{
    start(F);
    mini_desc(&d.q[1], 0, d.page[0], 0, 0, 0);
    mini_offer(&d.q[1], 0);
    PROVOKE("RING-ZERO", netdev_notify(d.m, 1));
    mini_stop(&d);
    start(F);
    mini_desc(&d.q[1], 0, d.page[0], 100, 8, 0);
    mini_offer(&d.q[1], 0);
    PROVOKE("RING-FLAGS", netdev_notify(d.m, 1));
    mini_stop(&d);
}

TEST(rule_spl_09_indirect_not_negotiated)
{
    start(F);
    mini_desc(&d.q[1], 0, d.page[0], 16, VIRTQ_DESC_F_INDIRECT, 0);
    mini_offer(&d.q[1], 0);
    PROVOKE("SPL-09", netdev_notify(d.m, 1));
    mini_stop(&d);
}

TEST(rule_spl_10_indirect_tables)
{
    static const uint16_t flags[] = {VIRTQ_DESC_F_INDIRECT |
                                         VIRTQ_DESC_F_NEXT,
                                     VIRTQ_DESC_F_INDIRECT};
    static const uint32_t len[] = {16, 24};

    for (unsigned i = 0; i < 2; i++) {
        start(F | VIRTIO_BIT(VIRTIO_F_INDIRECT_DESC));
        mini_desc(&d.q[1], 0, d.page[0], len[i], flags[i], 1);
        mini_offer(&d.q[1], 0);
        PROVOKE("SPL-10", netdev_notify(d.m, 1));
        mini_stop(&d);
    }
}

TEST(indirect_chain_is_followed)
{
    struct virtq_desc *t;
    uint32_t id, len;

    start(F | VIRTIO_BIT(VIRTIO_F_INDIRECT_DESC));
    d.m->tx_raw = true;
    t = (void *)d.page[0];
    t[0] = (struct virtq_desc){plat_dma_addr(d.page[1]), 12,
                               VIRTQ_DESC_F_NEXT, 1};
    t[1] = (struct virtq_desc){plat_dma_addr(d.page[2]), 60, 0, 0};
    memset(d.page[2], 0x77, 60);
    mini_desc(&d.q[1], 3, t, 32, VIRTQ_DESC_F_INDIRECT, 0);
    mini_offer(&d.q[1], 3);
    netdev_notify(d.m, 1);
    CHECK_EQ(d.m->wire_first->len, 60);
    CHECK_EQ(d.m->wire_first->data[59], 0x77);
    CHECK(mini_used(&d, 1, &id, &len));
    CHECK_EQ(id, 3);
    mini_stop(&d);
}

TEST(rule_ring_addr)
{
    static const uint64_t bad[] = {0, 4096, HOST_DMA_BASE - 64,
                                   HOST_DMA_BASE + HOST_ARENA_BYTES,
                                   UINT64_MAX - 10, HOST_DMA_OUTSIDE};

    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        start(F);
        d.q[1].desc[0] = (struct virtq_desc){bad[i], 100, 0, 0};
        mini_offer(&d.q[1], 0);
        PROVOKE("RING-ADDR", netdev_notify(d.m, 1));
        mini_stop(&d);
    }
}

/* A pointer instead of a device address; past the end; freed; not writable. */
TEST(rule_ring_addr_near_misses)
{
    static uint8_t data[4096];
    uint8_t *gone;

    start(F);
    d.q[1].desc[0] = (struct virtq_desc){(uintptr_t)d.page[0], 100, 0, 0};
    mini_offer(&d.q[1], 0);
    PROVOKE("RING-ADDR", netdev_notify(d.m, 1));
    mini_stop(&d);

    start(F);
    mini_desc(&d.q[1], 0, d.page[0] + 4000, 97, 0, 0);
    mini_offer(&d.q[1], 0);
    PROVOKE("RING-ADDR", netdev_notify(d.m, 1));
    mini_stop(&d);

    start(F);
    gone = plat_dma_alloc(4096, 1);
    mini_desc(&d.q[1], 0, gone, 100, 0, 0);
    plat_dma_free(gone, 4096);
    mini_offer(&d.q[1], 0);
    PROVOKE("RING-ADDR", netdev_notify(d.m, 1));
    mini_stop(&d);

    start(F);
    mini_desc(&d.q[0], 0, data, 4096, VIRTQ_DESC_F_WRITE, 0);
    mini_offer(&d.q[0], 0);
    PROVOKE("RING-ADDR", netdev_notify(d.m, 0));
    mini_stop(&d);
}

TEST(rule_ring_busy)
{
    start(F);
    d.m->tx_hold = d.m->tx_raw = true;
    mini_desc(&d.q[1], 0, d.page[0], 100, 0, 0);
    mini_offer(&d.q[1], 0);
    netdev_notify(d.m, 1);
    mini_desc(&d.q[1], 1, d.page[1], 100, VIRTQ_DESC_F_NEXT, 0);
    mini_offer(&d.q[1], 1);
    PROVOKE("RING-BUSY", netdev_notify(d.m, 1));
    mini_stop(&d);
}

TEST(rule_ring_desc_changed)
{
    start(F);
    d.m->tx_hold = d.m->tx_raw = true;
    mini_desc(&d.q[1], 0, d.page[0], 100, 0, 0);
    mini_offer(&d.q[1], 0);
    netdev_notify(d.m, 1);
    d.q[1].desc[0].len++;
    PROVOKE("RING-DESC", model_tx_release(d.m, 1));
    mini_stop(&d);
}

TEST(rule_spl_12_index)
{
    start(F);
    atomic_store(&d.q[1].avail->idx, 9);
    PROVOKE("SPL-12", netdev_notify(d.m, 1));
    mini_stop(&d);
    start(F);
    atomic_store(&d.q[1].avail->idx, 0xffff);
    PROVOKE("SPL-12", netdev_notify(d.m, 1));
    mini_stop(&d);
}

TEST(rule_spl_13_flags)
{
    start(F);
    atomic_store(&d.q[1].avail->flags, 2);
    PROVOKE("SPL-13", netdev_notify(d.m, 1));
    mini_stop(&d);
    start(FE);
    atomic_store(&d.q[1].avail->flags, 1);
    PROVOKE("SPL-13", netdev_notify(d.m, 1));
    mini_stop(&d);
}

TEST(rule_used_index_written)
{
    start(F);
    atomic_store(&d.q[1].used->idx, 3);
    PROVOKE("RING-USED", netdev_notify(d.m, 1));
    mini_stop(&d);
}

/* ---- ownership ---------------------------------------------------------- */

TEST(rule_init_11_sent_bytes_changed)
{
    start(F);
    d.m->tx_hold = d.m->tx_raw = true;
    mini_desc(&d.q[1], 0, d.page[0], 100, 0, 0);
    mini_offer(&d.q[1], 0);
    netdev_notify(d.m, 1);
    d.page[0][99] ^= 1;
    PROVOKE("INIT-11", model_tx_release(d.m, 1));
    mini_stop(&d);
}

TEST(rule_init_11_posted_buffer_written)
{
    uint8_t frame[60] = {0};
    uint8_t *other;
    const char *why;

    start(F);
    mini_post(&d, 0, 4096);
    netdev_notify(d.m, 0);
    /* By another mapping: the sanitizer watches the driver's own. */
    other = host_dma_view(plat_dma_addr(d.page[0]), 1, true, &why);
    other[4095] ^= 1;
    PROVOKE("INIT-11", model_rx(d.m, frame, 60, NULL));
    mini_stop(&d);
}

TEST(rule_init_11_buffers_overlap)
{
    start(F);
    mini_desc(&d.q[0], 0, d.page[0], 2000, VIRTQ_DESC_F_WRITE, 0);
    mini_desc(&d.q[0], 1, d.page[0] + 1999, 2000, VIRTQ_DESC_F_WRITE, 0);
    mini_offer(&d.q[0], 0);
    mini_offer(&d.q[0], 1);
    PROVOKE("INIT-11", netdev_notify(d.m, 0));
    mini_stop(&d);
}

TEST(rule_init_11_freed)
{
    start(F);
    mini_post(&d, 0, 4096);
    netdev_notify(d.m, 0);
    PROVOKE("INIT-11", plat_dma_free(d.page[0], 4096));
    PROVOKE("INIT-11", plat_dma_free(d.q[1].used, 4096));
    d.page[0] = plat_dma_alloc(4096, 4096);
    d.q[1].used = plat_dma_alloc(4096, 4096);
    mini_stop(&d);
}

TEST(posted_buffers_are_poisoned_until_used)
{
    uint8_t frame[60] = {0};

    start(F);
    mini_post(&d, 0, 4096);
    netdev_notify(d.m, 0);
#ifdef __SANITIZE_ADDRESS__
    CHECK(host_poisoned(d.page[0], 1));
    CHECK(host_poisoned(d.page[0] + 4095, 1));
#endif
    CHECK(model_rx(d.m, frame, 60, NULL));
    CHECK(!host_poisoned(d.page[0], 4096));
    mini_post(&d, 1, 4096);
    netdev_notify(d.m, 0);
    mini_stop(&d); /* a reset gives everything back */
}

/* ---- doorbells and interrupts ------------------------------------------- */

static void doorbell_forgotten(uint64_t features, const char *id)
{
    start(features);
    d.m->tx_raw = true;
    mini_desc(&d.q[1], 0, d.page[0], 100, 0, 0);
    mini_offer(&d.q[1], 0);
    PROVOKE(id, model_check_idle(d.m));
    netdev_notify(d.m, 1);
    model_check_idle(d.m);
    mini_stop(&d);
}

TEST(rule_spl_18_19_doorbell_forgotten)
{
    doorbell_forgotten(F, "SPL-18");
    doorbell_forgotten(FE, "SPL-19");
}

TEST(interrupt_by_flag)
{
    uint8_t frame[60] = {0};

    start(F);
    for (unsigned i = 0; i < 4; i++)
        mini_post(&d, i, 4096);
    netdev_notify(d.m, 0);
    CHECK(model_rx(d.m, frame, 60, NULL));
    CHECK_EQ(d.irqs, 1);
    atomic_store(&d.q[0].avail->flags, 1);
    CHECK(model_rx(d.m, frame, 60, NULL));
    CHECK_EQ(d.irqs, 1);
    atomic_store(&d.q[0].avail->flags, 0);
    model_fault(d.m, 0, FAULT_IRQ_LOST, 1);
    CHECK(model_rx(d.m, frame, 60, NULL));
    CHECK_EQ(d.irqs, 1);
    CHECK(model_rx(d.m, frame, 60, NULL));
    CHECK_EQ(d.irqs, 2);
    mini_stop(&d);
}

TEST(interrupt_by_event)
{
    uint8_t frame[60] = {0};

    start(FE);
    atomic_store(d.q[0].used_event, 2);
    for (unsigned i = 0; i < 4; i++)
        mini_post(&d, i, 4096);
    netdev_notify(d.m, 0);
    for (unsigned i = 0; i < 4; i++) {
        CHECK(model_rx(d.m, frame, 60, NULL));
        CHECK_EQ(d.irqs, i >= 2);
    }
    mini_stop(&d);
}

TEST(interrupt_storm)
{
    uint8_t frame[60] = {0};

    start(F);
    mini_post(&d, 0, 4096);
    netdev_notify(d.m, 0);
    model_fault(d.m, 0, FAULT_IRQ_STORM, 1);
    CHECK(model_rx(d.m, frame, 60, NULL));
    CHECK(d.irqs > 20);
    mini_stop(&d);
}
