/*
 * The virtio network driver as its users see it. Virtio 1.3, section 5.1.
 *
 * One context, no locks, no callbacks from interrupts. A user does:
 *
 *     vnet_open(dev, &config, &v);
 *     vnet_attach(v, &client, arg);
 *     for (;;) {
 *         n = vnet_poll(v, budget);       frames come up by client->rx
 *         ... the user's own work, vnet_send(), vnet_buf_return() ...
 *         vnet_flush(v);                  one doorbell a queue, if any
 *         if (n == 0 && !work && !vnet_arm(v))
 *             sleep until vnet_irq_pending() or the time asked for
 *     }
 *     vnet_close(v);
 *
 * Ownership. A receive buffer belongs to the user from client->rx until
 * vnet_buf_return. A frame given to vnet_send belongs to the driver until
 * client->tx_done(cookie), unless vnet_send says that it is done already.
 */
#ifndef VNET_H
#define VNET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "verr.h"

struct vnet;
struct virtio_dev;

#define VNET_ETH_HLEN 14u

/* Bytes in each receive buffer that are the user's, see struct vnet_buf. */
#define VNET_CLIENT_BYTES 64u

/*
 * A receive buffer while the user has it. The user may change next, data,
 * len and the bytes of the frame. `client` survives nothing: its contents
 * are undefined when the buffer arrives.
 */
struct vnet_buf {
    struct vnet_buf *next; /* next buffer of the same frame, or NULL */
    uint8_t *data;         /* first byte of the frame in this buffer */
    uint32_t len;          /* bytes of the frame in this buffer, > 0 */
    uint32_t id;           /* the driver's */
    _Alignas(16) uint8_t client[VNET_CLIENT_BYTES];
};

/* What is known of a received frame's checksum (5.1.6.4). */
enum vnet_rx_csum {
    VNET_CSUM_UNKNOWN, /* verify it */
    VNET_CSUM_VALID,   /* the device verified it */
    VNET_CSUM_PARTIAL, /* never computed, sound; complete it to pass it on */
};

/* A received frame; valid during the call, its buffers until returned. */
struct vnet_frame {
    struct vnet_buf *buf; /* first buffer, >= 14 bytes in it */
    uint32_t len;         /* bytes in all buffers */
    uint16_t nbufs;
    uint8_t csum;         /* enum vnet_rx_csum */
    uint8_t gso_type;     /* enum virtio_net_hdr_gso, 0: one wire frame */
    uint16_t gso_size;    /* payload of each wire frame, if gso_type */
    uint16_t csum_start;  /* VNET_CSUM_PARTIAL: offset of the header ... */
    uint16_t csum_offset; /* ... and of its checksum field in it */
};

/* What the user supplies. */
struct vnet_client {
    /* A frame. Its buffers are the user's now. Called in vnet_poll. */
    void (*rx)(void *arg, const struct vnet_frame *frame);
    /* The device is done with the frame sent under this cookie. Called in
     * vnet_poll, vnet_send, vnet_close; once for each cookie. */
    void (*tx_done)(void *arg, void *cookie);
    /* The link went up or down, or came back after a rebuild of the device:
     * frames sent before may be lost. Called in vnet_poll. */
    void (*link)(void *arg, bool up);
};

/*
 * How received frames lie in memory. AUTO takes the first that the device
 * allows: MERGEABLE with MRG_RXBUF, BIG without it but with large receive,
 * else SMALL. One that is asked for and not possible becomes the next best.
 */
enum vnet_rx_mode {
    VNET_RX_AUTO,
    VNET_RX_SMALL,     /* one buffer takes one frame of the MTU */
    VNET_RX_BIG,       /* one chain of buffers takes 64 KiB */
    VNET_RX_MERGEABLE, /* a frame takes as many buffers as it needs */
};

/* How large a mergeable buffer is, see drivers/vnet/rxsize.h. */
enum vnet_rx_size {
    VNET_RXBUF_AUTO,       /* follows the lengths of recent frames */
    VNET_RXBUF_MTU,        /* one frame of the MTU with its header */
    VNET_RXBUF_PAGE,       /* 4096 */
    VNET_RXBUF_BYTES,      /* rx_bytes */
    VNET_RXBUF_MTU_FAULTY, /* header left out: for measurement only */
};

