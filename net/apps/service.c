/*
 * The common part of the small services; service.h says what that is.
 *
 * Memory. A peer that sends and does not read can make us keep a window of
 * its data and a send buffer of ours. Both are limited to 64 KiB here. What
 * is kept of received data lies in receive buffers of the driver, where a
 * byte may take a page: a queue of many pieces is copied together.
 */
#include "apps/service.h"

#include <string.h>

#include "lwip/ip.h"
#include "lwip/sys.h"

enum {
    POLL_TICKS = 5,   /* of 100 ms: how often work() is tried again */
    IDLE_MS = 5000,   /* after this an idle connection may be evicted */
    STALL_MS = 60000, /* after this one with data pending is ended */
    PIECES_MOST = 32, /* receive buffers one connection may keep */
    BACKLOG = 64,
    PORT_RESERVED = 1024, /* below: servers */
};

/* ---- the list, least recently active first ---------------------------- */

static void list_remove(struct svc_conn *c)
{
    struct service *s = c->svc;

    if (c->prev)
        c->prev->next = c->next;
    else
        s->first = c->next;
    if (c->next)
        c->next->prev = c->prev;
    else
        s->last = c->prev;
}

static void list_append(struct svc_conn *c)
{
    struct service *s = c->svc;

    c->next = NULL;
    c->prev = s->last;
    if (s->last)
        s->last->next = c;
    else
        s->first = c;
    s->last = c;
}

static void progress(struct svc_conn *c)
{
    c->active_ms = sys_now();
    if (c->next) {
        list_remove(c);
        list_append(c);
    }
}

/* ---- the callbacks, on and off ---------------------------------------- */

static err_t on_recv(void *arg, struct tcp_pcb *pcb, struct pbuf *p,
                     err_t err);
static err_t on_sent(void *arg, struct tcp_pcb *pcb, u16_t len);
static err_t on_poll(void *arg, struct tcp_pcb *pcb);
static void on_error(void *arg, err_t err);

static void attach(struct svc_conn *c)
{
    tcp_arg(c->pcb, c);
    tcp_recv(c->pcb, on_recv);
    tcp_sent(c->pcb, on_sent);
    tcp_err(c->pcb, on_error);
    tcp_poll(c->pcb, on_poll, POLL_TICKS);
}

/* lwIP must not call us any more for this connection. */
static void detach(struct tcp_pcb *pcb)
{
    tcp_arg(pcb, NULL);
    tcp_recv(pcb, NULL);
    tcp_sent(pcb, NULL);
    tcp_err(pcb, NULL);
    tcp_poll(pcb, NULL, 0);
}

/* ---- end of a connection ---------------------------------------------- */

static void conn_free(struct svc_conn *c)
{
    struct service *s = c->svc;

    list_remove(c);
    if (c->rx)
        pbuf_free(c->rx);
    memset(c, 0, sizeof(*c));
    c->next = s->unused;
    s->unused = c;
}

/* Ends the connection by a reset. The caller, when it is a callback of this
 * connection, must return ERR_ABRT. */
static void conn_abort(struct svc_conn *c)
{
    struct tcp_pcb *pcb = c->pcb;

    detach(pcb);
    conn_free(c);
    tcp_abort(pcb);
}

static void on_error(void *arg, err_t err)
{
    struct svc_conn *c = arg;

    (void)err;
    c->svc->count.failed++;
    conn_free(c); /* the pcb is gone already */
}

/*
 * Closes in good order. lwIP answers a close with a reset when the window is
 * not what it started with, so the limit that was put on it is taken back.
 * Without memory for the FIN the connection stays and poll tries again.
 */
static void conn_close(struct svc_conn *c)
{
    struct tcp_pcb *pcb = c->pcb;

    detach(pcb);
    pcb->rcv_wnd = TCP_WND_MAX(pcb);
    if (tcp_close(pcb) != ERR_OK) {
        attach(c);
        return;
    }
    c->svc->count.closed++;
    conn_free(c);
}

/*
 * Many small pieces are copied together, which gives their buffers back.
 * Without memory for that they stay as they are, until the next try.
 */
static void join_pieces(struct svc_conn *c)
{
    struct pbuf *joined;

    if (pbuf_clen(c->rx) <= PIECES_MOST)
        return;
    joined = pbuf_clone(PBUF_RAW, PBUF_RAM, c->rx);
    if (!joined)
        return;
    pbuf_free(c->rx);
    c->rx = joined;
}

/* Work, and the end when there is nothing left to do. The result is that of
 * the callback. */
static err_t conn_work(struct svc_conn *c)
{
    c->svc->work(c);
    if (c->broken) {
        c->svc->count.failed++;
        conn_abort(c);
        return ERR_ABRT;
    }
    if (c->rx)
        join_pieces(c);
    else if (c->rx_closed)
        conn_close(c);
    return ERR_OK;
}

/* ---- callbacks of a connection ---------------------------------------- */

/* Pieces of no length come in front when lwIP has taken headers off them. */
static void drop_empty(struct svc_conn *c)
{
    while (c->rx && c->rx->len == 0) {
        struct pbuf *head = c->rx;

        c->rx = head->next;
        head->next = NULL;
        pbuf_free(head);
    }
}

static err_t on_recv(void *arg, struct tcp_pcb *pcb, struct pbuf *p,
                     err_t err)
{
    struct svc_conn *c = arg;

    (void)pcb;
    (void)err;
    if (p && c->rx && c->rx->tot_len + p->tot_len > SVC_WINDOW)
        return ERR_MEM; /* lwIP keeps it, takes no more, and asks again */
    progress(c);
    if (!p) {
        c->rx_closed = true;
        return conn_work(c);
    }
    c->svc->count.rx_bytes += p->tot_len;
    if (c->rx)
        pbuf_cat(c->rx, p);
    else
        c->rx = p;
    drop_empty(c);
    return conn_work(c);
}

