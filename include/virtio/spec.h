/*
 * Virtio 1.3, chapters 2 and 6: device status and the reserved feature bits.
 *
 * Bit numbers, not masks; VIRTIO_BIT makes the mask.
 */
#ifndef VIRTIO_SPEC_H
#define VIRTIO_SPEC_H

#include <stdint.h>

#define VIRTIO_BIT(n) (UINT64_C(1) << (n))

/* 2.1 Device Status Field */
enum virtio_status {
    VIRTIO_S_ACKNOWLEDGE = 1,
    VIRTIO_S_DRIVER = 2,
    VIRTIO_S_DRIVER_OK = 4,
    VIRTIO_S_FEATURES_OK = 8,
    VIRTIO_S_NEEDS_RESET = 64,
    VIRTIO_S_FAILED = 128,
};

/* 6 Reserved Feature Bits */
enum virtio_feature {
    VIRTIO_F_NOTIFY_ON_EMPTY = 24, /* 6.3, legacy */
    VIRTIO_F_ANY_LAYOUT = 27,      /* 6.3, legacy */
    VIRTIO_F_INDIRECT_DESC = 28,
    VIRTIO_F_EVENT_IDX = 29,
    VIRTIO_F_VERSION_1 = 32,
    VIRTIO_F_ACCESS_PLATFORM = 33,
    VIRTIO_F_RING_PACKED = 34,
    VIRTIO_F_IN_ORDER = 35,
    VIRTIO_F_ORDER_PLATFORM = 36,
    VIRTIO_F_SR_IOV = 37,
    VIRTIO_F_NOTIFICATION_DATA = 38,
    VIRTIO_F_NOTIF_CONFIG_DATA = 39,
    VIRTIO_F_RING_RESET = 40,
    VIRTIO_F_ADMIN_VQ = 41,
};

/* 5 Device Types */
enum virtio_device_id { VIRTIO_ID_NET = 1 };

#endif
