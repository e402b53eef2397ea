/*
 * The device's side of a split virtqueue. Virtio 1.3, section 2.7.
 *
 * Five verbs: take a chain, give it back untaken, put it into the used ring,
 * publish, decide about the interrupt. Everything the driver must keep is
 * checked when a chain is first seen and when it is given back; memory that
 * the device owns is poisoned (writable) or fingerprinted (readable) for as
 * long as it does.
 */
#ifndef VRING_DEV_H
#define VRING_DEV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fault.h"
#include "virtio/spec_ring.h"

struct vring_seg {
    uint8_t *p; /* the device's view */
    uint64_t addr;
    uint32_t len;
    bool write;
    uint16_t desc;  /* its descriptor */
    uint64_t print; /* fingerprint of what the driver put there */
};

/* A chain that the device owns. */
struct vring_chain {
    uint16_t head;
    uint16_t nseg;
    uint16_t nout;    /* of them readable, in front */
    bool taken;
    bool scribbled;   /* the model itself overwrote the descriptors */
    uint32_t readable; /* bytes */
    uint32_t writable;
    struct vring_seg seg[]; /* nseg */
};

struct vring_dev {
    /* set by the caller before vring_enable */
    uint16_t index;
    bool event_idx;
    bool indirect;
    bool unchecked; /* writable buffers may change: the device does it */
    bool scribble; /* overwrite writable buffers as soon as they are seen */
    struct fault_set *faults;

    /* set by vring_enable */
    bool enabled;
    uint16_t size;
    uint64_t desc_addr;
    uint64_t avail_addr;
    uint64_t used_addr;
    struct virtq_desc *desc;
    struct virtq_avail *avail;
    struct virtq_used *used;
    struct vring_chain **owned; /* by head; NULL: the driver's */
    uint8_t *busy;              /* by descriptor */
    uint16_t *queue;            /* heads seen and not taken, in order */
    struct vring_chain *scratch; /* room for the longest chain */

    /* as it runs */
    uint16_t queued;
    uint16_t seen_idx;   /* next available slot to look at */
    uint16_t used_idx;   /* next used slot to fill */
    uint16_t signalled;  /* used_idx at the last interrupt decision */
    uint16_t kicked;     /* seen_idx at the last doorbell */
    uint16_t outstanding;
    bool broken;         /* a rule was broken: nothing is processed any more */
    bool polling;        /* doorbells are not wanted */
    struct vring_dev *next; /* list of enabled rings */
};

/* Starts on a ring of the driver's at these device addresses. */
void vring_enable(struct vring_dev *vr, uint16_t size, uint64_t desc,
                  uint64_t avail, uint64_t used);

/* Reset: gives back everything without using it. */
void vring_disable(struct vring_dev *vr);

/* Looks at what became available; checks it. */
void vring_see(struct vring_dev *vr);

/* Chains that vring_take would return. */
static inline unsigned vring_waiting(const struct vring_dev *vr)
{
    return vr->queued;
}

/* The next chain (or the n-th), or NULL. */
struct vring_chain *vring_take(struct vring_dev *vr);
struct vring_chain *vring_take_nth(struct vring_dev *vr, unsigned n);

/* Puts the chain back in front of the others. */
void vring_untake(struct vring_dev *vr, struct vring_chain *c);

/* Copies between a chain and memory of the model; returns the bytes. */
uint32_t vring_read(const struct vring_chain *c, uint32_t off, void *out,
                    uint32_t len);
uint32_t vring_write(const struct vring_chain *c, uint32_t off,
                     const void *in, uint32_t len);

/* Done with the chain: a used entry. Seen by the driver after publishing. */
void vring_put(struct vring_dev *vr, struct vring_chain *c, uint32_t len);
void vring_publish(struct vring_dev *vr);

/* Does the driver want an interrupt for what was published? */
bool vring_wants_interrupt(struct vring_dev *vr);

/* Doorbells wanted or not. True: look again, more is available already. */
bool vring_want_doorbell(struct vring_dev *vr, bool on);

/* A doorbell rang. Returns false when nothing had become available. */
bool vring_doorbell(struct vring_dev *vr);

/* A doorbell is due that has not rung: the driver must not sleep now. */
bool vring_doorbell_missing(const struct vring_dev *vr);

#endif
