/* Between vring_dev.c and vring_check.c: what the driver wrote, checked. */
#ifndef VRING_CHECK_H
#define VRING_CHECK_H

#include "vring_dev.h"

/* Places and initial contents of the three parts; sets the views. */
bool vring_check_memory(struct vring_dev *vr);

/* The flags and indices that only one side may write. */
void vring_check_flags(struct vring_dev *vr);

/* A record of the chain at `head`, or NULL when it cannot be processed. */
struct vring_chain *vring_check_chain(struct vring_dev *vr, uint16_t head);

/* The descriptors are as they were when the chain was first seen. */
void vring_check_unchanged(const struct vring_dev *vr,
                           const struct vring_chain *c);

#endif
