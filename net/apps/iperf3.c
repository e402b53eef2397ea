/*
 * iperf3 server, TCP and UDP port 5201: the protocol of the stock client, as
 * of versions 3.9 to 3.18. One test at a time, as the original does; a
 * further client is told so.
 *
 * This file takes connections and finds out what they are: each begins with
 * the client's cookie. That of the running test makes it a stream, another
 * one a new client.
 */
#include <string.h>

#include "apps/iperf3_priv.h"

extern const struct app iperf3_app;

/* A connection whose cookie is not complete. */
struct waiting {
    struct tcp_pcb *pcb; /* NULL: this place is free, or it has gone */
    u32_t since_ms;
    u8_t got;
    bool full;           /* the cookie is there: to be dealt with */
    bool closed;         /* the peer has closed before that */
    char cookie[COOKIE_LEN];
    struct pbuf *rest;   /* what came behind the cookie */
};

static struct waiting waiting[WAITING_MAX];
static unsigned waiting_count;

void iperf3_abort(struct tcp_pcb *pcb)
{
    tcp_arg(pcb, NULL);
    tcp_recv(pcb, NULL);
    tcp_err(pcb, NULL);
    tcp_sent(pcb, NULL);
    tcp_abort(pcb);
}

void iperf3_close(struct tcp_pcb *pcb)
{
    tcp_arg(pcb, NULL);
    tcp_recv(pcb, NULL);
    tcp_err(pcb, NULL);
    tcp_sent(pcb, NULL);
    if (tcp_close(pcb) != ERR_OK)
        tcp_abort(pcb);
}

/* ---- up to the cookie ---- */

static void forget(struct waiting *w)
{
    if (w->rest)
        pbuf_free(w->rest);
    memset(w, 0, sizeof(*w));
    waiting_count--;
}

static err_t waiting_recv(void *arg, struct tcp_pcb *pcb, struct pbuf *p,
                          err_t err)
{
    struct waiting *w = arg;
    u16_t n;

    (void)err;
    if (!p) {
        w->closed = true;
        return ERR_OK;
    }
    n = pbuf_copy_partial(p, w->cookie + w->got,
                          (u16_t)(COOKIE_LEN - w->got), 0);
    w->got = (u8_t)(w->got + n);
    w->full = w->got == COOKIE_LEN;
    tcp_recved(pcb, n);
    p = pbuf_free_header(p, n);
    if (p && w->rest)
        pbuf_cat(w->rest, p);
    else if (p)
        w->rest = p;
    return ERR_OK;
}

static void waiting_err(void *arg, err_t err)
{
    struct waiting *w = arg;

    (void)err;
    w->pcb = NULL;
    w->closed = true;
}

static err_t accepted(void *arg, struct tcp_pcb *pcb, err_t err)
{
    (void)arg;
    if (err != ERR_OK || !pcb)
        return ERR_VAL;
    for (unsigned i = 0; i < WAITING_MAX; i++) {
        struct waiting *w = &waiting[i];

        if (w->pcb || w->closed)
            continue;
        memset(w, 0, sizeof(*w));
        w->pcb = pcb;
        w->since_ms = sys_now();
        waiting_count++;
        tcp_arg(pcb, w);
        tcp_recv(pcb, waiting_recv);
        tcp_err(pcb, waiting_err);
        return ERR_OK;
    }
    iperf3_count.denied++;
    return ERR_MEM; /* lwIP resets the connection */
}

/* ---- from the cookie on ---- */

/* Hands over what came behind the cookie, as if it came now. */
static void replay(struct tcp_pcb *pcb, struct pbuf *rest)
{
    if (rest)
        pcb->recv(pcb->callback_arg, pcb, rest, ERR_OK);
}

static void deny(struct tcp_pcb *pcb)
{
    s8_t state = ACCESS_DENIED;

    iperf3_count.denied++;
    tcp_write(pcb, &state, 1, TCP_WRITE_FLAG_COPY);
    iperf3_close(pcb);
}

