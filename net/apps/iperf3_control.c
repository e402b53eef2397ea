/*
 * The control connection of an iperf3 test: what is expected of the client
 * in which phase, and what it is told.
 *
 *     client: cookie          server: PARAM_EXCHANGE
 *     client: parameters      server: CREATE_STREAMS
 *     client: all streams     server: TEST_START, TEST_RUNNING
 *     client: TEST_END        server: EXCHANGE_RESULTS
 *     client: results         server: results, DISPLAY_RESULTS
 *     client: IPERF_DONE
 *
 * Parameters and results are JSON behind a length of four bytes. Every step
 * of the client has a deadline.
 */
#include <string.h>

#include "apps/iperf3_priv.h"

struct iperf3_test iperf3_test;
struct iperf3_stream iperf3_streams[STREAMS_MAX];
struct iperf3_counters iperf3_count;

/* Our results: 128 streams both ways take about 50 KiB. */
enum { RESULTS_TEXT = 64 * 1024 };
static char results[RESULTS_TEXT];

static void fault(enum iperf3_end why)
{
    if (iperf3_test.fault == END_NONE)
        iperf3_test.fault = why;
}

static void enter(enum iperf3_phase phase, u32_t limit_ms)
{
    struct iperf3_test *t = &iperf3_test;

    t->phase = phase;
    t->got = 0;
    t->len = 0;
    t->has_deadline = limit_ms != 0;
    t->deadline_ms = sys_now() + limit_ms;
}

static void send_bytes(const void *data, u16_t len)
{
    struct tcp_pcb *pcb = iperf3_test.control;

    /* All that we ever say fits into an empty send buffer. */
    if (!pcb || tcp_write(pcb, data, len, TCP_WRITE_FLAG_COPY) != ERR_OK ||
        tcp_output(pcb) != ERR_OK)
        fault(END_NOMEM);
}

static void send_state(enum iperf3_state state)
{
    s8_t byte = (s8_t)state;

    send_bytes(&byte, 1);
}

/* ---- the steps ---- */

static void got_params(void)
{
    struct iperf3_test *t = &iperf3_test;
    struct iperf3_params *p = &t->params;

    if (!iperf3_read_params(t->text, t->len, p)) {
        fault(END_BAD_PARAMS);
        return;
    }
    t->streams_want = (u16_t)(p->bidir ? 2 * p->parallel : p->parallel);
    t->streams_len = 0;
    enter(PHASE_STREAMS, ANSWER_MS);
    send_state(CREATE_STREAMS);
}

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

void iperf3_stream_ready(void)
{
    struct iperf3_test *t = &iperf3_test;
    const struct iperf3_params *p = &t->params;
    u32_t limit = 0;

    if (t->streams_len < t->streams_want) {
        enter(PHASE_STREAMS, ANSWER_MS);
        return;
    }
    if (p->time_s)
        limit = (p->time_s + p->omit_s) * 1000 + GRACE_MS;
    enter(PHASE_RUNNING, limit);
    t->start_us = t->active_us = sys_now_us();
    t->end_us = 0;
    t->omitting = p->omit_s != 0;
    for (unsigned i = 0; i < t->streams_len; i++)
        iperf3_streams[i].start_us = t->start_us;
    send_state(TEST_START);
    send_state(TEST_RUNNING);
}

/*
 * The client may be waiting in a read for the rest of a block: what we send
 * must come to an end, so that it gets on with the results.
 */
static void end_sending(void)
{
    for (unsigned i = 0; i < iperf3_test.streams_len; i++) {
        struct iperf3_stream *s = &iperf3_streams[i];

        if (!s->sender || !s->pcb)
            continue;
        s->bytes = iperf3_tcp_sent(s);
        tcp_shutdown(s->pcb, 0, 1);
    }
}

static void test_over(void)
{
    iperf3_test.end_us = sys_now_us();
    end_sending();
    enter(PHASE_RESULTS, ANSWER_MS);
    send_state(EXCHANGE_RESULTS);
}

static void got_results(void)
{
    u32_t n = (u32_t)iperf3_results(results + 4, sizeof(results) - 4);
    u32_t be = lwip_htonl(n);

    memcpy(results, &be, 4);
    enter(PHASE_DONE, ANSWER_MS);
    send_bytes(results, (u16_t)LWIP_MIN(n + 4, 65535));
    send_state(DISPLAY_RESULTS);
}

/* ---- bytes from the client ---- */

/* A message of a length and text: takes from data what belongs to it; *done
 * when it is complete. The text of results is passed over. */
static u16_t take_message(const u8_t *data, u16_t len, u32_t max, bool keep,
                          bool *done)
{
    struct iperf3_test *t = &iperf3_test;
    u32_t n;

    if (t->got < 4) {
        t->len = t->len << 8 | data[0];
        t->got++;
        if (t->got == 4 && (t->len == 0 || t->len > max))
            fault(END_BAD_PARAMS);
        return 1;
    }
    n = LWIP_MIN(len, t->len - (t->got - 4));
    if (keep)
        memcpy(t->text + (t->got - 4), data, n);
    t->got += n;
    *done = t->got - 4 == t->len;
    return (u16_t)n;
}

