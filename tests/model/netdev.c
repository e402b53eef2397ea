/*
 * The device as such: life cycle, configuration, queues, doorbells and
 * interrupts. Virtio 1.3, chapters 2 and 3, and section 5.1.
 *
 * Owns the status and everything that a reset forgets. Frames are in
 * netdev_rx.c and netdev_tx.c, rules about features in netdev_rules.c, what
 * a test sets in model.c.
 */
#include "lint.h"
#include "model.h"

void netdev_stop(struct model *m)
{
    for (unsigned q = 0; q < MODEL_QUEUES; q++)
        vring_disable(&m->q[q]);
    m->nheld = 0;
    m->ctrl_late = NULL;
    netdev_coal_reset(m);
}

void netdev_raise(struct model *m, uint16_t q)
{
    if (fault_hit(&m->faults[q == VIRTIO_IRQ_CONFIG ? 0 : q],
                  FAULT_IRQ_LOST))
        return;
    if (!m->raise || (m->can_dma && !m->can_dma(m)))
        return;
    if (q == VIRTIO_IRQ_CONFIG)
        m->n.interrupts_config++;
    else
        m->n.interrupts[q]++;
    m->raise(m, q);
}

static bool gone(struct model *m)
{
    return fault_hit(&m->faults[0], FAULT_GONE);
}

void netdev_check_ready(struct model *m, const char *what)
{
    if (!m->was_reset)
        lint("INIT-01", "%s before the device was reset", what);
    if (m->reset_pending)
        lint("INIT-10", "%s before the reset was over", what);
}

uint64_t netdev_features(struct model *m)
{
    if (gone(m))
        return UINT64_MAX;
    netdev_check_ready(m, "features read");
    return m->offered;
}

void netdev_accept(struct model *m, unsigned word, uint32_t features)
{
    unsigned shift = word * 32;

    netdev_check_ready(m, "features written");
    if (m->status & VIRTIO_S_FEATURES_OK)
        lint("INIT-03", "features written after FEATURES_OK");
    if (!(m->status & VIRTIO_S_DRIVER))
        lint("INIT-01", "features written before DRIVER");
    if (word > 1) {
        if (features)
            lint("FEAT-11", "feature word %u written", word);
        return;
    }
    m->accepted &= ~((uint64_t)UINT32_MAX << shift);
    m->accepted |= (uint64_t)features << shift;
}

uint8_t netdev_status(struct model *m)
{
    if (gone(m))
        return 0xff;
    if (m->reset_reads) {
        m->reset_reads--;
        return VIRTIO_S_DRIVER;
    }
    if (m->reset_pending &&
        fault_hit(&m->faults[0], FAULT_RESET_NEVER))
        return VIRTIO_S_ACKNOWLEDGE;
    if (m->reset_pending) {
        m->reset_pending = false;
        m->accepted = 0;
        netdev_stop(m);
    }
    if (m->status & VIRTIO_S_FEATURES_OK)
        m->looked_features_ok = true;
    return m->status;
}

static void begin_reset(struct model *m)
{
    m->n.resets++;
    m->was_reset = true;
    m->reset_pending = true;
    m->looked_features_ok = false;
    m->status = 0;
    m->reset_reads = m->faults[0].left[FAULT_RESET_SLOW];
    m->faults[0].left[FAULT_RESET_SLOW] = 0;
}

/* The rules of 2.1.1 and 3.1.1 for a write that is not a reset. */
static void check_status(struct model *m, uint8_t status)
{
    uint8_t old = m->status, order = status & NETDEV_ORDER;

    netdev_check_ready(m, "status written");
    if (old & VIRTIO_S_FAILED)
        lint("INIT-08", "status 0x%02x written after FAILED", status);
    if ((old & NETDEV_ORDER) & ~status)
        lint("INIT-07", "status lost bits: 0x%02x to 0x%02x", old, status);
    if (status & VIRTIO_S_FAILED)
        return;
    if ((order & VIRTIO_S_DRIVER) && !(order & VIRTIO_S_ACKNOWLEDGE))
        lint("INIT-01", "DRIVER without ACKNOWLEDGE");
    if ((order & VIRTIO_S_FEATURES_OK) && !(order & VIRTIO_S_DRIVER))
        lint("INIT-01", "FEATURES_OK without DRIVER");
    if (!(order & VIRTIO_S_DRIVER_OK))
        return;
    if (!(old & VIRTIO_S_FEATURES_OK))
        lint("INIT-02", "DRIVER_OK without FEATURES_OK");
    else if (!m->looked_features_ok)
        lint("INIT-01", "FEATURES_OK was not read back");
}

