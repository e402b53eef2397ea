/*
 * The network stack as the main loop sees it: lwIP, its interfaces and the
 * servers on top. Implemented by net/stack.c. One context, no locks.
 */
#ifndef NETSTACK_H
#define NETSTACK_H

#include <stdbool.h>
#include <stdint.h>

#include "vnet.h"

/* How an interface gets its addresses. IPv6 link-local always comes up. */
struct netstack_ifconfig {
    bool dhcp;      /* ask for addresses; ip, mask, gw are ignored */
    uint32_t ip;    /* IPv4 in network byte order; 0: none */
    uint32_t mask;
    uint32_t gw;    /* 0: none */
};

/* Parses "dhcp", "A.B.C.D/LEN" into *cfg (gw untouched). V_OK, V_INVAL. */
int netstack_parse_ip(const char *text, struct netstack_ifconfig *cfg);

/* Parses "A.B.C.D" into *addr, network byte order. V_OK or V_INVAL. */
int netstack_parse_addr(const char *text, uint32_t *addr);

/* Starts lwIP and the servers. Once. V_OK or V_NOMEM. */
int netstack_start(void);

/* Makes an interface on top of the driver (and attaches to it). */
int netstack_add(struct vnet *v, const struct netstack_ifconfig *cfg);

/*
 * Stops the interface's traffic and gives back every buffer it can, so that
 * vnet_close can follow. Connections are aborted.
 */
void netstack_remove(struct vnet *v);

/*
 * Software GRO: segments of a TCP connection that arrive in one turn are
 * merged before lwIP sees them. On by default, for all interfaces.
 */
void netstack_set_gro(bool on);

/*
 * Merging of sent segments: consecutive segments of a TCP connection (and
 * datagrams of a UDP flow) leave as one frame that the device cuts up, where
 * it can. On by default, for all interfaces.
 */
void netstack_set_gso(bool on);

/*
 * One step, after every vnet_poll: hands up what was held for merging since
 * the last one, sends what was refused before, runs timers that are due, lets
 * applications go on. True when an application has more to do at once. What
 * is to be done later has been asked for by plat_wakeup_at.
 */
bool netstack_step(void);

/*
 * Commands of the stack, for a console: argv[0] is the command's name, argc
 * at least 1. Any words may come; what is wrong with them, and what the
 * command has to say now or later, is logged. Returns at once.
 */
struct netstack_command {
    const char *name;
    const char *args; /* for a list of commands */
    const char *help;
    void (*run)(int argc, char *argv[]);
};
extern const struct netstack_command netstack_commands[];
extern const unsigned netstack_command_count;

/* Prints counters by calling line() for each: the stack's and the servers'. */
void netstack_stats(void (*line)(const char *name, uint64_t value));

#endif
