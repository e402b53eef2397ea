/*
 * Transmit: a frame becomes a header and descriptors, and is finished when
 * the device has used them. Virtio 1.3, section 5.1.6.2.
 *
 * Each frame has a slot: 256 device-readable bytes that hold the virtio
 * header and, behind it, the whole of a small frame (which is then done at
 * once, for its sender) or the first segment of a larger one, so that the
 * protocol headers need no descriptor of their own. Everything else is sent
 * from where it is.
 */
#include "priv.h"

#include <string.h>

#define HDR_BYTES ((uint32_t)sizeof(struct virtio_net_hdr))
#define GSO_FRAME_MAX (65535u + VNET_ETH_HLEN + VLAN_HLEN)

/* Descriptors kept for small frames (acknowledgements, ARP), which need not
 * wait for bulk: this part of the ring, and no more than the other. */
#define KEEP_SHARE 16u
#define KEEP_MOST 8u

/* Nothing finished for this long, with frames outstanding: notify again, in
 * case the doorbell was lost. */
#define STILL_MS 1000u

int tx_init(struct vnet *v)
{
    struct vnet_txq *tx = &v->tx;
    uint16_t n = virtq_size(&tx->vq);

    tx->slots = plat_dma_alloc(n * sizeof(struct txslot), CACHE_LINE);
    tx->heads = plat_dma_alloc((size_t)n * TX_SLOT_BYTES, CACHE_LINE);
    tx->slots_len = n;
    tx->keep = (uint16_t)(n / KEEP_SHARE < KEEP_MOST ? n / KEEP_SHARE
                                                     : KEEP_MOST);
    tx_limit_restart(v);
    if (!tx->slots || !tx->heads)
        return V_NOMEM; /* one of them is freed with the queue */
    for (unsigned i = 0; i < n; i++) {
        struct txslot *s = &tx->slots[i];

        s->head = tx->heads + i * TX_SLOT_BYTES;
        s->head_dma = plat_dma_addr(s->head);
        s->next = tx->free;
        tx->free = s;
    }
    return V_OK;
}

void tx_free(struct vnet_txq *tx)
{
    if (tx->slots)
        plat_dma_free(tx->slots, tx->slots_len * sizeof(struct txslot));
    if (tx->heads)
        plat_dma_free(tx->heads, (size_t)tx->slots_len * TX_SLOT_BYTES);
    memset(tx, 0, sizeof(*tx));
}

static void time_taken(struct vnet *v, struct txslot *s)
{
    v->stats.tx_timed++;
    v->stats.tx_timed_ns += plat_now_ns() - s->sent_ns;
    s->sent_ns = 0;
}

/* Gives the slot back; tells the sender, if he is still waiting. */
static void slot_done(struct vnet *v, struct txslot *s)
{
    void *cookie = s->cookie;

    bql_done(&v->tx.bql, s->bytes);
    if (s->joined)
        plat_dma_free(s->joined, s->joined_len);
    s->joined = NULL;
    s->cookie = NULL;
    s->next = v->tx.free;
    v->tx.free = s;
    if (cookie) {
        v->tx.owed--;
        v->client->tx_done(v->client_arg, cookie);
    }
}

static void watch(struct vnet *v, bool moved)
{
    struct vnet_txq *tx = &v->tx;
    uint64_t now;

    if (moved || virtq_in_flight(&tx->vq) == 0) {
        tx->still_ns = 0;
        return;
    }
    now = plat_now_ns();
    if (tx->still_ns == 0) {
        tx->still_ns = now;
    } else if (now - tx->still_ns > STILL_MS * NS_PER_MS) {
        tx->still_ns = now;
        v->stats.tx_watchdog++;
        v->dev->ops->notify(v->dev, virtq_index(&tx->vq));
    }
}

/* Finishes what the device has done; true if there was any. */
static bool finish(struct vnet *v)
{
    struct vnet_txq *tx = &v->tx;
    struct txslot *s;
    uint32_t unused;
    uint64_t before = v->stats.tx_done;

    /* The length means nothing here (2.7.8.2: nothing was writable). */
    while ((s = virtq_get(&tx->vq, &unused)) != NULL) {
        v->stats.tx_done++;
        if (s->sent_ns)
            time_taken(v, s);
        slot_done(v, s);
    }
    if (v->stats.tx_done == before)
        return false;
    tx->wanted = false;
    tx_limit_adapt(v);
    return true;
}

void tx_reclaim(struct vnet *v)
{
    watch(v, finish(v));
}

