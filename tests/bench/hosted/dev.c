/* The lean device. See dev.h. */
#include "dev.h"

#include <stdio.h>
#include <string.h>

#include "verr.h"
#include "virtio/spec_net.h"

#define QUEUE_MAX 256u
#define HDR_BYTES ((uint32_t)sizeof(struct virtio_net_hdr))
#define WIRE_FRAME_MAX 1514u
#define MSS 1460u

static uint8_t payload[65536 + 64];

static struct bench_dev *of(struct virtio_dev *dev)
{
    return (struct bench_dev *)(void *)dev; /* dev is the first member */
}

/* ---- what the driver calls ---- */

static uint64_t features(struct virtio_dev *dev)
{
    return of(dev)->offered;
}

static void accept_features(struct virtio_dev *dev, uint64_t set)
{
    of(dev)->accepted = set;
    of(dev)->merges = (set & VIRTIO_BIT(VIRTIO_NET_F_MRG_RXBUF)) != 0;
}

static uint8_t status(struct virtio_dev *dev)
{
    return of(dev)->status;
}

static void set_status(struct virtio_dev *dev, uint8_t value)
{
    of(dev)->status = value;
}

static uint16_t queue_max(struct virtio_dev *dev, uint16_t q)
{
    (void)dev;
    return q <= VIRTIO_NET_TXQ ? QUEUE_MAX : 0;
}

static int queue_enable(struct virtio_dev *dev, const struct virtq *vq)
{
    struct bench_dev *d = of(dev);

    if (virtq_index(vq) != VIRTIO_NET_RXQ)
        return V_OK;
    d->desc = (struct virtq_desc *)(uintptr_t)virtq_desc_dma(vq);
    d->avail = (struct virtq_avail *)(uintptr_t)virtq_driver_dma(vq);
    d->used = (struct virtq_used *)(uintptr_t)virtq_device_dma(vq);
    d->size = virtq_size(vq);
    d->seen = d->filled = 0;
    return V_OK;
}

/* It looks at the ring by itself. */
static void notify(struct virtio_dev *dev, uint16_t q)
{
    (void)dev;
    (void)q;
}

static void read_config(struct virtio_dev *dev, unsigned off, void *buf,
                        unsigned len)
{
    static const uint8_t mac[6] = {0x52, 0x54, 0, 0x12, 0x34, 0x56};

    (void)dev;
    memset(buf, 0, len);
    if (off < sizeof(mac))
        memcpy(buf, mac + off, len < sizeof(mac) - off ? len
                                                       : sizeof(mac) - off);
}

static uint32_t config_generation(struct virtio_dev *dev)
{
    (void)dev;
    return 0;
}

static enum virtio_irq_mode irq_enable(struct virtio_dev *dev, uint16_t n)
{
    (void)dev;
    (void)n;
    return VIRTIO_IRQ_MSIX;
}

static void release(struct virtio_dev *dev)
{
    (void)dev;
}

static const struct virtio_ops ops = {
    .features = features,
    .accept = accept_features,
    .status = status,
    .set_status = set_status,
    .queue_max = queue_max,
    .queue_enable = queue_enable,
    .notify = notify,
    .read_config = read_config,
    .config_generation = config_generation,
    .irq_enable = irq_enable,
    .release = release,
};

struct virtio_dev *bench_dev_init(struct bench_dev *d, uint64_t set)
{
    memset(d, 0, sizeof(*d));
    d->offered = set | VIRTIO_BIT(VIRTIO_F_VERSION_1) |
                 VIRTIO_BIT(VIRTIO_F_EVENT_IDX);
    d->dev.ops = &ops;
    d->dev.device_id = VIRTIO_ID_NET;
    d->dev.config_len = 12;
    snprintf(d->dev.name, sizeof(d->dev.name), "lean");
    return &d->dev;
}

/* ---- frames ---- */

/* Writes up to `left` bytes into the chain at `head`: bytes written. */
static uint32_t write_chain(struct bench_dev *d, uint16_t head, uint32_t left)
{
    uint32_t done = 0;

    for (uint16_t i = head;; i = d->desc[i].next) {
        const struct virtq_desc *s = &d->desc[i];
        uint32_t n = s->len < left ? s->len : left;

        if (d->copies)
            memcpy((void *)(uintptr_t)s->addr, payload, n);
        done += n;
        left -= n;
        if (left == 0 || !(s->flags & VIRTQ_DESC_F_NEXT))
            return done;
    }
}

static uint32_t chain_bytes(const struct bench_dev *d, uint16_t head)
{
    uint32_t len = 0;
    uint16_t i = head;

    for (;;) {
        len += d->desc[i].len;
        if (!(d->desc[i].flags & VIRTQ_DESC_F_NEXT))
            return len;
        i = d->desc[i].next;
    }
}

static uint16_t head_at(const struct bench_dev *d, uint16_t at)
{
    return d->avail->ring[at & (d->size - 1u)];
}

/* How many entries `len` bytes need; 0: there are not so many. */
static uint16_t entries_for(const struct bench_dev *d, uint32_t len)
{
    uint16_t there = (uint16_t)(atomic_load_explicit(&d->avail->idx,
                                                     memory_order_acquire) -
                                d->seen);
    uint16_t n = 0;
    uint32_t room = 0;

    while (room < len && n < there)
        room += chain_bytes(d, head_at(d, (uint16_t)(d->seen + n++)));
    return room >= len ? n : 0;
}

static void write_header(struct bench_dev *d, uint16_t n, uint32_t len)
{
    struct virtio_net_hdr hdr = {.num_buffers = n};
    const struct virtq_desc *s = &d->desc[head_at(d, d->seen)];

    if (len > HDR_BYTES + WIRE_FRAME_MAX) {
        hdr.gso_type = VIRTIO_NET_HDR_GSO_TCPV4;
        hdr.gso_size = MSS;
    }
    if (d->accepted & VIRTIO_BIT(VIRTIO_NET_F_GUEST_CSUM))
        hdr.flags = VIRTIO_NET_HDR_F_DATA_VALID;
    memcpy((void *)(uintptr_t)s->addr, &hdr, sizeof(hdr));
}

static void use(struct bench_dev *d, uint16_t head, uint32_t len)
{
    struct virtq_used_elem *e = &d->used->ring[d->filled & (d->size - 1u)];

    atomic_store_explicit(&e->id, head, memory_order_relaxed);
    atomic_store_explicit(&e->len, len, memory_order_relaxed);
    d->filled++;
}

bool bench_dev_put(struct bench_dev *d, uint32_t len)
{
    uint32_t left = len + HDR_BYTES;
    uint16_t first = d->seen;
    uint16_t n = entries_for(d, left);

    if (n == 0)
        return false;
    for (uint16_t i = 0; i < n; i++) {
        uint16_t head = head_at(d, (uint16_t)(first + i));
        uint32_t done = write_chain(d, head, left);

        use(d, head, done);
        left -= done;
    }
    write_header(d, d->merges ? n : 1, len + HDR_BYTES);
    d->seen = (uint16_t)(first + n);
    d->taken_frames++;
    return true;
}

void bench_dev_show(struct bench_dev *d)
{
    atomic_store_explicit(&d->used->idx, d->filled, memory_order_release);
}
