/*
 * Bringing the device up, taking it down, and doing both when it failed.
 * Virtio 1.3, sections 3.1.1, 3.3.1 and 5.1.5.
 */
#include "priv.h"

#include <string.h>

#define QUEUES 2u

/* Rebuilds: the wait before the next one doubles up to the longest, and
 * starts again at none after a quiet minute. */
#define BACKOFF_FIRST_MS 10u
#define BACKOFF_LAST_MS 10000u
#define QUIET_MS 60000u

static uint16_t read_mtu(struct virtio_dev *dev)
{
    uint16_t mtu = 0;

    if (virtio_offers(dev, VIRTIO_NET_F_MTU) &&
        virtio_read_config(dev, VIRTIO_NET_CFG_MTU, &mtu, 2) != V_OK)
        mtu = 0;
    return mtu;
}

static bool read_link(struct vnet *v)
{
    uint16_t status = 0;

    if (!virtio_has(v->dev, VIRTIO_NET_F_STATUS))
        return true;
    if (virtio_read_config(v->dev, VIRTIO_NET_CFG_STATUS, &status, 2) != V_OK)
        return v->info.link;
    return (status & VIRTIO_NET_S_LINK_UP) != 0;
}

static bool mac_usable(const uint8_t mac[6])
{
    static const uint8_t zero[6];

    return (mac[0] & 1) == 0 && memcmp(mac, zero, 6) != 0;
}

/* 5.1.5: the device's address, or a random local one, which then stays. */
static void read_mac(struct vnet *v)
{
    uint8_t mac[6] = {0};
    uint64_t random;

    if (virtio_has(v->dev, VIRTIO_NET_F_MAC) &&
        virtio_read_config(v->dev, VIRTIO_NET_CFG_MAC, mac, 6) == V_OK &&
        mac_usable(mac)) {
        memcpy(v->info.mac, mac, 6);
        return;
    }
    if (mac_usable(v->info.mac))
        return;
    random = plat_random();
    memcpy(v->info.mac, &random, 6);
    v->info.mac[0] = (uint8_t)((v->info.mac[0] & ~1u) | 2u);
    plat_log(LOG_WARN, "%s: no usable MAC address, took a random one",
             v->info.name);
}

static int negotiate(struct vnet *v)
{
    struct virtio_dev *dev = v->dev;
    uint16_t mtu;
    int err;

    virtio_acknowledge(dev);
    mtu = read_mtu(dev);
    err = virtio_negotiate(dev, vnet_choose_features(dev->offered,
                                                     v->config.refuse, mtu,
                                                     v->config.rx_mode));
    if (err)
        return err;
    v->info.features = dev->accepted;
    v->info.mtu = virtio_has(dev, VIRTIO_NET_F_MTU) ? mtu : 1500;
    v->info.tx_csum = virtio_has(dev, VIRTIO_NET_F_CSUM);
    v->info.rx_csum = virtio_has(dev, VIRTIO_NET_F_GUEST_CSUM);
    v->info.tx_tso4 = virtio_has(dev, VIRTIO_NET_F_HOST_TSO4);
    v->info.tx_tso6 = virtio_has(dev, VIRTIO_NET_F_HOST_TSO6);
    v->info.tx_uso = virtio_has(dev, VIRTIO_NET_F_HOST_USO);
    read_mac(v);
    return V_OK;
}

static int setup_queues(struct vnet *v)
{
    struct virtio_dev *dev = v->dev;
    int err;

    virtio_irq_setup(dev, QUEUES);
    err = virtio_queue_setup(dev, &v->rx.vq, VIRTIO_NET_RXQ,
                             v->config.rx_ring);
    if (err)
        return err;
    err = virtio_queue_setup(dev, &v->tx.vq, VIRTIO_NET_TXQ,
                             v->config.tx_ring);
    if (err)
        return err;
    v->info.polled = dev->irq_mode == VIRTIO_IRQ_NONE;
    v->info.rx_ring = virtq_size(&v->rx.vq);
    v->info.tx_ring = virtq_size(&v->tx.vq);
    err = tx_init(v);
    return err ? err : rxbuf_start(v);
}

static void free_queues(struct vnet *v)
{
    rx_drop_partial(&v->rx);
    rxbuf_stop(&v->rx);
    virtio_queue_free(&v->rx.vq);
    tx_take_back(v);
    virtio_queue_free(&v->tx.vq);
    tx_free(&v->tx);
}

static void report(const struct vnet *v)
{
    static const char *const mode[] = {
        [VNET_RX_SMALL] = "small",
        [VNET_RX_BIG] = "big",
        [VNET_RX_MERGEABLE] = "mergeable",
    };
    const struct vnet_info *i = &v->info;

    plat_log(LOG_INFO, "%s: features offered 0x%016llx accepted 0x%016llx",
             i->name, (unsigned long long)v->dev->offered,
             (unsigned long long)i->features);
    plat_log(LOG_INFO, "%s: mac %02x:%02x:%02x:%02x:%02x:%02x mtu %u link %s "
             "rings rx %u tx %u %s %s", i->name, i->mac[0], i->mac[1],
             i->mac[2], i->mac[3], i->mac[4], i->mac[5], i->mtu,
             i->link ? "up" : "down", i->rx_ring, i->tx_ring,
             mode[i->rx_mode], i->polled ? "polled" : "msi-x");
}

