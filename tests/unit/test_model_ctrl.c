/* The model judged by itself: the control queue. */
#include "ctrl_rig.h"

/* ---- commands ----------------------------------------------------------- */

TEST(answers_in_any_layout)
{
    uint32_t words[3] = {0, 8, 100};

    start(F_COAL);
    CHECK_EQ(coal_vq(0, 7, 50), VIRTIO_NET_OK);
    /* 2.7.4: the layout of a chain says nothing. */
    memset(reply(), 0xff, 1);
    request()[0] = VIRTIO_NET_CTRL_NOTF_COAL;
    request()[1] = VIRTIO_NET_CTRL_NOTF_COAL_VQ_SET;
    memcpy(request() + 2, words, 12);
    mini_desc(&d.q[2], 0, request(), 1, VIRTQ_DESC_F_NEXT, 1);
    mini_desc(&d.q[2], 1, request() + 1, 1, VIRTQ_DESC_F_NEXT, 2);
    mini_desc(&d.q[2], 2, request() + 2, 12, VIRTQ_DESC_F_NEXT, 3);
    mini_desc(&d.q[2], 3, reply(), 1, VIRTQ_DESC_F_WRITE, 0);
    mini_offer(&d.q[2], 0);
    netdev_notify(d.m, 2);
    CHECK_EQ(ack(1), VIRTIO_NET_OK);
    expect_vq(0, 8, 100);
    CHECK_EQ(d.m->n.commands, 3);
    CHECK_EQ(d.m->n.commands_ok, 3);
    mini_stop(&d);
}

TEST(unknown_commands_are_refused)
{
    start(F_COAL);
    CHECK_EQ(command(99, 0, NULL, 0, 1), VIRTIO_NET_ERR);
    CHECK_EQ(command(VIRTIO_NET_CTRL_MQ, 0, "\1", 2, 1), VIRTIO_NET_ERR);
    CHECK_EQ(coal(77, 1, 1), VIRTIO_NET_ERR);
    CHECK_EQ(d.m->n.commands_ok, 0);
    mini_stop(&d);
}

TEST(rule_net_ctl_01)
{
    start(F_COAL);
    mini_desc(&d.q[2], 0, request(), 1, VIRTQ_DESC_F_NEXT, 1);
    mini_desc(&d.q[2], 1, reply(), 1, VIRTQ_DESC_F_WRITE, 0);
    reply()[0] = 0xff;
    mini_offer(&d.q[2], 0);
    PROVOKE("NET-CTL-01", netdev_notify(d.m, 2));
    CHECK_EQ(ack(1), VIRTIO_NET_ERR);
    for (uint8_t preset = 0; preset < 2; preset++) {
        mini_desc(&d.q[2], 0, request(), 2, VIRTQ_DESC_F_NEXT, 1);
        request()[0] = 99;
        reply()[0] = preset;
        mini_offer(&d.q[2], 0);
        PROVOKE("NET-CTL-01", netdev_notify(d.m, 2));
        CHECK_EQ(ack(1), VIRTIO_NET_ERR);
    }
    mini_stop(&d);
}

TEST(rule_ctrl_queue_without_its_feature)
{
    mini_start(&d, model_new(F_COAL), F);
    PROVOKE("NET-CTL-QUEUE", netdev_set_status(d.m, 0); netdev_status(d.m);
            mini_negotiate(&d, F); mini_enable(&d, 2));
    mini_stop(&d);
}

TEST(rule_net_ctl_15)
{
    start(F | BIT(CTRL_VQ));
    PROVOKE("NET-CTL-15", coal(VIRTIO_NET_CTRL_NOTF_COAL_RX_SET, 1, 1));
    PROVOKE("NET-CTL-15", coal(VIRTIO_NET_CTRL_NOTF_COAL_TX_SET, 1, 1));
    PROVOKE("NET-CTL-15", coal_vq(0, 1, 1));
    mini_stop(&d);
    start(F | BIT(CTRL_VQ) | BIT(NOTF_COAL));
    CHECK_EQ(coal(VIRTIO_NET_CTRL_NOTF_COAL_RX_SET, 1, 1), VIRTIO_NET_OK);
    PROVOKE("NET-CTL-15", coal_vq(0, 1, 1));
    CHECK_EQ(reply()[0], VIRTIO_NET_ERR);
    mini_stop(&d);
}

TEST(rule_net_ctl_16)
{
    static const uint16_t wrong[] = {2, 3, 4, 255, 256, UINT16_MAX};

    start(F_COAL | VIRTIO_BIT(VIRTIO_F_RING_RESET));
    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        PROVOKE("NET-CTL-16", coal_vq(wrong[i], 1, 1));
        CHECK_EQ(reply()[0], VIRTIO_NET_ERR);
    }
    netdev_queue_reset(d.m, 1);
    PROVOKE("NET-CTL-16", coal_vq(1, 1, 1));
    mini_stop(&d);
}

