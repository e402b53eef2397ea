/*
 * The driver that does nothing by itself, with commands for the control queue
 * of its model.
 */
#ifndef CTRL_RIG_H
#define CTRL_RIG_H

#include "mini.h"

#define BIT(name) VIRTIO_BIT(VIRTIO_NET_F_##name)
#define F (MODEL_FEATURES_MIN | VIRTIO_BIT(VIRTIO_F_EVENT_IDX))
#define F_COAL (F | MODEL_FEATURES_COAL)
#define US UINT64_C(1000)

static struct mini d;

static inline void start(uint64_t features)
{
    mini_start(&d, model_new(features), features);
}

/* Page 15: class, command and data; then what the device writes. */
static inline uint8_t *request(void)
{
    return d.page[15];
}

static inline uint8_t *reply(void)
{
    return d.page[15] + 2048;
}

/* `out` bytes of data, `in` bytes of answer with the ack. */
static inline void submit(uint8_t class, uint8_t command, const void *data,
                          uint32_t out, uint32_t in)
{
    request()[0] = class;
    request()[1] = command;
    if (out)
        memcpy(request() + 2, data, out);
    memset(reply(), 0xff, in);
    mini_desc(&d.q[2], 0, request(), 2 + out, VIRTQ_DESC_F_NEXT, 1);
    mini_desc(&d.q[2], 1, reply(), in, VIRTQ_DESC_F_WRITE, 0);
    mini_offer(&d.q[2], 0);
    netdev_notify(d.m, 2);
}

/* The ack of the command that was used. */
static inline int ack(uint32_t in)
{
    uint32_t id, len;

    if (!mini_used(&d, 2, &id, &len))
        return -1;
    CHECK_EQ(id, 0);
    return reply()[in - 1];
}

static inline int command(uint8_t class, uint8_t cmd, const void *data,
                          uint32_t out, uint32_t in)
{
    submit(class, cmd, data, out, in);
    return ack(in);
}

static inline int coal(uint8_t cmd, uint32_t packets, uint32_t usecs)
{
    uint32_t words[2] = {packets, usecs}; /* the order on the wire */

    return command(VIRTIO_NET_CTRL_NOTF_COAL, cmd, words, 8, 1);
}

static inline int coal_vq(uint16_t q, uint32_t packets, uint32_t usecs)
{
    uint32_t words[3] = {q, packets, usecs};

    return command(VIRTIO_NET_CTRL_NOTF_COAL,
                   VIRTIO_NET_CTRL_NOTF_COAL_VQ_SET, words, 12, 1);
}

/* What holds for a queue, as the device tells. */
static inline void get_vq(uint16_t q, uint32_t *packets, uint32_t *usecs)
{
    uint32_t word = q;

    CHECK_EQ(command(VIRTIO_NET_CTRL_NOTF_COAL,
                     VIRTIO_NET_CTRL_NOTF_COAL_VQ_GET, &word, 4, 9),
             VIRTIO_NET_OK);
    memcpy(packets, reply(), 4);
    memcpy(usecs, reply() + 4, 4);
}

static inline void expect_vq(uint16_t q, uint32_t packets, uint32_t usecs)
{
    uint32_t p, u;

    get_vq(q, &p, &u);
    CHECK_EQ(p, packets);
    CHECK_EQ(u, usecs);
}

#endif
