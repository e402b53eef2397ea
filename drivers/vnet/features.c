/*
 * Which features to accept. Virtio 1.3, sections 2.2, 5.1.3.1 and 6. Pure.
 */
#include "priv.h"

#define NEVER 64 /* no second alternative */

#define WANTED_RING                                                          \
    (VIRTIO_BIT(VIRTIO_F_VERSION_1) | VIRTIO_BIT(VIRTIO_F_EVENT_IDX) |       \
     VIRTIO_BIT(VIRTIO_F_ACCESS_PLATFORM))

#define WANTED_NET                                                           \
    (VIRTIO_BIT(VIRTIO_NET_F_CSUM) | VIRTIO_BIT(VIRTIO_NET_F_GUEST_CSUM) |   \
     VIRTIO_BIT(VIRTIO_NET_F_MTU) | VIRTIO_BIT(VIRTIO_NET_F_MAC) |           \
     VIRTIO_BIT(VIRTIO_NET_F_GUEST_TSO4) |                                   \
     VIRTIO_BIT(VIRTIO_NET_F_GUEST_TSO6) |                                   \
     VIRTIO_BIT(VIRTIO_NET_F_GUEST_ECN) |                                    \
     VIRTIO_BIT(VIRTIO_NET_F_HOST_TSO4) |                                    \
     VIRTIO_BIT(VIRTIO_NET_F_HOST_TSO6) |                                    \
     VIRTIO_BIT(VIRTIO_NET_F_MRG_RXBUF) |                                    \
     VIRTIO_BIT(VIRTIO_NET_F_STATUS))

/* `bit` needs at least one of the two. */
static const struct {
    uint8_t bit;
    uint8_t needs;
    uint8_t or_needs;
} dependency[] = {
    {VIRTIO_NET_F_GUEST_TSO4, VIRTIO_NET_F_GUEST_CSUM, NEVER},
    {VIRTIO_NET_F_GUEST_TSO6, VIRTIO_NET_F_GUEST_CSUM, NEVER},
    {VIRTIO_NET_F_GUEST_ECN, VIRTIO_NET_F_GUEST_TSO4,
     VIRTIO_NET_F_GUEST_TSO6},
    {VIRTIO_NET_F_HOST_TSO4, VIRTIO_NET_F_CSUM, NEVER},
    {VIRTIO_NET_F_HOST_TSO6, VIRTIO_NET_F_CSUM, NEVER},
    /*
     * Not the specification's, but ours: without merging, a frame must fit
     * into one of our buffers, and a large one does not (5.1.6.3.1).
     */
    {VIRTIO_NET_F_GUEST_TSO4, VIRTIO_NET_F_MRG_RXBUF, NEVER},
    {VIRTIO_NET_F_GUEST_TSO6, VIRTIO_NET_F_MRG_RXBUF, NEVER},
};

static bool has(uint64_t set, uint8_t bit)
{
    return bit < NEVER && (set & VIRTIO_BIT(bit)) != 0;
}

static uint64_t close_dependencies(uint64_t set)
{
    uint64_t before;

    do {
        before = set;
        for (size_t i = 0; i < sizeof(dependency) / sizeof(dependency[0]); i++)
            if (!has(set, dependency[i].needs) &&
                !has(set, dependency[i].or_needs))
                set &= ~VIRTIO_BIT(dependency[i].bit);
    } while (set != before);
    return set;
}

/* 5.1.4.2: the MTU may be accepted only if such a frame can be received. */
static bool mtu_fits(uint64_t set, uint16_t mtu)
{
    if (mtu < VIRTIO_NET_MTU_MIN)
        return false;
    return has(set, VIRTIO_NET_F_MRG_RXBUF) ||
           mtu + VNET_ETH_HLEN + VLAN_HLEN + RX_HDR_BYTES <= RX_BUF_BYTES;
}

uint64_t vnet_choose_features(uint64_t offered, uint64_t refuse, uint16_t mtu)
{
    uint64_t set = offered & (WANTED_RING | WANTED_NET) & ~refuse;

    if (!mtu_fits(set, mtu))
        set &= ~VIRTIO_BIT(VIRTIO_NET_F_MTU);
    return close_dependencies(set);
}
