/*
 * Frames from the driver. Virtio 1.3, section 5.1.6.2: the header is checked
 * against what was negotiated and against the frame, checksums are
 * recomputed, large frames are cut into those that go on the wire.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "frame.h"
#include "host.h"
#include "lint.h"
#include "model.h"

#define HDR ((uint32_t)sizeof(struct virtio_net_hdr))
#define ECN VIRTIO_NET_HDR_GSO_ECN

struct model_frame *model_tx_pop(struct model *m)
{
    struct model_frame *f = m->wire_first;

    if (!f)
        return NULL;
    m->wire_first = f->next;
    if (!m->wire_first)
        m->wire_last = &m->wire_first;
    f->next = NULL;
    return f;
}

void model_tx_discard(struct model *m)
{
    struct model_frame *f;

    while ((f = model_tx_pop(m)) != NULL)
        free(f);
}

static void to_wire(struct model *m, const struct model_frame *from,
                    const uint8_t *bytes, uint32_t len, unsigned piece)
{
    struct model_frame *f = malloc(sizeof(*f) + len);

    CHECK(f);
    *f = *from;
    f->next = NULL;
    f->len = len;
    f->piece = (uint16_t)piece;
    memcpy(f->data, bytes, len);
    *m->wire_last = f;
    m->wire_last = &f->next;
    m->n.tx_wire++;
}

static bool gso_allowed(const struct model *m, uint8_t type)
{
    switch (type & ~ECN) {
    case VIRTIO_NET_HDR_GSO_NONE:
        return type == VIRTIO_NET_HDR_GSO_NONE;
    case VIRTIO_NET_HDR_GSO_TCPV4:
        return model_has(m, VIRTIO_NET_F_HOST_TSO4);
    case VIRTIO_NET_HDR_GSO_TCPV6:
        return model_has(m, VIRTIO_NET_F_HOST_TSO6);
    case VIRTIO_NET_HDR_GSO_UDP_L4:
        return model_has(m, VIRTIO_NET_F_HOST_USO);
    default:
        return false;
    }
}

/* What can be said from the header alone. */
static void check_header(const struct model *m, const struct model_frame *f)
{
    const struct virtio_net_hdr *h = &f->hdr;
    bool needs = h->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM;

    if (h->num_buffers != 0)
        lint("NET-TX-01", "num_buffers is %u", h->num_buffers);
    if (h->flags & ~VIRTIO_NET_HDR_F_NEEDS_CSUM)
        lint("NET-TX-09", "flags 0x%02x", h->flags);
    if (needs && !model_has(m, VIRTIO_NET_F_CSUM))
        lint("NET-TX-02", "NEEDS_CSUM without CSUM");
    if (!gso_allowed(m, h->gso_type))
        lint("NET-TX-03", "gso_type 0x%02x", h->gso_type);
    else if ((h->gso_type & ECN) && !model_has(m, VIRTIO_NET_F_HOST_ECN))
        lint("NET-TX-04", "segmentation with ECN, not negotiated");
    if (h->gso_type && (!needs || h->gso_size == 0))
        lint("NET-TX-06", "gso_type 0x%02x, flags 0x%02x, size %u",
             h->gso_type, h->flags, h->gso_size);
    if (needs && (uint32_t)h->csum_start + h->csum_offset + 2 > f->len)
        lint("NET-TX-05", "checksum at %u + %u of %u", h->csum_start,
             h->csum_offset, f->len);
    if (!needs && (h->csum_start || h->csum_offset))
        lint("NET-TX-10", "checksum fields without NEEDS_CSUM");
    if (!h->gso_type && (h->gso_size || h->hdr_len))
        lint("NET-TX-10", "gso_size %u, hdr_len %u without segmentation",
             h->gso_size, h->hdr_len);
}

/* 5.1.4.2: no frame above the MTU. */
static void check_length(const struct model *m, const struct model_frame *f,
                         const struct frame_info *i)
{
    uint16_t mtu;

    memcpy(&mtu, m->config + VIRTIO_NET_CFG_MTU, sizeof(mtu));
    if (!model_has(m, VIRTIO_NET_F_MTU) || f->len <= 60)
        return;
    if (f->hdr.gso_type) {
        if (i->payload - i->l3 + f->hdr.gso_size > mtu)
            lint("NET-CFG-05", "pieces of %u bytes above an MTU of %u",
                 f->hdr.gso_size, mtu);
    } else if (f->len > mtu + 14u + 4u) {
        lint("NET-CFG-05", "frame of %u bytes above an MTU of %u", f->len,
             mtu);
    }
}

/* 5.1.6.2.1: the field holds the sum of the pseudo header. */
static void check_partial(const struct model_frame *f,
                          const struct frame_info *i)
{
    const struct virtio_net_hdr *h = &f->hdr;
    uint32_t sum = frame_pseudo(f->data, i, i->end - i->l4);
    uint16_t field = (uint16_t)(f->data[i->csum] << 8 | f->data[i->csum + 1]);

    if (h->csum_start != i->l4 || h->csum_start + h->csum_offset != i->csum)
        lint("NET-TX-05", "csum_start %u + %u, should be %u + %u",
             h->csum_start, h->csum_offset, i->l4, i->csum - i->l4);
    else if (frame_fold(sum) != field)
        lint("NET-TX-05", "checksum field 0x%04x, pseudo header 0x%04x", field,
             frame_fold(sum));
}

