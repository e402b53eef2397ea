/*
 * A virtqueue as the driver uses it. Virtio 1.3, sections 2.6 to 2.8.
 *
 * One producer and consumer, one context, no locks. The caller owns the
 * storage: `struct virtq`, the ring memory that the device sees, and the
 * shadow that it does not. Only the file that implements the ring looks
 * inside `struct virtq`.
 *
 * Typical sequence:
 *
 *     while (virtq_room(vq) >= n && have_work)
 *         virtq_add(vq, segs, out, in, cookie);     the device's from here on
 *     if (virtq_publish(vq))                        surely visible to it now
 *         ops->notify(dev, index);                  one doorbell
 *     ...
 *     while ((cookie = virtq_get(vq, &len)) != NULL)
 *         finish(cookie, len);
 *     while (virtq_arm(vq, 0))                      interrupts on ...
 *         look again;                               ... unless work came
 *     virtq_disarm(vq);                             interrupts off
 *
 * Trust: the driver never reads back a descriptor, an index or a length from
 * memory that the device can write, except the used ring's index, id and
 * length. Each of these is read once and checked against the shadow.
 */
#ifndef VIRTIO_VIRTQ_H
#define VIRTIO_VIRTQ_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "virtio/spec_ring.h"

/* A run of bytes under the address that the device uses. */
struct virtq_seg {
    uint64_t addr;
    uint32_t len; /* 1 .. 2^32-1; a zero length is refused */
};

/* Why a ring cannot be used any more; the words of virtq_why(). */
enum virtq_fault {
    VIRTQ_OK,
    VIRTQ_BAD_INDEX, /* used.idx moved by more than is outstanding */
    VIRTQ_BAD_ID,    /* used id above the ring size */
    VIRTQ_NOT_OURS,  /* used id is not the head of an outstanding chain */
};

/*
 * What virtq_get stores in *len when the device claims to have written more
 * than the chain can hold. The chain itself is sound and is ours again.
 */
#define VIRTQ_LEN_BAD UINT32_MAX

/* Per descriptor, private to the driver. */
struct virtq_shadow {
    void *cookie;      /* head of an outstanding chain: not NULL */
    uint32_t writable; /* head: bytes the device may write in the chain */
    uint16_t next;     /* free list, or next descriptor of the chain */
    uint16_t count;    /* head: descriptors in the chain */
};

/* Private to virtq_split.c, here only so that a caller can own it. */
struct virtq {
    /* read-only after virtq_init */
    struct virtq_desc *desc;
    struct virtq_avail *avail;
    struct virtq_used *used;
    _Atomic uint16_t *used_event;  /* we write: when to interrupt us */
    _Atomic uint16_t *avail_event; /* device writes: when to notify it */
    struct virtq_shadow *shadow;
    uint64_t desc_dma;
    uint16_t size;
    uint16_t mask;
    uint16_t index; /* queue number on its device */
    bool event_idx;

    /* written by the driver as it runs */
    uint16_t free_head;
    uint16_t free_count;
    uint16_t avail_idx; /* next slot to fill */
    uint16_t visible;   /* avail.idx as the device sees it */
    uint16_t kicked;    /* avail.idx at the last decision to notify */
    uint16_t used_idx;  /* next used slot to look at */
    uint16_t used_seen; /* used.idx when last read and checked */
    uint16_t in_flight; /* chains added and not yet got back */
    uint16_t drained;   /* next descriptor for virtq_drain to look at */
    uint8_t fault;      /* enum virtq_fault; not 0: the ring is broken */
};

/* Bytes of ring memory for n descriptors (device visible; align to 4096). */
size_t virtq_mem_size(uint16_t n);

/*
 * Makes an empty ring of n descriptors, n a power of two in 1 .. 32768.
 *
 * mem, mem_dma  zeroed by us; virtq_mem_size(n) bytes, contiguous
 * shadow        n entries
 * event_idx     EVENT_IDX was negotiated
 * Interrupts are off until the first virtq_arm. Returns V_OK or V_INVAL.
 */
int virtq_init(struct virtq *vq, uint16_t index, uint16_t n, void *mem,
               uint64_t mem_dma, struct virtq_shadow *shadow, bool event_idx);

/* The storage given to virtq_init, for whoever has to free it. */
void *virtq_mem(const struct virtq *vq);
struct virtq_shadow *virtq_shadow(const struct virtq *vq);

/* What the transport tells the device. */
uint16_t virtq_size(const struct virtq *vq);
uint16_t virtq_index(const struct virtq *vq);
uint64_t virtq_desc_dma(const struct virtq *vq);
uint64_t virtq_driver_dma(const struct virtq *vq); /* the available ring */
uint64_t virtq_device_dma(const struct virtq *vq); /* the used ring */

/* Free descriptors: a chain of up to this many segments can be added. */
uint16_t virtq_room(const struct virtq *vq);

/* Chains that the device has, published or not. */
uint16_t virtq_in_flight(const struct virtq *vq);

/* Is the device done with every chain that it can see? For a reading, not for
 * a decision: nothing is checked. */
bool virtq_dry(const struct virtq *vq);

/*
 * Adds one chain: first `out` segments that the device reads, then `in`
 * segments that it writes. The memory belongs to the device until virtq_get
 * hands the cookie back; the device sees the chain after virtq_publish at the
 * latest (virtq_get makes it visible, too).
 *
 * cookie  not NULL
 * Returns V_OK; V_FULL when the segments do not fit; V_INVAL for an empty
 * chain or segment; V_DOWN when the ring is broken. On error nothing changed.
 */
int virtq_add(struct virtq *vq, const struct virtq_seg *seg, unsigned out,
              unsigned in, void *cookie);

/* virtq_add for one segment that the device writes: a receive buffer. */
int virtq_add_in(struct virtq *vq, uint64_t addr, uint32_t len, void *cookie);

/*
 * Makes every chain added so far visible to the device. Returns true when
 * the device wants to be notified (2.7.13); the doorbell is the caller's.
 */
bool virtq_publish(struct virtq *vq);

/*
 * Takes back the next chain that the device is done with, in the order of
 * the device. Returns its cookie and stores the bytes written (or
 * VIRTQ_LEN_BAD) in *len; NULL when there is none, or the ring is broken.
 */
void *virtq_get(struct virtq *vq, uint32_t *len);

/* True when virtq_get would return something now. */
bool virtq_pending(struct virtq *vq);

/*
 * Asks for an interrupt once `after` more chains than the next one are used
 * (0: at the next one; without EVENT_IDX always at the next one). Returns
 * true for "look again": something is there already, and no interrupt may
 * come for it.
 *
 * The race: a chain used between our last look and the arming causes no
 * interrupt. Therefore arming stores the wish first and reads the used index
 * afterwards, with nothing reordered between the two, while the device
 * stores the index first and reads the wish afterwards: at least one of the
 * two sees the other's store (2.7.7.2, 2.7.14).
 */
bool virtq_arm(struct virtq *vq, uint16_t after);

/* Interrupts off, as far as the ring can say it. Late ones do no harm. */
void virtq_disarm(struct virtq *vq);

/*
 * Tear-down: takes the chains that are still outstanding, one a call, until
 * NULL. Only when the device no longer uses the ring (after a reset). Works
 * on a broken ring, too. Afterwards the ring needs virtq_init.
 */
void *virtq_drain(struct virtq *vq);

/* VIRTQ_OK, or why the ring is broken; and the reason in words. */
enum virtq_fault virtq_fault(const struct virtq *vq);
const char *virtq_why(enum virtq_fault fault);

#endif
