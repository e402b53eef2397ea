/*
 * A lwIP interface on top of the driver: struct netif and struct vnet side by
 * side. netif_vnet.c owns it; pbuf_rx.c and pbuf_tx.c are its two directions.
 */
#ifndef NETIF_VNET_H
#define NETIF_VNET_H

#include <stdbool.h>
#include <stdint.h>

#include "gro.h"
#include "lwip/netif.h"
#include "lwip/pbuf.h"
#include "vnet.h"

/* X(name, "meaning"); uint64_t, summed over all interfaces since start. */
#define NETIF_VNET_STATS(X)                                                  \
    X(rx_foreign, "frames dropped: for another host")                        \
    X(rx_short, "frames dropped: too short for their protocol")              \
    X(rx_long, "frames dropped: above what a pbuf can count")                \
    X(rx_refused, "frames dropped: refused by the stack")                    \
    X(rx_bufs_low, "frames copied: receive buffers were short")              \
    X(rx_nomem, "frames dropped: no memory for that copy")                   \
    X(tx_cloned, "frames joined: more pieces than the driver takes")         \
    X(tx_nomem, "frames dropped: no memory to join them")                    \
    X(tx_refused, "sends put off: ring full")                                \
    X(tx_queued, "sends put off: others wait already")                       \
    X(tx_down, "sends put off: device down")                                 \
    X(tx_csum_lost, "frames dropped: a fragment without its checksum")       \
    X(tx_invalid, "frames dropped: not sendable")

struct netif_vnet_stats {
#define X(name, meaning) uint64_t name;
    NETIF_VNET_STATS(X)
#undef X
};

extern struct netif_vnet_stats netif_vnet_stats;

/* Merge received segments; of all interfaces. */
extern bool netif_vnet_gro;

/* Merge sent segments; of all interfaces. */
extern bool netif_vnet_gso;

/*
 * The cookie of frames that are sent past lwIP, by vnet_send, from memory
 * that is always there: nothing is released when the driver is done.
 */
extern uint8_t netif_vnet_static;

struct netif_vnet {
    struct netif netif;
    struct vnet *vnet; /* NULL: not in use */
    bool tx_retry;     /* a send was put off: go round when there is room */
    bool soft_csum;    /* TCP checksums by lwIP although the device could */
    struct gro gro;    /* segments held until the turn ends */
    uint32_t shown_ip; /* what was printed last */
    uint8_t shown_ip6; /* a bit for each address printed */
};

/*
 * Makes *n an interface over v: adds it to lwIP's list, brings it up, and
 * attaches it to the driver. V_OK or V_NOMEM.
 */
int netif_vnet_add(struct netif_vnet *n, struct vnet *v);

/*
 * Takes the interface out of lwIP, with all connections over it. Frames that
 * still arrive are handed straight back; frames on the way are released as
 * the driver finishes them.
 */
void netif_vnet_remove(struct netif_vnet *n);

/* What vnet_poll brought and was held so far goes to lwIP. */
void netif_vnet_flush(struct netif_vnet *n);

/* ---- pbuf_rx.c -------------------------------------------------------- */

/*
 * The frame as a chain of custom pbufs that live in its buffers; freeing a
 * pbuf gives its buffer back to v. NULL, with all buffers given back, when
 * the frame is longer than a pbuf can say.
 */
struct pbuf *pbuf_rx(struct vnet *v, const struct vnet_frame *frame);

/* Gives all buffers of the frame back. */
void pbuf_rx_discard(struct vnet *v, const struct vnet_frame *frame);

/* ---- pbuf_tx.c -------------------------------------------------------- */

/*
 * Hands the chain to the driver, which reads it where it lies: a reference
 * is held until pbuf_tx_done. csum: a TCP segment gets its checksum from the
 * device.
 *
 * ERR_OK   sent, or dropped for a reason that will not go away
 * ERR_MEM  no room at the moment
 * ERR_IF   the device is down at the moment
 * ERR_VAL  a piece of a TCP segment whose checksum nobody can complete
 */
err_t pbuf_tx(struct vnet *v, struct pbuf *p, bool csum);

/* The driver is done with what pbuf_tx gave it; a vnet_client.tx_done. */
void pbuf_tx_done(void *arg, void *cookie);

#endif
