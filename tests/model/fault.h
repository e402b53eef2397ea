/*
 * What a dishonest or failing device does. One list; a test arms an entry on
 * a queue for a number of occasions, and the model commits it at the place
 * named here.
 *
 * X(NAME, "where and what")
 */
#ifndef FAULT_H
#define FAULT_H

#define FAULTS(X)                                                            \
    /* vring_dev.c, when a used entry is written */                          \
    X(ID_RANGE, "used id equal to the ring size")                            \
    X(ID_HUGE, "used id of all ones")                                        \
    X(ID_FREE, "used id of a descriptor that is not outstanding")            \
    X(ID_REPEATED, "the same id a second time")                              \
    X(ID_MID_CHAIN, "id of the second descriptor of a chain")                \
    X(LEN_OVER, "one byte more than the buffer holds")                       \
    X(LEN_HUGE, "length of all ones")                                        \
    X(LEN_SIGN, "length 0x80000000")                                         \
    X(LEN_ZERO, "length 0")                                                  \
    X(LEN_SHORT, "length one byte short of the header")                      \
    X(LEN_HEADER, "length of the header alone")                              \
    X(DESC_SCRIBBLED, "the descriptor table is overwritten before")          \
    /* vring_dev.c, when the used index is published */                      \
    X(IDX_JUMP, "used index ahead by the ring size and one")                 \
    X(IDX_BACK, "used index one back")                                       \
    X(IDX_UNFOUNDED, "used index one ahead of what was used")                \
    /* netdev_rx.c, in the header of a frame */                              \
    X(NUM_BUFFERS_ZERO, "num_buffers 0")                                     \
    X(NUM_BUFFERS_MORE, "num_buffers one more than follow")                  \
    X(NUM_BUFFERS_19, "num_buffers above the largest frame")                 \
    X(NUM_BUFFERS_MAX, "num_buffers 65535")                                  \
    X(NUM_BUFFERS_EXACT, "num_buffers as in struct model")                   \
    X(MIDDLE_SHORT, "a buffer that is not the last is not full")             \
    X(FLAGS_JUNK, "all unknown flag bits set")                               \
    X(GSO_JUNK, "gso_type 0x7f")                                             \
    X(GSO_UNASKED, "gso_type of a segmentation not negotiated (UFO)")        \
    X(GSO_SIZE_ZERO, "TCP segmentation with size 0")                         \
    X(CSUM_OUTSIDE, "partial checksum outside of the frame")                 \
    X(CSUM_WRAPS, "csum_start + csum_offset wraps over 16 bits")             \
    X(HDR_LEN_JUNK, "hdr_len 65535")                                         \
    X(HALF_FRAME, "the last buffer of a frame is never used")                \
    /* netdev.c */                                                           \
    X(IRQ_LOST, "an interrupt that is due does not come")                    \
    X(IRQ_STORM, "interrupts on every vector, for nothing")                  \
    X(NOTIFY_LOST, "a doorbell is not heard")                                \
    X(FEATURES_REFUSED, "FEATURES_OK does not stick")                        \
    X(DRIVER_OK_REFUSED, "FAILED appears at DRIVER_OK")                      \
    X(RESET_NEVER, "the status does not return to 0")                        \
    X(RESET_SLOW, "the status returns to 0 after that many reads")           \
    X(NEEDS_RESET, "DEVICE_NEEDS_RESET while running")                       \
    X(QUEUE_MAX_ZERO, "the queue has size 0")                                \
    X(QUEUE_MAX_ODD, "the queue's largest size is not a power of two")       \
    X(QUEUE_REFUSED, "the queue cannot be enabled")                          \
    X(GENERATION, "the configuration changes at every read")                 \
    X(LINK_FLAPS, "the link goes down or up at a doorbell")                  \
    X(VECTOR_REFUSED, "a vector reads back as none (PCI)")                   \
    /* netdev_ctrl.c, when a command is there */                             \
    X(CTRL_SILENT, "a command is never answered")                            \
    X(CTRL_LATE, "a command waits for model_ctrl_answer")                    \
    X(CTRL_ERR, "a command is refused: VIRTIO_NET_ERR")                      \
    X(CTRL_JUNK, "the ack is neither OK nor ERR")                            \
    X(CTRL_UNTOUCHED, "the command is used, the ack not written")            \
    X(COAL_STUCK, "OK to a coalescing command, then no interrupts at all")   \
    X(COAL_IGNORED, "OK to a coalescing command, and nothing changes")       \
    X(GONE, "the device is no longer there: all ones")

enum fault {
#define X(name, text) FAULT_##name,
    FAULTS(X)
#undef X
    FAULT_COUNT
};

const char *fault_name(enum fault f);

/* Armed faults of a queue, or of the device as a whole. */
struct fault_set {
    unsigned left[FAULT_COUNT]; /* occasions that are left */
    unsigned done[FAULT_COUNT]; /* committed so far */
};

#define FAULT_ALWAYS (~0u)

static inline void fault_arm(struct fault_set *s, enum fault f, unsigned times)
{
    s->left[f] = times;
}

/* Is it time to commit this one? Uses up an occasion. */
static inline int fault_hit(struct fault_set *s, enum fault f)
{
    if (s->left[f] == 0)
        return 0;
    if (s->left[f] != FAULT_ALWAYS)
        s->left[f]--;
    s->done[f]++;
    return 1;
}

#endif
