/*
 * Inside the network driver. Receive and transmit state are separate structs
 * on separate cache lines; everything is written by the one context that
 * runs the driver, except where it says "interrupt".
 */
#ifndef VNET_PRIV_H
#define VNET_PRIV_H

#include <assert.h>
#include <stdatomic.h>

#include "plat.h"
#include "virtio/device.h"
#include "virtio/spec_net.h"
#include "vnet.h"

#define CACHE_LINE 64
#define VLAN_HLEN 4u

#define NS_PER_MS UINT64_C(1000000)

/* Defaults of struct vnet_config. */
#define RX_RING 256u
#define TX_RING 256u
#define RX_BUFS_MAX 2048u

/* ---- receive buffers (rxbuf.c) ------------------------------------------ */

#define RX_BUF_BYTES 4096u
#define RX_HDR_BYTES ((uint32_t)sizeof(struct virtio_net_hdr))

/* 64 KiB and the link header, in page-size buffers, and one to spare. */
#define RX_FRAME_BUFS_MAX 18u

enum rxbuf_state {
    RXBUF_FREE,   /* on the free list */
    RXBUF_POSTED, /* the device's */
    RXBUF_HELD,   /* the user's */
};

/* A receive buffer; its bytes are a page of their own. */
struct rxbuf {
    struct vnet_buf pub; /* first; valid while HELD */
    struct rxbuf *next;  /* free list */
    uint8_t *page;
    uint64_t dma;
    uint8_t state; /* enum rxbuf_state */
};
static_assert(sizeof(struct rxbuf) == 128, "two cache lines");

/* A frame of which some buffers have not come yet. */
struct rx_partial {
    struct rxbuf *first;
    struct rxbuf *last;
    uint32_t len;       /* bytes so far, without the header */
    uint16_t have;      /* buffers so far */
    uint16_t need;      /* buffers it has; 0: there is no such frame */
    uint64_t *spoilt;   /* counter: to be dropped when it is complete */
    uint64_t since_ns;  /* when its first buffer came */
    struct virtio_net_hdr hdr;
};

struct vnet_rxq {
    _Alignas(CACHE_LINE) struct virtq vq;
    struct rxbuf *free;
    struct rxbuf *bufs; /* bufs_max of them */
    uint32_t bufs_max;
    uint32_t bufs_made; /* of them, have a page */
    uint32_t bufs_free;
    uint32_t bufs_held;
    uint16_t batch;     /* free descriptors that are worth a refill */
    bool starved;       /* the last refill ran out of memory */
    struct rx_partial part;
};

/* ---- transmit (tx.c) ---------------------------------------------------- */

/*
 * Device-readable bytes that go with each frame: the virtio header, then
 * either the whole frame, if it is small, or its protocol headers.
 */
#define TX_SLOT_BYTES 256u
#define TX_COPY_MAX (TX_SLOT_BYTES - (uint32_t)sizeof(struct virtio_net_hdr))
#define TX_HEAD_MAX 128u /* of a larger frame's first segment */
#define ETH_MIN 60u      /* shortest frame, without the checksum */

struct txslot {
    void *cookie;        /* the user's; NULL: nothing to tell the user */
    struct txslot *next; /* free list */
    uint8_t *head;       /* TX_SLOT_BYTES, device readable */
    uint64_t head_dma;
    uint8_t *joined; /* copy of a frame of too many segments, or NULL */
    uint32_t joined_len;
};

struct vnet_txq {
    _Alignas(CACHE_LINE) struct virtq vq;
    struct txslot *free;
    struct txslot *slots; /* one a descriptor */
    uint8_t *heads;
    uint16_t slots_len;
    bool wanted;          /* a send was refused since the last reclaim */
    uint64_t still_ns;    /* since when nothing was finished; 0: not known */
};

/* ---- the device ---------------------------------------------------------- */

enum vnet_irq_bit {
    VNET_IRQ_RX = 1,
    VNET_IRQ_TX = 2,
    VNET_IRQ_CONFIG = 4,
};

struct vnet {
    struct vnet_rxq rx;
    struct vnet_txq tx;

    _Alignas(CACHE_LINE) _Atomic unsigned irq_bits; /* interrupt sets */
    _Atomic uint64_t irq_count[3];                  /* interrupt counts */

    _Alignas(CACHE_LINE) struct virtio_dev *dev;
    const struct vnet_client *client;
    void *client_arg;
    struct vnet_info info;
    struct vnet_config config;
    struct vnet_stats stats;
    bool running;         /* between start and stop */
    bool armed;           /* interrupts are on */
    bool broken;          /* to be rebuilt at the next poll */
    uint64_t retry_ns;    /* no rebuild before this time */
    uint64_t broke_ns;    /* when a rebuild was last needed or failed */
    uint32_t backoff_ms;  /* what to add for the next rebuild */
    uint64_t status_ns;   /* polled devices: when the status was last read */
};

/* features.c: which of the offered features are to be accepted; closed under
 * the dependencies of 5.1.3.1. mtu is what the device's configuration says,
 * if it offers MTU. */
uint64_t vnet_choose_features(uint64_t offered, uint64_t refuse, uint16_t mtu);

/* rxbuf.c */
int rxbuf_init(struct vnet_rxq *rx, uint32_t max);
void rxbuf_free_all(struct vnet_rxq *rx);
void rxbuf_put(struct vnet_rxq *rx, struct rxbuf *b);
void rxbuf_refill(struct vnet *v);
void rxbuf_take_back(struct vnet_rxq *rx); /* drains a stopped ring */

/* rx.c: up to budget frames to the client. */
unsigned rx_poll(struct vnet *v, unsigned budget);
void rx_drop_partial(struct vnet_rxq *rx);

/* tx.c */
int tx_init(struct vnet *v);
void tx_free(struct vnet_txq *tx);
void tx_reclaim(struct vnet *v);
void tx_take_back(struct vnet *v); /* drains a stopped ring */

/* start.c: notes that the device must be rebuilt, and why. */
void vnet_break(struct vnet *v, const char *why);
int vnet_start(struct vnet *v);
int vnet_stop(struct vnet *v);
void vnet_rebuild(struct vnet *v);
void vnet_config_changed(struct vnet *v);

/* poll.c: the transport's interrupt. */
void vnet_irq(struct virtio_dev *dev, uint16_t q);

#endif
