/*
 * Rules about what a network driver accepts, reads and posts. Virtio 1.3,
 * sections 2.2, 5.1.3.1, 5.1.4.2, 5.1.6.3.1.
 */
#include <string.h>

#include "lint.h"
#include "model.h"

#define NET(bit) VIRTIO_BIT(VIRTIO_NET_F_##bit)
#define RESERVED(bit) VIRTIO_BIT(VIRTIO_F_##bit)

/* A feature, and what it needs one of. */
struct dependency {
    uint64_t features;
    uint64_t any_of;
};

static const struct dependency dependencies[] = {
    {NET(GUEST_TSO4) | NET(GUEST_TSO6) | NET(GUEST_UFO) | NET(GUEST_USO4) |
         NET(GUEST_USO6), NET(GUEST_CSUM)},
    {NET(GUEST_ECN), NET(GUEST_TSO4) | NET(GUEST_TSO6)},
    {NET(HOST_TSO4) | NET(HOST_TSO6) | NET(HOST_UFO) | NET(HOST_USO),
     NET(CSUM)},
    {NET(HOST_ECN), NET(HOST_TSO4) | NET(HOST_TSO6)},
    {NET(CTRL_RX) | NET(CTRL_VLAN) | NET(GUEST_ANNOUNCE) | NET(MQ) |
         NET(CTRL_MAC_ADDR) | NET(RSS) | NET(NOTF_COAL) |
         NET(VQ_NOTF_COAL) | NET(HASH_REPORT) | NET(CTRL_RX_EXTRA) |
         NET(HASH_TUNNEL), NET(CTRL_VQ)},
    {NET(RSC_EXT), NET(HOST_TSO4) | NET(HOST_TSO6)},
    {NET(HASH_TUNNEL), NET(RSS) | NET(HASH_REPORT)},
};

/* Bits that this model can do something with when they are accepted. */
#define KNOWN                                                                \
    (RESERVED(INDIRECT_DESC) | RESERVED(EVENT_IDX) | RESERVED(VERSION_1) |   \
     RESERVED(ACCESS_PLATFORM) | RESERVED(ORDER_PLATFORM) |                  \
     RESERVED(RING_RESET) | NET(CTRL_VQ) | NET(NOTF_COAL) |                  \
     NET(VQ_NOTF_COAL) | NET(GUEST_ANNOUNCE) | NET(CSUM) |                   \
     NET(GUEST_CSUM) | NET(MTU) | NET(MAC) | NET(GUEST_TSO4) |               \
     NET(GUEST_TSO6) | NET(GUEST_ECN) | NET(HOST_TSO4) | NET(HOST_TSO6) |    \
     NET(HOST_ECN) | NET(MRG_RXBUF) | NET(STATUS) | NET(GUEST_HDRLEN) |      \
     NET(SPEED_DUPLEX) | NET(HOST_USO))

void netdev_check_features(const struct model *m)
{
    uint64_t f = m->accepted;

    if (f & ~m->offered)
        lint("FEAT-01", "accepted 0x%016llx, not offered 0x%016llx",
             (unsigned long long)f, (unsigned long long)(f & ~m->offered));
    if (f & ~KNOWN)
        lint("FEAT-03", "accepted 0x%016llx, not known to this driver",
             (unsigned long long)(f & ~KNOWN));
    if (!(f & RESERVED(VERSION_1)) && (m->offered & RESERVED(VERSION_1)))
        lint("FEAT-05", "VERSION_1 offered and not accepted");
    for (unsigned i = 0; i < sizeof(dependencies) / sizeof(dependencies[0]);
         i++)
        if ((f & dependencies[i].features) && !(f & dependencies[i].any_of))
            lint("FEAT-02", "accepted 0x%016llx: 0x%016llx needs one of "
                 "0x%016llx", (unsigned long long)f,
                 (unsigned long long)(f & dependencies[i].features),
                 (unsigned long long)dependencies[i].any_of);
}

/* Optional fields of the configuration, and the features that give them. */
struct field {
    unsigned off;
    unsigned len;
    uint64_t features;
};

static const struct field fields[] = {
    {VIRTIO_NET_CFG_STATUS, 2, NET(STATUS)},
    {VIRTIO_NET_CFG_MAX_PAIRS, 2, NET(MQ) | NET(RSS)},
    {VIRTIO_NET_CFG_MTU, 2, NET(MTU)},
    {VIRTIO_NET_CFG_SPEED, 5, NET(SPEED_DUPLEX)},
    {17, 7, NET(RSS) | NET(HASH_REPORT)},
};

void netdev_check_config_read(const struct model *m, unsigned off)
{
    for (unsigned i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        if (off - fields[i].off < fields[i].len &&
            !(m->offered & fields[i].features))
            lint("CFG-02", "configuration byte %u read, feature 0x%llx not "
                 "offered", off, (unsigned long long)fields[i].features);
}

static uint16_t mtu(const struct model *m)
{
    uint16_t val;

    memcpy(&val, m->config + VIRTIO_NET_CFG_MTU, sizeof(val));
    return val;
}

void netdev_check_rx_buffer(const struct model *m, const struct vring_chain *c)
{
    bool large = m->accepted & (NET(GUEST_TSO4) | NET(GUEST_TSO6) |
                                NET(GUEST_UFO) | NET(GUEST_USO4) |
                                NET(GUEST_USO6));

    if (c->nout != 0)
        lint("NET-RX-BUF", "receive buffer with readable bytes");
    if (c->writable < sizeof(struct virtio_net_hdr))
        lint("NET-RX-03", "receive buffer of %u bytes", c->writable);
    if (model_has(m, VIRTIO_NET_F_MRG_RXBUF))
        return;
    if (c->writable < 1526)
        lint("NET-RX-01", "receive buffer of %u bytes", c->writable);
    if (large && c->writable < 65562)
        lint("NET-RX-02", "receive buffer of %u bytes with segmentation",
             c->writable);
    if (model_has(m, VIRTIO_NET_F_MTU) && c->writable < mtu(m) + 14u + 12u)
        lint("NET-CFG-04", "receive buffer of %u bytes for an MTU of %u",
             c->writable, mtu(m));
}
