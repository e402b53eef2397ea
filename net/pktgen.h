/*
 * Packet generator: UDP frames to one host, as fast as the ring takes them or
 * at a given rate. It runs inside the main loop, a burst at a turn, and one
 * run at a time.
 */
#ifndef PKTGEN_H
#define PKTGEN_H

#include <stdint.h>

enum { PKTGEN_PORT = 9009 }; /* where a sink listens, if nobody says else */

/*
 * X(name, "meaning"): of one run, or of all since the start.
 */
#define PKTGEN_COUNTERS(X)                                                   \
    X(sent, "frames that the driver took")                                   \
    X(bytes, "bytes in them")                                                \
    X(ring_full, "bursts that ended because the ring was full")              \
    X(refused, "sends refused: device down, or being rebuilt")               \
    X(late, "frames left out: too far behind the rate")

struct pktgen_counters {
#define X(name, meaning) uint64_t name;
    PKTGEN_COUNTERS(X)
#undef X
};

/*
 * The command. `pktgen ADDR[:PORT] [len=N] [rate=PPS] [time=S|count=N]`
 * begins a run, `pktgen stop` ends it. Says so in the log every second, and
 * in the end by a line that begins with `pktgen: done`.
 */
void pktgen_command(int argc, char *argv[]);

#endif
