/*
 * A lean network device for measurements: one split receive ring that it
 * fills as fast as it is told, and a transmit ring that it empties when it is
 * told. Virtio 1.3, sections 2.7, 5.1.6.2 and 5.1.6.4.
 *
 * It checks nothing; tests/model/ is the device that does. Device addresses
 * are the process's own.
 */
#ifndef BENCH_DEV_H
#define BENCH_DEV_H

#include <stdbool.h>
#include <stdint.h>

#include "virtio/device.h"

/* A ring as the driver described it. */
struct bench_ring {
    struct virtq_desc *desc;
    struct virtq_avail *avail;
    struct virtq_used *used;
    uint16_t size;
    uint16_t seen;   /* next available entry to take */
    uint16_t filled; /* next used entry to write */
};

struct bench_dev {
    struct virtio_dev dev; /* first */
    uint64_t offered;
    uint64_t accepted;
    uint8_t status;
    struct bench_ring rx;
    struct bench_ring tx;

    bool merges;     /* MRG_RXBUF was accepted */
    bool copies;     /* writes the bytes of frames, not only headers */

    uint64_t taken_frames;
};

/* A device that offers these features; ready for vnet_open. */
struct virtio_dev *bench_dev_init(struct bench_dev *d, uint64_t features);

/*
 * Delivers one frame of len bytes, if there are buffers for all of it, and
 * says so. The frame is one of several wire frames when it is longer than
 * 1514 bytes. Ring entries become visible with bench_dev_show.
 */
bool bench_dev_put(struct bench_dev *d, uint32_t len);
void bench_dev_show(struct bench_dev *d);

/* The same with these bytes, which are written whatever d->copies says. */
bool bench_dev_put_frame(struct bench_dev *d, const void *frame,
                         uint32_t len);

/* Takes the next frame that the driver sent: its length, of which at most
 * `max` bytes are stored; 0: there is none. */
uint32_t bench_dev_take(struct bench_dev *d, void *frame, uint32_t max);

#endif
