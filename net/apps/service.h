/*
 * What the small TCP services (echo, discard, chargen) share: a bounded
 * number of connections, a bounded amount of memory for each, back-pressure,
 * half-close, and an end for connections that stand still.
 */
#ifndef APPS_SERVICE_H
#define APPS_SERVICE_H

#include <stdbool.h>

#include "apps/apps.h"
#include "lwip/tcp.h"
#include "lwip/udp.h"

enum {
    SVC_MAX_CONNS = 64,     /* of one service */
    SVC_WINDOW = 65535,     /* bytes a peer may send ahead, and we keep */
    SVC_SEND_AHEAD = 65536, /* bytes copied and not acknowledged */
};

struct svc_conn {
    struct svc_conn *next; /* least recently active first */
    struct svc_conn *prev;
    struct service *svc;
    struct tcp_pcb *pcb; /* never NULL: the connection dies with it */
    struct pbuf *rx;     /* received and not yet dealt with */
    u32_t active_ms;     /* when it last made progress */
    u32_t pos;           /* the service's own, and the next one */
    u32_t passed;
    bool rx_closed;      /* the peer has sent its last byte */
    bool broken;         /* set by work(): to be ended by a reset */
};

struct svc_counters {
    u64_t accepted;
    u64_t refused; /* all connections in use and busy */
    u64_t evicted; /* idle, in favour of a new one */
    u64_t stalled; /* no progress for a minute, ended */
    u64_t closed;  /* in good order */
    u64_t failed;  /* reset by the peer, out of memory, or broken */
    u64_t rx_bytes;
    u64_t tx_bytes;
    u64_t udp_in;
    u64_t udp_out;
    u64_t udp_ignored; /* from a port that may be a server's */
    u64_t udp_failed;  /* no memory, no route */
};

struct service {
    const char *name;
    u16_t port;
    /*
     * Does what can be done now: takes from c->rx by svc_consume(), sends by
     * svc_send(). Called when anything has changed, and from time to time.
     */
    void (*work)(struct svc_conn *c);
    /* A datagram has arrived; must free p. */
    udp_recv_fn datagram;
    struct svc_counters count;
    struct svc_conn *first; /* connections, least recently active first */
    struct svc_conn *last;
    struct svc_conn *unused;
    struct svc_conn conn[SVC_MAX_CONNS];
};

/* Listens on the service's port, TCP and UDP, IPv4 and IPv6. */
err_t svc_start(struct service *s);

/* Drops len bytes of c->rx and opens the window by as much. */
void svc_consume(struct svc_conn *c, u16_t len);

/*
 * Lets the peer send a full TCP_WND ahead, once and for good: for a connection
 * whose data is dealt with as it comes. If it is not after all, lwIP drops
 * what goes beyond SVC_WINDOW, and the peer has to send it again.
 */
void svc_widen(struct svc_conn *c);

/*
 * Sends up to len bytes and returns how many were taken: 0 when there is no
 * room or no memory, work() is then called again. flags: TCP_WRITE_FLAG_*.
 */
u16_t svc_send(struct svc_conn *c, const void *data, u16_t len, u8_t flags);

/*
 * May this datagram be answered? Not when it comes from a port where another
 * such service may sit, which would answer in turn for ever, and not when it
 * was sent to many.
 */
bool svc_may_answer(struct service *s, u16_t port);

/* Sends p as the answer to a datagram and counts; p stays the caller's. */
void svc_answer(struct service *s, struct udp_pcb *pcb, struct pbuf *p,
                const ip_addr_t *addr, u16_t port);

/* Prints the counters, literal name first. */
#define SVC_STATS(line, name, s)                                             \
    do {                                                                     \
        (line)(name "_accepted", (s)->count.accepted);                       \
        (line)(name "_refused", (s)->count.refused);                         \
        (line)(name "_evicted", (s)->count.evicted);                         \
        (line)(name "_stalled", (s)->count.stalled);                         \
        (line)(name "_closed", (s)->count.closed);                           \
        (line)(name "_failed", (s)->count.failed);                           \
        (line)(name "_rx_bytes", (s)->count.rx_bytes);                       \
        (line)(name "_tx_bytes", (s)->count.tx_bytes);                       \
        (line)(name "_udp_in", (s)->count.udp_in);                           \
        (line)(name "_udp_out", (s)->count.udp_out);                         \
        (line)(name "_udp_ignored", (s)->count.udp_ignored);                 \
        (line)(name "_udp_failed", (s)->count.udp_failed);                   \
    } while (0)

#endif