#define VNET_RX_COPY_NONE UINT16_MAX

/*
 * When sent frames are reclaimed. Either way every turn of the loop reclaims
 * what is done, and none waits longer than a timer of some milliseconds.
 */
enum vnet_tx_mode {
    VNET_TX_INTERRUPT, /* the device interrupts, see enum vnet_tx_signal */
    VNET_TX_ORPHAN,    /* it never does: reclaimed by the next send, turn, or
                          timer */
};

/* The completion interrupt comes when this share of what is in flight at the
 * time of arming is done (EVENT_IDX; without it, as near as can be had). */
enum vnet_tx_signal {
    VNET_TX_SIGNAL_3_4,
    VNET_TX_SIGNAL_HALF,
    VNET_TX_SIGNAL_QUARTER,
    VNET_TX_SIGNAL_ALL, /* at every frame */
};

/* How transmit behaves; zero is the default throughout. */
struct vnet_tx_policy {
    enum vnet_tx_mode mode;
    enum vnet_tx_signal signal;
    bool no_bql; /* no limit to the bytes in the ring (interrupt mode only) */
};

/* Settings; zero means the default throughout. */
struct vnet_config {
    uint16_t rx_ring;     /* descriptors, rounded down to a power of two, at
                             most 8192; 256 */
    uint16_t tx_ring;     /* same */
    uint32_t rx_bufs_max; /* pages of receive buffers at most, posted and
                             held, up to 32768, at least twice the ring and
                             128; 2048 */
    enum vnet_rx_mode rx_mode;
    enum vnet_rx_size rx_size;
    uint32_t rx_bytes;    /* for VNET_RXBUF_BYTES: 64 .. 32768 */
    uint16_t rx_copy;     /* frames up to this are copied, so that the buffer
                             goes straight back: up to 128, the default; or
                             VNET_RX_COPY_NONE */
    bool rx_early;        /* packet objects are made when memory is posted:
                             for measurement only */
    struct vnet_tx_policy tx;
    uint64_t refuse;      /* feature bits that must not be accepted */
};

/* The device as it was opened; fixed until the next link callback. */
struct vnet_info {
    uint8_t mac[6];
    uint16_t mtu;     /* bytes after the Ethernet header, 68 .. 65535 */
    bool link;        /* up */
    bool tx_csum;     /* vnet_tx.csum may be set */
    bool tx_tso4;     /* vnet_tx.gso_type TCPV4 may be set */
    bool tx_tso6;     /* vnet_tx.gso_type TCPV6 may be set */
    bool tx_uso;      /* vnet_tx.gso_type UDP_L4 may be set */
    bool rx_csum;     /* the device may leave checksums to us */
    bool polled;      /* no interrupts: call vnet_poll by timer */
    uint16_t rx_ring; /* descriptors in use */
    uint16_t tx_ring;
    uint8_t rx_mode;  /* enum vnet_rx_mode, never AUTO */
    uint64_t features;
    const char *name;
};

/* A run of bytes to be sent. Any memory that plat_dma_addr knows. */
struct vnet_seg {
    const void *ptr;
    uint32_t len;
};

/* Segments that one frame may have; longer ones must be joined before. */
#define VNET_TX_SEGS 64u

/* A frame to send. */
struct vnet_tx {
    const struct vnet_seg *seg;
    unsigned nseg;        /* 1 .. VNET_TX_SEGS; empty segments are skipped */
    bool csum;            /* finish the checksum; the field holds the
                             pseudo-header sum, not complemented */
    uint8_t gso_type;     /* 0, or TCPV4, TCPV6, UDP_L4: to be cut up */
    uint16_t csum_start;  /* offset of the TCP or UDP header in the frame */
    uint16_t csum_offset; /* of the checksum field in that header */
    uint16_t gso_size;    /* payload of each piece */
    uint16_t hdr_len;     /* all headers, if gso_type */
    void *cookie;         /* not NULL */
};

