/*
 * A rate of frames kept to the nanosecond, and no bursts to make up for what
 * was missed. Pure: no clock, no timer.
 */
#ifndef PKTGEN_PACE_H
#define PKTGEN_PACE_H

#include <stdint.h>

struct pktgen_pace {
    uint64_t rate;     /* frames a second, 1 .. 100 million */
    uint64_t since_ns; /* a moment, a second ago at most if all goes well */
    uint64_t sent;     /* since then; whoever sends counts them up */
    uint64_t late;     /* frames left out, ever */
};

/* The first frame is due at once. */
void pktgen_pace_start(struct pktgen_pace *p, uint64_t rate, uint64_t now);

/* Frames that are due now. Those of a pause of more than 100 ms, if they are
 * more than `burst`, are left out and counted as late. */
uint64_t pktgen_pace_due(struct pktgen_pace *p, uint64_t now, uint64_t burst);

/* When the next one is due. */
uint64_t pktgen_pace_next(const struct pktgen_pace *p);

#endif
