/*
 * The other end of TCP connections to the discard server, for measurements:
 * it sends full segments in order, as far as the announced window goes, and
 * reads acknowledgements. Nothing is lost on this wire, so it never repeats.
 */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include <stdbool.h>
#include <stdint.h>

#include "dev.h"

#define BENCH_FLOWS_MAX 16u

struct bench_flow {
    uint32_t seq;   /* next byte to send */
    uint32_t acked; /* up to here */
    uint32_t ack;   /* next byte expected */
    uint32_t window;
    unsigned scale; /* of the windows that it announces */
    bool open;
};

struct bench_peer {
    struct bench_dev *device;
    uint32_t payload; /* bytes in each segment */
    uint32_t flows;
    bool push;        /* each segment ends what there is to say */
    uint32_t next;    /* flow to send on */
    uint64_t acks;    /* segments that came back */
    struct bench_flow flow[BENCH_FLOWS_MAX];
};

/* Makes itself known by ARP, and asks for all connections. */
void bench_peer_greet(struct bench_peer *p);

/* Reads what the driver has sent; answers the handshake. */
void bench_peer_listen(struct bench_peer *p);

bool bench_peer_ready(const struct bench_peer *p);

/* One segment of the flow whose turn it is, if window and ring have room. */
bool bench_peer_send(struct bench_peer *p);

bool bench_peer_all_acked(const struct bench_peer *p);

#endif
