/*
 * A virtio network device for tests. Virtio 1.3, section 5.1.
 *
 * The test owns it: chooses what it offers, feeds it frames from the wire,
 * takes frames that the driver sent, decides when it works, and which faults
 * it commits. The driver reaches it through one of two doors: in process
 * (model_dev, transport_model.c) or as a PCI function (pci_model.h). What a
 * driver must not do fails the test (lint.h).
 *
 *     struct model *m = model_new(MODEL_FEATURES);
 *     vnet_open(model_dev(m), NULL, &v);
 *     ...
 *     model_rx(m, frame, len, NULL);
 *     vnet_poll(v, 64);
 *     ...
 *     vnet_close(v);
 *     model_free(m);
 */
#ifndef MODEL_H
#define MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fault.h"
#include "virtio/device.h"
#include "virtio/spec_net.h"
#include "vring_dev.h"

#define MODEL_QUEUES 3u /* rx, tx, control */
#define MODEL_CONFIG_BYTES 64u

/* What a good device of the kind that QEMU has on a tap offers. */
#define MODEL_FEATURES                                                       \
    (VIRTIO_BIT(VIRTIO_F_VERSION_1) | VIRTIO_BIT(VIRTIO_F_EVENT_IDX) |       \
     VIRTIO_BIT(VIRTIO_NET_F_CSUM) | VIRTIO_BIT(VIRTIO_NET_F_GUEST_CSUM) |   \
     VIRTIO_BIT(VIRTIO_NET_F_MAC) | VIRTIO_BIT(VIRTIO_NET_F_STATUS) |        \
     VIRTIO_BIT(VIRTIO_NET_F_MRG_RXBUF) |                                    \
     VIRTIO_BIT(VIRTIO_NET_F_GUEST_TSO4) |                                   \
     VIRTIO_BIT(VIRTIO_NET_F_GUEST_TSO6) |                                   \
     VIRTIO_BIT(VIRTIO_NET_F_GUEST_ECN) |                                    \
     VIRTIO_BIT(VIRTIO_NET_F_HOST_TSO4) |                                    \
     VIRTIO_BIT(VIRTIO_NET_F_HOST_TSO6) |                                    \
     VIRTIO_BIT(VIRTIO_NET_F_HOST_ECN))

/* A control queue with coalescing commands, to be added to the others. */
#define MODEL_FEATURES_COAL                                                  \
    (VIRTIO_BIT(VIRTIO_NET_F_CTRL_VQ) | VIRTIO_BIT(VIRTIO_NET_F_NOTF_COAL) | \
     VIRTIO_BIT(VIRTIO_NET_F_VQ_NOTF_COAL))

/* As little as a modern device can offer. */
#define MODEL_FEATURES_MIN VIRTIO_BIT(VIRTIO_F_VERSION_1)

/* A frame as it left the device for the wire, or one of the pieces. */
struct model_frame {
    struct model_frame *next;
    uint32_t len;
    uint16_t descs;            /* descriptors of the chain it came in */
    uint16_t piece;            /* of a segmented frame: 0, 1, ... */
    struct virtio_net_hdr hdr; /* as the driver wrote it */
    uint8_t data[];
};

enum model_order { MODEL_IN_ORDER, MODEL_REVERSED, MODEL_RANDOM };

/* Interrupts of a queue, coalesced (netdev_coal.c). */
struct model_coal {
    struct virtio_net_ctrl_coal set; /* what holds for this queue */
    uint32_t packets;                /* since the last decision */
    uint64_t since_ns;               /* when the first of them came */
    bool stuck;                      /* FAULT_COAL_STUCK */
};

