/*
 * What a test sets on the device: its making and end, its configuration, its
 * faults.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "model.h"

static void set16(struct model *m, unsigned off, uint16_t val)
{
    memcpy(m->config + off, &val, sizeof(val));
    m->generation++;
}

struct model *model_new(uint64_t offered)
{
    static const uint8_t mac[6] = {0x52, 0x54, 0x00, 0x12, 0x34, 0x56};
    struct model *m = calloc(1, sizeof(*m));

    CHECK(m);
    m->offered = offered;
    m->config_len = 24;
    m->num_queues = offered & VIRTIO_BIT(VIRTIO_NET_F_CTRL_VQ) ? 3 : 2;
    for (unsigned q = 0; q < MODEL_QUEUES; q++) {
        m->queue_max[q] = 256;
        m->q[q].index = (uint16_t)q;
        m->q[q].faults = &m->faults[q];
        /* How the driver preset an ack must be seen. */
        m->q[q].scribble = q != VIRTIO_NET_CTRLQ;
    }
    m->held = calloc(VIRTQ_SIZE_MAX, sizeof(*m->held));
    CHECK(m->held);
    m->wire_last = &m->wire_first;
    model_set_mac(m, mac);
    model_set_mtu(m, 1500);
    set16(m, VIRTIO_NET_CFG_STATUS, VIRTIO_NET_S_LINK_UP);
    set16(m, VIRTIO_NET_CFG_MAX_PAIRS, 1);
    return m;
}

void model_free(struct model *m)
{
    netdev_stop(m);
    model_tx_discard(m);
    free(m->held);
    free(m);
}

void model_set_mtu(struct model *m, uint16_t mtu)
{
    set16(m, VIRTIO_NET_CFG_MTU, mtu);
}

void model_set_mac(struct model *m, const uint8_t mac[6])
{
    memcpy(m->config + VIRTIO_NET_CFG_MAC, mac, 6);
    m->generation++;
}

void model_set_link(struct model *m, bool up)
{
    set16(m, VIRTIO_NET_CFG_STATUS, up ? VIRTIO_NET_S_LINK_UP : 0);
    if (m->status & VIRTIO_S_DRIVER_OK)
        netdev_raise(m, VIRTIO_IRQ_CONFIG);
}

void model_preboot(struct model *m)
{
    m->status = NETDEV_ORDER;
    m->accepted = m->offered;
}

void model_fault(struct model *m, uint16_t q, enum fault f, unsigned times)
{
    fault_arm(&m->faults[q], f, times);
}

unsigned model_fault_done(const struct model *m, uint16_t q, enum fault f)
{
    return m->faults[q].done[f];
}

void model_fault_none(struct model *m)
{
    for (unsigned q = 0; q < MODEL_QUEUES; q++)
        memset(m->faults[q].left, 0, sizeof(m->faults[q].left));
}

const char *fault_name(enum fault f)
{
    static const char *const name[] = {
#define X(n, text) #n,
        FAULTS(X)
#undef X
    };

    return f < FAULT_COUNT ? name[f] : "?";
}

void model_needs_reset(struct model *m)
{
    m->status |= VIRTIO_S_NEEDS_RESET;
    if (m->status & VIRTIO_S_DRIVER_OK)
        netdev_raise(m, VIRTIO_IRQ_CONFIG);
}
