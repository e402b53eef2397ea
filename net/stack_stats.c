/*
 * The stack's counters by name: lwIP's own, the allocator's, the hooks', the
 * interfaces' and the servers'.
 */
#include <stddef.h>

#include "apps/apps.h"
#include "lwip/memp.h"
#include "lwip/priv/memp_priv.h"
#include "lwip/stats.h"
#include "lwip_hooks.h"
#include "netif_vnet.h"
#include "netstack.h"
#include "port/alloc.h"

/* lwIP's protocols, and what each can lose. */
#define PROTOCOLS(X)                                                         \
    X("net_arp_", etharp)                                                    \
    X("net_ip_", ip)                                                         \
    X("net_frag_", ip_frag)                                                  \
    X("net_icmp_", icmp)                                                     \
    X("net_udp_", udp)                                                       \
    X("net_tcp_", tcp)                                                       \
    X("net_ip6_", ip6)                                                       \
    X("net_frag6_", ip6_frag)                                                \
    X("net_icmp6_", icmp6)                                                   \
    X("net_nd6_", nd6)

#define POOLS(X)                                                             \
    X("net_pool_tcp_pcb_", MEMP_TCP_PCB)                                     \
    X("net_pool_tcp_seg_", MEMP_TCP_SEG)                                     \
    X("net_pool_pbuf_", MEMP_PBUF)                                           \
    X("net_pool_frag_pbuf_", MEMP_FRAG_PBUF)                                 \
    X("net_pool_reass_", MEMP_REASSDATA)                                     \
    X("net_pool_arp_queue_", MEMP_ARP_QUEUE)                                 \
    X("net_pool_nd6_queue_", MEMP_ND6_QUEUE)                                 \
    X("net_pool_timeout_", MEMP_SYS_TIMEOUT)

static void protocol_stats(app_line_fn *line)
{
#define X(prefix, field)                                                     \
    line(prefix "in", lwip_stats.field.recv);                                \
    line(prefix "out", lwip_stats.field.xmit);                               \
    line(prefix "drop", lwip_stats.field.drop);                              \
    line(prefix "drop_csum", lwip_stats.field.chkerr);                       \
    line(prefix "drop_len", lwip_stats.field.lenerr);                        \
    line(prefix "drop_mem", lwip_stats.field.memerr);                        \
    line(prefix "drop_route", lwip_stats.field.rterr);                       \
    line(prefix "drop_proto", lwip_stats.field.proterr);
    PROTOCOLS(X)
#undef X
}

static void pool_stats(app_line_fn *line)
{
#define X(prefix, pool)                                                      \
    line(prefix "used", memp_pools[pool]->stats->used);                      \
    line(prefix "most", memp_pools[pool]->stats->max);                       \
    line(prefix "failed", memp_pools[pool]->stats->err);
    POOLS(X)
#undef X
}

static void port_stats(app_line_fn *line)
{
    line("net_mem_objects", port_mem_stats.in_use);
    line("net_mem_bytes_held", port_mem_stats.bytes_held);
    line("net_mem_failed", port_mem_stats.failures);
    line("net_tcp_drop_mss", port_hook_stats.drop_mss);
    line("net_tcp_drop_tiny_mss", port_hook_stats.drop_tiny);
    line("net_tcp_drop_early", port_hook_stats.drop_early);
    line("net_tcp_cut_early", port_hook_stats.cut_early);
    line("net_tcp_in_merged", port_hook_stats.merged);
#define X(name, meaning) line("net_if_" #name, netif_vnet_stats.name);
    NETIF_VNET_STATS(X)
#undef X
#define X(name, meaning) line("net_" #name, gro_stats.name);
    GRO_STATS(X)
#undef X
}

void netstack_stats(void (*line)(const char *name, uint64_t value))
{
    protocol_stats(line);
    pool_stats(line);
    port_stats(line);
    for (unsigned i = 0; i < app_count; i++) {
        if (apps[i]->stats)
            apps[i]->stats(line);
    }
}
