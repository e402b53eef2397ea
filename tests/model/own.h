/*
 * Memory that the device owns: two writable buffers must not overlap, the
 * driver must not touch what is writable, nor change what is readable, nor
 * free either (2.6, 3.3.1).
 */
#ifndef OWN_H
#define OWN_H

#include "vring_dev.h"

/* The device owns the segment from now on. */
void own_take(struct vring_seg *s, bool scribble);

/* The driver owns it again. `check` is false after a reset, and where the
 * device itself has written. */
void own_give(struct vring_seg *s, bool check);

/* Rings in use are watched, so that none is freed under the device. */
void own_watch(struct vring_dev *vr);
void own_unwatch(struct vring_dev *vr);

#endif
