/*
 * Discard, RFC 863: what comes in is thrown away. TCP and UDP port 9.
 */
#include "apps/service.h"

extern const struct app discard_app;

static void discard_work(struct svc_conn *c)
{
    if (c->rx)
        svc_consume(c, c->rx->tot_len);
}

static void discard_datagram(void *arg, struct udp_pcb *pcb, struct pbuf *p,
                             const ip_addr_t *addr, u16_t port)
{
    struct service *s = arg;

    (void)pcb;
    (void)addr;
    (void)port;
    s->count.udp_in++;
    s->count.rx_bytes += p->tot_len;
    pbuf_free(p);
}

static struct service discard = {
    .name = "discard",
    .port = 9,
    .work = discard_work,
    .datagram = discard_datagram,
};

static err_t discard_start(void)
{
    return svc_start(&discard);
}

static void discard_stats(app_line_fn *line)
{
    SVC_STATS(line, "discard", &discard);
}

const struct app discard_app = {
    .name = "discard",
    .start = discard_start,
    .stats = discard_stats,
};
