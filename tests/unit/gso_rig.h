/*
 * Software GSO alone: frames as lwIP makes them go in, what comes out is
 * kept in one piece, and is cut up again as a device does it.
 */
#ifndef GSO_RIG_H
#define GSO_RIG_H

#include "gro_rig.h"
#include "gso.h"

enum { GSO_GOT_MAX = 256 };

/* What was handed on. */
struct gso_got {
    uint8_t *frame; /* in one piece */
    uint32_t len;
    unsigned nseg; /* as given to the driver */
    bool merged;
    struct vnet_tx tx; /* if merged; without its segments */
};

struct gso_rig {
    struct gso gso;
    struct gso_got got[GSO_GOT_MAX];
    unsigned count;
    struct pbuf *sent[1024]; /* lwIP's own references, in order */
    unsigned nsent;
    uint16_t id; /* of the next IPv4 packet */
};

extern struct gso_rig gs;

/* A device that can cut up everything. */
void gso_begin(void);
/* Nothing may be held or left. */
void gso_end(void);

/* A frame in pieces of these lengths (0 ends; then the rest) is sent. True:
 * it is pending, or went with what was; else it is among the results. */
bool gso_in(const void *frame, uint32_t len, const uint16_t *pieces);

/* The same for one made of *s, with an identification of its own: headers
 * in one piece, payload in another. */
bool gso_in_spec(const struct gro_spec *s);

/* A data segment of one connection. */
struct gro_spec gso_base(uint32_t seq, uint16_t payload);

/* n of them that follow each other; all must be taken. */
void gso_burst(struct gro_spec s, unsigned n);

/* The n-th result is the merged frame that *s describes, made of segments of
 * `size`, with the first one's identification. */
void gso_check(unsigned n, const struct gro_spec *s, uint16_t size);

/* The n-th result is the frame, unchanged. */
void gso_check_same(unsigned n, const void *frame, uint32_t len);

#endif
