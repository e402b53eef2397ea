/*
 * POLICY, pure: how large a receive buffer ought to be.
 *
 * Small enough that a stream of MTU-sized frames wastes nothing, large enough
 * that large frames need few of them. The size follows an average of the
 * lengths of recent frames, in which each frame weighs 1/64.
 */
#ifndef VNET_RXSIZE_H
#define VNET_RXSIZE_H

#include <stdint.h>

/* Buffers begin at multiples of this: a cache line. */
#define RXSIZE_ALIGN 64u

/* One for each receive queue; zeroed at start. */
struct rxsize {
    uint32_t avg; /* average length, with 8 binary places; 0: none yet */
};

#define RXSIZE_PLACES 8  /* binary places of the average */
#define RXSIZE_WEIGHT 64 /* a new frame counts 1/64 */

/* A frame of len bytes has come, 1 .. 65549. */
static inline void rxsize_add(struct rxsize *s, uint32_t len)
{
    uint32_t value = len << RXSIZE_PLACES;

    if (s->avg == 0)
        s->avg = value;
    else
        s->avg = (s->avg * (RXSIZE_WEIGHT - 1) + value) / RXSIZE_WEIGHT;
}

/* The average in whole bytes, rounded; 0: no frame yet. */
uint32_t rxsize_avg(const struct rxsize *s);

/*
 * The smallest buffer that takes a whole frame of the given MTU: virtio
 * header, Ethernet header with a VLAN tag, MTU; rounded up to a cache line.
 */
uint32_t rxsize_mtu(uint32_t hdr, uint32_t mtu);

/* The same with the header forgotten, as it once was: for measurement. */
uint32_t rxsize_mtu_faulty(uint32_t mtu);

/*
 * The size that fits the average: header and average frame, rounded up to a
 * cache line, between least and most (multiples of a cache line). Where least
 * is the larger, it is the answer: an MTU above a page. No frame yet: least.
 */
uint32_t rxsize_auto(const struct rxsize *s, uint32_t hdr, uint32_t least,
                     uint32_t most);

#endif