static err_t on_sent(void *arg, struct tcp_pcb *pcb, u16_t len)
{
    struct svc_conn *c = arg;

    (void)pcb;
    (void)len;
    progress(c);
    return conn_work(c);
}

static bool has_pending(const struct svc_conn *c)
{
    return c->rx || c->rx_closed || c->pcb->unsent || c->pcb->unacked;
}

static err_t on_poll(void *arg, struct tcp_pcb *pcb)
{
    struct svc_conn *c = arg;

    (void)pcb;
    if (has_pending(c) && sys_now() - c->active_ms > STALL_MS) {
        c->svc->count.stalled++;
        conn_abort(c);
        return ERR_ABRT;
    }
    return conn_work(c);
}

/* ---- new connections -------------------------------------------------- */

/* A free place, if need be that of the connection idle for longest. */
static struct svc_conn *take_conn(struct service *s)
{
    struct svc_conn *c = s->first;

    if (!s->unused && c && sys_now() - c->active_ms > IDLE_MS) {
        s->count.evicted++;
        conn_abort(c);
    }
    c = s->unused;
    if (c)
        s->unused = c->next;
    return c;
}

/*
 * lwIP announces its full window to every peer. No peer has seen more than
 * 65535 yet (a SYN's window is not scaled), so nothing is taken back here.
 */
static void limit_window(struct tcp_pcb *pcb)
{
    pcb->rcv_wnd = SVC_WINDOW;
    pcb->rcv_ann_wnd = SVC_WINDOW;
    pcb->rcv_ann_right_edge = pcb->rcv_nxt + SVC_WINDOW;
}

static err_t on_accept(void *arg, struct tcp_pcb *pcb, err_t err)
{
    struct service *s = arg;
    struct svc_conn *c;

    if (err != ERR_OK || !pcb)
        return ERR_VAL;
    c = take_conn(s);
    if (!c) {
        s->count.refused++;
        return ERR_MEM; /* lwIP aborts the connection */
    }
    c->svc = s;
    c->pcb = pcb;
    c->active_ms = sys_now();
    list_append(c);
    s->count.accepted++;
    limit_window(pcb);
    tcp_nagle_disable(pcb);
    attach(c);
    return conn_work(c);
}

static err_t listen_tcp(struct service *s)
{
    struct tcp_pcb *pcb = tcp_new_ip_type(IPADDR_TYPE_ANY);
    struct tcp_pcb *listener;
    err_t err;

    if (!pcb)
        return ERR_MEM;
    /* When connections run out, lwIP ends the least important. */
    tcp_setprio(pcb, TCP_PRIO_MIN);
    err = tcp_bind(pcb, IP_ANY_TYPE, s->port);
    listener = err == ERR_OK ? tcp_listen_with_backlog(pcb, BACKLOG) : NULL;
    if (!listener) {
        tcp_abort(pcb);
        return err == ERR_OK ? ERR_MEM : err;
    }
    tcp_arg(listener, s);
    tcp_accept(listener, on_accept);
    return ERR_OK;
}

static err_t listen_udp(struct service *s)
{
    struct udp_pcb *pcb = udp_new_ip_type(IPADDR_TYPE_ANY);
    err_t err;

    if (!pcb)
        return ERR_MEM;
    err = udp_bind(pcb, IP_ANY_TYPE, s->port);
    if (err != ERR_OK) {
        udp_remove(pcb);
        return err;
    }
    udp_recv(pcb, s->datagram, s);
    return ERR_OK;
}

err_t svc_start(struct service *s)
{
    err_t err;

    for (unsigned i = 0; i < SVC_MAX_CONNS; i++) {
        s->conn[i].next = s->unused;
        s->unused = &s->conn[i];
    }
    err = listen_tcp(s);
    return err == ERR_OK ? listen_udp(s) : err;
}

/* ---- what a service calls --------------------------------------------- */

void svc_consume(struct svc_conn *c, u16_t len)
{
    c->rx = pbuf_free_header(c->rx, len);
    drop_empty(c);
    tcp_recved(c->pcb, len);
}

/* The peer is told by the next acknowledgement. */
void svc_widen(struct svc_conn *c)
{
    c->pcb->rcv_wnd += TCP_WND_MAX(c->pcb) - SVC_WINDOW;
}

u16_t svc_send(struct svc_conn *c, const void *data, u16_t len, u8_t flags)
{
    u32_t queued = TCP_SND_BUF - c->pcb->snd_buf;
    u32_t room = queued < SVC_SEND_AHEAD ? SVC_SEND_AHEAD - queued : 0;

    len = (u16_t)LWIP_MIN(len, room);
    if (len == 0 || tcp_write(c->pcb, data, len, flags) != ERR_OK)
        return 0;
    c->svc->count.tx_bytes += len;
    return len;
}

bool svc_may_answer(struct service *s, u16_t port)
{
    const ip_addr_t *dest = ip_current_dest_addr();

    s->count.udp_in++;
    if (port >= PORT_RESERVED && !ip_addr_ismulticast(dest) &&
        !ip_addr_isbroadcast(dest, ip_current_netif()))
        return true;
    s->count.udp_ignored++;
    return false;
}

void svc_answer(struct service *s, struct udp_pcb *pcb, struct pbuf *p,
                const ip_addr_t *addr, u16_t port)
{
    /* From the address that was asked, not from the route's. */
    if (udp_sendto_if_src(pcb, p, addr, port, ip_current_netif(),
                          ip_current_dest_addr()) == ERR_OK)
        s->count.udp_out++;
    else
        s->count.udp_failed++;
}
