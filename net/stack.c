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
static uint8_t turn_id; /* extension of a connection: when it had its turn */

/* ---- printing addresses ----------------------------------------------- */

/* The number in an interface's name: its place in the table, since lwIP's
 * own counts on when an interface goes and comes back. */
static unsigned unit_of(const struct netif_vnet *n)
{
    return (unsigned)(n - interface);
}

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
    plat_log(LOG_INFO, "vireo: en%u address %s/%u gw %s", unit_of(n), addr,
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
    plat_log(LOG_INFO, "vireo: en%u address %s/64", unit_of(n), addr);
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

static void set_static(struct netif *netif,
                       const struct netstack_ifconfig *cfg)
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

void netstack_set_gro(bool on)
{
    netif_vnet_gro = on;
}

void netstack_set_gso(bool on)
{
    netif_vnet_gso = on;
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

/* ---- start -------------------------------------------------------------- */

int netstack_start(void)
{
    lwip_init();
    turn_id = tcp_ext_arg_alloc_id();
    for (unsigned i = 0; i < app_count; i++) {
        if (apps[i]->start() != ERR_OK) {
            plat_log(LOG_ERR, "vireo: %s server: cannot start",
                     apps[i]->name);
            return V_NOMEM;
        }
    }
    return V_OK;
}

/* ---- sends that found no room ------------------------------------------ */

/* May large frames be sent again? False when nobody was put off. */
static bool open_interfaces(void)
{
    bool waiting = false;

    for (unsigned i = 0; i < MAX_INTERFACES; i++) {
        waiting |= interface[i].tx_retry;
        interface[i].tx_retry = false;
    }
    return waiting;
}

/* Has every interface put off a send again? */
static bool all_full(void)
{
    for (unsigned i = 0; i < MAX_INTERFACES; i++) {
        if (interface[i].vnet && !interface[i].tx_retry)
            return false;
    }
    return true;
}

/* Of the connections that wait and have not had their turn in this round,
 * the one whose last turn is longest ago. */
static struct tcp_pcb *longest_waiting(uint32_t round)
{
    struct tcp_pcb *best = NULL;
    uint32_t most = 0;

    for (struct tcp_pcb *pcb = tcp_active_pcbs; pcb; pcb = pcb->next) {
        uint32_t last = (uint32_t)(uintptr_t)tcp_ext_arg_get(pcb, turn_id);

        if ((pcb->flags & TF_NAGLEMEMERR) && round - last > most) {
            most = round - last;
            best = pcb;
        }
    }
    return best;
}

/*
 * The driver has reclaimed: connections that were put off get a turn each,
 * for as long as there is room. lwIP itself would wait for the next ACK or
 * timer, and its own tcp_txnow() would serve the same one first every time.
 */
static void serve_waiting(void)
{
    static uint32_t round;
    struct tcp_pcb *pcb;

    round++;
    while (!all_full() && (pcb = longest_waiting(round)) != NULL) {
        tcp_ext_arg_set(pcb, turn_id, (void *)(uintptr_t)round);
        tcp_output(pcb);
    }
}

/* ---- step --------------------------------------------------------------- */

static void ask_wakeup(void)
{
    uint32_t ms = sys_timeouts_sleeptime();

    /* lwIP counts whole milliseconds: wake when the last one begins. */
    if (ms != SYS_TIMEOUTS_SLEEPTIME_INFINITE)
        plat_wakeup_at((plat_now_ns() / 1000000 + ms) * 1000000);
}

static bool pump_apps(void)
{
    bool again = false;

    for (unsigned i = 0; i < app_count; i++) {
        if (apps[i]->pump && apps[i]->pump())
            again = true;
    }
    return again;
}

/* What was received in this turn and not handed up yet. */
static void flush_received(void)
{
    for (unsigned i = 0; i < MAX_INTERFACES; i++)
        netif_vnet_flush(&interface[i]);
}

bool netstack_step(void)
{
    static bool apps_first;
    bool again = false;

    flush_received();

    /* Servers and waiting connections are first in turns, or datagrams
     * would never find room beside a connection that fills the ring. */
    apps_first = !apps_first;
    if (open_interfaces()) {
        if (apps_first)
            again = pump_apps();
        serve_waiting();
    } else {
        apps_first = false;
    }
    sys_check_timeouts();
    if (!apps_first)
        again = pump_apps();
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
