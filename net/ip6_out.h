/*
 * IPv6 between lwIP and the Ethernet.
 */
#ifndef IP6_OUT_H
#define IP6_OUT_H

#include "lwip/ip6_addr.h"
#include "lwip/netif.h"

/* netif->output_ip6: as ethip6_output, in fragments where needed. */
err_t ip6_out(struct netif *netif, struct pbuf *p, const ip6_addr_t *dest);

/*
 * After ICMPv6 input: no path is narrower than 1280 bytes, whatever a Packet
 * Too Big message says (RFC 8201, 4). lwIP takes any value, and zero ends in
 * segments without room for a byte.
 */
void ip6_out_check_path_mtu(void);

#endif