static void got_state(s8_t state)
{
    enum iperf3_phase phase = iperf3_test.phase;

    if (state == TEST_END && phase == PHASE_RUNNING)
        test_over();
    else if (state == IPERF_DONE && phase == PHASE_DONE)
        fault(END_OK);
    else if (state == CLIENT_TERMINATE)
        fault(END_CLIENT_QUIT);
    else
        fault(END_BAD_MESSAGE);
}

/* Takes what it can make use of now; returns how much that was. */
static u16_t take(const u8_t *data, u16_t len)
{
    bool done = false;
    u16_t n = 1;

    switch (iperf3_test.phase) {
    case PHASE_PARAMS:
        n = take_message(data, len, PARAMS_MAX, true, &done);
        if (done)
            got_params();
        break;
    case PHASE_RESULTS:
        n = take_message(data, len, RESULTS_MAX, false, &done);
        if (done)
            got_results();
        break;
    default:
        got_state((s8_t)data[0]);
    }
    return n;
}

static void take_all(const u8_t *data, u16_t len)
{
    while (len > 0 && iperf3_test.fault == END_NONE) {
        u16_t n = take(data, len);

        data += n;
        len = (u16_t)(len - n);
    }
}

static err_t control_recv(void *arg, struct tcp_pcb *pcb, struct pbuf *p,
                          err_t err)
{
    (void)arg;
    (void)err;
    if (!p) {
        /* Some clients close right behind their last word. */
        fault(iperf3_test.phase == PHASE_DONE ? END_OK : END_CLIENT_GONE);
        return ERR_OK;
    }
    tcp_recved(pcb, p->tot_len);
    for (const struct pbuf *q = p; q; q = q->next)
        take_all(q->payload, q->len);
    pbuf_free(p);
    return ERR_OK;
}

static void control_err(void *arg, err_t err)
{
    (void)arg;
    (void)err;
    iperf3_test.control = NULL;
    fault(END_CLIENT_GONE);
}

void iperf3_begin(struct tcp_pcb *pcb, const char *cookie)
{
    struct iperf3_test *t = &iperf3_test;

    t->control = pcb;
    t->fault = END_NONE;
    t->streams_len = 0;
    t->streams_want = 0;
    memcpy(t->cookie, cookie, COOKIE_LEN);
    tcp_arg(pcb, NULL);
    tcp_recv(pcb, control_recv);
    tcp_err(pcb, control_err);
    tcp_nagle_disable(pcb);
    /* A client whose machine has vanished is noticed within 15 seconds. */
    ip_set_option(pcb, SOF_KEEPALIVE);
    pcb->keep_idle = 5000;
    pcb->keep_intvl = 2000;
    pcb->keep_cnt = 5;
    enter(PHASE_PARAMS, ANSWER_MS);
    send_state(PARAM_EXCHANGE);
}

/* ---- the pump ---- */

static void end_streams(void)
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

static void end_test(enum iperf3_end why)
{
    static const char *const words[END_KINDS] = {
        [END_OK] = "done",
        [END_CLIENT_GONE] = "the client is gone",
        [END_CLIENT_QUIT] = "the client gave up",
        [END_BAD_MESSAGE] = "unexpected message",
        [END_BAD_PARAMS] = "bad parameters",
        [END_TIMEOUT] = "the client did not go on",
        [END_PREEMPTED] = "silent, and another client came",
        [END_NOMEM] = "no memory",
    };
    struct iperf3_test *t = &iperf3_test;

    iperf3_count.ended[why]++;
    if (why == END_OK)
        iperf3_log_summary();
    else
        plat_log(LOG_WARN, "iperf3: test ended: %s", words[why]);
    end_streams();
    if (t->control && why == END_OK) {
        iperf3_close(t->control);
    } else if (t->control) {
        if (why != END_CLIENT_GONE && why != END_CLIENT_QUIT)
            send_state(SERVER_ERROR);
        iperf3_close(t->control);
    }
    t->control = NULL;
    t->fault = END_NONE;
    t->phase = PHASE_IDLE;
}

/* The omit time is over: what was counted so far does not count. */
static void end_omit(void)
{
    struct iperf3_test *t = &iperf3_test;

    t->omitting = false;
    t->start_us = sys_now_us();
    for (unsigned i = 0; i < t->streams_len; i++) {
        struct iperf3_stream *s = &iperf3_streams[i];

        s->omit_bytes = s->sender && s->pcb ? iperf3_tcp_sent(s) : s->bytes;
        s->omit_packets = s->packets;
        s->omit_errors = s->errors;
        s->jitter16_ns = 0;
    }
}

void iperf3_control_pump(void)
{
    struct iperf3_test *t = &iperf3_test;

    if (t->phase == PHASE_IDLE)
        return;
    if (t->has_deadline && (s32_t)(sys_now() - t->deadline_ms) > 0)
        fault(END_TIMEOUT);
    if (t->fault != END_NONE) {
        end_test(t->fault);
        return;
    }
    if (t->phase == PHASE_RUNNING && t->omitting &&
        sys_now_us() - t->start_us >= t->params.omit_s * UINT64_C(1000000))
        end_omit();
}
