/*
 * Messages of a sockperf client, and the answers that are due, for net_rig.h.
 */
#ifndef SOCKPERF_RIG_H
#define SOCKPERF_RIG_H

#include <string.h>

#include "net_rig.h"

enum {
    SP_PORT = 11111,
    SP_HEADER = 14,
    SP_MOST = (1 << 20) - 1, /* bytes of a message over TCP */
    SP_CLIENT = 1,
    SP_ANSWER = 2,
    SP_WARMUP = 4,
    SP_ASK = SP_CLIENT | SP_ANSWER,
};

/* Bytes to send, and the bytes that must come back for them. */
struct sp_stream {
    uint8_t *out;
    uint32_t out_len;
    uint8_t *due;
    uint32_t due_len;
    uint32_t messages;
};

static inline void sp_header(uint8_t *p, uint32_t seq, unsigned flags,
                             uint32_t len)
{
    rig_put32(p, 0x01020304);
    rig_put32(p + 4, seq);
    rig_put16(p + 8, flags);
    rig_put32(p + 10, len);
}

static inline void sp_message(uint8_t *p, uint32_t seq, unsigned flags,
                              uint32_t len)
{
    rig_pattern(p, len, seq + 1);
    sp_header(p, seq, flags, len);
}

/* One message more; the caller has made room. */
static inline void sp_add(struct sp_stream *s, unsigned flags, uint32_t len)
{
    uint8_t *p = s->out + s->out_len;

    sp_message(p, s->messages++, flags, len);
    s->out_len += len;
    if ((flags & (SP_ASK | SP_WARMUP)) != SP_ASK)
        return;
    memcpy(s->due + s->due_len, p, len);
    rig_put16(s->due + s->due_len + 8, flags & ~(unsigned)SP_CLIENT);
    s->due_len += len;
}

#endif
