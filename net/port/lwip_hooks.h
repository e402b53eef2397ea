/*
 * What lwIP calls from inside its own code; hooks.c.
 */
#ifndef LWIP_HOOKS_H
#define LWIP_HOOKS_H

#include "lwip/err.h"
#include "lwip/ip_addr.h"

struct pbuf;
struct tcp_hdr;
struct tcp_pcb;

/*
 * A private flag in pbuf.flags (lwIP 2.2.1 uses 0x01 .. 0x20): the first pbuf
 * of a frame that the device merged from several wire segments.
 */
#define PBUF_FLAG_MERGED 0x80u

/* Initial sequence number, not to be guessed: RFC 6528. */
u32_t port_tcp_isn(const ip_addr_t *local_ip, u16_t local_port,
                   const ip_addr_t *remote_ip, u16_t remote_port);

/*
 * Looks at a segment before its connection sees it. ERR_OK to go on.
 *
 * Drops or cuts what lwIP would trip over, and asks for an ACK at once when
 * the segment stands for several.
 */
err_t port_tcp_inpacket(struct tcp_pcb *pcb, struct tcp_hdr *hdr,
                        u16_t optlen, u16_t opt1len, u8_t *opt2,
                        struct pbuf *p);

struct port_hook_stats {
    u64_t drop_mss;   /* MSS option outside a SYN */
    u64_t drop_tiny;  /* SYN asking for segments of a few bytes */
    u64_t drop_early; /* out of order, and not to be queued */
    u64_t cut_early;  /* out of order, beyond the window: cut off there */
    u64_t merged;     /* segments that stood for several */
};
extern struct port_hook_stats port_hook_stats;

#endif
