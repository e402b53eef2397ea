/*
 * The turn of the loop: poll, flush, arm. Virtio 1.3, sections 2.7.13 and
 * 2.7.14.
 *
 * The contract: transmit is reclaimed first and without a limit, because the
 * stack will not send a segment again that the driver still holds. Receive
 * honours the budget; using it up means "call again". Interrupts are off
 * while there is work, and are armed only when there is none; when arming
 * finds work all the same, the caller polls again instead of sleeping.
 */
#include "priv.h"

#define REFILL_RETRY_MS 10u  /* after memory ran out */
#define POLL_EVERY_MS 1u     /* a device without interrupts */
#define STATUS_EVERY_MS 100u /* a device without interrupts */

static void set_bit(struct vnet *v, unsigned bit, unsigned counter)
{
    uint64_t n = atomic_load_explicit(&v->irq_count[counter],
                                      memory_order_relaxed);

    atomic_store_explicit(&v->irq_count[counter], n + 1,
                          memory_order_relaxed);
    atomic_fetch_or_explicit(&v->irq_bits, bit, memory_order_release);
}

/* Interrupt context. */
void vnet_irq(struct virtio_dev *dev, uint16_t q)
{
    struct vnet *v = dev->driver;

    if (q == VIRTIO_NET_RXQ)
        set_bit(v, VNET_IRQ_RX, 0);
    else if (q == VIRTIO_NET_TXQ)
        set_bit(v, VNET_IRQ_TX, 1);
    else
        set_bit(v, VNET_IRQ_CONFIG, 2);
}

bool vnet_irq_pending(const struct vnet *v)
{
    return atomic_load_explicit(&v->irq_bits, memory_order_acquire) != 0;
}

static void take_irqs(struct vnet *v)
{
    unsigned bits = atomic_exchange_explicit(&v->irq_bits, 0,
                                             memory_order_acquire);
    struct vnet_stats *s = &v->stats;

    s->irq_rx = atomic_load_explicit(&v->irq_count[0], memory_order_relaxed);
    s->irq_tx = atomic_load_explicit(&v->irq_count[1], memory_order_relaxed);
    s->irq_config = atomic_load_explicit(&v->irq_count[2],
                                         memory_order_relaxed);
    /* While the device is down there is nothing to do about one, but it must
     * not keep the caller from sleeping. Starting reads everything anew. */
    if ((bits & VNET_IRQ_CONFIG) && v->running)
        vnet_config_changed(v);
}

static void disarm(struct vnet *v)
{
    v->armed = false;
    virtq_disarm(&v->rx.vq);
    tx_disarm(v);
}

/* Without interrupts nobody tells us about the link or a failed device. */
static void poll_status(struct vnet *v)
{
    uint64_t now = plat_now_ns();

    if (now - v->status_ns < STATUS_EVERY_MS * NS_PER_MS)
        return;
    v->status_ns = now;
    vnet_config_changed(v);
}

static void check_ring(struct vnet *v, const struct virtq *vq,
                       const char *name)
{
    enum virtq_fault fault = virtq_fault(vq);

    if (fault == VIRTQ_OK || v->broken)
        return;
    v->stats.ring_broken++;
    plat_log(LOG_ERR, "%s: %s ring: %s", v->info.name, name,
             virtq_why(fault));
    vnet_break(v, "a ring is broken");
}

unsigned vnet_poll(struct vnet *v, unsigned budget)
{
    unsigned frames = 0;

    v->stats.polls++;
    if (v->armed)
        disarm(v);
    take_irqs(v);
    if (v->running) {
        if (v->info.polled)
            poll_status(v);
        tx_reclaim(v);
        tx_readings(v);
        if (v->client)
            frames = rx_poll(v, budget);
        rxbuf_refill(v);
        check_ring(v, &v->rx.vq, "receive");
        check_ring(v, &v->tx.vq, "transmit");
        v->stats.polls_full += frames >= budget;
    }
    if (v->broken || !v->running)
        vnet_rebuild(v);
    return frames;
}

void vnet_flush(struct vnet *v)
{
    if (!v->running)
        return;
    /* Until now. What arrived meanwhile waits in front of the device, or is
     * lost there: no other counter of ours can tell. */
    v->stats.rx_dry += virtq_dry(&v->rx.vq);
    if (virtq_publish(&v->rx.vq)) {
        v->stats.rx_notify++;
        v->dev->ops->notify(v->dev, VIRTIO_NET_RXQ);
    }
    if (virtq_publish(&v->tx.vq)) {
        v->stats.tx_notify++;
        v->dev->ops->notify(v->dev, VIRTIO_NET_TXQ);
    }
}

/* What has to happen some time although no interrupt will announce it. */
static void ask_timers(const struct vnet *v)
{
    uint64_t now = plat_now_ns();

    if (v->info.polled)
        plat_wakeup_at(now + POLL_EVERY_MS * NS_PER_MS);
    if (v->rx.starved)
        plat_wakeup_at(now + REFILL_RETRY_MS * NS_PER_MS);
    if (v->rx.part.need)
        plat_wakeup_at(now + REFILL_RETRY_MS * NS_PER_MS);
    tx_ask_timer(v, now);
}

bool vnet_arm(struct vnet *v)
{
    bool again;

    if (!v->running) {
        plat_wakeup_at(v->retry_ns);
        return false;
    }
    v->stats.arms++;
    v->armed = true;
    again = virtq_arm(&v->rx.vq, 0);
    again = tx_arm(v) || again;
    /* Buffers came back since the last poll, and the ring could use them. */
    again = again || rxbuf_refillable(v);
    if (again)
        v->stats.arms_again++;
    else
        ask_timers(v);
    return again || v->broken;
}
