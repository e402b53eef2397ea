/*
 * The way to a host for frames sent below lwIP. See pktgen_path.h.
 */
#include "pktgen_path.h"

#include <string.h>

#include "args.h"
#include "lwip/etharp.h"
#include "lwip/ip4.h"
#include "lwip/ip6.h"
#include "lwip/nd6.h"
#include "netstack.h"

enum { TEXT_MOST = 64 };

/* ---- reading ------------------------------------------------------------ */

/* lwIP takes an address for one whatever stands behind it. */
static bool only_ip6_chars(const char *s)
{
    bool colon = false;

    for (; *s && *s != '%'; s++) {
        char c = (char)(*s | 0x20);

        colon |= *s == ':';
        if (!(*s >= '0' && *s <= '9') && !(c >= 'a' && c <= 'f') &&
            *s != ':' && *s != '.')
            return false;
    }
    return colon;
}

/* lwIP passes over a zone that it does not know, and reads two characters of
 * its name whether or not they are there. */
static bool zone_good(const char *text)
{
    const char *zone = strchr(text, '%');

    return !zone || (strlen(zone) > 3 && netif_find(zone + 1));
}

static bool read_ip6(const char *text, ip_addr_t *dest)
{
    ip6_addr_t *ip6 = ip_2_ip6(dest);

    if (!only_ip6_chars(text) || !zone_good(text) || !ip6addr_aton(text, ip6))
        return false;
    IP_SET_TYPE(dest, IPADDR_TYPE_V6);
    if (ip6_addr_lacks_zone(ip6, IP6_UNICAST) && netif_default)
        ip6_addr_assign_zone(ip6, IP6_UNICAST, netif_default);
    return true;
}

static bool read_ip4(const char *text, ip_addr_t *dest)
{
    uint32_t ip;

    if (netstack_parse_addr(text, &ip) != V_OK)
        return false;
    ip_addr_set_ip4_u32_val(*dest, ip);
    return true;
}

/* Cuts "[X]:PORT" and "X:PORT" in two, in place; the port or NULL. */
static char *cut_port(char **text)
{
    char *colon;

    if (**text == '[') {
        char *end = strchr(*text, ']');

        if (!end || (end[1] && end[1] != ':'))
            return NULL; /* and the bracket makes it no address */
        ++*text;
        *end = '\0';
        return end[1] ? end + 2 : NULL;
    }
    colon = strchr(*text, ':');
    if (!colon || strchr(colon + 1, ':'))
        return NULL;
    *colon = '\0';
    return colon + 1;
}

bool pktgen_read_dest(const char *text, ip_addr_t *dest, uint16_t *port)
{
    char copy[TEXT_MOST];
    char *addr = copy, *port_text;
    uint64_t number;
    bool bracket = text[0] == '[';

    if (strlen(text) >= sizeof(copy))
        return false;
    memcpy(copy, text, strlen(text) + 1);
    port_text = cut_port(&addr);
    if (!read_ip6(addr, dest) && (bracket || !read_ip4(addr, dest)))
        return false;
    if (!port_text)
        return true;
    if (!args_number(port_text, ARG_NUMBER, &number) || number < 1 ||
        number > UINT16_MAX)
        return false;
    *port = (uint16_t)number;
    return true;
}

/* ---- the way ------------------------------------------------------------ */

/* lwIP names no interface: why not? */
static enum pktgen_way why_no_netif(void)
{
    if (!netif_default)
        return WAY_NO_ROUTE;
    return netif_is_link_up(netif_default) ? WAY_NO_SOURCE : WAY_LINK_DOWN;
}

static void use_netif(struct pktgen_path *path, struct netif *netif)
{
    struct pktgen_ends *e = &path->ends;

    path->n = netif->state;
    path->v = path->n->vnet;
    memcpy(e->src_mac, netif->hwaddr, sizeof(e->src_mac));
}

