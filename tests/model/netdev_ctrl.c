/*
 * The control queue: takes commands, answers them. Virtio 1.3, section
 * 5.1.6.5.
 *
 * A command of a class that is not known, or without its feature, is answered
 * with VIRTIO_NET_ERR; asking for a feature's command without the feature is
 * the driver's fault, too.
 */
#include "lint.h"
#include "model.h"

/* The last byte that the device may write. */
static void write_ack(const struct vring_chain *c, uint8_t ack)
{
    vring_write(c, c->writable - 1, &ack, 1);
}

static uint8_t preset(const struct vring_chain *c)
{
    const struct vring_seg *last = &c->seg[c->nseg - 1];

    return last->p[last->len - 1];
}

static bool sound(const struct vring_chain *c)
{
    if (c->readable < sizeof(struct virtio_net_ctrl_hdr) ||
        c->writable < 1) {
        lint("NET-CTL-01", "command of %u bytes to read, %u to write",
             c->readable, c->writable);
        return false;
    }
    if (preset(c) == VIRTIO_NET_OK || preset(c) == VIRTIO_NET_ERR)
        lint("NET-CTL-01", "ack is %u before the device wrote it", preset(c));
    return true;
}

static bool announce(struct model *m, const struct virtio_net_ctrl_hdr *h)
{
    if (!model_has(m, VIRTIO_NET_F_GUEST_ANNOUNCE))
        lint("NET-CTL-08", "announcement without GUEST_ANNOUNCE");
    if (h->command != VIRTIO_NET_CTRL_ANNOUNCE_ACK)
        return false;
    if (!(m->config[VIRTIO_NET_CFG_STATUS] & VIRTIO_NET_S_ANNOUNCE))
        lint("NET-CTL-08", "announcement acknowledged, none was asked for");
    m->config[VIRTIO_NET_CFG_STATUS] &= (uint8_t)~VIRTIO_NET_S_ANNOUNCE;
    m->generation++;
    m->n.announce_acks++;
    return true;
}

static bool execute(struct model *m, const struct vring_chain *c)
{
    struct virtio_net_ctrl_hdr *h = &m->ctrl_last;

    vring_read(c, 0, h, sizeof(*h));
    if (fault_hit(&m->faults[VIRTIO_NET_CTRLQ], FAULT_CTRL_ERR))
        return false;
    switch (h->class) {
    case VIRTIO_NET_CTRL_ANNOUNCE:
        return announce(m, h);
    case VIRTIO_NET_CTRL_NOTF_COAL:
        return netdev_coal_command(m, h->command, c);
    default:
        return false;
    }
}

static void answer(struct model *m, struct vring_chain *c)
{
    struct fault_set *f = &m->faults[VIRTIO_NET_CTRLQ];
    bool ok = sound(c) && execute(m, c);

    m->n.commands_ok += ok;
    if (fault_hit(f, FAULT_CTRL_JUNK))
        write_ack(c, 0x5a);
    else if (c->writable && !fault_hit(f, FAULT_CTRL_UNTOUCHED))
        write_ack(c, ok ? VIRTIO_NET_OK : VIRTIO_NET_ERR);
    vring_put(&m->q[VIRTIO_NET_CTRLQ], c, c->writable ? 1 : 0);
    m->n.chains[VIRTIO_NET_CTRLQ]++;
}

unsigned netdev_ctrl_run(struct model *m)
{
    struct fault_set *f = &m->faults[VIRTIO_NET_CTRLQ];
    struct vring_chain *c;
    unsigned done = 0;

    while (!m->ctrl_late && (c = vring_take(&m->q[VIRTIO_NET_CTRLQ]))) {
        m->n.commands++;
        if (fault_hit(f, FAULT_CTRL_SILENT))
            continue;
        if (fault_hit(f, FAULT_CTRL_LATE)) {
            m->ctrl_late = c;
            break;
        }
        answer(m, c);
        done++;
    }
    if (done)
        netdev_signal(m, VIRTIO_NET_CTRLQ, done);
    return done;
}

bool model_ctrl_answer(struct model *m)
{
    struct vring_chain *c = m->ctrl_late;

    if (!c || !netdev_live(m))
        return false;
    m->ctrl_late = NULL;
    answer(m, c);
    netdev_signal(m, VIRTIO_NET_CTRLQ, 1);
    return true;
}

void model_announce(struct model *m)
{
    m->config[VIRTIO_NET_CFG_STATUS] |= VIRTIO_NET_S_ANNOUNCE;
    m->generation++;
    if (m->status & VIRTIO_S_DRIVER_OK)
        netdev_raise(m, VIRTIO_IRQ_CONFIG);
}
