/*
 * Rates as they are printed: of frames as they lie in memory, without FCS,
 * preamble and gap.
 */
#ifndef TRAFFIC_RATE_H
#define TRAFFIC_RATE_H

#include <stdint.h>

static inline uint64_t traffic_per_second(uint64_t packets, uint64_t us)
{
    return us ? packets * 1000000 / us : 0;
}

/* Tenths of Mbit/s. */
static inline uint64_t traffic_mbit10(uint64_t bytes, uint64_t us)
{
    return us ? bytes * 80 / us : 0;
}

#endif
