/*
 * Byte queue limits: how many bytes in the transmit ring keep the device
 * busy from one completion to the next, and no more. Pure; the algorithm of
 * Linux's dynamic queue limits.
 *
 * The limit grows when the device ran dry although a sender had been held
 * back: by as much as it could have used. It shrinks when, over a whole
 * period, some bytes were always left when they were looked at: by the least
 * that was ever left, which nobody needed.
 *
 *     if (!bql_full(&b))
 *         bql_queue(&b, len);     a frame is in the ring
 *     ...
 *     bql_done(&b, len);          for each that the device has finished
 *     bql_adapt(&b, now);         once for all that were
 *
 * Byte counts run freely over 32 bits; no more than 2^31 are on the way.
 */
#ifndef VNET_BQL_H
#define VNET_BQL_H

#include <stdbool.h>
#include <stdint.h>

struct bql {
    uint32_t limit;  /* bytes; one frame may go above it */
    uint32_t queued; /* bytes so far */
    uint32_t done;
    uint32_t last;   /* bytes of the newest frame */
    uint32_t min;
    uint32_t max;

    /* as they were when bql_adapt was called last */
    uint32_t seen_queued;
    uint32_t seen_done;
    uint32_t seen_last;
    uint32_t seen_over; /* bytes above the limit */

    uint32_t slack;      /* the least in this period; UINT32_MAX: none yet */
    uint64_t since_ns;   /* when the period began */
};

/* A period without need that is long enough to shrink. */
#define BQL_PERIOD_NS UINT64_C(1000000000)

/* The limit begins at `first` and stays in min .. max, bytes. What is on the
 * way stays counted. */
void bql_restart(struct bql *b, uint32_t first, uint32_t min, uint32_t max,
                 uint64_t now_ns);

static inline uint32_t bql_in_flight(const struct bql *b)
{
    return b->queued - b->done;
}

static inline bool bql_full(const struct bql *b)
{
    return bql_in_flight(b) > b->limit;
}

static inline void bql_queue(struct bql *b, uint32_t len)
{
    b->queued += len;
    b->last = len;
}

static inline void bql_done(struct bql *b, uint32_t len)
{
    b->done += len;
}

/* Learns from what was done since the last call. True: another limit. */
bool bql_adapt(struct bql *b, uint64_t now_ns);

#endif