struct model_counters {
    uint64_t doorbells[MODEL_QUEUES];
    uint64_t doorbells_empty[MODEL_QUEUES];    /* nothing new was there */
    uint64_t doorbells_unwanted[MODEL_QUEUES]; /* suppressed by the device */
    uint64_t interrupts[MODEL_QUEUES];
    uint64_t interrupts_config;
    uint64_t chains[MODEL_QUEUES]; /* done with */
    uint64_t rx_frames;   /* written into buffers */
    uint64_t rx_bufs;
    uint64_t rx_no_room;  /* frames refused for lack of buffers */
    uint64_t tx_frames;   /* taken from the driver */
    uint64_t tx_wire;     /* frames on the wire, after segmentation */
    uint64_t resets;
    uint64_t config_reads;
    uint64_t commands;         /* seen on the control queue */
    uint64_t commands_ok;      /* answered so */
    uint64_t coal_timer;       /* interrupts decided on by time */
    uint64_t coal_count;       /* by the number of packets */
    uint64_t announce_acks;
};

struct model {
    struct virtio_dev dev; /* first: the in-process door */

    /* Set by model_new; the test may change them while the device is not in
     * use. */
    uint64_t offered;
    uint8_t config[MODEL_CONFIG_BYTES];
    uint32_t config_len;
    uint16_t queue_max[MODEL_QUEUES];
    uint16_t num_queues;
    bool no_interrupts; /* the in-process door has none */

    /* The test may change these at any time. */
    bool stepped;    /* work in model_step only, not at doorbells */
    bool tx_hold;    /* keep sent frames until model_tx_release */
    bool tx_raw;     /* frames are not examined: any bytes will do */
    bool no_doorbells; /* tell the driver that doorbells are not wanted */
    uint16_t num_buffers;   /* of FAULT_NUM_BUFFERS_EXACT */
    bool stuck_after_start; /* no reset ends once DRIVER_OK was set */
    bool rx_random;  /* use receive buffers in any order */
    enum model_order order; /* in which sent frames are finished */
    struct fault_set faults[MODEL_QUEUES]; /* queue 0 holds the device's, too */

    /* What happened. */
    struct model_counters n;

    /* The device itself. */
    uint8_t status;
    uint8_t generation;
    bool was_reset;      /* by the driver, at least once */
    bool reset_pending;  /* status has not been read as 0 since */
    bool looked_features_ok; /* FEATURES_OK was read back */
    unsigned reset_reads; /* reads until a slow reset is over */
    uint64_t accepted;
    struct vring_dev q[MODEL_QUEUES];
    uint16_t *held;      /* heads of transmit chains not finished */
    unsigned nheld;
    struct model_coal coal[2];           /* receive, transmit */
    struct virtio_net_ctrl_coal coal_all[2]; /* the global values */
    struct vring_chain *ctrl_late;       /* a command not answered yet */
    struct virtio_net_ctrl_hdr ctrl_last; /* the newest command */
    struct model_frame *wire_first; /* sent */
    struct model_frame **wire_last;

    /* The door that is in use. */
    void (*raise)(struct model *m, uint16_t q);
    bool (*can_dma)(struct model *m); /* bus mastering */
    void *door;
};

/* ---- the test's side ---------------------------------------------------- */

/* A device offering these features: MAC 52:54:00:12:34:56, link up, MTU 1500
 * in its configuration, two queues of 256. */
struct model *model_new(uint64_t offered);
void model_free(struct model *m);

/* The in-process door. */
struct virtio_dev *model_dev(struct model *m);

/* Fields of the configuration space; the generation counts up. */
void model_set_mtu(struct model *m, uint16_t mtu);
void model_set_mac(struct model *m, const uint8_t mac[6]);
/* With a configuration interrupt. */
void model_set_link(struct model *m, bool up);

/* As firmware leaves it that used the device before us. */
void model_preboot(struct model *m);

/*
 * A frame arrives. hdr is what stands in front of it (NULL: zeros);
 * num_buffers is the model's to fill in. False: the driver has not posted
 * buffers enough; nothing happened.
 */
bool model_rx(struct model *m, const void *frame, uint32_t len,
              const struct virtio_net_hdr *hdr);

/* Receive buffers that the driver has posted and that are not used. */
unsigned model_rx_room(struct model *m);

/* Runs the device until there is nothing to do; returns chains processed. */
unsigned model_step(struct model *m);