/* Finds the network device behind `dev`, readies it, and posts buffers. */
int vnet_open(struct virtio_dev *dev, const struct vnet_config *config,
              struct vnet **out);

/* Sets where frames go. Before this they stay in the ring. */
void vnet_attach(struct vnet *v, const struct vnet_client *client, void *arg);

/*
 * Resets the device, calls tx_done for every frame still on the way, frees
 * everything. Receive buffers that the user still holds must have been
 * returned before: V_INVAL, and nothing happens, when some are missing.
 * V_TIMEOUT or V_NODEV when the device did not finish the reset: then all
 * memory is still its own, and the call may be repeated. The transport's
 * release operation is the caller's to call afterwards.
 */
int vnet_close(struct vnet *v);

const struct vnet_info *vnet_info(const struct vnet *v);

/*
 * One turn: finishes sent frames (all of them), then hands up to `budget`
 * received frames to the client, then refills. Rebuilds the device when it
 * is broken or asks for it. Returns the frames handed up; `budget` means
 * that there may be more: call again before arming.
 */
unsigned vnet_poll(struct vnet *v, unsigned budget);

/*
 * Sends a frame, visible to the device after vnet_flush. A first segment of
 * up to 128 bytes is copied, and the caller's again, whatever the result.
 *
 * V_OK    the frame is the driver's until tx_done(cookie)
 * 1       the frame was copied and is done; no tx_done will come
 * V_FULL  no room in the ring, or, for a frame above 244 bytes, as many bytes
 *         in it as the device can use: again after vnet_poll, which will be
 *         woken for it; nothing was taken
 * V_INVAL not a frame that can be sent (length, segments, offload)
 * V_DOWN  no client is attached, or the device is being rebuilt or gone;
 *         nothing was taken
 */
int vnet_send(struct vnet *v, const struct vnet_tx *tx);

/* Takes effect at once, for what is in flight as well. */
void vnet_set_tx_policy(struct vnet *v, const struct vnet_tx_policy *policy);
const struct vnet_tx_policy *vnet_tx_policy(const struct vnet *v);

/* Publishes what was queued on either ring and rings at most one doorbell
 * for each. Once per turn of the loop. */
void vnet_flush(struct vnet *v);

/* Gives a receive buffer back. Any order, any time before vnet_close. */
void vnet_buf_return(struct vnet *v, struct vnet_buf *buf);

/* Receive buffers that the user has. */
uint32_t vnet_bufs_held(const struct vnet *v);

/* True when the driver is short of receive buffers: the user should give
 * back what it keeps (out-of-order data, say). */
bool vnet_bufs_low(const struct vnet *v);

/*
 * Interrupts on. True means look again: call vnet_poll instead of sleeping.
 * vnet_poll turns them off again. Every timer that the driver needs has been
 * asked for by plat_wakeup_at.
 */
bool vnet_arm(struct vnet *v);

/* Has there been an interrupt since vnet_poll? For the last look before
 * sleeping; may be called with interrupts disabled. */
bool vnet_irq_pending(const struct vnet *v);

/*
 * Counters. X(name, "meaning"); all uint64_t, since vnet_open, and not
 * cleared by a rebuild. Those that begin with now_ are readings of this
 * moment instead.
 */
