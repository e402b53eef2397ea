/* The clock: nanoseconds since start, by the time stamp counter. */
#ifndef TIME_H
#define TIME_H

#include <stdint.h>

/*
 * Finds the rate of the time stamp counter and starts the clock. tsc_hz: the
 * rate if somebody knows better, else 0. Logs where the rate is from.
 */
void clock_init(uint64_t tsc_hz);

/* Never goes back; 0 before clock_init. */
uint64_t clock_ns(void);

uint64_t clock_tsc_hz(void);

/* Cycles of the counter in ns, and ns in cycles. */
uint64_t clock_cycles(uint64_t ns);
uint64_t clock_cycles_ns(uint64_t cycles);

#endif
