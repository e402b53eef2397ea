/*
 * Result codes of drivers/ and of the platform.
 *
 * Functions return V_OK (0) or one of the negative codes below; a code is
 * handed up unchanged. lwIP owns the ERR_* names.
 */
#ifndef VERR_H
#define VERR_H

enum verr {
    V_OK = 0,
    V_NOMEM = -1,       /* no memory; the caller may try again later */
    V_FULL = -2,        /* the ring has no room; try again after a reclaim */
    V_NODEV = -3,       /* nothing there, or not a device for this driver */
    V_UNSUPPORTED = -4, /* the device lacks something that is needed */
    V_REFUSED = -5,     /* the device did not accept what was asked for */
    V_TIMEOUT = -6,     /* the device did not answer before the deadline */
    V_BADDEV = -7,      /* what the device says contradicts itself */
    V_INVAL = -8,       /* the caller's argument is out of range */
    V_DOWN = -9,        /* the device is stopped, being rebuilt, or gone */
};

/* The code in words, for messages; never NULL. */
const char *verr_name(int err);

#endif