/* A chain for the largest frame must fit into the ring, or the device could
 * never deliver it, nor anything behind it. */
static bool largest_fits(const struct vnet *v)
{
    return v->info.rx_mode != VNET_RX_BIG || v->info.rx_ring >= v->rx.post_segs;
}

/* Begins again without what makes frames larger than the usual. */
static int start_smaller(struct vnet *v)
{
    int err = vnet_stop(v);

    plat_log(LOG_WARN, "%s: a receive ring of %u is too small for large "
             "frames, doing without", v->info.name, v->info.rx_ring);
    v->config.refuse |= VIRTIO_BIT(VIRTIO_NET_F_GUEST_TSO4) |
                        VIRTIO_BIT(VIRTIO_NET_F_GUEST_TSO6);
    return err ? err : vnet_start(v);
}

int vnet_start(struct vnet *v)
{
    int err = virtio_reset(v->dev);

    if (err)
        return err; /* it may still use the rings: they stay as they are */
    err = negotiate(v);
    if (err)
        goto fail;
    err = setup_queues(v);
    if (err)
        goto fail_queues;
    if (!largest_fits(v))
        return start_smaller(v);
    rxbuf_refill(v);
    v->info.link = read_link(v);
    err = virtio_driver_ok(v->dev);
    if (err)
        goto fail_queues;
    v->running = true;
    v->broken = false;
    report(v);
    vnet_flush(v);
    return V_OK;

fail_queues:
    /* Queues may be enabled: the device must let go before they are freed. */
    if (virtio_reset(v->dev) != V_OK)
        return err; /* 2.4.2: nothing else until it has finished that */
    free_queues(v);
fail:
    virtio_fail(v->dev);
    return err;
}

/*
 * Takes the device down. Its memory is given back only once the device has
 * finished the reset; one that does not keeps the rings, and the next attempt
 * starts here again.
 */
int vnet_stop(struct vnet *v)
{
    int err;

    v->running = false;
    v->armed = false;
    err = virtio_reset(v->dev);
    if (err == V_OK)
        free_queues(v);
    return err;
}

void vnet_break(struct vnet *v, const char *why)
{
    if (v->broken)
        return;
    v->broken = true;
    plat_log(LOG_ERR, "%s: %s; rebuilding the device", v->info.name, why);
}

static void back_off(struct vnet *v, uint64_t now)
{
    if (now - v->broke_ns > QUIET_MS * NS_PER_MS)
        v->backoff_ms = 0;
    v->broke_ns = now;
    v->retry_ns = now + v->backoff_ms * NS_PER_MS;
    v->backoff_ms = v->backoff_ms ? v->backoff_ms * 2 : BACKOFF_FIRST_MS;
    if (v->backoff_ms > BACKOFF_LAST_MS)
        v->backoff_ms = BACKOFF_LAST_MS;
}

static void link_changed(struct vnet *v, bool up)
{
    if (v->client)
        v->client->link(v->client_arg, up);
}

static void rebuild_failed(struct vnet *v, int err)
{
    uint64_t now = plat_now_ns();

    v->stats.reset_failed++;
    back_off(v, now);
    plat_log(LOG_ERR, "%s: rebuild failed: %s; again in %llu ms",
             v->info.name, verr_name(err),
             (unsigned long long)((v->retry_ns - now) / NS_PER_MS));
    if (v->info.link) {
        v->info.link = false;
        link_changed(v, false);
    }
}

void vnet_rebuild(struct vnet *v)
{
    uint64_t now = plat_now_ns();
    int err;

    if (v->broken && v->running) {
        v->running = false;
        back_off(v, now);
    }
    if (now < v->retry_ns)
        return;
    err = vnet_stop(v);
    if (err == V_OK)
        err = vnet_start(v);
    if (err) {
        rebuild_failed(v, err);
        return;
    }
    v->stats.resets++;
    plat_log(LOG_WARN, "%s: running again after %llu ms", v->info.name,
             (unsigned long long)((plat_now_ns() - now) / NS_PER_MS));
    link_changed(v, v->info.link);
}

void vnet_config_changed(struct vnet *v)
{
    uint8_t status = v->dev->ops->status(v->dev);
    bool up;

    if (status & VIRTIO_S_NEEDS_RESET) {
        v->stats.needs_reset++;
        vnet_break(v, "the device asks for a reset");
        return;
    }
    up = read_link(v);
    if (up == v->info.link)
        return;
    v->info.link = up;
    v->stats.link_changes++;
    plat_log(LOG_INFO, "%s: link %s", v->info.name, up ? "up" : "down");
    link_changed(v, up);
}
