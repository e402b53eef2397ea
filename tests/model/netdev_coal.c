/*
 * Interrupts held back until there are enough packets for one, or the first
 * has waited long enough. Virtio 1.3, section 5.1.6.5.9.
 *
 * The clock is the platform's. A test that lets time go by sleeps until
 * model_coal_next_ns at the latest and calls model_coal_run.
 */
#include <string.h>

#include "host.h"
#include "lint.h"
#include "model.h"

/* The place of a queue in the arrays; enum virtio_net_queue. */
static bool countable(uint16_t q)
{
    return q == VIRTIO_NET_RXQ || q == VIRTIO_NET_TXQ;
}

static bool enough(const struct model_coal *k)
{
    return k->set.max_packets == 0 || k->set.max_usecs == 0 ||
           k->packets >= k->set.max_packets;
}

static uint64_t due_ns(const struct model_coal *k)
{
    return k->packets ? k->since_ns + k->set.max_usecs * UINT64_C(1000)
                      : UINT64_MAX;
}

bool netdev_coal_due(struct model *m, uint16_t q, uint32_t packets)
{
    struct model_coal *k = &m->coal[q & 1];

    if (!countable(q) || packets == 0)
        return true;
    if (k->stuck)
        return false;
    if (k->packets == 0)
        k->since_ns = plat_now_ns();
    k->packets += packets;
    if (!enough(k))
        return false;
    m->n.coal_count += k->set.max_usecs && k->set.max_packets;
    k->packets = 0;
    return true;
}

uint64_t model_coal_next_ns(const struct model *m)
{
    uint64_t rx = due_ns(&m->coal[VIRTIO_NET_RXQ]);
    uint64_t tx = due_ns(&m->coal[VIRTIO_NET_TXQ]);

    return rx < tx ? rx : tx;
}

static void decide(struct model *m, uint16_t q)
{
    m->coal[q].packets = 0;
    if (netdev_live(m) && vring_wants_interrupt(&m->q[q]))
        netdev_raise(m, q);
}

void model_coal_run(struct model *m)
{
    for (uint16_t q = 0; q < 2; q++) {
        if (due_ns(&m->coal[q]) > plat_now_ns())
            continue;
        m->n.coal_timer++;
        decide(m, q);
    }
}

void netdev_coal_reset(struct model *m)
{
    memset(m->coal, 0, sizeof(m->coal));
    memset(m->coal_all, 0, sizeof(m->coal_all));
}

void netdev_coal_queue_reset(struct model *m, uint16_t q)
{
    if (countable(q))
        m->coal[q] = (struct model_coal){.set = m->coal_all[q]};
}

/* New values hold at once, for what has been counted, too. */
static void set(struct model *m, uint16_t q,
                const struct virtio_net_ctrl_coal *to)
{
    struct fault_set *f = &m->faults[VIRTIO_NET_CTRLQ];
    struct model_coal *k = &m->coal[q];

    if (fault_hit(f, FAULT_COAL_STUCK))
        k->stuck = true;
    if (fault_hit(f, FAULT_COAL_IGNORED))
        return;
    k->set = *to;
    if (k->packets && enough(k))
        decide(m, q);
}

static bool set_all(struct model *m, uint16_t q, const struct vring_chain *c)
{
    struct virtio_net_ctrl_coal coal;

    if (!model_has(m, VIRTIO_NET_F_NOTF_COAL)) {
        lint("NET-CTL-15", "coalescing command without NOTF_COAL");
        return false;
    }
    if (c->readable != 2 + sizeof(coal) || c->writable != 1) {
        lint("NET-CTL-18", "coalescing command of %u and %u bytes",
             c->readable, c->writable);
        return false;
    }
    vring_read(c, 2, &coal, sizeof(coal));
    m->coal_all[q] = coal;
    set(m, q, &coal);
    return true;
}

/* Of VQ_SET and VQ_GET; false: not one that can be coalesced. */
static bool read_index(struct model *m, const struct vring_chain *c,
                       uint32_t readable, uint32_t writable, uint16_t *q)
{
    if (!model_has(m, VIRTIO_NET_F_VQ_NOTF_COAL)) {
        lint("NET-CTL-15", "queue coalescing command without VQ_NOTF_COAL");
        return false;
    }
    if (c->readable != 2 + readable || c->writable != writable) {
        lint("NET-CTL-18", "queue coalescing command of %u and %u bytes",
             c->readable, c->writable);
        return false;
    }
    vring_read(c, 2, q, sizeof(*q));
    if (countable(*q) && m->q[*q].enabled)
        return true;
    lint("NET-CTL-16", "coalescing of queue %u", *q);
    return false;
}

static bool set_one(struct model *m, const struct vring_chain *c)
{
    struct virtio_net_ctrl_coal_vq v;
    uint16_t q;

    if (!read_index(m, c, sizeof(v), 1, &q))
        return false;
    vring_read(c, 2, &v, sizeof(v));
    set(m, q, &v.coal);
    return true;
}

static bool get_one(struct model *m, const struct vring_chain *c)
{
    uint16_t q;

    if (!read_index(m, c, 4, sizeof(struct virtio_net_ctrl_coal) + 1, &q))
        return false;
    vring_write(c, 0, &m->coal[q].set, sizeof(m->coal[q].set));
    return true;
}

bool netdev_coal_command(struct model *m, uint8_t command,
                         const struct vring_chain *c)
{
    switch (command) {
    case VIRTIO_NET_CTRL_NOTF_COAL_TX_SET:
        return set_all(m, VIRTIO_NET_TXQ, c);
    case VIRTIO_NET_CTRL_NOTF_COAL_RX_SET:
        return set_all(m, VIRTIO_NET_RXQ, c);
    case VIRTIO_NET_CTRL_NOTF_COAL_VQ_SET:
        return set_one(m, c);
    case VIRTIO_NET_CTRL_NOTF_COAL_VQ_GET:
        return get_one(m, c);
    default:
        return false;
    }
}
