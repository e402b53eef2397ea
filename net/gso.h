/*
 * Software GSO: consecutive segments of a TCP connection, or datagrams of a
 * UDP flow, leave as one frame that the device cuts up again (5.1.6.2). What
 * is on the wire is what lwIP made; only the number of frames through the
 * ring, and through the host, is another.
 *
 * Each interface owns a struct gso, with one frame pending at most. It is
 * handed on as soon as something follows that cannot be part of it, and at
 * the end of the stack's turn, so that no frame is late or out of order.
 * gso.c decides what is merged, gso_frame.c knows the headers.
 */
#ifndef GSO_H
#define GSO_H

#include <stdbool.h>
#include <stdint.h>

#include "lwip/pbuf.h"
#include "vnet.h"

/* X(name, "meaning"); uint64_t, summed over all interfaces since start. */
#define GSO_STATS(X)                                                         \
    X(gso_in, "TCP segments and UDP datagrams looked at")                    \
    X(gso_alone, "of them, held and sent as they were")                      \
    X(gso_frames, "frames made of several")                                  \
    X(gso_segments, "segments in them")                                      \
    X(gso_segs_2_3, "frames of two or three segments")                       \
    X(gso_segs_4_7, "frames of four to seven")                               \
    X(gso_segs_8_15, "frames of eight to 15")                                \
    X(gso_segs_16_31, "frames of 16 to 31")                                  \
    X(gso_segs_32_up, "frames of 32 and more")                               \
    X(gso_flush_turn, "held frames sent: end of the turn")                   \
    X(gso_flush_short, "held frames sent: a segment not full")               \
    X(gso_flush_size, "held frames sent: no room for the next")              \
    X(gso_flush_order, "held frames sent: gap or retransmission")            \
    X(gso_flush_header, "held frames sent: another header or flow")          \
    X(gso_flush_other, "held frames sent: no data segment followed")         \
    X(gso_flush_nomem, "held frames sent: no memory to merge")               \
    X(gso_dropped, "held frames dropped: device down")

struct gso_stats {
#define X(name, meaning) uint64_t name;
    GSO_STATS(X)
#undef X
};

extern struct gso_stats gso_stats;

enum {
    GSO_HDR_MAX = 128,                /* Ethernet to TCP's options */
    GSO_PARTS_MAX = VNET_TX_SEGS - 1, /* the headers are a segment, too */
};

/* Where things are in a frame to be sent. */
struct gso_seg {
    struct pbuf *p;
    uint8_t proto; /* IP_PROTO_TCP or IP_PROTO_UDP */
    uint8_t flags; /* TCP's */
    bool ip6;
    uint16_t l3;      /* offset of the IP header */
    uint16_t l4;      /* of the TCP or UDP header */
    uint16_t hdr_len; /* offset of the payload */
    uint16_t payload;
    uint32_t seq; /* TCP's */
};

/* A merged frame until the device is done with it. */
struct gso_frame {
    uint8_t gso_type; /* as in struct vnet_tx */
    uint8_t csum_offset;
    uint16_t csum_start;
    uint16_t gso_size;
    uint16_t hdr_len;
    uint16_t count; /* parts, each with a reference of ours */
    struct pbuf *part[GSO_PARTS_MAX];
    uint8_t hdr[GSO_HDR_MAX]; /* in place of those of the parts */
};

struct gso {
    struct gso_seg first;    /* p is NULL: nothing is pending */
    struct gso_frame *frame; /* when there are several; owns the parts */
    uint32_t next_seq;
    uint32_t payload; /* of all */
    uint16_t nseg;    /* pieces of payload */
    uint16_t nseg_max;
    bool push;
    bool tso4; /* what the device can cut up */
    bool tso6;
    bool uso;
    /* Takes over the pending frame: first->p with our reference when `frame`
     * is NULL, else the frame. */
    void (*send)(void *arg, const struct gso_seg *first,
                 struct gso_frame *frame);
    void *arg;
};

/* What the device can do; again whenever it may have changed. */
void gso_configure(struct gso *g, const struct vnet_info *info);

/*
 * A TCP segment or UDP datagram is to be sent. True: it is part of the
 * pending frame now, with a reference of ours. False: it is the caller's to
 * send, at once; what was pending has gone before it.
 */
bool gso_add(struct gso *g, const struct gso_seg *s);

/* Something else is to be sent: what is pending goes first. */
void gso_other(struct gso *g);

/* The turn ends. */
void gso_flush(struct gso *g);

/* Frees what is pending. */
void gso_drop(struct gso *g);

/* The parts and the frame itself. */
void gso_frame_free(struct gso_frame *f);

/* ---- gso_frame.c -------------------------------------------------------- */

enum gso_kind {
    GSO_OTHER,    /* its checksum, if any, is complete */
    GSO_FRAGMENT, /* of an IP packet; complete as well */
    GSO_SEGMENT,  /* TCP or UDP, whole; *s is filled in */
    GSO_BROKEN,   /* TCP or UDP without its header in the first pbuf */
};

/* What the frame, or (gso_parse_ip) the packet at offset l3, is. */
enum gso_kind gso_parse(struct gso_seg *s, struct pbuf *p);
enum gso_kind gso_parse_ip(struct gso_seg *s, struct pbuf *p, unsigned l3);

/* Offset of the checksum field in the TCP or UDP header. */
unsigned gso_csum_offset(const struct gso_seg *s);

/* The checksum field gets the sum of the pseudo header, not complemented. */
void gso_open_csum(const struct gso_seg *s);

/* Data and nothing else: may be merged with others of its kind. */
bool gso_is_plain(const struct gso_seg *s);

/* Do all fields agree that hold for a merged frame as a whole? */
bool gso_same_headers(const struct gso_seg *a, const struct gso_seg *b);

/* The headers of f for `payload` bytes behind them, from those of s. */
void gso_make_header(struct gso_frame *f, const struct gso_seg *s,
                     uint32_t payload, bool push);

/* The frame as the driver wants it; seg has VNET_TX_SEGS entries. */
void gso_list(const struct gso_frame *f, struct vnet_seg *seg,
              struct vnet_tx *tx);

/* A number for the frame's flow: another one is another flow, while the same
 * one may be by chance. Fragments of a flow have one of their own. */
uint8_t gso_flow(const struct pbuf *frame);

#endif
