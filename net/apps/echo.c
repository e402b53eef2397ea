/*
 * Echo, RFC 862: what comes in goes out again. TCP and UDP port 7.
 *
 * TCP: received data waits in c->rx until it has been copied into the send
 * queue, and only then opens the window. UDP: the datagram itself is sent
 * back, from the buffer it arrived in.
 */
#include "apps/service.h"

extern const struct app echo_app;

static void echo_work(struct svc_conn *c)
{
    while (c->rx) {
        u8_t flags = TCP_WRITE_FLAG_COPY;
        u16_t sent;

        if (c->rx->next)
            flags |= TCP_WRITE_FLAG_MORE;
        sent = svc_send(c, c->rx->payload, c->rx->len, flags);
        if (sent == 0)
            return;
        svc_consume(c, sent);
    }
}

static void echo_datagram(void *arg, struct udp_pcb *pcb, struct pbuf *p,
                          const ip_addr_t *addr, u16_t port)
{
    if (svc_may_answer(arg, port))
        svc_answer(arg, pcb, p, addr, port);
    pbuf_free(p);
}

static struct service echo = {
    .name = "echo",
    .port = 7,
    .work = echo_work,
    .datagram = echo_datagram,
};

static err_t echo_start(void)
{
    return svc_start(&echo);
}

static void echo_stats(app_line_fn *line)
{
    SVC_STATS(line, "echo", &echo);
}

const struct app echo_app = {
    .name = "echo",
    .start = echo_start,
    .stats = echo_stats,
};