static void check_gso(const struct model *m, const struct model_frame *f,
                      const struct frame_info *i)
{
    const struct virtio_net_hdr *h = &f->hdr;
    uint8_t type = h->gso_type & (uint8_t)~ECN;
    bool udp = type == VIRTIO_NET_HDR_GSO_UDP_L4;
    bool cwr = !udp && f->data[i->l4 + 13] & 0x80;

    if (i->l4_proto != (udp ? FRAME_UDP : FRAME_TCP) ||
        (!udp && i->ipv4 != (type == VIRTIO_NET_HDR_GSO_TCPV4)))
        lint("NET-TX-03", "gso_type 0x%02x does not fit the frame",
             h->gso_type);
    if (h->hdr_len < i->payload)
        lint("NET-TX-08", "hdr_len %u of %u", h->hdr_len, i->payload);
    if (model_has(m, VIRTIO_NET_F_GUEST_HDRLEN) && h->hdr_len != i->payload)
        lint("NET-TX-07", "hdr_len %u, should be %u", h->hdr_len, i->payload);
    if (cwr && !(h->gso_type & ECN))
        lint("NET-TX-04", "CWR in a segmented frame without the ECN bit");
}

static void check_frame(const struct model *m, const struct model_frame *f,
                        const struct frame_info *i)
{
    if (!frame_ip_csum_ok(f->data, i))
        lint("NET-TX-02", "IPv4 header checksum");
    if (f->hdr.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM)
        check_partial(f, i);
    else if (!frame_l4_csum_ok(f->data, i))
        lint("NET-TX-02", "checksum of protocol %u is wrong", i->l4_proto);
    if (f->hdr.gso_type)
        check_gso(m, f, i);
}

static void cut(struct model *m, const struct model_frame *f,
                const struct frame_info *i)
{
    uint8_t *piece = malloc(f->len);
    uint32_t len;

    CHECK(piece);
    for (unsigned n = 0; (len = frame_cut(f->data, f->len, i,
                                          f->hdr.gso_size, n, piece)) > 0; n++)
        to_wire(m, f, piece, len, n);
    free(piece);
}

static void transmit(struct model *m, struct model_frame *f)
{
    struct frame_info i;
    bool known = frame_parse(f->data, f->len, &i);

    check_header(m, f);
    if (!m->tx_raw) {
        check_length(m, f, &i);
        if (known)
            check_frame(m, f, &i);
        else if (f->hdr.flags || f->hdr.gso_type)
            lint("NET-TX-05", "offload for a frame that is not IP");
    }
    if (f->hdr.gso_type && f->hdr.gso_size && known &&
        (i.l4_proto == FRAME_TCP || i.l4_proto == FRAME_UDP)) {
        cut(m, f, &i);
        return;
    }
    if ((f->hdr.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) &&
        (uint32_t)f->hdr.csum_start + f->hdr.csum_offset + 2 <= f->len)
        frame_finish_csum(f->data, f->len, f->hdr.csum_start,
                          f->hdr.csum_offset);
    to_wire(m, f, f->data, f->len, 0);
}

static void take(struct model *m, const struct vring_chain *c)
{
    struct model_frame *f;
    uint32_t len = c->readable > HDR ? c->readable - HDR : 0;

    if (c->nout != c->nseg || len < 14) {
        lint("NET-TX-12", "sent chain of %u readable, %u writable bytes",
             c->readable, c->writable);
        return;
    }
    f = calloc(1, sizeof(*f) + len);
    CHECK(f);
    f->len = len;
    f->descs = c->nseg;
    vring_read(c, 0, &f->hdr, HDR);
    vring_read(c, HDR, f->data, len);
    m->n.tx_frames++;
    transmit(m, f);
    free(f);
}

static unsigned pick(struct model *m)
{
    switch (m->order) {
    case MODEL_REVERSED:
        return m->nheld - 1;
    case MODEL_RANDOM:
        return (unsigned)(plat_random() % m->nheld);
    default:
        return 0;
    }
}

unsigned model_tx_release(struct model *m, unsigned n)
{
    struct vring_dev *vr = &m->q[VIRTIO_NET_TXQ];
    unsigned done = 0;

    while (done < n && m->nheld > 0 && netdev_live(m)) {
        unsigned at = pick(m);
        struct vring_chain *c = vr->owned[m->held[at]];

        m->nheld--;
        memmove(m->held + at, m->held + at + 1,
                (m->nheld - at) * sizeof(*m->held));
        vring_put(vr, c, 0);
        m->n.chains[VIRTIO_NET_TXQ]++;
        done++;
    }
    if (done)
        netdev_signal(m, VIRTIO_NET_TXQ, done);
    return done;
}

unsigned netdev_tx_run(struct model *m)
{
    struct vring_chain *c;
    unsigned n = 0;

    while ((c = vring_take(&m->q[VIRTIO_NET_TXQ])) != NULL) {
        take(m, c);
        m->held[m->nheld++] = c->head;
        n++;
    }
    if (!m->tx_hold)
        model_tx_release(m, m->nheld);
    return n;
}
