/*
 * lwIP's life: start, interfaces, and one step of the main loop. Implements
 * include/netstack.h and owns the table of interfaces.
 */
#include "netstack.h"

#include <stddef.h>

#include "apps/apps.h"
#include "lwip/dhcp.h"
#include "lwip/etharp.h"
#include "lwip/init.h"
#include "lwip/ip4_frag.h"
#include "lwip/ip6_frag.h"
#include "lwip/priv/tcp_priv.h"
#include "lwip/timeouts.h"
#include "netif_vnet.h"

enum { MAX_INTERFACES = 8 };

static struct netif_vnet interface[MAX_INTERFACES];

/* ---- printing addresses ----------------------------------------------- */

static unsigned prefix_len(uint32_t mask)
{
    return (unsigned)__builtin_popcount(mask);
}

static void print_ip4(struct netif_vnet *n)
{
    struct netif *netif = &n->netif;
    uint32_t ip = ip4_addr_get_u32(netif_ip4_addr(netif));
    char addr[IP4ADDR_STRLEN_MAX];
    char gw[IP4ADDR_STRLEN_MAX];

    if (ip == n->shown_ip)
        return;
    n->shown_ip = ip;
    if (!ip)
        return;
    ip4addr_ntoa_r(netif_ip4_addr(netif), addr, sizeof(addr));
    ip4addr_ntoa_r(netif_ip4_gw(netif), gw, sizeof(gw));
    plat_log(LOG_INFO, "vireo: %c%c%u address %s/%u gw %s", netif->name[0],
             netif->name[1], netif->num, addr,
             prefix_len(ip4_addr_get_u32(netif_ip4_netmask(netif))), gw);
}

static void print_ip6(struct netif_vnet *n, int i)
{
    struct netif *netif = &n->netif;
    uint8_t bit = (uint8_t)(1u << i);
    char addr[IP6ADDR_STRLEN_MAX];

    if (!ip6_addr_ispreferred(netif_ip6_addr_state(netif, i))) {
        n->shown_ip6 &= (uint8_t)~bit;
        return;
    }
    if (n->shown_ip6 & bit)
        return;
    n->shown_ip6 |= bit;
    ip6addr_ntoa_r(netif_ip6_addr(netif, i), addr, sizeof(addr));
    plat_log(LOG_INFO, "vireo: %c%c%u address %s/64", netif->name[0],
             netif->name[1], netif->num, addr);
}

static void status_changed(struct netif *netif)
{
    struct netif_vnet *n = netif->state;

    print_ip4(n);
    for (int i = 0; i < LWIP_IPV6_NUM_ADDRESSES; i++)
        print_ip6(n, i);
}

/* ---- interfaces ------------------------------------------------------- */

static struct netif_vnet *find_interface(const struct vnet *v)
{
    for (unsigned i = 0; i < MAX_INTERFACES; i++) {
        if (interface[i].vnet == v)
            return &interface[i];
    }
    return NULL;
}

static void set_default_interface(void)
{
    if (!netif_default && netif_list)
        netif_set_default(netif_list);
}

static void set_static(struct netif *netif, const struct netstack_ifconfig *cfg)
{
    ip4_addr_t ip = {cfg->ip};
    ip4_addr_t mask = {cfg->mask};
    ip4_addr_t gw = {cfg->gw};

    netif_set_addr(netif, &ip, &mask, &gw);
}

int netstack_add(struct vnet *v, const struct netstack_ifconfig *cfg)
{
    struct netif_vnet *n = find_interface(NULL);
    int err;

    if (!v || !n)
        return v ? V_NOMEM : V_INVAL;
    err = netif_vnet_add(n, v);
    if (err)
        return err;
    netif_set_status_callback(&n->netif, status_changed);
    set_default_interface();
    if (cfg->dhcp) {
        if (dhcp_start(&n->netif) != ERR_OK) {
            netstack_remove(v);
            return V_NOMEM;
        }
    } else if (cfg->ip) {
        set_static(&n->netif, cfg);
    }
    return V_OK;
}

/*
 * Fragments waiting for the rest lie in receive buffers, and lwIP knows no
 * other way to drop them than to let their time pass. Those of other
 * interfaces go as well: a datagram may be lost at any time.
 */
