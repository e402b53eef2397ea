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
#include "vnet/bql.h"
#include "vnet/rxfrag.h"
#include "vnet/rxsize.h"

#define CACHE_LINE 64
#define VLAN_HLEN 4u

#define NS_PER_MS UINT64_C(1000000)

/* Defaults of struct vnet_config. */
#define RX_RING 256u
#define TX_RING 256u
#define RX_BUFS_MAX 2048u
#define RX_BUFS_MIN 128u /* several of the longest frames in any ring */

/* ---- receive buffers (rxbuf.c) ------------------------------------------ */

#define RX_HDR_BYTES ((uint32_t)sizeof(struct virtio_net_hdr))

/* 64 KiB and the link header in pages, and one to spare. */
#define RX_FRAME_BUFS_MAX 18u

/* Room that a large frame needs where nothing merges: what 1.4 asks for with
 * the longest header, more than 1.2 and 1.3 do (5.1.6.3.1). */
#define RX_BIG_BYTES 65609u

/* The least where nothing merges and frames are not large, rounded up from
 * 1526 (5.1.6.3.1). */
#define RX_SMALL_BYTES 1536u

#define RX_COPY_MAX 128u /* frames up to this are copied */

/*
 * A receive buffer as the user gets it, made when a frame arrives. None
 * exists for memory that is posted.
 */
struct rxbuf {
    struct vnet_buf pub;   /* first; valid while the user has it */
    struct rxblock *block; /* where the bytes are; NULL: in copy */
    bool held;             /* the user has it */
    uint8_t copy[RX_COPY_MAX];
};
static_assert(sizeof(struct rxbuf) <= 256, "16 of them in a page");

/* Memory that the device has: one chain of the ring. */
struct rxpost {
    struct rxpost *next; /* free list */
    struct rxbuf *early; /* its packet object, if those are made early */
    uint16_t nseg;
    struct rxseg seg[];
};

/* A frame that is being put together. */
struct rx_partial {
    struct rxbuf *first;
    struct rxbuf *last;
    uint32_t len;      /* bytes so far, without the header */
    uint16_t have;     /* ring entries so far */
    uint16_t need;     /* ring entries it has; 0: there is no such frame */
    uint16_t bufs;     /* buffers so far, neighbours counted once */
    uint64_t *spoilt;  /* counter: to be dropped when it is complete */
    uint64_t since_ns; /* when its first part came */
    struct virtio_net_hdr hdr;
};

struct vnet_rxq {
    _Alignas(CACHE_LINE) struct virtq vq;

    /* packet objects */
    struct rxbuf *objs_free;
    void *objs_pages;   /* linked through their first word */
    uint32_t objs_made;
    uint32_t objs_max;
    uint32_t objs_spare; /* in the free list */
    uint32_t bufs_held; /* objects that the user has */

    /* posted memory */
    struct rxfrag frag;
    struct rxpost *posts_free;
    uint8_t *posts;
    uint32_t posts_bytes; /* of the array */
    uint16_t posts_max;   /* chains to be posted at most */
    uint16_t post_segs;   /* descriptors that one may need */
    uint8_t mode;         /* enum vnet_rx_mode, never AUTO */
    uint16_t batch;       /* chains missing that are worth a refill */
    bool starved;         /* the last refill ran out of memory */
    bool returned;        /* memory has come back since then */

    struct rxsize size;
    uint32_t least;       /* smallest buffer, by MTU and ring */
    uint64_t reserve;     /* memory is scarce when less is left */
    uint32_t shortest;    /* any buffer has at least this many bytes */
    uint16_t entries_max; /* of the ring, that one frame can have */
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
    uint32_t bytes;   /* of the frame */
    uint64_t sent_ns; /* of a frame that is timed; 0: it is not */
};

/* One frame in so many is timed. */
#define TX_TIMED 64u

