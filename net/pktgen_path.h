/*
 * The way to a host for frames that are sent below lwIP: which interface,
 * from which address, to which MAC address. lwIP's routes, ARP and neighbour
 * discovery are used; nothing is kept but what stands in the struct.
 */
#ifndef PKTGEN_PATH_H
#define PKTGEN_PATH_H

#include "lwip/ip_addr.h"
#include "netif_vnet.h"
#include "pktgen_frame.h"

struct pktgen_path {
    ip_addr_t dest;
    struct netif_vnet *n; /* of a path that was found, and the next */
    struct vnet *v;
    struct pktgen_ends ends; /* all but the ports */
};

enum pktgen_way {
    WAY_FOUND,
    WAY_ASKED,     /* the next hop has been asked for its MAC address */
    WAY_NO_ROUTE,  /* no interface, or no gateway */
    WAY_NO_SOURCE, /* the interface has no address of this kind */
    WAY_LINK_DOWN,
    WAY_OURSELF,   /* an address of this machine */
    WAY_MANY,      /* a multicast or broadcast address */
};

/*
 * Reads "A.B.C.D", "A.B.C.D:PORT", an IPv6 address, or "[IPv6]:PORT"; IPv6
 * may have a zone (%en0), and a link-local one without is the default
 * interface's. *port stays what it was when none is given. False: it is
 * nothing of the kind.
 */
bool pktgen_read_dest(const char *text, ip_addr_t *dest, uint16_t *port);

/*
 * Looks for the way to path->dest and fills in the rest. With WAY_ASKED a
 * question has gone out: again after a while, each time is another question.
 */
enum pktgen_way pktgen_find_way(struct pktgen_path *path);

/* Is the interface of a path that was found still there? */
bool pktgen_path_alive(const struct pktgen_path *path);

/* What is wrong, in words; "" for the first two. */
const char *pktgen_way_text(enum pktgen_way way);

#endif
