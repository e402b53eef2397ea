/*
 * The TCP streams of an iperf3 test.
 *
 * Received data is counted and freed at once: it lies in the device's
 * receive buffers. Sent data comes from one pattern without a copy; lwIP
 * joins writes that follow each other in memory.
 */
#include "apps/iperf3_priv.h"

u8_t iperf3_pattern[IPERF3_PATTERN];

enum { WRITE_MAX = 65535 };

static void moved(void)
{
    iperf3_test.active_us = sys_now_us();
}

void iperf3_tcp_received(struct iperf3_stream *s, struct pbuf *p)
{
    u16_t len = p->tot_len;

    pbuf_free(p);
    s->bytes += len;
    iperf3_count.rx_bytes += len;
    tcp_recved(s->pcb, len);
    moved();
}

static err_t stream_recv(void *arg, struct tcp_pcb *pcb, struct pbuf *p,
                         err_t err)
{
    (void)pcb;
    (void)err;
    if (p) /* else: the peer has nothing more to send, which is no news */
        iperf3_tcp_received(arg, p);
    return ERR_OK;
}

/* The connection is gone; what it carried stays counted. */
static void stream_err(void *arg, err_t err)
{
    struct iperf3_stream *s = arg;

    (void)err;
    s->pcb = NULL;
}

static err_t stream_sent(void *arg, struct tcp_pcb *pcb, u16_t len)
{
    (void)arg;
    (void)pcb;
    (void)len; /* the pump sends */
    moved();
    return ERR_OK;
}

void iperf3_tcp_stream(struct tcp_pcb *pcb)
{
    struct iperf3_stream *s = iperf3_new_stream();

    if (!s) {
        iperf3_abort(pcb);
        return;
    }
    s->pcb = pcb;
    tcp_arg(pcb, s);
    tcp_recv(pcb, stream_recv);
    tcp_err(pcb, stream_err);
    tcp_sent(pcb, stream_sent);
    if (iperf3_test.params.nodelay)
        tcp_nagle_disable(pcb);
}

u64_t iperf3_tcp_sent(const struct iperf3_stream *s)
{
    u32_t waiting = s->pcb ? s->pcb->snd_lbb - s->pcb->snd_nxt : 0;

    return s->bytes > waiting ? s->bytes - waiting : 0;
}

/* One write; false when no more can be written now. */
static bool write_some(struct iperf3_stream *s)
{
    u32_t n = LWIP_MIN(IPERF3_PATTERN - s->offset, WRITE_MAX);

    n = LWIP_MIN(n, tcp_sndbuf(s->pcb));
    n = iperf3_allowed(s, iperf3_test.params.block, n);
    if (n == 0 || tcp_write(s->pcb, iperf3_pattern + s->offset, (u16_t)n,
                            TCP_WRITE_FLAG_MORE) != ERR_OK)
        return false;
    s->offset = (s->offset + n) % IPERF3_PATTERN;
    s->bytes += n;
    s->paced += n;
    iperf3_count.tx_bytes += n;
    return true;
}

static void fill(struct iperf3_stream *s)
{
    bool wrote = false;

    while (write_some(s))
        wrote = true;
    if (wrote)
        tcp_output(s->pcb);
}

bool iperf3_tcp_pump(void)
{
    for (unsigned i = 0; i < iperf3_test.streams_len; i++) {
        struct iperf3_stream *s = &iperf3_streams[i];

        if (s->sender && s->pcb)
            fill(s);
    }
    return false; /* acknowledgements and timers bring us back */
}