void netdev_set_status(struct model *m, uint8_t status)
{
    if (gone(m))
        return;
    if (status == 0) {
        begin_reset(m);
        return;
    }
    check_status(m, status);
    if ((status & ~m->status & VIRTIO_S_FEATURES_OK)) {
        if (fault_hit(&m->faults[0], FAULT_FEATURES_REFUSED))
            status &= (uint8_t)~VIRTIO_S_FEATURES_OK;
        else
            netdev_check_features(m);
    }
    if ((status & ~m->status & VIRTIO_S_DRIVER_OK) &&
        fault_hit(&m->faults[0], FAULT_DRIVER_OK_REFUSED))
        status |= VIRTIO_S_FAILED;
    if ((status & VIRTIO_S_DRIVER_OK) && m->stuck_after_start)
        fault_arm(&m->faults[0], FAULT_RESET_NEVER, FAULT_ALWAYS);
    m->status = (uint8_t)(status | (m->status & VIRTIO_S_NEEDS_RESET));
}

uint16_t netdev_queue_max(struct model *m, uint16_t q)
{
    if (gone(m))
        return UINT16_MAX;
    netdev_check_ready(m, "queue size read");
    if (q >= m->num_queues || fault_hit(&m->faults[q], FAULT_QUEUE_MAX_ZERO))
        return 0;
    if (fault_hit(&m->faults[q], FAULT_QUEUE_MAX_ODD))
        return 200;
    return m->queue_max[q];
}

bool netdev_queue_enable(struct model *m, uint16_t q, uint16_t size,
                         uint64_t desc, uint64_t driver, uint64_t device)
{
    struct vring_dev *vr = &m->q[q];

    netdev_check_ready(m, "queue enabled");
    if (q >= m->num_queues || fault_hit(&m->faults[q], FAULT_QUEUE_REFUSED))
        return false;
    if (!(m->status & VIRTIO_S_FEATURES_OK))
        lint("INIT-02", "queue %u enabled without FEATURES_OK", q);
    if ((m->status & VIRTIO_S_DRIVER_OK) &&
        !model_has(m, VIRTIO_F_RING_RESET))
        lint("INIT-01", "queue %u enabled after DRIVER_OK", q);
    if (vr->enabled) {
        lint("PCI-08", "queue %u enabled twice", q);
        return false;
    }
    if (size > m->queue_max[q]) {
        lint("PCI-07", "queue %u of %u, at most %u", q, size,
             m->queue_max[q]);
        return false;
    }
    if (q == VIRTIO_NET_CTRLQ && !model_has(m, VIRTIO_NET_F_CTRL_VQ))
        lint("NET-CTL-QUEUE", "control queue enabled without CTRL_VQ");
    vr->event_idx = model_has(m, VIRTIO_F_EVENT_IDX);
    vr->indirect = model_has(m, VIRTIO_F_INDIRECT_DESC);
    vring_enable(vr, size, desc, driver, device);
    if (vr->enabled)
        vring_want_doorbell(vr, !m->no_doorbells);
    return true;
}

void netdev_queue_reset(struct model *m, uint16_t q)
{
    netdev_check_ready(m, "queue reset");
    if (!model_has(m, VIRTIO_F_RING_RESET))
        lint("QRST-04", "queue %u reset without RING_RESET", q);
    if (q == VIRTIO_NET_CTRLQ)
        m->ctrl_late = NULL;
    if (q == VIRTIO_NET_TXQ)
        m->nheld = 0;
    vring_disable(&m->q[q]);
    netdev_coal_queue_reset(m, q);
}

