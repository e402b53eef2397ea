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
     VIRTIO_BIT(VIRTIO_NET_F_HOST_USO) |                                     \
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
    {VIRTIO_NET_F_HOST_USO, VIRTIO_NET_F_CSUM, NEVER},
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

/* What must go for a receive mode to be the one in use. */
static uint64_t refused_by_mode(enum vnet_rx_mode mode)
{
    const uint64_t merging = VIRTIO_BIT(VIRTIO_NET_F_MRG_RXBUF);
    const uint64_t large = VIRTIO_BIT(VIRTIO_NET_F_GUEST_TSO4) |
                           VIRTIO_BIT(VIRTIO_NET_F_GUEST_TSO6);

    switch (mode) {
    case VNET_RX_SMALL:
        return merging | large;
    case VNET_RX_BIG:
        return merging;
    default:
        return 0;
    }
}

uint64_t vnet_choose_features(uint64_t offered, uint64_t refuse, uint16_t mtu,
                              enum vnet_rx_mode mode)
{
    uint64_t set = offered & (WANTED_RING | WANTED_NET) & ~refuse &
                   ~refused_by_mode(mode);

    if (mtu < VIRTIO_NET_MTU_MIN)
        set &= ~VIRTIO_BIT(VIRTIO_NET_F_MTU);
    return close_dependencies(set);
}