struct vnet_txq {
    _Alignas(CACHE_LINE) struct virtq vq;
    struct txslot *free;
    struct txslot *slots; /* one a descriptor */
    uint8_t *heads;
    uint16_t slots_len;
    uint16_t keep;        /* descriptors that only small frames may take */
    uint16_t owed;        /* frames in flight whose sender is to be told */
    bool wanted;          /* a send was refused since the last reclaim */
    bool armed;           /* the completion interrupt is on */
    bool limited;         /* bql is in force */
    uint64_t still_ns;    /* since when nothing was finished; 0: not known */
    struct bql bql;
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
 * if it offers MTU; mode: what the user asked for. */
uint64_t vnet_choose_features(uint64_t offered, uint64_t refuse, uint16_t mtu,
                              enum vnet_rx_mode mode);

/* rxobj.c: packet objects, at most about `max`. */
void rxobj_init(struct vnet_rxq *rx, uint32_t max);
bool rxobj_low(const struct vnet_rxq *rx); /* the last few are left */
void rxobj_grow(struct vnet_rxq *rx);      /* if there may be more */
void rxobj_destroy(struct vnet_rxq *rx);

/* As many are kept back. When the user holds all others and there is no
 * memory, frames still reach the user, who learns from vnet_bufs_low. */
#define RXOBJ_SPARE 8u

static inline struct rxbuf *rxobj_get(struct vnet_rxq *rx)
{
    struct rxbuf *b;

    if (rx->objs_spare <= RXOBJ_SPARE)
        rxobj_grow(rx);
    b = rx->objs_free;
    if (!b)
        return NULL;
    rx->objs_spare--;
    rx->objs_free = (struct rxbuf *)(void *)b->pub.next;
    return b;
}

static inline void rxobj_put(struct vnet_rxq *rx, struct rxbuf *b)
{
    b->held = false;
    b->pub.next = (struct vnet_buf *)(void *)rx->objs_free; /* its first */
    rx->objs_free = b;
    rx->objs_spare++;
}

/* rxpost.c: chains. */
int rxpost_init(struct vnet *v);              /* posts_max of them */
void rxpost_destroy(struct vnet_rxq *rx);     /* drains a stopped ring */

/* Posts up to n chains whose first fragment has `size` bytes. V_OK, V_NOMEM,
 * or V_FULL when the ring has no room for a chain. */
int rxpost_fill(struct vnet *v, uint32_t size, unsigned n);

/* The chain was just got from the ring: it goes back as it is. */
void rxpost_again(struct vnet_rxq *rx, struct rxpost *p);

/* Frees the memory of a chain and the chain. */
void rxpost_free(struct vnet_rxq *rx, struct rxpost *p);

/* The first fragment has gone to a user. What else the chain has, the blocks
 * of BIG, stays with it for the next time. */
static inline void rxpost_spent(struct vnet_rxq *rx, struct rxpost *p)
{
    p->seg[0].block = NULL;
    p->next = rx->posts_free;
    rx->posts_free = p;
}

static inline uint32_t rxpost_len(const struct rxpost *p)
{
    uint32_t len = p->seg[0].len;

    for (unsigned i = 1; i < p->nseg; i++)
        len += p->seg[i].len;
    return len;
}

/* An object for a frame that came in this chain. */
static inline struct rxbuf *rxpost_object(struct vnet_rxq *rx,
                                          struct rxpost *post)
{
    struct rxbuf *b = post->early;

    if (!b)
        return rxobj_get(rx);
    post->early = NULL;
    return b;
}

/* rxbuf.c */
int rxbuf_init(struct vnet *v);             /* at open */
void rxbuf_destroy(struct vnet_rxq *rx);    /* at close */
int rxbuf_start(struct vnet *v);            /* negotiated, ring is there */
void rxbuf_stop(struct vnet_rxq *rx);       /* drains a stopped ring */
void rxbuf_refill(struct vnet *v);
bool rxbuf_refillable(const struct vnet *v);
uint32_t rxbuf_size(const struct vnet *v);  /* bytes of the next buffer */
void rxbuf_free(struct vnet_rxq *rx, struct rxbuf *b);

/* rx.c: up to budget frames to the client. */
unsigned rx_poll(struct vnet *v, unsigned budget);

/* rxpart.c: a frame of `need` entries begins, an entry more. `len`: what the
 * ring said. True: it is complete. */
bool rxpart_begin(struct vnet *v, struct rxpost *post,
                  const struct virtio_net_hdr *hdr, uint16_t need,
                  uint32_t len);
bool rxpart_add(struct vnet *v, struct rxpost *post, uint32_t len);
void rxpart_check(struct vnet *v); /* does its rest come at all? */
void rx_drop_partial(struct vnet_rxq *rx);

/* tx.c */
int tx_init(struct vnet *v);
void tx_free(struct vnet_txq *tx);
void tx_reclaim(struct vnet *v);
void tx_take_back(struct vnet *v); /* drains a stopped ring */

/* txarm.c */
void tx_limit_restart(struct vnet *v); /* the policy or the device is new */
void tx_limit_adapt(struct vnet *v);   /* frames were finished */
bool tx_arm(struct vnet *v);           /* true: look again */
void tx_disarm(struct vnet *v);
void tx_ask_timer(const struct vnet *v, uint64_t now);
void tx_readings(struct vnet *v);

/* start.c: notes that the device must be rebuilt, and why. */
void vnet_break(struct vnet *v, const char *why);
int vnet_start(struct vnet *v);
int vnet_stop(struct vnet *v);
void vnet_rebuild(struct vnet *v);
void vnet_config_changed(struct vnet *v);

/* poll.c: the transport's interrupt. */
void vnet_irq(struct virtio_dev *dev, uint16_t q);

#endif
