/* POLICY, pure: frame lengths to buffer size. See rxsize.h. */
#include "vnet/rxsize.h"

#define ETH_VLAN_HLEN 18u

static uint32_t align_up(uint32_t n)
{
    return (n + RXSIZE_ALIGN - 1) & ~(RXSIZE_ALIGN - 1);
}

uint32_t rxsize_avg(const struct rxsize *s)
{
    return (s->avg + (1u << (RXSIZE_PLACES - 1))) >> RXSIZE_PLACES;
}

uint32_t rxsize_mtu(uint32_t hdr, uint32_t mtu)
{
    return align_up(hdr + ETH_VLAN_HLEN + mtu);
}

uint32_t rxsize_mtu_faulty(uint32_t mtu)
{
    return ETH_VLAN_HLEN + mtu;
}

uint32_t rxsize_auto(const struct rxsize *s, uint32_t hdr, uint32_t least,
                     uint32_t most)
{
    uint32_t size = align_up(hdr + rxsize_avg(s));

    if (size > most)
        size = most;
    return size < least ? least : size;
}