/* The next frame on the wire, or NULL; the caller frees it. */
struct model_frame *model_tx_pop(struct model *m);
void model_tx_discard(struct model *m); /* all of them */

/* Finishes up to n held transmit chains, in the order chosen. */
unsigned model_tx_release(struct model *m, unsigned n);

/* Arms a fault on a queue. */
void model_fault(struct model *m, uint16_t q, enum fault f, unsigned times);
/* Times it was committed. */
unsigned model_fault_done(const struct model *m, uint16_t q, enum fault f);
void model_fault_none(struct model *m); /* disarms all */

/* DEVICE_NEEDS_RESET, now, with a configuration interrupt. */
void model_needs_reset(struct model *m);

/*
 * Interrupts that are being held back: when the next one is due on the clock
 * of plat_now_ns (UINT64_MAX: none is), and sending those that are.
 */
uint64_t model_coal_next_ns(const struct model *m);
void model_coal_run(struct model *m);

/* Answers what FAULT_CTRL_LATE kept back. False: there is nothing. */
bool model_ctrl_answer(struct model *m);

/* The device wants its address announced (5.1.6.5.4). */
void model_announce(struct model *m);

/*
 * The driver is about to sleep: every doorbell that is due must have rung.
 */
void model_check_idle(struct model *m);

/* ---- the doors' side ---------------------------------------------------- */

uint64_t netdev_features(struct model *m);
void netdev_accept(struct model *m, unsigned word, uint32_t features);
uint8_t netdev_status(struct model *m);
void netdev_set_status(struct model *m, uint8_t status);
uint16_t netdev_queue_max(struct model *m, uint16_t q);
bool netdev_queue_enable(struct model *m, uint16_t q, uint16_t size,
                         uint64_t desc, uint64_t driver, uint64_t device);
/* 2.6.1: needs RING_RESET. The queue may be enabled again afterwards. */
void netdev_queue_reset(struct model *m, uint16_t q);
void netdev_notify(struct model *m, uint16_t q);
uint8_t netdev_config(struct model *m, unsigned off);
uint8_t netdev_generation(struct model *m);
/* Every access but reading the status: not between reset and its end. */
void netdev_check_ready(struct model *m, const char *what);

/* ---- inside ------------------------------------------------------------- */

static inline bool model_has(const struct model *m, unsigned bit)
{
    return (m->accepted & VIRTIO_BIT(bit)) != 0;
}

/* The status bits that the driver sets one after the other. */
#define NETDEV_ORDER                                                         \
    (VIRTIO_S_ACKNOWLEDGE | VIRTIO_S_DRIVER | VIRTIO_S_FEATURES_OK |         \
     VIRTIO_S_DRIVER_OK)

/* An interrupt for a queue, or VIRTIO_IRQ_CONFIG. */
void netdev_raise(struct model *m, uint16_t q);
/* The reset is over: everything is the driver's again. */
void netdev_stop(struct model *m);
/* Is the device running, and able to reach memory? */
bool netdev_live(struct model *m);
/* Publishes, `packets` since the last time, and interrupts as the driver
 * wishes. */
void netdev_signal(struct model *m, uint16_t q, uint32_t packets);
/* Rules about accepted features (netdev_rules.c). */
void netdev_check_features(const struct model *m);
void netdev_check_config_read(const struct model *m, unsigned off);
void netdev_check_rx_buffer(const struct model *m,
                            const struct vring_chain *c);
/* netdev_ctrl.c: executes commands. */
unsigned netdev_ctrl_run(struct model *m);
/* netdev_coal.c: `packets` more were published: is an interrupt for them due
 * now, rather than later? */
bool netdev_coal_due(struct model *m, uint16_t q, uint32_t packets);
void netdev_coal_reset(struct model *m);
void netdev_coal_queue_reset(struct model *m, uint16_t q);
/* Executes a command of the class; false: VIRTIO_NET_ERR. */
bool netdev_coal_command(struct model *m, uint8_t command,
                         const struct vring_chain *c);
/* netdev_tx.c: takes what was sent. */
unsigned netdev_tx_run(struct model *m);

#endif
