/*
 * The whole of net/ over the real driver and the model device, and the other
 * end of the wire: a peer that speaks just enough ARP, ICMP, UDP and TCP.
 *
 *     rig_begin(MODEL_FEATURES);
 *     peer_open(&p, 7);
 *     peer_send(&p, "abc", 3);
 *     rig_run(20);
 *     ... p.got holds what came back ...
 *     rig_end();
 */
#ifndef NET_RIG_H
#define NET_RIG_H

#include "lwip/netif.h"
#include "model.h"
#include "netif_vnet.h"
#include "vnet.h"

#define RIG_IP UINT32_C(0x0a00020f)      /* 10.0.2.15, ours */
#define RIG_PEER_IP UINT32_C(0x0a000202) /* 10.0.2.2 */

struct rig {
    struct model *m;
    struct vnet *v;
    struct netif *netif;
    /* What arrived at the other end. */
    unsigned icmp_replies;
    unsigned arp_requests;
    unsigned udp_count;
    uint8_t udp[65536]; /* the last datagram's payload */
    uint32_t udp_len;
    uint16_t udp_sport;
    unsigned bad_csum; /* frames with a wrong TCP, UDP or ICMP checksum */
};

extern struct rig rig;

/* The other end of a TCP connection. */
struct peer {
    struct peer *next;
    uint16_t sport;
    uint16_t dport;
    uint16_t wnd; /* announced, not scaled */
    bool deaf;    /* takes and acknowledges nothing */
    bool connected;
    bool got_fin;
    bool got_rst;
    uint32_t seq;   /* next byte to send */
    uint32_t rcv;   /* next byte expected */
    uint32_t acked; /* what the other side has acknowledged */
    uint32_t their_wnd;
    unsigned acks; /* segments that arrived */
    uint8_t *got;  /* bytes that arrived */
    uint32_t got_len;
    uint32_t got_room;
};

/* Opens the driver on a new device, starts the stack with RIG_IP, and lets
 * it learn the peer's address. config may be NULL. */
void rig_begin(uint64_t features, const struct vnet_config *config);

/* Takes everything down; nothing may be left. */
void rig_end(void);

/* A few passes of the main loop, and the wire, until nothing moves. */
void rig_turn(void);

/* That much time in steps of 5 ms. */
void rig_run(unsigned ms);

/* Delivers a frame to the device. */
void rig_frame(const void *frame, uint32_t len);

/* IPv4 from the peer: addresses and checksums are filled in. */
void rig_ip4(uint8_t proto, const void *l4, uint32_t len);
/* The same as one fragment: offset in bytes, more to follow. */
void rig_fragment(uint8_t proto, uint16_t id, const void *data, uint32_t len,
                  uint16_t offset, bool more);
void rig_udp(uint16_t sport, uint16_t dport, const void *data, uint32_t len);
void rig_ping(uint32_t len);
void rig_arp(uint16_t op, uint32_t target);

void peer_open(struct peer *p, uint16_t dport);
void peer_open_window(struct peer *p, uint16_t dport, uint16_t wnd);
void peer_send(struct peer *p, const void *data, uint32_t len);
/* Any segment: flags, sequence number relative to p->seq, options. */
void peer_segment(struct peer *p, uint8_t flags, int32_t ahead,
                  const void *opt, unsigned optlen, const void *data,
                  uint32_t len);
void peer_ack(struct peer *p);
void peer_fin(struct peer *p);
void peer_reset(struct peer *p);
void peer_free(struct peer *p);
void peer_free_all(void);
/* A segment from the wire, for whichever peer it is. */
void peer_input(const uint8_t *tcp, uint32_t len);

/* The stack's counter of this name. */
uint64_t rig_stat(const char *name);

/* Bytes that are easily told from each other. */
void rig_pattern(uint8_t *p, uint32_t len, uint32_t seed);

static inline void rig_put16(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

static inline void rig_put32(uint8_t *p, uint32_t v)
{
    rig_put16(p, v >> 16);
    rig_put16(p + 2, v);
}

static inline uint16_t rig_get16(const uint8_t *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t rig_get32(const uint8_t *p)
{
    return (uint32_t)rig_get16(p) << 16 | rig_get16(p + 2);
}

#endif
