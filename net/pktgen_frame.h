/*
 * The frames of the packet generator: UDP datagrams that say which they are.
 * Pure. The payload begins with, big-endian,
 *
 *     0   magic   PKTGEN_MAGIC
 *     4   number  counts from 0 in every run, and wraps
 *     8   time    ns, of the sender's clock
 *
 * and goes on with bytes that never change. All but that number, the time and
 * the checksum is made once; each frame is a short head, which the driver
 * copies, and a piece of memory that is the same for all of them.
 */
#ifndef PKTGEN_FRAME_H
#define PKTGEN_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "vnet.h"

#define PKTGEN_MAGIC UINT32_C(0x56697265) /* "Vire" */

enum {
    PKTGEN_PAYLOAD_LEAST = 16,
    PKTGEN_HEAD_IP4 = 14 + 20 + 8 + PKTGEN_PAYLOAD_LEAST,
    PKTGEN_HEAD_IP6 = 14 + 40 + 8 + PKTGEN_PAYLOAD_LEAST,
    PKTGEN_LEN_LEAST = 60,     /* bytes of a frame, without its FCS */
    PKTGEN_LEN_MOST = 14 + 65535,
};

/* Who sends to whom; addresses and ports as on the wire. */
struct pktgen_ends {
    bool ip6;
    uint8_t src_mac[6];
    uint8_t dst_mac[6];
    uint8_t src_ip[16]; /* 4 of them, or 16 */
    uint8_t dst_ip[16];
    uint16_t sport;     /* host byte order */
    uint16_t dport;
};

struct pktgen_frame {
    uint8_t head[PKTGEN_HEAD_IP6];
    uint16_t udp;         /* offset of the UDP header in it */
    uint32_t sum;         /* for the checksum: of all that stays the same */
    struct vnet_seg seg[2];
};

/* The shortest frame with room for all headers. */
uint32_t pktgen_frame_least(bool ip6);

/*
 * Makes the frame of `len` bytes, at least pktgen_frame_least() and at most
 * PKTGEN_LEN_MOST. The second segment lies in memory of this file, which is
 * there for ever and never changes.
 */
void pktgen_frame_make(struct pktgen_frame *f, const struct pktgen_ends *ends,
                       uint32_t len);

/* Stamps number and time, in place. */
void pktgen_frame_stamp(struct pktgen_frame *f, uint32_t number,
                        uint64_t time_ns);

#endif