/* The MAC address of an IPv4 neighbour, or a question for it. */
static enum pktgen_way ask_arp(struct pktgen_ends *e, struct netif *netif,
                               const ip4_addr_t *hop)
{
    const ip4_addr_t *found;
    struct eth_addr *mac;

    if (etharp_find_addr(netif, hop, &mac, &found) < 0) {
        etharp_query(netif, hop, NULL);
        return WAY_ASKED;
    }
    memcpy(e->dst_mac, mac->addr, sizeof(e->dst_mac));
    return WAY_FOUND;
}

static enum pktgen_way find_ip4(struct pktgen_path *path)
{
    const ip4_addr_t *dest = ip_2_ip4(&path->dest), *hop = dest;
    struct pktgen_ends *e = &path->ends;
    struct netif *netif = ip4_route(dest);

    if (ip4_addr_isloopback(dest))
        return WAY_OURSELF;
    if (!netif)
        return why_no_netif();
    use_netif(path, netif);
    if (ip4_addr_eq(dest, netif_ip4_addr(netif)))
        return WAY_OURSELF;
    if (ip4_addr_ismulticast(dest) || ip4_addr_isbroadcast(dest, netif))
        return WAY_MANY;
    if (!ip4_addr_net_eq(dest, netif_ip4_addr(netif),
                         netif_ip4_netmask(netif)))
        hop = netif_ip4_gw(netif);
    if (ip4_addr_isany(hop))
        return WAY_NO_ROUTE;
    memcpy(e->src_ip, netif_ip4_addr(netif), 4);
    memcpy(e->dst_ip, dest, 4);
    return ask_arp(e, netif, hop);
}

static bool is_ours6(struct netif *netif, const ip6_addr_t *dest)
{
    return ip6_addr_isloopback(dest) ||
           netif_get_ip6_addr_match(netif, dest) >= 0;
}

static enum pktgen_way find_ip6(struct pktgen_path *path)
{
    const ip6_addr_t *dest = ip_2_ip6(&path->dest);
    struct pktgen_ends *e = &path->ends;
    struct netif *netif = ip6_route(IP6_ADDR_ANY6, dest);
    const ip_addr_t *src;
    const uint8_t *mac;
    err_t err;

    if (ip6_addr_ismulticast(dest))
        return WAY_MANY;
    if (!netif)
        return why_no_netif();
    use_netif(path, netif);
    if (is_ours6(netif, dest))
        return WAY_OURSELF;
    src = ip6_select_source_address(netif, dest);
    if (!src)
        return WAY_NO_SOURCE;
    memcpy(e->src_ip, ip_2_ip6(src)->addr, 16);
    memcpy(e->dst_ip, dest->addr, 16);
    /* Without a packet there is nothing to be queued, only the question. */
    mac = NULL;
    err = nd6_get_next_hop_addr_or_queue(netif, NULL, dest, &mac);
    if (err == ERR_RTE)
        return WAY_NO_ROUTE;
    if (err != ERR_OK || !mac)
        return WAY_ASKED;
    memcpy(e->dst_mac, mac, sizeof(e->dst_mac));
    return WAY_FOUND;
}

enum pktgen_way pktgen_find_way(struct pktgen_path *path)
{
    path->ends.ip6 = IP_IS_V6(&path->dest);
    return path->ends.ip6 ? find_ip6(path) : find_ip4(path);
}

bool pktgen_path_alive(const struct pktgen_path *path)
{
    return path->n->vnet && path->n->vnet == path->v;
}

const char *pktgen_way_text(enum pktgen_way way)
{
    static const char *const text[] = {
        [WAY_FOUND] = "",
        [WAY_ASKED] = "",
        [WAY_NO_ROUTE] = "no route",
        [WAY_NO_SOURCE] = "the interface has no address yet",
        [WAY_LINK_DOWN] = "the link is down",
        [WAY_OURSELF] = "an address of this machine",
        [WAY_MANY] = "not the address of one host",
    };

    return text[way];
}
