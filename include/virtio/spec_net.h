/*
 * Virtio 1.3, section 5.1: network device.
 */
#ifndef VIRTIO_SPEC_NET_H
#define VIRTIO_SPEC_NET_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

/* 5.1.3 Feature bits */
enum virtio_net_feature {
    VIRTIO_NET_F_CSUM = 0,
    VIRTIO_NET_F_GUEST_CSUM = 1,
    VIRTIO_NET_F_CTRL_GUEST_OFFLOADS = 2,
    VIRTIO_NET_F_MTU = 3,
    VIRTIO_NET_F_MAC = 5,
    VIRTIO_NET_F_GUEST_TSO4 = 7,
    VIRTIO_NET_F_GUEST_TSO6 = 8,
    VIRTIO_NET_F_GUEST_ECN = 9,
    VIRTIO_NET_F_GUEST_UFO = 10,
    VIRTIO_NET_F_HOST_TSO4 = 11,
    VIRTIO_NET_F_HOST_TSO6 = 12,
    VIRTIO_NET_F_HOST_ECN = 13,
    VIRTIO_NET_F_HOST_UFO = 14,
    VIRTIO_NET_F_MRG_RXBUF = 15,
    VIRTIO_NET_F_STATUS = 16,
    VIRTIO_NET_F_CTRL_VQ = 17,
    VIRTIO_NET_F_CTRL_RX = 18,
    VIRTIO_NET_F_CTRL_VLAN = 19,
    VIRTIO_NET_F_CTRL_RX_EXTRA = 20,
    VIRTIO_NET_F_GUEST_ANNOUNCE = 21,
    VIRTIO_NET_F_MQ = 22,
    VIRTIO_NET_F_CTRL_MAC_ADDR = 23,
    VIRTIO_NET_F_HASH_TUNNEL = 51,
    VIRTIO_NET_F_VQ_NOTF_COAL = 52,
    VIRTIO_NET_F_NOTF_COAL = 53,
    VIRTIO_NET_F_GUEST_USO4 = 54,
    VIRTIO_NET_F_GUEST_USO6 = 55,
    VIRTIO_NET_F_HOST_USO = 56,
    VIRTIO_NET_F_HASH_REPORT = 57,
    VIRTIO_NET_F_GUEST_HDRLEN = 59,
    VIRTIO_NET_F_RSS = 60,
    VIRTIO_NET_F_RSC_EXT = 61,
    VIRTIO_NET_F_STANDBY = 62,
    VIRTIO_NET_F_SPEED_DUPLEX = 63,
};

/* 5.1.2 Virtqueues, without VIRTIO_NET_F_MQ */
enum virtio_net_queue {
    VIRTIO_NET_RXQ = 0,
    VIRTIO_NET_TXQ = 1,
    VIRTIO_NET_CTRLQ = 2,
};

/* 5.1.4 Device configuration layout: offsets */
enum virtio_net_config_offset {
    VIRTIO_NET_CFG_MAC = 0,
    VIRTIO_NET_CFG_STATUS = 6,
    VIRTIO_NET_CFG_MAX_PAIRS = 8,
    VIRTIO_NET_CFG_MTU = 10,
    VIRTIO_NET_CFG_SPEED = 12,
    VIRTIO_NET_CFG_DUPLEX = 16,
};

/* status */
enum { VIRTIO_NET_S_LINK_UP = 1, VIRTIO_NET_S_ANNOUNCE = 2 };

#define VIRTIO_NET_MTU_MIN 68u /* 5.1.4.1 */

/* 5.1.6 Device Operation: the header in front of every frame */
struct virtio_net_hdr {
    uint8_t flags;
    uint8_t gso_type;
    uint16_t hdr_len;
    uint16_t gso_size;
    uint16_t csum_start;
    uint16_t csum_offset;
    uint16_t num_buffers;
};
static_assert(sizeof(struct virtio_net_hdr) == 12, "5.1.6");

enum virtio_net_hdr_flags {
    VIRTIO_NET_HDR_F_NEEDS_CSUM = 1,
    VIRTIO_NET_HDR_F_DATA_VALID = 2,
    VIRTIO_NET_HDR_F_RSC_INFO = 4,
};

enum virtio_net_hdr_gso {
    VIRTIO_NET_HDR_GSO_NONE = 0,
    VIRTIO_NET_HDR_GSO_TCPV4 = 1,
    VIRTIO_NET_HDR_GSO_UDP = 3,
    VIRTIO_NET_HDR_GSO_TCPV6 = 4,
    VIRTIO_NET_HDR_GSO_UDP_L4 = 5,
    VIRTIO_NET_HDR_GSO_ECN = 0x80,
};

/*
 * 5.1.6.5 Control Virtqueue. A command: the header and the data of the
 * command, which the device reads; then a byte that it writes.
 */
struct virtio_net_ctrl_hdr {
    uint8_t class;
    uint8_t command;
};
static_assert(sizeof(struct virtio_net_ctrl_hdr) == 2, "5.1.6.5");

enum virtio_net_ctrl_ack { VIRTIO_NET_OK = 0, VIRTIO_NET_ERR = 1 };

enum virtio_net_ctrl_class {
    VIRTIO_NET_CTRL_RX = 0,        /* .1 */
    VIRTIO_NET_CTRL_MAC = 1,       /* .2 */
    VIRTIO_NET_CTRL_VLAN = 2,      /* .3 */
    VIRTIO_NET_CTRL_ANNOUNCE = 3,  /* .4 */
    VIRTIO_NET_CTRL_MQ = 4,        /* .6 */
    VIRTIO_NET_CTRL_GUEST_OFFLOADS = 5, /* .8 */
    VIRTIO_NET_CTRL_NOTF_COAL = 6, /* .9 */
};

enum { VIRTIO_NET_CTRL_ANNOUNCE_ACK = 0 };

enum virtio_net_ctrl_notf_coal {
    VIRTIO_NET_CTRL_NOTF_COAL_TX_SET = 0,
    VIRTIO_NET_CTRL_NOTF_COAL_RX_SET = 1,
    VIRTIO_NET_CTRL_NOTF_COAL_VQ_SET = 2,
    VIRTIO_NET_CTRL_NOTF_COAL_VQ_GET = 3,
};

/* 5.1.6.5.9 Notifications Coalescing; 0 in either: no coalescing */
struct virtio_net_ctrl_coal {
    uint32_t max_packets;
    uint32_t max_usecs;
};
static_assert(sizeof(struct virtio_net_ctrl_coal) == 8, "5.1.6.5.9");

/* For VQ_GET the device writes `coal`, in front of the ack. */
struct virtio_net_ctrl_coal_vq {
    uint16_t vq_index;
    uint16_t reserved;
    struct virtio_net_ctrl_coal coal;
};
static_assert(sizeof(struct virtio_net_ctrl_coal_vq) == 12, "5.1.6.5.9");

#endif
