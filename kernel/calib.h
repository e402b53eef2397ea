/* The rate of the time stamp counter, measured against another clock. */
#ifndef CALIB_H
#define CALIB_H

#include <stdint.h>

struct calib {
    uint64_t hz;       /* 0: no usable clock was found */
    uint64_t error_ppm; /* bound of the error */
    const char *clock; /* what it was measured against */
};

/* Tries HPET, ACPI PM timer and PIT in this order. Takes some 20 ms. */
struct calib calib_tsc(void);

#endif
