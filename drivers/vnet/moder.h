/*
 * POLICY, pure: samples of the traffic to a moderation profile.
 *
 * Dynamic interrupt moderation as published (the DIM algorithm): a search by
 * steps. Every 64 wake-ups the rates since the last decision are compared
 * with those before it: bytes first, then packets, then wake-ups, of which
 * fewer are better; a tenth is what counts as a difference. While things get
 * better the search goes on in its direction, else it turns; where both
 * sides are worse it parks until the load changes; when it has walked for
 * too long it rests.
 *
 * No clock, no ring, no log: the caller brings samples, and applies the
 * answer. One for each queue, receive and transmit.
 */
#ifndef VNET_MODER_H
#define VNET_MODER_H

#include <stdbool.h>
#include <stdint.h>

#define MODER_PROFILES 5u
#define MODER_EVENTS 64u /* wake-ups for a decision */

enum moder_dir { MODER_RX, MODER_TX };

/* Tell after so many packets or so long a time, whichever comes first. */
struct moder_profile {
    uint16_t usecs;
    uint16_t packets;
};

/* Counters since any beginning; none ever goes back. */
struct moder_sample {
    uint64_t ns;
    uint64_t packets;
    uint64_t bytes;
    uint64_t events; /* wake-ups: interrupts, or the timer in their place */
};

enum moder_state {
    MODER_PARKED, /* on top: both sides are worse, or the load is as it was */
    MODER_TIRED,  /* walked about for too long: rests */
    MODER_RIGHT,  /* towards fewer interrupts */
    MODER_LEFT,   /* towards more */
    MODER_STATES
};

enum moder_phase {
    MODER_BEGIN,   /* the next sample begins a measurement */
    MODER_MEASURE, /* one is under way */
    MODER_APPLY,   /* waiting for moder_applied */
};

/* Per millisecond, rounded up. */
struct moder_rates {
    uint64_t bytes;
    uint64_t packets;
    uint64_t events;
};

struct moder {
    struct moder_sample start; /* of the measurement */
    struct moder_rates before; /* what the next one is compared with */
    uint64_t decisions;
    uint64_t changes;          /* of them, another profile */
    uint8_t dir;               /* enum moder_dir */
    uint8_t phase;             /* enum moder_phase */
    uint8_t state;             /* enum moder_state */
    uint8_t index;             /* of the profile: 0 .. MODER_PROFILES - 1 */
    uint8_t steps_right;       /* since it last turned that way */
    uint8_t steps_left;
    uint8_t tired;             /* steps since it last parked on top */
};

/* Begins with the second profile, as published. */
void moder_init(struct moder *m, enum moder_dir dir);

/*
 * A sample, taken at a wake-up. True: the profile is another one now; samples
 * are ignored until moder_applied, so that what is measured next was measured
 * under it.
 */
bool moder_add(struct moder *m, const struct moder_sample *s);
void moder_applied(struct moder *m);

struct moder_profile moder_profile(const struct moder *m);

/* "parked", "tired", "right", "left". */
const char *moder_state_name(enum moder_state state);

#endif
