/*
 * The whole driver as the kernel uses it: found on the bus, through the PCI
 * door of the model, with message signalled interrupts.
 */
#include "pci_model.h"
#include "virtio/virtio_pci.h"
#include "vnet_rig.h"

static struct pci_model *pm;

static int found(struct pci_fn *f, void *arg)
{
    (void)arg;
    return virtio_pci_match(f, VIRTIO_ID_NET) &&
           virtio_pci_open(f, &rig.dev) == V_OK;
}

static void make(uint64_t features, const struct pci_model_config *config)
{
    memset(&rig, 0, sizeof(rig));
    rig.m = model_new(features);
    pm = pci_model_new(rig.m, config);
}

static int start(void)
{
    int err;

    CHECK_EQ(pci_scan(found, NULL), 1);
    err = vnet_open(rig.dev, NULL, &rig.v);
    if (err == V_OK)
        vnet_attach(rig.v, &rig_client, &rig);
    return err;
}

static void stop(void)
{
    rig_return(rig.nheld);
    rig_check();
    CHECK_EQ(vnet_close(rig.v), V_OK);
    CHECK_EQ(rig.out, 0);
    rig.dev->ops->release(rig.dev);
    CHECK_EQ(fake_pci_vectors(), 0);
    CHECK(!fake_pci_masters(pm->fn)); /* it reaches no memory any more */
    pci_model_free(pm);
    model_free(rig.m);
    CHECK_EQ(host_dma_live(), 0);
}

TEST(traffic_behind_bridges)
{
    make(MODEL_FEATURES, &(struct pci_model_config){.bdf = PCI_BDF(3, 1, 0)});
    fake_pci_add_bridge(PCI_BDF(0, 1, 0), 2);
    fake_pci_add_bridge(PCI_BDF(2, 9, 0), 3);
    CHECK_EQ(start(), V_OK);
    CHECK(!vnet_info(rig.v)->polled);
    rig_traffic(500);
    CHECK(vnet_stats(rig.v)->irq_rx >= 499);
    stop();
}

TEST(every_offer_over_pci)
{
    static const uint64_t offers[] = {MODEL_FEATURES_MIN, MODEL_FEATURES,
                                      UINT64_MAX};

    for (unsigned i = 0; i < 3; i++) {
        make(offers[i], &(struct pci_model_config){.transitional = i & 1});
        CHECK_EQ(start(), V_OK);
        rig_traffic(50);
        stop();
    }
}

TEST(rebuilds_keep_the_vectors)
{
    make(MODEL_FEATURES, NULL);
    CHECK_EQ(start(), V_OK);
    for (unsigned i = 0; i < 50; i++) {
        rig_traffic(5);
        model_needs_reset(rig.m);
        CHECK(vnet_irq_pending(rig.v));
        host_advance_ms(61000);
        rig_turn();
        CHECK_EQ(vnet_stats(rig.v)->resets, i + 1);
        CHECK_EQ(fake_pci_vectors(), 3);
    }
    rig_traffic(5);
    stop();
}

TEST(link_over_pci)
{
    make(MODEL_FEATURES, NULL);
    CHECK_EQ(start(), V_OK);
    rig_turn();
    model_set_link(rig.m, false);
    CHECK(vnet_irq_pending(rig.v));
    rig_turn();
    CHECK_EQ(rig.links, 1);
    CHECK(!rig.link);
    stop();
}

/* A vector that is refused during a rebuild only: polled from then on. */
TEST(vector_lost_in_a_rebuild)
{
    make(MODEL_FEATURES, NULL);
    CHECK_EQ(start(), V_OK);
    model_fault(rig.m, 1, FAULT_VECTOR_REFUSED, FAULT_ALWAYS);
    model_needs_reset(rig.m);
    rig_turn();
    CHECK(vnet_info(rig.v)->polled);
    rig_traffic(50);
    stop();
}

/* Pulled out in the middle of traffic, and put back. */
TEST(pulled_out_and_put_back)
{
    static uint8_t frame[1000];

    make(MODEL_FEATURES, NULL);
    CHECK_EQ(start(), V_OK);
    rig_traffic(20);
    rig.m->tx_hold = true;
    frame_make_raw(frame, sizeof(frame), 1);
    CHECK_EQ(rig_send(frame, sizeof(frame)), V_OK);
    rig_turn();
    pm->fn->gone = true;
    rig.dev->irq(rig.dev, VIRTIO_IRQ_CONFIG);
    for (unsigned i = 0; i < 20; i++)
        rig_sleep();
    CHECK(vnet_stats(rig.v)->reset_failed > 0);
    CHECK(vnet_close(rig.v) != V_OK); /* it might still write */
    pm->fn->gone = false;
    rig.m->tx_hold = false;
    for (unsigned i = 0; i < 3 && vnet_stats(rig.v)->resets == 0; i++)
        rig_sleep();
    CHECK_EQ(vnet_stats(rig.v)->resets, 1);
    CHECK_EQ(rig.out, 0);
    model_tx_discard(rig.m);
    rig_traffic(20);
    stop();
}

TEST(no_bus_mastering_before_it_is_ours)
{
    make(MODEL_FEATURES, NULL);
    CHECK(!fake_pci_masters(pm->fn));
    CHECK_EQ(start(), V_OK);
    CHECK(fake_pci_masters(pm->fn));
    CHECK(!pm->fn->bars_decoded_while_sized);
    stop();
}
