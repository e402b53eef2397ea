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
    struct bench_ring *r;

    r = virtq_index(vq) == VIRTIO_NET_RXQ ? &d->rx : &d->tx;
    r->desc = (struct virtq_desc *)(uintptr_t)virtq_desc_dma(vq);
    r->avail = (struct virtq_avail *)(uintptr_t)virtq_driver_dma(vq);
    r->used = (struct virtq_used *)(uintptr_t)virtq_device_dma(vq);
    r->size = virtq_size(vq);
    r->seen = r->filled = 0;
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

/* The bytes of the frame that is being delivered; NULL: any will do. */
struct source {
    const uint8_t *data;
    uint32_t left; /* with the virtio header, whose place is skipped */
    uint32_t skip;
};

static void copy_out(struct source *from, const struct virtq_desc *s,
                     uint32_t n)
{
    uint8_t *to = (uint8_t *)(uintptr_t)s->addr;
    uint32_t skip = from->skip < n ? from->skip : n;

    from->skip -= skip;
    memcpy(to + skip, from->data, n - skip);
    from->data += n - skip;
}

/* Writes as much of the frame as fits into the chain at `head`: bytes. */
static uint32_t write_chain(const struct bench_ring *r, uint16_t head,
                            struct source *from)
{
    uint32_t done = 0;

    for (uint16_t i = head;; i = r->desc[i].next) {
        const struct virtq_desc *s = &r->desc[i];
        uint32_t n = s->len < from->left ? s->len : from->left;

        if (from->data)
            copy_out(from, s, n);
        done += n;
        from->left -= n;
        if (from->left == 0 || !(s->flags & VIRTQ_DESC_F_NEXT))
            return done;
    }
}

static uint32_t chain_bytes(const struct bench_ring *r, uint16_t head)
{
    uint32_t len = 0;
    uint16_t i = head;

    for (;;) {
        len += r->desc[i].len;
        if (!(r->desc[i].flags & VIRTQ_DESC_F_NEXT))
            return len;
        i = r->desc[i].next;
    }
}

static uint16_t head_at(const struct bench_ring *r, uint16_t at)
{
    return r->avail->ring[at & (r->size - 1u)];
}

static uint16_t there(const struct bench_ring *r)
{
    return (uint16_t)(atomic_load_explicit(&r->avail->idx,
                                           memory_order_acquire) -
                      r->seen);
}

/* How many entries `len` bytes need; 0: there are not so many. */
static uint16_t entries_for(const struct bench_ring *r, uint32_t len)
{
    uint16_t most = there(r);
    uint16_t n = 0;
    uint32_t room = 0;

    while (room < len && n < most)
        room += chain_bytes(r, head_at(r, (uint16_t)(r->seen + n++)));
    return room >= len ? n : 0;
}

static void write_header(struct bench_dev *d, uint16_t n, uint32_t len)
{
    struct virtio_net_hdr hdr = {.num_buffers = n};
    const struct virtq_desc *s = &d->rx.desc[head_at(&d->rx, d->rx.seen)];

    if (len > WIRE_FRAME_MAX) {
        hdr.gso_type = VIRTIO_NET_HDR_GSO_TCPV4;
        hdr.gso_size = MSS;
    }
    if (d->accepted & VIRTIO_BIT(VIRTIO_NET_F_GUEST_CSUM))
        hdr.flags = VIRTIO_NET_HDR_F_DATA_VALID;
    memcpy((void *)(uintptr_t)s->addr, &hdr, sizeof(hdr));
}

static void use(struct bench_ring *r, uint16_t head, uint32_t len)
{
    struct virtq_used_elem *e = &r->used->ring[r->filled & (r->size - 1u)];

    atomic_store_explicit(&e->id, head, memory_order_relaxed);
    atomic_store_explicit(&e->len, len, memory_order_relaxed);
    r->filled++;
}

static bool put(struct bench_dev *d, struct source *from)
{
    struct bench_ring *r = &d->rx;
    uint32_t len = from->left - HDR_BYTES;
    uint16_t first = r->seen;
    uint16_t n = entries_for(r, from->left);

    if (n == 0)
        return false;
    for (uint16_t i = 0; i < n; i++) {
        uint16_t head = head_at(r, (uint16_t)(first + i));

        use(r, head, write_chain(r, head, from));
    }
    write_header(d, d->merges ? n : 1, len);
    r->seen = (uint16_t)(first + n);
    d->taken_frames++;
    return true;
}

bool bench_dev_put(struct bench_dev *d, uint32_t len)
{
    return put(d, &(struct source){d->copies ? payload : NULL,
                                   len + HDR_BYTES, HDR_BYTES});
}

bool bench_dev_put_frame(struct bench_dev *d, const void *frame, uint32_t len)
{
    return put(d, &(struct source){frame, len + HDR_BYTES, HDR_BYTES});
}

void bench_dev_show(struct bench_dev *d)
{
    atomic_store_explicit(&d->rx.used->idx, d->rx.filled,
                          memory_order_release);
}

/* ---- what the driver sends ---- */

/* Copies a chain behind its virtio header: bytes there are. */
static uint32_t read_chain(const struct bench_ring *r, uint16_t head,
                           uint8_t *to, uint32_t max)
{
    uint32_t skip = HDR_BYTES, len = 0;

    for (uint16_t i = head;; i = r->desc[i].next) {
        const struct virtq_desc *s = &r->desc[i];
        uint32_t off = skip < s->len ? skip : s->len;
        uint32_t n = s->len - off;

        skip -= off;
        if (len + n <= max)
            memcpy(to + len, (const uint8_t *)(uintptr_t)s->addr + off, n);
        len += n;
        if (!(s->flags & VIRTQ_DESC_F_NEXT))
            return len;
    }
}

uint32_t bench_dev_take(struct bench_dev *d, void *frame, uint32_t max)
{
    struct bench_ring *r = &d->tx;
    uint16_t head;
    uint32_t len;

    if (there(r) == 0)
        return 0;
    head = head_at(r, r->seen++);
    len = read_chain(r, head, frame, max);
    use(r, head, 0);
    atomic_store_explicit(&r->used->idx, r->filled, memory_order_release);
    return len;
}
