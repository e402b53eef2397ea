/*
 * The driver from outside: open, attach, close, what was negotiated.
 * Virtio 1.3, section 5.1.
 *
 * Runs with `-device virtio-net-pci` in every variant that offers VERSION_1.
 */
#include "priv.h"

#define RING_MAX 8192u
#define RX_BUFS_LIMIT 32768u

/* Fills in the defaults and cuts what is too large. */
static struct vnet_config complete(const struct vnet_config *config)
{
    struct vnet_config c = {0};

    if (config)
        c = *config;
    if (c.rx_ring == 0)
        c.rx_ring = RX_RING;
    if (c.tx_ring == 0)
        c.tx_ring = TX_RING;
    if (c.rx_bufs_max == 0)
        c.rx_bufs_max = RX_BUFS_MAX;
    if (c.rx_ring > RING_MAX)
        c.rx_ring = RING_MAX;
    if (c.tx_ring > RING_MAX)
        c.tx_ring = RING_MAX;
    if (c.rx_bufs_max < c.rx_ring * 2u)
        c.rx_bufs_max = c.rx_ring * 2u;
    if (c.rx_bufs_max < RX_BUFS_MIN)
        c.rx_bufs_max = RX_BUFS_MIN;
    if (c.rx_bufs_max > RX_BUFS_LIMIT)
        c.rx_bufs_max = RX_BUFS_LIMIT;
    if (c.rx_copy == 0 || (c.rx_copy > RX_COPY_MAX &&
                           c.rx_copy != VNET_RX_COPY_NONE))
        c.rx_copy = RX_COPY_MAX;
    if (c.rx_copy == VNET_RX_COPY_NONE)
        c.rx_copy = 0;
    c.rx_bytes &= ~(uint32_t)(RXSIZE_ALIGN - 1);
    if (c.rx_bytes < RXSIZE_ALIGN)
        c.rx_bytes = RXSIZE_ALIGN;
    if (c.rx_bytes > RXFRAG_BLOCK)
        c.rx_bytes = RXFRAG_BLOCK;
    return c;
}

/*
 * Gives back all memory, unless the device did not finish its last reset and
 * may still write into the buffers: then they are lost for good.
 */
static void destroy(struct vnet *v)
{
    if (virtq_mem(&v->rx.vq)) {
        plat_log(LOG_ERR, "%s: the device keeps %llu bytes of buffers",
                 v->info.name, (unsigned long long)v->rx.frag.bytes);
        return;
    }
    rxbuf_destroy(&v->rx);
    v->dev->driver = NULL;
    plat_dma_free(v, sizeof(*v));
}

int vnet_open(struct virtio_dev *dev, const struct vnet_config *config,
              struct vnet **out)
{
    struct vnet *v;
    int err;

    if (dev->device_id != VIRTIO_ID_NET)
        return V_NODEV;
    v = plat_dma_alloc(sizeof(*v), CACHE_LINE);
    if (!v)
        return V_NOMEM;
    v->dev = dev;
    v->config = complete(config);
    v->info.name = dev->name;
    dev->driver = v;
    dev->irq = vnet_irq;
    err = rxbuf_init(v);
    if (err == V_OK)
        err = vnet_start(v);
    if (err) {
        plat_log(LOG_ERR, "%s: not usable: %s", dev->name, verr_name(err));
        destroy(v);
        return err;
    }
    *out = v;
    return V_OK;
}

void vnet_attach(struct vnet *v, const struct vnet_client *client, void *arg)
{
    v->client = client;
    v->client_arg = arg;
}

int vnet_close(struct vnet *v)
{
    int err;

    if (v->rx.bufs_held != 0)
        return V_INVAL;
    err = vnet_stop(v);
    if (err == V_OK)
        destroy(v);
    return err;
}

const struct vnet_info *vnet_info(const struct vnet *v)
{
    return &v->info;
}
