/* The model judged by itself: coalesced interrupts. */
#include "ctrl_rig.h"

/* A frame comes in; the interrupts that it made. */
static unsigned receive(void)
{
    static unsigned at;
    static const uint8_t frame[60];
    unsigned before = d.irqs;

    at = (at + 1) % 7;
    mini_post(&d, at, 4096);
    CHECK(model_rx(d.m, frame, sizeof(frame), NULL));
    return d.irqs - before;
}

/* The driver has seen what was used and wants an interrupt for the next. */
static void arm(unsigned q)
{
    uint32_t id, len;

    while (mini_used(&d, q, &id, &len))
        ;
    atomic_store(d.q[q].used_event, d.q[q].seen);
}

/* ---- interrupts ---------------------------------------------------------- */

TEST(without_a_setting_an_interrupt_each)
{
    start(F_COAL);
    for (unsigned i = 0; i < 5; i++) {
        arm(0);
        CHECK_EQ(receive(), 1);
    }
    CHECK_EQ(coal_vq(0, 0, 100), VIRTIO_NET_OK);
    arm(0);
    CHECK_EQ(receive(), 1);
    CHECK_EQ(coal_vq(0, 100, 0), VIRTIO_NET_OK);
    arm(0);
    CHECK_EQ(receive(), 1);
    CHECK_EQ(model_coal_next_ns(d.m), UINT64_MAX);
    mini_stop(&d);
}

TEST(after_so_many_packets)
{
    start(F_COAL);
    CHECK_EQ(coal_vq(0, 3, 100), VIRTIO_NET_OK);
    for (unsigned round = 0; round < 3; round++) {
        arm(0);
        CHECK_EQ(receive(), 0);
        CHECK_EQ(model_coal_next_ns(d.m), host_now + 100 * US);
        CHECK_EQ(receive(), 0);
        CHECK_EQ(receive(), 1);
        CHECK_EQ(model_coal_next_ns(d.m), UINT64_MAX);
    }
    CHECK_EQ(d.m->n.coal_count, 3);
    CHECK_EQ(d.m->n.coal_timer, 0);
    mini_stop(&d);
}

/* The time counts from the first packet, not from the last. */
TEST(after_so_long)
{
    unsigned before;

    start(F_COAL);
    CHECK_EQ(coal_vq(0, 100, 50), VIRTIO_NET_OK);
    arm(0);
    before = d.irqs;
    CHECK_EQ(receive(), 0);
    host_now += 30 * US;
    CHECK_EQ(receive(), 0);
    host_now += 20 * US - 1;
    model_coal_run(d.m);
    CHECK_EQ(d.irqs, before);
    host_now += 1;
    CHECK_EQ(model_coal_next_ns(d.m), host_now);
    model_coal_run(d.m);
    CHECK_EQ(d.irqs, before + 1);
    CHECK_EQ(d.m->n.coal_timer, 1);
    model_coal_run(d.m);
    CHECK_EQ(d.irqs, before + 1);
    mini_stop(&d);
}

/* Rule 11 of the device: new values are held against the count so far. */
TEST(new_values_hold_at_once)
{
    unsigned before;

    start(F_COAL);
    CHECK_EQ(coal_vq(0, 100, 1000), VIRTIO_NET_OK);
    arm(0);
    CHECK_EQ(receive(), 0);
    CHECK_EQ(receive(), 0);
    before = d.m->n.interrupts[0];
    CHECK_EQ(coal_vq(0, 2, 1000), VIRTIO_NET_OK);
    CHECK_EQ(d.m->n.interrupts[0], before + 1);
    mini_stop(&d);
}

/* Suppressed by the driver: none, whatever the coalescing says. */
TEST(suppressed_stays_silent)
{
    start(F_COAL);
    CHECK_EQ(coal_vq(0, 2, 50), VIRTIO_NET_OK);
    arm(0);
    atomic_store(d.q[0].used_event, (uint16_t)(d.q[0].seen + 0x8000));
    CHECK_EQ(receive(), 0);
    CHECK_EQ(receive(), 0);
    CHECK_EQ(receive(), 0);
    host_now += 50 * US;
    model_coal_run(d.m);
    CHECK_EQ(d.m->n.interrupts[0], 0);
    mini_stop(&d);
}

/* Each queue counts for itself. */
TEST(sent_frames_are_coalesced_too)
{
    static const uint8_t frame[60];
    struct virtio_net_hdr h = {0};
    uint64_t before;

    start(F_COAL);
    d.m->tx_raw = true;
    CHECK_EQ(coal_vq(1, 2, 50), VIRTIO_NET_OK);
    arm(0);
    arm(1);
    before = d.m->n.interrupts[1];
    mini_send(&d, 8, &h, frame, sizeof(frame));
    CHECK_EQ(d.m->n.interrupts[1], before);
    CHECK_EQ(receive(), 1);
    mini_send(&d, 9, &h, frame, sizeof(frame));
    CHECK_EQ(d.m->n.interrupts[1], before + 1);
    mini_stop(&d);
}

TEST(fault_stuck_and_ignored)
{
    start(F_COAL);
    model_fault(d.m, 2, FAULT_COAL_IGNORED, 1);
    CHECK_EQ(coal_vq(0, 3, 3), VIRTIO_NET_OK);
    expect_vq(0, 0, 0);
    model_fault(d.m, 2, FAULT_COAL_STUCK, 1);
    CHECK_EQ(coal_vq(0, 1, 1), VIRTIO_NET_OK);
    arm(0);
    for (unsigned i = 0; i < 5; i++)
        CHECK_EQ(receive(), 0);
    CHECK_EQ(model_coal_next_ns(d.m), UINT64_MAX);
    mini_stop(&d);
}