void tx_take_back(struct vnet *v)
{
    struct txslot *s;

    while ((s = virtq_drain(&v->tx.vq)) != NULL)
        slot_done(v, s);
}

/* Bytes of the frame, or 0 when it cannot be a frame. */
static uint32_t frame_len(const struct vnet_tx *tx)
{
    uint64_t len = 0;

    if (tx->nseg == 0 || tx->nseg > VNET_TX_SEGS)
        return 0;
    for (unsigned i = 0; i < tx->nseg; i++)
        len += tx->seg[i].len;
    return len >= VNET_ETH_HLEN && len <= GSO_FRAME_MAX ? (uint32_t)len : 0;
}

static bool gso_allowed(const struct vnet *v, const struct vnet_tx *tx,
                        uint32_t len)
{
    bool offered = (tx->gso_type == VIRTIO_NET_HDR_GSO_TCPV4 &&
                    v->info.tx_tso4) ||
                   (tx->gso_type == VIRTIO_NET_HDR_GSO_TCPV6 &&
                    v->info.tx_tso6);

    offered = offered || (tx->gso_type == VIRTIO_NET_HDR_GSO_UDP_L4 &&
                          v->info.tx_uso);
    return offered && tx->csum && tx->gso_size > 0 &&
           tx->hdr_len > tx->csum_start && tx->hdr_len < len;
}

/* May the frame be sent with these offloads? 5.1.6.2.1. */
static bool sendable(const struct vnet *v, const struct vnet_tx *tx,
                     uint32_t len)
{
    if (tx->csum && (!v->info.tx_csum ||
                     (uint32_t)tx->csum_start + tx->csum_offset + 2 > len))
        return false;
    if (tx->gso_type != VIRTIO_NET_HDR_GSO_NONE)
        return gso_allowed(v, tx, len);
    return len <= v->info.mtu + VNET_ETH_HLEN + VLAN_HLEN;
}

static void write_header(uint8_t *at, const struct vnet_tx *tx)
{
    struct virtio_net_hdr hdr = {0};

    if (tx->csum) {
        hdr.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
        hdr.csum_start = tx->csum_start;
        hdr.csum_offset = tx->csum_offset;
    }
    if (tx->gso_type) {
        hdr.gso_type = tx->gso_type;
        hdr.gso_size = tx->gso_size;
        hdr.hdr_len = tx->hdr_len;
    }
    memcpy(at, &hdr, sizeof(hdr));
}

static void gather(uint8_t *out, const struct vnet_tx *tx)
{
    for (unsigned i = 0; i < tx->nseg; i++) {
        memcpy(out, tx->seg[i].ptr, tx->seg[i].len);
        out += tx->seg[i].len;
    }
}

/* The whole frame behind the header, padded with zeros to the shortest. */
static unsigned put_small(struct txslot *s, const struct vnet_tx *tx,
                          uint32_t len, struct virtq_seg *seg)
{
    uint8_t *frame = s->head + HDR_BYTES;

    gather(frame, tx);
    if (len < ETH_MIN) {
        memset(frame + len, 0, ETH_MIN - len);
        len = ETH_MIN;
    }
    seg[0].addr = s->head_dma;
    seg[0].len = HDR_BYTES + len;
    return 1;
}

/* Header and frame in one buffer of their own: for frames in more pieces
 * than the ring has descriptors. 0: no memory. */
static unsigned put_joined(struct txslot *s, const struct vnet_tx *tx,
                           uint32_t len, struct virtq_seg *seg)
{
    s->joined_len = HDR_BYTES + len;
    s->joined = plat_dma_alloc(s->joined_len, CACHE_LINE);
    if (!s->joined)
        return 0;
    memcpy(s->joined, s->head, HDR_BYTES);
    gather(s->joined + HDR_BYTES, tx);
    seg[0].addr = plat_dma_addr(s->joined);
    seg[0].len = s->joined_len;
    return 1;
}

/* The header, the first segment if it is short, the rest where it is;
 * neighbours in memory share a descriptor. */
static unsigned put_segments(struct txslot *s, const struct vnet_tx *tx,
                             struct virtq_seg *seg)
{
    unsigned n = 1, i = 0;

