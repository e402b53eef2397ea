/*
 * How fast a sending stream may go: `-b`. A budget grows with the time since
 * the stream's start; what is sent is taken from it, whole blocks at a time.
 */
#include "apps/iperf3_priv.h"

enum { BEHIND_MAX_US = 1000000 }; /* a backlog above this is forgotten */

u64_t iperf3_bytes_us(u64_t bytes, u64_t rate)
{
    u64_t bits = bytes * 8;

    return bits / rate * 1000000 + bits % rate * 1000000 / rate;
}

u32_t iperf3_allowed(struct iperf3_stream *s, u32_t block, u32_t most)
{
    u64_t rate = iperf3_test.params.rate;
    u64_t now, due;

    if (rate == 0)
        return most;
    now = sys_now_us();
    due = s->pace_us + iperf3_bytes_us(s->paced, rate);
    if (now < due) {
        plat_wakeup_at(sys_now_ns() + (due - now) * 1000);
        return 0;
    }
    if (now - due > BEHIND_MAX_US) {
        /* Held up by the network: do not make up for it in one burst. */
        s->pace_us = now;
        s->paced = 0;
    }
    return most < block ? most : block;
}
