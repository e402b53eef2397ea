/*
 * Virtio 1.3, section 2.7: the split virtqueue in memory.
 *
 * All fields are little endian. The words that the device writes, and the
 * indices and flags that it reads while we run, are C11 atomics; everything
 * else is published by them.
 */
#ifndef VIRTIO_SPEC_RING_H
#define VIRTIO_SPEC_RING_H

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>

#define VIRTQ_SIZE_MAX 32768u

/* 2.7.5 The Virtqueue Descriptor Table */
enum virtq_desc_flags {
    VIRTQ_DESC_F_NEXT = 1,
    VIRTQ_DESC_F_WRITE = 2,
    VIRTQ_DESC_F_INDIRECT = 4,
};

struct virtq_desc {
    uint64_t addr;
    uint32_t len;
    uint16_t flags;
    uint16_t next;
};
static_assert(sizeof(struct virtq_desc) == 16, "2.7.5");

/* 2.7.6 The Virtqueue Available Ring: written by the driver */
#define VIRTQ_AVAIL_F_NO_INTERRUPT 1u

struct virtq_avail {
    _Atomic uint16_t flags;
    _Atomic uint16_t idx;
    uint16_t ring[]; /* then used_event, with EVENT_IDX */
};
static_assert(sizeof(struct virtq_avail) == 4, "2.7.6");

/* 2.7.8 The Virtqueue Used Ring: written by the device */
#define VIRTQ_USED_F_NO_NOTIFY 1u

struct virtq_used_elem {
    _Atomic uint32_t id; /* atomic so that it is read once */
    _Atomic uint32_t len;
};
static_assert(sizeof(struct virtq_used_elem) == 8, "2.7.8");

struct virtq_used {
    _Atomic uint16_t flags;
    _Atomic uint16_t idx;
    struct virtq_used_elem ring[]; /* then avail_event, with EVENT_IDX */
};
static_assert(sizeof(struct virtq_used) == 4, "2.7.8");

/* Bytes and alignment of the three parts (2.7), event fields included. */
#define VIRTQ_DESC_BYTES(n) (16u * (uint32_t)(n))
#define VIRTQ_AVAIL_BYTES(n) (6u + 2u * (uint32_t)(n))
#define VIRTQ_USED_BYTES(n) (6u + 8u * (uint32_t)(n))
#define VIRTQ_DESC_ALIGN 16u
#define VIRTQ_AVAIL_ALIGN 2u
#define VIRTQ_USED_ALIGN 4u

/*
 * 2.7.10, 2.7.7.2: has the index `event` been passed on the way from `old`
 * to `now`? True when the other side wants to hear about it.
 */
static inline int virtq_need_event(uint16_t event, uint16_t now, uint16_t old)
{
    return (uint16_t)(now - event - 1) < (uint16_t)(now - old);
}

#endif
