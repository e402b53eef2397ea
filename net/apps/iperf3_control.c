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
struct iperf3_counters iperf3_count;

enum { WRITE_MAX = 16384 };

/* Length and text, as they are sent. */
static char results[4 + RESULTS_TEXT_MAX];

void iperf3_fault(enum iperf3_end why)
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
    t->entered_ms = sys_now();
    t->deadline_ms = t->entered_ms + limit_ms;
}

static void send_bytes(const void *data, size_t len)
{
    struct tcp_pcb *pcb = iperf3_test.control;
    const u8_t *at = data;

    while (pcb && len > 0) {
        u16_t n = (u16_t)LWIP_MIN(len, WRITE_MAX);

        /* All that we ever say fits into an empty send buffer. */
        if (tcp_write(pcb, at, n, TCP_WRITE_FLAG_COPY) != ERR_OK) {
            iperf3_fault(END_NOMEM);
            return;
        }
        at += n;
        len -= n;
    }
    if (pcb)
        tcp_output(pcb); /* no room now: lwIP will do it again */
}

static void send_state(enum iperf3_state state)
{
    s8_t byte = (s8_t)state;

    send_bytes(&byte, 1);
}

static void send_error(enum iperf3_error error)
{
    u32_t words[2] = {lwip_htonl((u32_t)error), 0};
    u8_t msg[1 + sizeof(words)];

    msg[0] = (u8_t)SERVER_ERROR;
    memcpy(msg + 1, words, sizeof(words));
    send_bytes(msg, sizeof(msg));
}

/* ---- the steps ---- */

static void got_params(void)
{
    struct iperf3_test *t = &iperf3_test;
    struct iperf3_params *p = &t->params;

    t->error = iperf3_read_params(t->text, t->len, p);
    if (t->error != ERROR_NONE) {
        iperf3_fault(END_BAD_PARAMS);
        return;
    }
    t->streams_want = (u16_t)(p->bidir ? 2 * p->parallel : p->parallel);
    enter(PHASE_STREAMS, ANSWER_MS + CONNECT_MS * t->streams_want);
    send_state(CREATE_STREAMS);
}

void iperf3_stream_ready(void)
{
    struct iperf3_test *t = &iperf3_test;
    const struct iperf3_params *p = &t->params;
    u32_t limit = 0;

    if (t->streams_len < t->streams_want)
        return;
    if (p->time_s)
        limit = (p->time_s + p->omit_s) * 1000 + GRACE_MS;
    enter(PHASE_RUNNING, limit);
    iperf3_streams_start();
    send_state(TEST_START);
    send_state(TEST_RUNNING);
}

static void test_over(void)
{
    iperf3_streams_stop();
    enter(PHASE_RESULTS, ANSWER_MS);
    send_state(EXCHANGE_RESULTS);
}

static void send_results(void)
{
    struct text t;
    u32_t be;

    text_begin(&t, results + 4, sizeof(results) - 4);
    iperf3_results(&t);
    be = lwip_htonl((u32_t)text_len(&t));
    memcpy(results, &be, 4);
    enter(PHASE_DONE, ANSWER_MS);
    send_bytes(results, 4 + text_len(&t));
    send_state(DISPLAY_RESULTS);
}

/*
 * The client counts what it has handed to its machine, and the last of that
 * may come behind its results, over other connections: it is waited for until
 * the streams are quiet.
 */
static void got_results(void)
{
    const struct iperf3_params *p = &iperf3_test.params;

    if (p->udp || (p->reverse && !p->bidir)) {
        send_results();
        return;
    }
    enter(PHASE_DRAIN, 0);
    iperf3_test.drain_us = sys_now_us();
}

