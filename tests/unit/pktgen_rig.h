/*
 * The other end of the wire for the packet generator, the sink and the
 * reflector, over net_rig.h: answers ARP and neighbour solicitations, takes
 * datagrams apart, and turns the main loop once at a time.
 */
#ifndef PKTGEN_RIG_H
#define PKTGEN_RIG_H

#include "net_rig.h"

#define PG_PEER6 "fe80::55"

struct pg {
    bool silent;        /* answer no question for the MAC address */
    uint8_t mac[6];     /* the answer */
    uint16_t port;      /* datagrams to this port are the generator's */
    /* What has arrived. */
    unsigned questions; /* ARP requests, neighbour solicitations */
    unsigned pongs;
    uint64_t frames;    /* of the generator; numbers without a gap */
    uint64_t lost;      /* numbers that never came */
    uint64_t bytes;
    uint32_t len;       /* of the last one */
    uint32_t next;      /* its number, and one */
    uint64_t time_ns;   /* the time in it */
    uint16_t sport;
    bool ip6;
    bool busy;          /* netstack_step wanted to be called again */
    bool may_lose;
    uint8_t last[2048]; /* the last other datagram: the whole frame */
    uint32_t last_len;
    unsigned others;
};

extern struct pg pg;

/* rig_begin, and a peer that answers. */
void pg_begin(uint64_t features, const struct vnet_config *config);

/* Runs a command line of the console. */
void pg_command(const char *line);

/* The main loop once, and what has arrived at the other end. */
void pg_turn(void);

/* That many turns with so much time before each. */
void pg_run(unsigned turns, uint64_t ns);

/* Turns until the log has this text; fails when it takes too many. */
void pg_until(const char *text, uint64_t ns);

#endif