    seg[0].addr = s->head_dma;
    seg[0].len = HDR_BYTES;
    if (tx->seg[0].len <= TX_HEAD_MAX) {
        memcpy(s->head + HDR_BYTES, tx->seg[0].ptr, tx->seg[0].len);
        seg[0].len += tx->seg[0].len;
        i = 1;
    }
    for (; i < tx->nseg; i++) {
        uint64_t addr;

        if (tx->seg[i].len == 0)
            continue;
        addr = plat_dma_addr(tx->seg[i].ptr);
        if (n > 1 && addr == seg[n - 1].addr + seg[n - 1].len) {
            seg[n - 1].len += tx->seg[i].len;
            continue;
        }
        seg[n].addr = addr;
        seg[n].len = tx->seg[i].len;
        n++;
    }
    return n;
}

static void count(struct vnet_stats *s, const struct vnet_tx *tx, uint32_t len,
                  unsigned descs)
{
    s->tx_frames++;
    s->tx_bytes += len;
    s->tx_descs += descs;
    s->tx_csum += tx->csum;
    s->tx_gso_frames += tx->gso_type != 0;
}

/* The frame is in the ring; how much, for whom, since when. */
static void account(struct vnet *v, struct txslot *s, const struct vnet_tx *tx,
                    uint32_t len, bool copied)
{
    struct vnet_txq *q = &v->tx;

    q->free = s->next;
    s->cookie = copied ? NULL : tx->cookie;
    q->owed = (uint16_t)(q->owed + !copied);
    s->bytes = len;
    bql_queue(&q->bql, len);
    v->stats.tx_copied += copied;
    if (v->stats.tx_frames % TX_TIMED == 0)
        s->sent_ns = plat_now_ns();
}

static bool small(uint32_t len)
{
    return len <= TX_COPY_MAX;
}

/* Fills seg[] and returns how many. The joined copy is for frames that even
 * an empty ring has no room for. 0: no memory for it. */
static unsigned put(const struct vnet_txq *q, struct txslot *s,
                    const struct vnet_tx *tx, uint32_t len,
                    struct virtq_seg *seg)
{
    unsigned n;

    write_header(s->head, tx);
    if (small(len))
        return put_small(s, tx, len, seg);
    n = put_segments(s, tx, seg);
    if (n + q->keep > virtq_size(&q->vq))
        n = put_joined(s, tx, len, seg);
    return n;
}

/* Puts the frame into the ring. V_OK, 1 (copied), V_FULL, V_DOWN. */
static int submit(struct vnet *v, const struct vnet_tx *tx, uint32_t len)
{
    struct virtq_seg seg[VNET_TX_SEGS + 1];
    struct vnet_txq *q = &v->tx;
    struct txslot *s = q->free;
    unsigned keep = small(len) ? 0 : q->keep;
    unsigned n;
    int err;

    /* Most of the time this tells without filling in anything. */
    if (virtq_room(&q->vq) <= keep)
        return V_FULL;
    n = put(q, s, tx, len, seg);
    if (n == 0 || n + keep > virtq_room(&q->vq))
        err = V_FULL;
    else
        err = virtq_add(&q->vq, seg, n, 0, s);
    if (err) {
        if (s->joined)
            plat_dma_free(s->joined, s->joined_len);
        s->joined = NULL;
        return err == V_FULL ? V_FULL : V_DOWN;
    }
    v->stats.tx_joined += s->joined != NULL;
    count(&v->stats, tx, len, n);
    account(v, s, tx, len, small(len) || s->joined);
    return !s->cookie;
}

static bool over_limit(const struct vnet *v, uint32_t len)
{
    return v->tx.limited && !small(len) && bql_full(&v->tx.bql);
}

static int try_send(struct vnet *v, const struct vnet_tx *tx, uint32_t len)
{
    return over_limit(v, len) ? V_FULL : submit(v, tx, len);
}

static int refuse(uint64_t *counter, int err)
{
    ++*counter;
    return err;
}

int vnet_send(struct vnet *v, const struct vnet_tx *tx)
{
    struct vnet_stats *stats = &v->stats;
    uint32_t len = frame_len(tx);
    int err;

    if (!v->running || !v->client)
        return refuse(&stats->tx_down, V_DOWN);
    if (len == 0 || !sendable(v, tx, len))
        return refuse(&stats->tx_invalid, V_INVAL);
    err = try_send(v, tx, len);
    /* What is done may not have been looked at for a while. */
    if (err == V_FULL && finish(v))
        err = try_send(v, tx, len);
    if (err >= 0)
        return err;
    if (err != V_FULL)
        return refuse(&stats->tx_down, err);
    v->tx.wanted = true;
    return refuse(over_limit(v, len) ? &stats->tx_limited : &stats->tx_full,
                  err);
}
