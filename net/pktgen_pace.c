/*
 * A rate of frames. See pktgen_pace.h.
 *
 * Frame n since a moment is due n / rate seconds after it. The moment is moved
 * on by whole seconds, so that no rounding adds up and nothing overflows.
 */
#include "pktgen_pace.h"

#define NS_PER_S UINT64_C(1000000000)
#define LATE_LEAST (NS_PER_S / 10)
#define LATE_MOST (10 * NS_PER_S) /* longer pauses count as this */

void pktgen_pace_start(struct pktgen_pace *p, uint64_t rate, uint64_t now)
{
    p->rate = rate;
    p->since_ns = now;
    p->sent = 0;
    p->late = 0;
}

uint64_t pktgen_pace_next(const struct pktgen_pace *p)
{
    return p->since_ns + (p->sent * NS_PER_S + p->rate - 1) / p->rate;
}

static uint64_t frames_within(const struct pktgen_pace *p, uint64_t ns)
{
    return ns * p->rate / NS_PER_S;
}

/* Held up by the network or by the loop: begin again from here? */
static void leave_out(struct pktgen_pace *p, uint64_t now, uint64_t burst)
{
    uint64_t ns = now - pktgen_pace_next(p);
    uint64_t frames = frames_within(p, ns < LATE_MOST ? ns : LATE_MOST);

    if (ns <= LATE_LEAST || frames <= burst)
        return;
    p->late += frames;
    p->since_ns = now;
    p->sent = 0;
}

uint64_t pktgen_pace_due(struct pktgen_pace *p, uint64_t now, uint64_t burst)
{
    while (p->sent >= p->rate) {
        p->since_ns += NS_PER_S;
        p->sent -= p->rate;
    }
    if (now < pktgen_pace_next(p))
        return 0;
    leave_out(p, now, burst);
    return frames_within(p, now - p->since_ns) + 1 - p->sent;
}