uint8_t netdev_config(struct model *m, unsigned off)
{
    if (gone(m))
        return 0xff;
    netdev_check_ready(m, "configuration read");
    if (!(m->status & VIRTIO_S_DRIVER))
        lint("INIT-04", "configuration read before DRIVER");
    netdev_check_config_read(m, off);
    m->n.config_reads++;
    return off < m->config_len ? m->config[off] : 0;
}

uint8_t netdev_generation(struct model *m)
{
    if (fault_hit(&m->faults[0], FAULT_GENERATION))
        m->generation++;
    return m->generation;
}

bool netdev_live(struct model *m)
{
    return (m->status & (VIRTIO_S_DRIVER_OK | VIRTIO_S_NEEDS_RESET |
                         VIRTIO_S_FAILED)) == VIRTIO_S_DRIVER_OK &&
           (!m->can_dma || m->can_dma(m));
}

void netdev_signal(struct model *m, uint16_t q, uint32_t packets)
{
    vring_publish(&m->q[q]);
    if (netdev_coal_due(m, q, packets) && vring_wants_interrupt(&m->q[q]))
        netdev_raise(m, q);
    if (fault_hit(&m->faults[q], FAULT_IRQ_STORM)) {
        for (int i = 0; i < 10; i++) {
            netdev_raise(m, 0);
            netdev_raise(m, 1);
            netdev_raise(m, VIRTIO_IRQ_CONFIG);
        }
    }
}

static void count_doorbell(struct model *m, uint16_t q)
{
    bool unwanted = m->q[q].polling;

    m->n.doorbells[q]++;
    if (!vring_doorbell(&m->q[q]))
        m->n.doorbells_empty[q]++;
    else if (unwanted)
        m->n.doorbells_unwanted[q]++;
}

static unsigned run(struct model *m, uint16_t q)
{
    struct vring_dev *vr = &m->q[q];
    unsigned done = 0;

    if (!vr->enabled || !netdev_live(m))
        return 0;
    do {
        vring_see(vr);
        if (q == VIRTIO_NET_TXQ)
            done += netdev_tx_run(m);
        else if (q == VIRTIO_NET_CTRLQ)
            done += netdev_ctrl_run(m);
        else
            for (unsigned i = 0; i < vr->queued; i++)
                netdev_check_rx_buffer(m, vr->owned[vr->queue[i]]);
    } while (!vr->broken && vring_want_doorbell(vr, !m->no_doorbells));
    if (vr->broken)
        model_needs_reset(m);
    return done;
}

void netdev_notify(struct model *m, uint16_t q)
{
    if (gone(m))
        return;
    netdev_check_ready(m, "doorbell");
    if (!(m->status & VIRTIO_S_DRIVER_OK)) {
        lint("INIT-05", "doorbell for queue %u before DRIVER_OK", q);
        return;
    }
    if (q >= m->num_queues || !m->q[q].enabled) {
        lint("RING-QUEUE", "doorbell for queue %u, which is not enabled", q);
        return;
    }
    count_doorbell(m, q);
    if (fault_hit(&m->faults[q], FAULT_LINK_FLAPS))
        model_set_link(m, !(m->config[VIRTIO_NET_CFG_STATUS] & 1));
    if (fault_hit(&m->faults[q], FAULT_NEEDS_RESET))
        model_needs_reset(m);
    if (!fault_hit(&m->faults[q], FAULT_NOTIFY_LOST) && !m->stepped)
        run(m, q);
}

unsigned model_step(struct model *m)
{
    unsigned done = 0;

    for (uint16_t q = 0; q < m->num_queues; q++)
        done += run(m, q);
    return done;
}

unsigned model_rx_room(struct model *m)
{
    run(m, VIRTIO_NET_RXQ);
    return vring_waiting(&m->q[VIRTIO_NET_RXQ]);
}

void model_check_idle(struct model *m)
{
    for (uint16_t q = 0; q < m->num_queues; q++)
        if (netdev_live(m) && vring_doorbell_missing(&m->q[q]))
            lint(m->q[q].event_idx ? "SPL-19" : "SPL-18",
                 "queue %u: the doorbell that is due did not ring", q);
}
