/* Sleeping when there is nothing to do, and the account of it. */
#ifndef IDLE_H
#define IDLE_H

#include <stdbool.h>
#include <stdint.h>

struct idle_stats {
    uint64_t cycles; /* of the time stamp counter, spent halted */
    uint64_t halts;
};
extern struct idle_stats idle_stats;

/*
 * Halts until an interrupt, for max_ns at most, and no longer than to the
 * earliest time asked for by plat_wakeup_at; all such requests are forgotten
 * afterwards. Does not halt at all when pending() says so; that is asked with
 * interrupts off.
 */
void idle_wait(uint64_t max_ns, bool (*pending)(void));

#endif