static void drain(void)
{
    const struct iperf3_test *t = &iperf3_test;
    u64_t now = sys_now_us();
    u64_t since = LWIP_MAX(t->active_us, t->drain_us);

    if (now - since >= QUIET_US || now - t->drain_us >= DRAIN_MAX_US)
        send_results();
    else
        plat_wakeup_at(sys_now_ns() + (since + QUIET_US - now) * 1000);
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
            iperf3_fault(END_BAD_PARAMS);
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
        iperf3_fault(END_OK);
    else if (state == CLIENT_TERMINATE)
        iperf3_fault(END_CLIENT_QUIT);
    else
        iperf3_fault(END_BAD_MESSAGE);
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
    case PHASE_DRAIN: /* it does not wait for our results */
        send_results();
        n = 0;
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
        iperf3_fault(iperf3_test.phase == PHASE_DONE ? END_OK
                                                     : END_CLIENT_GONE);
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
    iperf3_fault(END_CLIENT_GONE);
}

void iperf3_begin(struct tcp_pcb *pcb, const char *cookie)
{
    struct iperf3_test *t = &iperf3_test;

    t->control = pcb;
    t->peer = pcb->remote_ip;
    t->fault = END_NONE;
    t->error = ERROR_NONE;
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

/* ---- the end ---- */

static const struct {
    const char *words;
    enum iperf3_error error; /* what the client is told; none: it is gone */
} endings[END_KINDS] = {
    [END_OK] = {"done", ERROR_NONE},
    [END_CLIENT_GONE] = {"the client is gone", ERROR_NONE},
    [END_CLIENT_QUIT] = {"the client gave up", ERROR_NONE},
    [END_BAD_MESSAGE] = {"message not understood", ERROR_MESSAGE},
    [END_BAD_PARAMS] = {"parameters not understood", ERROR_PARAMS},
    [END_TIMEOUT] = {"the client did not go on", ERROR_SILENCE},
    [END_PREEMPTED] = {"silent, and another client came", ERROR_SILENCE},
    [END_NOMEM] = {"no memory", ERROR_INIT},
};

static void log_end(enum iperf3_end why)
{
    char peer[IPADDR_STRLEN_MAX];

    if (why == END_OK) {
        iperf3_log_summary();
        return;
    }
    ipaddr_ntoa_r(&iperf3_test.peer, peer, sizeof(peer));
    plat_log(LOG_WARN, "iperf3: %s: test ended: %s", peer,
             endings[why].words);
}

static void end_test(enum iperf3_end why)
{
    struct iperf3_test *t = &iperf3_test;
    enum iperf3_error error = t->error ? t->error : endings[why].error;

    iperf3_count.ended[why]++;
    log_end(why);
    iperf3_streams_end();
    if (t->control) {
        if (error != ERROR_NONE)
            send_error(error);
        iperf3_close(t->control);
    }
    t->control = NULL;
    t->fault = END_NONE;
    t->phase = PHASE_IDLE;
}

/* ---- the pump ---- */

enum { INTERVAL_US = 1000000 };

/* While the test runs: the end of the omit time, and of each second. */
static void run_timers(void)
{
    struct iperf3_test *t = &iperf3_test;
    u64_t now = sys_now_us();
    u64_t omit_end = t->start_us + t->params.omit_s * UINT64_C(1000000);

    if (t->omitting && now >= omit_end)
        iperf3_streams_omit();
    else if (t->omitting)
        plat_wakeup_at(sys_now_ns() + (omit_end - now) * 1000);
    if (now - t->report_us >= INTERVAL_US)
        iperf3_log_interval();
}

void iperf3_control_pump(void)
{
    struct iperf3_test *t = &iperf3_test;

    if (t->phase == PHASE_IDLE)
        return;
    if (t->has_deadline && (s32_t)(sys_now() - t->deadline_ms) > 0)
        iperf3_fault(END_TIMEOUT);
    if (t->fault != END_NONE)
        end_test(t->fault);
    else if (t->phase == PHASE_RUNNING)
        run_timers();
    else if (t->phase == PHASE_DRAIN)
        drain();
}
