/*
 * Software GRO: segments of one TCP connection that arrive in one turn of the
 * loop reach lwIP as one frame. For devices that merge nothing themselves.
 *
 * Each interface owns a struct gro; it holds frames between vnet_poll and the
 * gro_flush that follows, never longer. Memory is constant and nothing is
 * allocated. gro.c keeps the table of flows, gro_seg.c knows the headers.
 */
#ifndef GRO_H
#define GRO_H

#include <stdbool.h>
#include <stdint.h>

#include "lwip/pbuf.h"

/* X(name, "meaning"); uint64_t, summed over all interfaces since start. */
#define GRO_STATS(X)                                                        \
    X(gro_in, "TCP segments looked at")                                     \
    X(gro_merged, "of them, joined to one before")                          \
    X(gro_out, "frames of several segments handed up")                      \
    X(gro_flush_turn, "held frames handed up: end of the turn")             \
    X(gro_flush_push, "held frames handed up: PSH")                         \
    X(gro_flush_short, "held frames handed up: a segment not full")         \
    X(gro_flush_size, "held frames handed up: no room for the next")        \
    X(gro_flush_order, "held frames handed up: gap, repeat or older ACK")   \
    X(gro_flush_header, "held frames handed up: another header followed")   \
    X(gro_flush_flags, "held frames handed up: pure ACK, SYN, FIN, RST")    \
    X(gro_flush_csum, "held frames handed up: a bad checksum followed")     \
    X(gro_flush_other, "held frames handed up: fragment or IP options")     \
    X(gro_flush_table, "held frames handed up: place needed")               \
    X(gro_csum_ok, "TCP checksums verified here, good")                     \
    X(gro_csum_bad, "segments of a bad checksum, left to the stack")

struct gro_stats {
#define X(name, meaning) uint64_t name;
    GRO_STATS(X)
#undef X
};

extern struct gro_stats gro_stats;

enum {
    GRO_FLOWS = 16,      /* connections that have a frame held */
    GRO_PIECES_MAX = 64, /* pbufs in a frame handed up */
};

/* A TCP segment in its frame, whose headers are all in the first pbuf. */
struct gro_seg {
    struct pbuf *p;
    uint8_t *ip;
    uint8_t *tcp;
    uint32_t ports; /* both, as they lie in memory */
    uint32_t seq;
    uint16_t hdr_len; /* Ethernet to TCP */
    uint16_t payload;
    uint16_t mss; /* payload of each wire segment but the last */
    bool ip6;
    bool plain;    /* data and nothing else: may be merged with others */
    bool push;
    bool verified; /* the device vouches for the TCP checksum */
    bool checked;  /* gro_verify has been here, and found ... */
    bool good;     /* ... both checksums good */
};

/* A frame held, and what would go on where it ends. */
struct gro_flow {
    struct gro_seg first;
    struct pbuf *last;
    uint32_t next_seq;
    uint16_t len; /* of the whole frame */
    uint16_t pieces;
    bool merged;
};

struct gro {
    struct gro_flow flow[GRO_FLOWS]; /* the first `count` are in use */
    unsigned count;
    unsigned victim; /* who goes when the table is full */
    /* Takes a frame; verified: its TCP or UDP checksum is known good. */
    void (*deliver)(void *arg, struct pbuf *p, bool verified);
    void *arg;
};

/*
 * A received frame, of which the first 34 bytes (IPv4) or 54 bytes (IPv6)
 * are in its first pbuf. Goes to deliver() at once, or after those before it,
 * or as part of one frame with them. gso_size: 0, or the payload of each wire
 * segment that the device made it from.
 */
void gro_input(struct gro *g, struct pbuf *p, bool verified,
               uint16_t gso_size);

/* Hands up all that is held. */
void gro_flush(struct gro *g);

/* Frees all that is held. */
void gro_drop(struct gro *g);

/* ---- gro_seg.c -------------------------------------------------------- */

enum gro_kind {
    GRO_NOT_TCP, /* or nothing that the stack would take */
    GRO_OPAQUE,  /* may belong to any connection */
    GRO_TCP,     /* *s is filled in */
};

/* What the frame is. */
enum gro_kind gro_parse(struct gro_seg *s, struct pbuf *p, bool verified,
                        uint16_t gso_size);

/* Not full: by the rule of equal pieces, nothing may follow it. */
bool gro_is_short(const struct gro_seg *s);

bool gro_same_flow(const struct gro_seg *a, const struct gro_seg *b);

/* Do all fields agree that hold for a merged frame as a whole? */
bool gro_same_headers(const struct gro_seg *a, const struct gro_seg *b);

/* Is b's acknowledgement older than a's? */
bool gro_ack_older(const struct gro_seg *a, const struct gro_seg *b);

/* Cuts off Ethernet's padding, and makes sure of the checksums. */
bool gro_verify(struct gro_seg *s);

/* The header of `a` takes over what is newer in the header of `b`. */
void gro_take_header(struct gro_seg *a, const struct gro_seg *b);

/* The IP header for a frame of `len` bytes in all. */
void gro_set_len(struct gro_seg *s, uint16_t len);

#endif
