/*
 * The TCP streams of an iperf3 test.
 *
 * Received data is counted and freed at once: it lies in the device's
 * receive buffers. Sent data comes from one pattern without a copy; lwIP
 * joins writes that follow each other in memory.
 */
#include "apps/iperf3_priv.h"

enum {
    WRITE_MAX = 65535,
    BURST = 64, /* small blocks of a stream in one turn */
    /* Of lwIP's segments, all senders together take no more than these. */
    SEGMENTS_MAX = MEMP_NUM_TCP_SEG / 2,
    RETRY_NS = 5000000,
};

/*
 * The peer has nothing more to send. That is no news, but when we have said
 * the same, lwIP frees the connection in its own time and without a word.
 */
static void peer_closed(struct iperf3_stream *s, struct tcp_pcb *pcb)
{
    if (!s->sender || !s->stopped)
        return;
    tcp_arg(pcb, NULL);
    tcp_recv(pcb, NULL);
    tcp_err(pcb, NULL);
    tcp_sent(pcb, NULL);
    s->pcb = NULL;
}

static err_t stream_recv(void *arg, struct tcp_pcb *pcb, struct pbuf *p,
                         err_t err)
{
    struct iperf3_stream *s = arg;
    u16_t len;

    (void)err;
    if (!p) {
        peer_closed(s, pcb);
        return ERR_OK;
    }
    len = p->tot_len;
    pbuf_free(p);
    tcp_recved(pcb, len);
    iperf3_count.rx_bytes += len;
    if (iperf3_counting()) {
        s->bytes += len;
        iperf3_active();
    }
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
    if (iperf3_test.phase == PHASE_RUNNING)
        iperf3_active();
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
    pcb->tos = iperf3_test.params.tos;
    tcp_arg(pcb, s);
    tcp_recv(pcb, stream_recv);
    tcp_err(pcb, stream_err);
    tcp_sent(pcb, stream_sent);
    if (iperf3_test.params.nodelay)
        tcp_nagle_disable(pcb);
}

/* ---- sending ---- */

/* Every block is a segment of its own: that is what the client asked for. */
static bool small_blocks(const struct iperf3_stream *s)
{
    const struct iperf3_params *p = &iperf3_test.params;

    return p->nodelay && p->block < tcp_mss(s->pcb);
}

/*
 * Room in the send buffer, in the connection's queue, where a segment is two
 * pbufs, and in the stream's share of lwIP's segments.
 */
static u32_t room(const struct iperf3_stream *s)
{
    u32_t share = SEGMENTS_MAX / iperf3_test.params.parallel;
    u32_t used = (tcp_sndqueuelen(s->pcb) + 1u) / 2;
    u32_t most = LWIP_MIN(share, TCP_SND_QUEUELEN / 2);

    /* One less: the first may be cut in two. */
    if (used + 1 >= most)
        return 0;
    return LWIP_MIN((most - used - 1) * tcp_mss(s->pcb), tcp_sndbuf(s->pcb));
}

/*
 * With -n and -k, all streams together send so much, and each of them whole
 * blocks, which is what clients count. A client that begins to count in the
 * middle says itself when it has enough.
 */
static u32_t still_to_send(const struct iperf3_stream *s)
{
    const struct iperf3_params *p = &iperf3_test.params;
    u64_t sent = iperf3_test.sent;

    if (p->bytes == 0 || p->omit_s)
        return UINT32_MAX;
    if (sent < p->bytes)
        return (u32_t)LWIP_MIN(p->bytes - sent, UINT32_MAX);
    return (p->block - (u32_t)(s->bytes % p->block)) % p->block;
}

/* One write; false when no more can be written now. */
static bool write_some(struct iperf3_stream *s, u32_t most, u8_t flags)
{
    u32_t n = LWIP_MIN(IPERF3_PATTERN - s->offset, most);

    n = LWIP_MIN(n, room(s));
    n = LWIP_MIN(n, still_to_send(s));
    n = n ? iperf3_allowed(s, iperf3_test.params.block, n) : 0;
    if (n == 0)
        return false;
    if (tcp_write(s->pcb, iperf3_pattern + s->offset, (u16_t)n, flags) !=
        ERR_OK) {
        plat_wakeup_at(sys_now_ns() + RETRY_NS);
        return false;
    }
    s->offset = (s->offset + n) % IPERF3_PATTERN;
    s->bytes += n;
    s->paced += n;
    iperf3_test.sent += n;
    iperf3_count.tx_bytes += n;
    return true;
}

static void send_blocks(struct iperf3_stream *s)
{
    for (int i = 0; i < BURST; i++) {
        if (!write_some(s, iperf3_test.params.block, 0))
            return;
        tcp_output(s->pcb);
    }
    plat_wakeup_at(sys_now_ns()); /* others first, then on */
}

static void fill(struct iperf3_stream *s)
{
    bool wrote = false;

    while (write_some(s, WRITE_MAX, TCP_WRITE_FLAG_MORE))
        wrote = true;
    if (wrote)
        tcp_output(s->pcb);
}

void iperf3_tcp_pump(void)
{
    for (unsigned i = 0; i < iperf3_test.streams_len; i++) {
        struct iperf3_stream *s = &iperf3_streams[i];

        if (!s->sender || !s->pcb)
            continue;
        if (small_blocks(s))
            send_blocks(s);
        else
            fill(s);
    }
}