static void drop_fragments(void)
{
    for (unsigned s = 0; s <= IP_REASS_MAXAGE; s++)
        ip_reass_tmr();
    for (unsigned s = 0; s <= IPV6_REASS_MAXAGE; s++)
        ip6_reass_tmr();
}

void netstack_remove(struct vnet *v)
{
    struct netif_vnet *n = v ? find_interface(v) : NULL;

    if (!n)
        return;
    if (netif_dhcp_data(&n->netif)) {
        dhcp_release_and_stop(&n->netif);
        dhcp_cleanup(&n->netif);
    }
    drop_fragments();
    netif_vnet_remove(n);
    set_default_interface();
}

/* ---- start and step --------------------------------------------------- */

int netstack_start(void)
{
    lwip_init();
    for (unsigned i = 0; i < app_count; i++) {
        if (apps[i]->start() != ERR_OK) {
            plat_log(LOG_ERR, "vireo: %s server: cannot start",
                     apps[i]->name);
            return V_NOMEM;
        }
    }
    return V_OK;
}

/* Sends that found no room are tried again, now that the driver has
 * reclaimed. lwIP itself would wait for the next ACK or timer. */
static void retry_refused(void)
{
    bool retry = false;

    for (unsigned i = 0; i < MAX_INTERFACES; i++) {
        retry |= interface[i].tx_retry;
        interface[i].tx_retry = false;
    }
    if (retry)
        tcp_txnow();
}

static void ask_wakeup(void)
{
    uint32_t ms = sys_timeouts_sleeptime();

    /* lwIP counts whole milliseconds: wake when the last one begins. */
    if (ms != SYS_TIMEOUTS_SLEEPTIME_INFINITE)
        plat_wakeup_at((plat_now_ns() / 1000000 + ms) * 1000000);
}

bool netstack_step(void)
{
    bool again = false;

    retry_refused();
    sys_check_timeouts();
    for (unsigned i = 0; i < app_count; i++) {
        if (apps[i]->pump && apps[i]->pump())
            again = true;
    }
    ask_wakeup();
    return again;
}

/* ---- addresses as text ------------------------------------------------ */

/* Reads a number up to `max` and steps behind it. -1 when there is none. */
static int parse_number(const char **text, int max)
{
    const char *p = *text;
    int value = 0;

    if (*p < '0' || *p > '9')
        return -1;
    for (; *p >= '0' && *p <= '9'; p++) {
        value = value * 10 + (*p - '0');
        if (value > max)
            return -1;
    }
    *text = p;
    return value;
}

/* Reads A.B.C.D and steps behind it. */
static int parse_quad(const char **text, uint32_t *addr)
{
    const char *p = *text;
    uint32_t host = 0;

    for (unsigned i = 0; i < 4; i++) {
        int part;

        if (i > 0 && *p++ != '.')
            return V_INVAL;
        part = parse_number(&p, 255);
        if (part < 0)
            return V_INVAL;
        host = host << 8 | (uint32_t)part;
    }
    *addr = lwip_htonl(host);
    *text = p;
    return V_OK;
}

int netstack_parse_addr(const char *text, uint32_t *addr)
{
    uint32_t value;

    if (parse_quad(&text, &value) != V_OK || *text)
        return V_INVAL;
    *addr = value;
    return V_OK;
}

static bool is_dhcp(const char *text)
{
    static const char word[] = "dhcp";
    unsigned i = 0;

    while (i < sizeof(word) && text[i] == word[i]) {
        if (!word[i])
            return true;
        i++;
    }
    return false;
}

int netstack_parse_ip(const char *text, struct netstack_ifconfig *cfg)
{
    uint32_t ip;
    int len;

    if (is_dhcp(text)) {
        cfg->dhcp = true;
        return V_OK;
    }
    if (parse_quad(&text, &ip) != V_OK || *text++ != '/')
        return V_INVAL;
    len = parse_number(&text, 32);
    if (len < 0 || *text)
        return V_INVAL;
    cfg->dhcp = false;
    cfg->ip = ip;
    cfg->mask = lwip_htonl(len ? UINT32_MAX << (32 - len) : 0);
    return V_OK;
}
