/*
 * What the TCP and UDP streams of an iperf3 test have in common: their
 * table, and what is done to all of them when the test goes on.
 */
#include <string.h>

#include "apps/iperf3_priv.h"

struct iperf3_stream iperf3_streams[STREAMS_MAX];
u8_t iperf3_pattern[IPERF3_PATTERN];

struct iperf3_stream *iperf3_new_stream(void)
{
    struct iperf3_test *t = &iperf3_test;
    struct iperf3_stream *s;
    u16_t n = t->streams_len;

    if (t->phase != PHASE_STREAMS || n >= t->streams_want)
        return NULL;
    s = &iperf3_streams[n];
    memset(s, 0, sizeof(*s));
    /* Clients number them 1, 3, 4, 5 ... */
    s->id = (u16_t)(n == 0 ? 1 : n + 2);
    /* With both directions, those that we receive come first. */
    s->sender = t->params.bidir ? n >= t->params.parallel : t->params.reverse;
    t->streams_len++;
    return s;
}

u64_t iperf3_moved(const struct iperf3_stream *s)
{
    u32_t waiting = 0;

    if (s->sender && s->pcb && !s->stopped)
        waiting = s->pcb->snd_lbb - s->pcb->snd_nxt;
    return s->bytes > waiting ? s->bytes - waiting : 0;
}

bool iperf3_counting(void)
{
    return iperf3_test.phase == PHASE_RUNNING ||
           iperf3_test.phase == PHASE_RESULTS ||
           iperf3_test.phase == PHASE_DRAIN;
}

void iperf3_active(void)
{
    struct iperf3_test *t = &iperf3_test;

    t->active_us = sys_now_us();
    /* What was on its way when the client ended the test: counted, and so is
     * the time that it took. */
    if (t->phase == PHASE_RESULTS || t->phase == PHASE_DRAIN)
        t->end_us = t->active_us;
}

void iperf3_streams_start(void)
{
    struct iperf3_test *t = &iperf3_test;

    t->start_us = t->active_us = t->report_us = sys_now_us();
    t->end_us = 0;
    t->sent = 0;
    t->report[0] = t->report[1] = 0;
    t->omitting = t->params.omit_s != 0;
    for (unsigned i = 0; i < t->streams_len; i++)
        iperf3_streams[i].pace_us = t->start_us;
}

void iperf3_streams_omit(void)
{
    struct iperf3_test *t = &iperf3_test;

    t->omitting = false;
    t->start_us = sys_now_us();
    for (unsigned i = 0; i < t->streams_len; i++) {
        struct iperf3_stream *s = &iperf3_streams[i];

        s->omit_bytes = iperf3_moved(s);
        s->omit_packets = s->packets;
        s->omit_errors = s->errors;
        s->jitter16_ns = 0;
    }
}

/* The client may be waiting in a read for the rest of a block: what we send
 * must come to an end, or it would not get on with the results. */
void iperf3_streams_stop(void)
{
    struct iperf3_test *t = &iperf3_test;

    for (unsigned i = 0; i < t->streams_len; i++) {
        struct iperf3_stream *s = &iperf3_streams[i];

        s->bytes = iperf3_moved(s);
        s->stopped = true;
        if (s->sender && s->pcb)
            tcp_shutdown(s->pcb, 0, 1);
    }
    t->end_us = sys_now_us();
}

void iperf3_streams_end(void)
{
    struct iperf3_test *t = &iperf3_test;

    for (unsigned i = 0; i < t->streams_len; i++) {
        struct iperf3_stream *s = &iperf3_streams[i];

        if (s->pcb)
            iperf3_abort(s->pcb);
        s->pcb = NULL;
    }
    t->streams_len = 0;
    t->streams_want = 0;
}