TEST(rule_net_ctl_18)
{
    uint32_t words[4] = {0};
    const uint8_t class = VIRTIO_NET_CTRL_NOTF_COAL;

    start(F_COAL);
    for (uint8_t cmd = 0; cmd < 4; cmd++) {
        PROVOKE("NET-CTL-18", command(class, cmd, words, 6, 1));
        CHECK_EQ(reply()[0], VIRTIO_NET_ERR);
        PROVOKE("NET-CTL-18", command(class, cmd, words, 14, 1));
        PROVOKE("NET-CTL-18", command(class, cmd, words, 8, 2));
    }
    mini_stop(&d);
}

TEST(rule_net_ctl_08)
{
    const uint8_t class = VIRTIO_NET_CTRL_ANNOUNCE;

    start(F | BIT(CTRL_VQ));
    PROVOKE("NET-CTL-08", model_announce(d.m);
            command(class, 0, NULL, 0, 1));
    mini_stop(&d);
    start(F | BIT(CTRL_VQ) | BIT(STATUS) | BIT(GUEST_ANNOUNCE));
    PROVOKE("NET-CTL-08", command(class, 0, NULL, 0, 1));
    model_announce(d.m);
    CHECK_EQ(d.m->config[VIRTIO_NET_CFG_STATUS], 3);
    CHECK_EQ(command(class, 0, NULL, 0, 1), VIRTIO_NET_OK);
    CHECK_EQ(d.m->config[VIRTIO_NET_CFG_STATUS], 1);
    CHECK_EQ(command(class, 1, NULL, 0, 1), VIRTIO_NET_ERR);
    mini_stop(&d);
}

/* ---- what holds for which queue ------------------------------------------ */

TEST(last_command_wins)
{
    start(F_COAL);
    expect_vq(0, 0, 0);
    CHECK_EQ(coal_vq(0, 3, 30), VIRTIO_NET_OK);
    expect_vq(0, 3, 30);
    expect_vq(1, 0, 0);
    CHECK_EQ(coal(VIRTIO_NET_CTRL_NOTF_COAL_RX_SET, 4, 40), VIRTIO_NET_OK);
    expect_vq(0, 4, 40);
    expect_vq(1, 0, 0);
    CHECK_EQ(coal(VIRTIO_NET_CTRL_NOTF_COAL_TX_SET, 5, 50), VIRTIO_NET_OK);
    expect_vq(0, 4, 40);
    expect_vq(1, 5, 50);
    CHECK_EQ(coal_vq(1, UINT32_MAX, 6), VIRTIO_NET_OK);
    expect_vq(1, UINT32_MAX, 6);
    mini_stop(&d);
}

TEST(spec_qrst_05_a_queue_comes_back_with_the_global_value)
{
    start(F_COAL | VIRTIO_BIT(VIRTIO_F_RING_RESET));
    CHECK_EQ(coal(VIRTIO_NET_CTRL_NOTF_COAL_RX_SET, 4, 40), VIRTIO_NET_OK);
    CHECK_EQ(coal_vq(0, 9, 90), VIRTIO_NET_OK);
    CHECK_EQ(coal_vq(1, 8, 80), VIRTIO_NET_OK);
    for (unsigned q = 0; q < 2; q++) {
        netdev_queue_reset(d.m, (uint16_t)q);
        plat_dma_free(d.q[q].desc, 4096);
        plat_dma_free(d.q[q].avail, 4096);
        plat_dma_free(d.q[q].used, 4096);
        mini_ring_init(&d, q);
        CHECK(mini_enable(&d, q));
    }
    expect_vq(0, 4, 40);
    expect_vq(1, 0, 0);
    mini_stop(&d);
}

TEST(rule_qrst_04)
{
    start(F_COAL);
    PROVOKE("QRST-04", netdev_queue_reset(d.m, 0));
    mini_stop(&d);
}

/* ---- faults -------------------------------------------------------------- */

TEST(fault_refused_junk_untouched)
{
    start(F_COAL);
    model_fault(d.m, 2, FAULT_CTRL_ERR, 1);
    CHECK_EQ(coal_vq(0, 3, 3), VIRTIO_NET_ERR);
    model_fault(d.m, 2, FAULT_CTRL_JUNK, 1);
    CHECK_EQ(coal_vq(0, 3, 3), 0x5a);
    model_fault(d.m, 2, FAULT_CTRL_UNTOUCHED, 1);
    CHECK_EQ(coal_vq(0, 3, 3), 0xff);
    CHECK_EQ(coal_vq(0, 3, 3), VIRTIO_NET_OK);
    mini_stop(&d);
}

TEST(fault_silent_and_late)
{
    start(F_COAL);
    CHECK(!model_ctrl_answer(d.m));
    model_fault(d.m, 2, FAULT_CTRL_LATE, 1);
    CHECK_EQ(coal_vq(0, 3, 3), -1);
    CHECK(model_ctrl_answer(d.m));
    CHECK_EQ(ack(1), VIRTIO_NET_OK);
    model_fault(d.m, 2, FAULT_CTRL_SILENT, 1);
    CHECK_EQ(coal_vq(0, 3, 3), -1);
    CHECK(!model_ctrl_answer(d.m));
    CHECK_EQ(model_fault_done(d.m, 2, FAULT_CTRL_SILENT), 1);
    mini_stop(&d);
}
