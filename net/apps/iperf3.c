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

/* A connection that has not been found out. */
struct waiting {
    struct waiting *next;
    struct tcp_pcb *pcb; /* NULL: gone, or this place is free */
    u32_t since_ms;
    u8_t got;
    bool bad; /* closed, or no client that we know */
    char cookie[COOKIE_LEN];
};

static struct waiting place[WAITING_MAX];
static struct waiting *waiting; /* in the order of their coming */

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

static bool complete(const struct waiting *w)
{
    return w->got == COOKIE_LEN;
}

/* A client that we know says nothing behind its cookie until it is asked. */
static err_t waiting_recv(void *arg, struct tcp_pcb *pcb, struct pbuf *p,
                          err_t err)
{
    struct waiting *w = arg;
    u16_t room = (u16_t)(COOKIE_LEN - w->got);

    (void)err;
    if (!p) {
        w->bad = true;
        return ERR_OK;
    }
    if (p->tot_len > room)
        w->bad = true;
    else
        w->got = (u8_t)(w->got +
                        pbuf_copy_partial(p, w->cookie + w->got, room, 0));
    if (complete(w) && w->cookie[COOKIE_LEN - 1] != '\0')
        w->bad = true;
    tcp_recved(pcb, p->tot_len);
    pbuf_free(p);
    return ERR_OK;
}

static void waiting_err(void *arg, err_t err)
{
    struct waiting *w = arg;

    (void)err;
    w->pcb = NULL;
    w->bad = true;
}

static void forget(struct waiting *w)
{
    struct waiting **at = &waiting;

    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
    memset(w, 0, sizeof(*w));
}

static void give_up(struct waiting *w)
{
    iperf3_count.no_cookie++;
    if (w->pcb)
        iperf3_abort(w->pcb);
    forget(w);
}

/* A free place at the end of the line. When all are taken, the one that has
 * stood there longest without a cookie goes. */
static struct waiting *new_place(void)
{
    struct waiting **at = &waiting;
    struct waiting *w = waiting;
    unsigned n = 0;

    for (; w; w = w->next)
        n++;
    if (n == WAITING_MAX) {
        for (w = waiting; w && complete(w); w = w->next)
            ;
        if (!w)
            return NULL;
        give_up(w);
    }
    for (w = place; w->pcb || w->bad; w++)
        ;
    while (*at)
        at = &(*at)->next;
    *at = w;
    return w;
}

static err_t accepted(void *arg, struct tcp_pcb *pcb, err_t err)
{
    struct waiting *w;

    (void)arg;
    if (err != ERR_OK || !pcb)
        return ERR_VAL;
    w = new_place();
    if (!w)
        return ERR_MEM; /* lwIP resets the connection */
    w->pcb = pcb;
    w->since_ms = sys_now();
    tcp_arg(pcb, w);
    tcp_recv(pcb, waiting_recv);
    tcp_err(pcb, waiting_err);
    return ERR_OK;
}

/* ---- from the cookie on ---- */

static void deny(struct tcp_pcb *pcb)
{
    s8_t state = ACCESS_DENIED;

    iperf3_count.denied++;
    tcp_write(pcb, &state, 1, TCP_WRITE_FLAG_COPY);
    iperf3_close(pcb);
}

/*
 * May the test be given up for another client? When its own does not go on,
 * or nothing has moved for long, although by its rate it should have.
 */
static bool silent(void)
{
    const struct iperf3_test *t = &iperf3_test;
    u64_t limit = SILENT_MS * UINT64_C(1000);

    if (t->phase != PHASE_RUNNING)
        return sys_now() - t->entered_ms > SLOW_MS;
    if (t->params.rate)
        limit += 3 * iperf3_bytes_us(t->params.block, t->params.rate);
    return sys_now_us() - t->active_us > limit;
}

/*
 * Streams have no names: they are numbered in the order in which the client
 * has connected them. One whose cookie is late holds up those behind it.
 */
static bool overtakes(const struct waiting *w)
{
    for (const struct waiting *e = waiting; e != w; e = e->next)
        if (!e->bad && !complete(e) &&
            ip_addr_eq(&e->pcb->remote_ip, &w->pcb->remote_ip) &&
            sys_now() - e->since_ms < ORDER_MS)
            return true;
    return false;
}

static bool is_stream(const struct waiting *w)
{
    const struct iperf3_test *t = &iperf3_test;

    return t->phase == PHASE_STREAMS && !t->params.udp &&
           memcmp(w->cookie, t->cookie, COOKIE_LEN) == 0;
}

/* What a connection with a cookie is. False: that cannot be said yet. */
static bool sort(struct waiting *w)
{
    const struct iperf3_test *t = &iperf3_test;

    if (t->fault != END_NONE)
        return false; /* the test is over at the next turn */
    if (is_stream(w)) {
        if (overtakes(w))
            return false;
        iperf3_tcp_stream(w->pcb);
        iperf3_stream_ready();
    } else if (t->phase == PHASE_IDLE) {
        iperf3_begin(w->pcb, w->cookie);
    } else if (silent()) {
        iperf3_fault(END_PREEMPTED);
        return false;
    } else {
        deny(w->pcb);
    }
    return true;
}

static void sort_waiting(void)
{
    struct waiting *next;

    for (struct waiting *w = waiting; w; w = next) {
        next = w->next;
        if (w->bad || sys_now() - w->since_ms > COOKIE_MS)
            give_up(w);
        else if (complete(w) && sort(w))
            forget(w);
    }
}

/* ---- the application ---- */

static void ask_wakeup(void)
{
    const struct iperf3_test *t = &iperf3_test;

    if (t->phase != PHASE_IDLE || waiting)
        plat_wakeup_at(sys_now_ns() + UINT64_C(250000000));
}

static bool pump(void)
{
    const struct iperf3_test *t = &iperf3_test;
    bool more = false;

    iperf3_control_pump();
    sort_waiting();
    if (t->phase == PHASE_RUNNING && t->fault == END_NONE) {
        if (t->params.udp)
            more = iperf3_udp_pump();
        else
            iperf3_tcp_pump();
    }
    ask_wakeup();
    return more || t->fault != END_NONE;
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
    listener = err == ERR_OK ? tcp_listen_with_backlog_and_err(
                                   pcb, TCP_DEFAULT_LISTEN_BACKLOG, &err)
                             : NULL;
    if (!listener) {
        tcp_close(pcb);
        return err;
    }
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