/* May a test that is under way be given up for another client? */
static bool silent(void)
{
    const struct iperf3_test *t = &iperf3_test;

    return t->phase == PHASE_RUNNING &&
           sys_now_us() - t->active_us > SILENT_MS * UINT64_C(1000);
}

static void sort(struct waiting *w)
{
    struct iperf3_test *t = &iperf3_test;
    struct tcp_pcb *pcb = w->pcb;
    struct pbuf *rest = w->rest;
    bool ours = t->phase != PHASE_IDLE &&
                memcmp(w->cookie, t->cookie, COOKIE_LEN) == 0;

    w->rest = NULL;
    if (ours && t->phase == PHASE_STREAMS && !t->params.udp) {
        iperf3_tcp_stream(pcb);
        replay(pcb, rest);
        iperf3_stream_ready();
    } else if (t->phase == PHASE_IDLE) {
        iperf3_begin(pcb, w->cookie);
        replay(pcb, rest);
        if (w->closed)
            t->fault = END_CLIENT_GONE;
    } else {
        if (rest)
            pbuf_free(rest);
        deny(pcb);
        if (silent())
            t->fault = END_PREEMPTED;
    }
    forget(w);
}

static void sort_waiting(void)
{
    for (unsigned i = 0; waiting_count && i < WAITING_MAX; i++) {
        struct waiting *w = &waiting[i];

        if (w->pcb && w->full) {
            sort(w);
        } else if (w->closed ||
                   (w->pcb && sys_now() - w->since_ms > COOKIE_MS)) {
            iperf3_count.no_cookie++;
            if (w->pcb)
                iperf3_abort(w->pcb);
            forget(w);
        }
    }
}

/* ---- the application ---- */

static bool pump(void)
{
    const struct iperf3_test *t = &iperf3_test;
    bool more = false;

    sort_waiting();
    if (t->phase == PHASE_RUNNING && t->fault == END_NONE)
        more = t->params.udp ? iperf3_udp_pump() : iperf3_tcp_pump();
    iperf3_control_pump();
    if (t->phase != PHASE_IDLE || waiting_count)
        plat_wakeup_at(sys_now_ns() + UINT64_C(500000000));
    return more;
}

static void stats(app_line_fn *line)
{
    const struct iperf3_counters *c = &iperf3_count;

    line("iperf3_done", c->ended[END_OK]);
    line("iperf3_client_gone", c->ended[END_CLIENT_GONE]);
    line("iperf3_client_quit", c->ended[END_CLIENT_QUIT]);
    line("iperf3_bad_message", c->ended[END_BAD_MESSAGE]);
    line("iperf3_bad_params", c->ended[END_BAD_PARAMS]);
    line("iperf3_timeout", c->ended[END_TIMEOUT]);
    line("iperf3_preempted", c->ended[END_PREEMPTED]);
    line("iperf3_nomem", c->ended[END_NOMEM]);
    line("iperf3_denied", c->denied);
    line("iperf3_no_cookie", c->no_cookie);
    line("iperf3_stray_udp", c->stray_udp);
    line("iperf3_rx_bytes", c->rx_bytes);
    line("iperf3_tx_bytes", c->tx_bytes);
    line("iperf3_tx_retry", c->tx_retry);
}

static err_t start(void)
{
    struct tcp_pcb *pcb = tcp_new_ip_type(IPADDR_TYPE_ANY);
    struct tcp_pcb *listener;
    err_t err;

    if (!pcb)
        return ERR_MEM;
    err = tcp_bind(pcb, IP_ANY_TYPE, IPERF3_PORT);
    if (err != ERR_OK)
        return err;
    listener = tcp_listen(pcb);
    if (!listener)
        return ERR_MEM;
    tcp_accept(listener, accepted);
    for (unsigned i = 0; i < IPERF3_PATTERN; i++)
        iperf3_pattern[i] = (u8_t)('0' + i % 10);
    return iperf3_udp_start();
}

const struct app iperf3_app = {
    .name = "iperf3",
    .start = start,
    .pump = pump,
    .stats = stats,
};