#define VNET_STATS(X)                                                        \
    X(rx_frames, "frames handed to the stack")                               \
    X(rx_bytes, "bytes in them")                                             \
    X(rx_bufs, "ring entries used by them")                                  \
    X(rx_bufs_1, "of them, frames of one ring entry")                        \
    X(rx_bufs_2, "frames of two")                                            \
    X(rx_bufs_3_4, "frames of three or four")                                \
    X(rx_bufs_5_8, "frames of five to eight")                                \
    X(rx_bufs_9_up, "frames of nine and more")                               \
    X(rx_objects, "packet objects made for them")                            \
    X(rx_copied, "of the frames, copied because they are small")             \
    X(rx_coalesced, "ring entries joined with their neighbour in memory")    \
    X(rx_gso_frames, "of them, frames of several wire frames")               \
    X(rx_csum_valid, "of them, checksum verified by the device")             \
    X(rx_csum_partial, "of them, checksum left open by the device")          \
    X(rx_drop_len_bad, "frames dropped: length above the buffer")            \
    X(rx_drop_short, "frames dropped: shorter than the headers")             \
    X(rx_drop_long, "frames dropped: longer than any frame can be")          \
    X(rx_drop_num_buffers, "frames dropped: buffer count 0 or too large")    \
    X(rx_drop_incomplete, "frames dropped: buffers missing or not full")     \
    X(rx_drop_nomem, "frames dropped: no packet object for them")             \
    X(rx_drop_gso, "frames dropped: segmentation not negotiated or odd")     \
    X(rx_drop_csum, "frames dropped: checksum fields outside the frame")     \
    X(rx_refills, "times that buffers were posted")                          \
    X(rx_refill_bufs, "receive buffers posted")                              \
    X(rx_refill_bytes, "bytes in them")                                      \
    X(rx_refill_nomem, "refills cut short for lack of memory")               \
    X(rx_dry, "turns that ended with no buffer left to the device")          \
    X(rx_notify, "receive doorbells")                                        \
    X(tx_frames, "frames sent")                                              \
    X(tx_bytes, "bytes in them")                                             \
    X(tx_descs, "descriptors used by them")                                  \
    X(tx_copied, "of them, small enough to be copied")                       \
    X(tx_csum, "of them, checksum left to the device")                       \
    X(tx_gso_frames, "of them, to be cut up by the device")                  \
    X(tx_done, "frames finished by the device")                              \
    X(tx_joined, "of them, copied because of too many pieces")               \
    X(tx_full, "sends refused: ring full")                                   \
    X(tx_limited, "sends refused: bytes enough in the ring")                 \
    X(tx_invalid, "sends refused: not a frame that can be sent")             \
    X(tx_down, "sends refused: device down")                                 \
    X(tx_notify, "transmit doorbells")                                       \
    X(tx_arms, "times a completion interrupt was asked for")                 \
    X(tx_limit_changes, "changes of the limit to bytes in the ring")         \
    X(tx_timed, "frames whose time in flight was taken, one in 64")          \
    X(tx_timed_ns, "the sum of those times, nanoseconds")                    \
    X(tx_watchdog, "transmit ring stood still and was notified again")       \
    X(irq_rx, "receive interrupts")                                          \
    X(irq_tx, "transmit interrupts")                                         \
    X(irq_config, "configuration interrupts")                                \
    X(polls, "turns of the poll loop")                                       \
    X(polls_full, "of them, budget used up")                                 \
    X(arms, "times interrupts were armed")                                   \
    X(arms_again, "of them, work was there already")                         \
    X(link_changes, "link went up or down")                                  \
    X(ring_broken, "rings found broken")                                     \
    X(needs_reset, "times the device asked for a reset")                     \
    X(resets, "times the device was rebuilt")                                \
    X(reset_failed, "rebuilds that failed")                                  \
    X(now_rx_frame_avg, "average length of recent frames")                   \
    X(now_rx_buf_size, "bytes of the next receive buffer")                   \
    X(now_rx_memory, "bytes of memory for receive buffers")                  \
    X(now_rx_memory_free, "of them, in blocks without a buffer")             \
    X(now_tx_in_flight, "frames that the device has")                        \
    X(now_tx_bytes, "bytes in them")                                         \
    X(now_tx_limit, "bytes above which a sender waits; 0: none")

struct vnet_stats {
#define X(name, meaning) uint64_t name;
    VNET_STATS(X)
#undef X
};

const struct vnet_stats *vnet_stats(const struct vnet *v);

/* The table of the counters, for whoever prints them. */
struct vnet_stat_desc {
    const char *name;
    const char *meaning;
    size_t offset; /* in struct vnet_stats */
};
extern const struct vnet_stat_desc vnet_stat_table[];
extern const unsigned vnet_stat_count;

#endif
