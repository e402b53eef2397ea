/*
 * When sent frames are looked at: byte limits, completion interrupts, timers.
 * Virtio 1.3, sections 2.7.7 and 2.7.10.
 *
 * Someone waits for a completion when a sender was refused, or when the ring
 * has frames that are not copies: their memory is wanted back. Then, in
 * interrupt mode, the interrupt comes when a share of what is in flight is
 * done. Whatever is asked for is at most the last frame in flight, which the
 * device finishes without us: waiting for a share cannot stall. In orphan
 * mode, and where the ring can ask only for the very next completion, a timer
 * stands in.
 */
#include "priv.h"

/* Two of the longest frames; the longest of a ring without segmentation; what
 * the largest ring could use. */
#define LIMIT_FIRST (128u * 1024)
#define LIMIT_MIN (16u * 1024)
#define LIMIT_MAX (4u * 1024 * 1024)

/* Until frames are looked at without an interrupt: nobody waits, somebody
 * does. */
#define IDLE_NS (10 * NS_PER_MS)
#define WANTED_NS (NS_PER_MS / 10)

static bool limited(const struct vnet *v)
{
    return v->config.tx.mode == VNET_TX_INTERRUPT && !v->config.tx.no_bql;
}

void tx_limit_restart(struct vnet *v)
{
    v->tx.limited = limited(v);
    bql_restart(&v->tx.bql, LIMIT_FIRST, LIMIT_MIN, LIMIT_MAX, plat_now_ns());
}

void tx_limit_adapt(struct vnet *v)
{
    if (v->tx.limited)
        v->stats.tx_limit_changes += bql_adapt(&v->tx.bql, plat_now_ns());
}

/* Completions that the interrupt is to wait for, 1 .. in_flight. */
static uint16_t share(const struct vnet *v, uint16_t in_flight)
{
    uint32_t n = in_flight;

    switch (v->config.tx.signal) {
    case VNET_TX_SIGNAL_ALL:
        return 1;
    case VNET_TX_SIGNAL_QUARTER:
        n = n / 4;
        break;
    case VNET_TX_SIGNAL_HALF:
        n = n / 2;
        break;
    case VNET_TX_SIGNAL_3_4:
        n = n * 3 / 4;
        break;
    }
    return n ? (uint16_t)n : 1;
}

/* A ring without EVENT_IDX interrupts at each completion from now on: worth
 * it only for a sender who waits. */
static bool by_interrupt(const struct vnet *v)
{
    return v->config.tx.mode == VNET_TX_INTERRUPT && !v->info.polled &&
           (v->tx.wanted || v->config.tx.signal == VNET_TX_SIGNAL_ALL ||
            virtio_has(v->dev, VIRTIO_F_EVENT_IDX));
}

bool tx_arm(struct vnet *v)
{
    struct vnet_txq *tx = &v->tx;
    uint16_t in_flight = virtq_in_flight(&tx->vq);

    if (in_flight == 0 || !(tx->wanted || tx->owed) || !by_interrupt(v))
        return false;
    tx->armed = true;
    v->stats.tx_arms++;
    return virtq_arm(&tx->vq, (uint16_t)(share(v, in_flight) - 1));
}

void tx_disarm(struct vnet *v)
{
    if (!v->tx.armed)
        return;
    v->tx.armed = false;
    virtq_disarm(&v->tx.vq);
}

/* Frames that nobody waits for are looked at, too: the doorbell might have
 * been lost. */
void tx_ask_timer(const struct vnet *v, uint64_t now)
{
    const struct vnet_txq *tx = &v->tx;

    if (virtq_in_flight(&tx->vq) == 0)
        return;
    plat_wakeup_at(now + (tx->wanted && !tx->armed ? WANTED_NS : IDLE_NS));
}

void tx_readings(struct vnet *v)
{
    v->stats.now_tx_in_flight = virtq_in_flight(&v->tx.vq);
    v->stats.now_tx_bytes = bql_in_flight(&v->tx.bql);
    v->stats.now_tx_limit = v->tx.limited ? v->tx.bql.limit : 0;
}

void vnet_set_tx_policy(struct vnet *v, const struct vnet_tx_policy *policy)
{
    bool before = limited(v);

    v->config.tx = *policy;
    if (!v->running)
        return;
    tx_disarm(v);
    if (limited(v) != before)
        tx_limit_restart(v);
}

const struct vnet_tx_policy *vnet_tx_policy(const struct vnet *v)
{
    return &v->config.tx;
}
