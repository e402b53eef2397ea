/*
 * Frames towards the driver. Virtio 1.3, sections 5.1.6.4 and 5.1.6.4.1: the
 * device's requirements, kept unless a fault is armed.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "host.h"
#include "model.h"

#define HDR sizeof(struct virtio_net_hdr)
#define BUFS_MAX 4096u

/* The buffers gathered for one frame. */
struct gather {
    struct vring_chain *chain[BUFS_MAX];
    unsigned count;
    uint64_t room;
};

static struct vring_chain *next_buffer(struct model *m)
{
    struct vring_dev *vr = &m->q[VIRTIO_NET_RXQ];

    if (m->rx_random && vring_waiting(vr) > 1)
        return vring_take_nth(vr, (unsigned)(plat_random() %
                                             vring_waiting(vr)));
    return vring_take(vr);
}

/* Takes buffers until `need` bytes fit; false gives all of them back. */
static bool gather(struct model *m, struct gather *g, uint64_t need)
{
    bool mergeable = model_has(m, VIRTIO_NET_F_MRG_RXBUF);

    g->count = 0;
    g->room = 0;
    while (g->room < need && g->count < BUFS_MAX &&
           (mergeable || g->count == 0)) {
        struct vring_chain *c = next_buffer(m);

        if (!c)
            break;
        g->chain[g->count++] = c;
        g->room += c->writable;
    }
    if (g->room >= need && g->count > 0)
        return true;
    while (g->count)
        vring_untake(&m->q[VIRTIO_NET_RXQ], g->chain[--g->count]);
    return false;
}

static void spoil_gso(struct fault_set *f, struct virtio_net_hdr *h)
{
    if (fault_hit(f, FAULT_GSO_JUNK)) {
        h->gso_type = 0x7f;
        h->gso_size = 1448;
    }
    if (fault_hit(f, FAULT_GSO_UNASKED)) {
        h->gso_type = VIRTIO_NET_HDR_GSO_UDP;
        h->gso_size = 1448;
    }
    if (fault_hit(f, FAULT_GSO_SIZE_ZERO)) {
        h->gso_type = VIRTIO_NET_HDR_GSO_TCPV4;
        h->gso_size = 0;
    }
}

static void spoil_csum(struct fault_set *f, struct virtio_net_hdr *h,
                       uint32_t len)
{
    if (fault_hit(f, FAULT_CSUM_OUTSIDE)) {
        h->flags |= VIRTIO_NET_HDR_F_NEEDS_CSUM;
        h->csum_start = (uint16_t)(len - 1);
        h->csum_offset = 0;
    }
    if (fault_hit(f, FAULT_CSUM_WRAPS)) {
        h->flags |= VIRTIO_NET_HDR_F_NEEDS_CSUM;
        h->csum_start = 34;
        h->csum_offset = 0xffff - 30;
    }
}

static void spoil_num_buffers(struct model *m, struct virtio_net_hdr *h)
{
    struct fault_set *f = &m->faults[VIRTIO_NET_RXQ];

    if (fault_hit(f, FAULT_NUM_BUFFERS_EXACT))
        h->num_buffers = m->num_buffers;
    if (fault_hit(f, FAULT_NUM_BUFFERS_ZERO))
        h->num_buffers = 0;
    if (fault_hit(f, FAULT_NUM_BUFFERS_MORE))
        h->num_buffers++;
    if (fault_hit(f, FAULT_NUM_BUFFERS_19))
        h->num_buffers = 19;
    if (fault_hit(f, FAULT_NUM_BUFFERS_MAX))
        h->num_buffers = UINT16_MAX;
}

static struct virtio_net_hdr header(struct model *m, unsigned bufs,
                                    uint32_t len,
                                    const struct virtio_net_hdr *hdr)
{
    static const struct virtio_net_hdr zero;
    struct fault_set *f = &m->faults[VIRTIO_NET_RXQ];
    struct virtio_net_hdr h = hdr ? *hdr : zero;

    h.num_buffers = (uint16_t)bufs;
    if (fault_hit(f, FAULT_FLAGS_JUNK))
        h.flags |= 0xf8;
    if (fault_hit(f, FAULT_HDR_LEN_JUNK))
        h.hdr_len = UINT16_MAX;
    spoil_gso(f, &h);
    spoil_csum(f, &h, len);
    spoil_num_buffers(m, &h);
    return h;
}

/* Fills the buffers in turn with header and frame, and uses them. */
static void fill(struct model *m, struct gather *g, const uint8_t *bytes,
                 uint32_t len)
{
    struct vring_dev *vr = &m->q[VIRTIO_NET_RXQ];
    struct fault_set *f = &m->faults[VIRTIO_NET_RXQ];

    for (unsigned i = 0; i < g->count; i++) {
        uint32_t n;

        if (i > 0 && i + 1 == g->count && fault_hit(f, FAULT_HALF_FRAME)) {
            vring_untake(vr, g->chain[i]);
            break;
        }
        n = vring_write(g->chain[i], 0, bytes, len);
        bytes += n;
        len -= n;
        if (i + 1 < g->count && fault_hit(f, FAULT_MIDDLE_SHORT))
            n--;
        vring_put(vr, g->chain[i], n);
        m->n.chains[VIRTIO_NET_RXQ]++;
        m->n.rx_bufs++;
    }
}

bool model_rx(struct model *m, const void *frame, uint32_t len,
              const struct virtio_net_hdr *hdr)
{
    static struct gather g;
    struct virtio_net_hdr h;
    uint8_t *bytes;

    if (!netdev_live(m) || !m->q[VIRTIO_NET_RXQ].enabled)
        return false;
    model_rx_room(m);
    if (!gather(m, &g, HDR + len)) {
        m->n.rx_no_room++;
        return false;
    }
    bytes = malloc(HDR + len);
    CHECK(bytes);
    h = header(m, g.count, len, hdr);
    memcpy(bytes, &h, HDR);
    memcpy(bytes + HDR, frame, len);
    fill(m, &g, bytes, (uint32_t)(HDR + len));
    free(bytes);
    m->n.rx_frames++;
    netdev_signal(m, VIRTIO_NET_RXQ, 1);
    return true;
}
