/*
 * Software GRO alone: TCP frames made to order go in, what comes out is kept.
 */
#ifndef GRO_RIG_H
#define GRO_RIG_H

#include "gro.h"

enum { GRO_GOT_MAX = 4096, GRO_FRAME_MAX = 66000 };

/* A frame to make; zero means what a frame usually has. */
struct gro_spec {
    bool ip6;
    uint8_t mac;  /* last byte of the source's */
    uint8_t host; /* last byte of the source address */
    uint8_t tos;
    uint8_t ttl;
    uint16_t frag; /* IPv4: flags and offset */
    uint8_t next;  /* protocol, next header */
    uint8_t ihl;   /* IPv4: words, behind 5 of them no-operation options */
    uint32_t label;
    uint16_t sport;
    uint16_t dport;
    uint32_t seq;
    uint32_t ack;
    uint16_t wnd;
    uint16_t flags; /* with the reserved bits above; 0: ACK */
    uint8_t opt[40];
    uint8_t optlen;
    uint16_t payload; /* bytes; their values follow from port and sequence */
    uint16_t pad;     /* bytes behind the packet */
    bool bad_csum;
    bool bad_ip_csum;
};

/* What was delivered. */
struct gro_got {
    uint8_t *frame; /* in one piece */
    uint32_t len;
    unsigned pieces;
    bool verified;
    bool merged;
};

struct gro_rig {
    struct gro gro;
    struct gro_got got[GRO_GOT_MAX];
    unsigned count;
    unsigned live; /* pbufs not freed */
};

extern struct gro_rig gr;

void gro_begin(void);
/* Nothing may be held or left. */
void gro_end(void);
/* Forgets what was delivered. */
void gro_forget(void);

/* Makes the frame; returns its length. */
uint32_t gro_make(uint8_t *out, const struct gro_spec *s);

/* The frame as a chain of pbufs of `piece` bytes (0: one) arrives. */
void gro_in(const void *frame, uint32_t len, uint32_t piece, bool verified,
            uint16_t gso_size);

/* Makes it and lets it arrive, checksum not known. */
void gro_in_spec(const struct gro_spec *s);

/* The n-th delivered frame is that of *s, but for its TCP checksum. */
void gro_check(unsigned n, const struct gro_spec *s);

#endif
