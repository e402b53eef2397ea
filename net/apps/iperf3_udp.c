/*
 * The UDP streams of an iperf3 test: the exchange of datagrams that makes a
 * stream known, loss and jitter of what comes (RFC 1889, A.8), and sending.
 *
 * A datagram begins with the time it was sent, seconds and microseconds, and
 * its number, 32 or 64 bits, all in network byte order.
 */
#include <string.h>

#include "apps/iperf3_priv.h"

/* The first datagram of a client and our answer: of today's clients and of
 * older ones. They come in the byte order of the client's machine. */
#define CONNECT_MSG 0x36373839u
#define CONNECT_REPLY 0x39383736u
#define OLD_CONNECT_REPLY 987654321u

enum {
    NS_PER_US = 1000,
    BURST = 64, /* datagrams of a stream in one turn */
    CONNECT_LEN = 4,
    HEADER_32 = 12,
    HEADER_64 = 16,
};

/* A difference of clocks that changes by more is no jitter. */
#define JITTER_MAX_NS INT64_C(1000000000000)

static struct udp_pcb *udp;

static u32_t get32(const u8_t *p)
{
    return (u32_t)p[0] << 24 | (u32_t)p[1] << 16 | (u32_t)p[2] << 8 | p[3];
}

static void put32(u8_t *p, u32_t v)
{
    p[0] = (u8_t)(v >> 24);
    p[1] = (u8_t)(v >> 16);
    p[2] = (u8_t)(v >> 8);
    p[3] = (u8_t)v;
}

static struct iperf3_stream *find(const ip_addr_t *addr, u16_t port)
{
    static unsigned last; /* most datagrams come in runs of one stream */
    unsigned n = iperf3_test.streams_len;

    for (unsigned i = 0; i < n; i++) {
        struct iperf3_stream *s = &iperf3_streams[(last + i) % n];

        if (s->port == port && ip_addr_eq(&s->addr, addr)) {
            last = (last + i) % n;
            return s;
        }
    }
    return NULL;
}

/* From the address that the client knows, whatever others we have. */
static err_t send_to(const struct iperf3_stream *s, struct pbuf *p)
{
    struct netif *netif = ip_route(&s->local, &s->addr);

    if (!netif)
        return ERR_RTE;
    udp->tos = iperf3_test.params.tos;
    return udp_sendto_if_src(udp, p, &s->addr, s->port, netif, &s->local);
}

/* ---- a stream makes itself known ---- */

static void answer_connect(const struct iperf3_stream *s, const u8_t *msg)
{
    u32_t reply = OLD_CONNECT_REPLY, word;
    struct pbuf *p = pbuf_alloc(PBUF_TRANSPORT, CONNECT_LEN, PBUF_RAM);

    if (!p)
        return;
    memcpy(&word, msg, CONNECT_LEN);
    if (word == CONNECT_MSG)
        reply = CONNECT_REPLY;
    else if (word == lwip_htonl(CONNECT_MSG))
        reply = lwip_htonl(CONNECT_REPLY);
    pbuf_take(p, &reply, CONNECT_LEN);
    send_to(s, p);
    pbuf_free(p);
}

static struct iperf3_stream *new_stream(const ip_addr_t *addr, u16_t port)
{
    const ip_addr_t *local = ip_current_dest_addr();
    struct iperf3_stream *s;

    if (ip_addr_ismulticast(local) ||
        ip_addr_isbroadcast(local, ip_current_input_netif()))
        return NULL;
    s = iperf3_new_stream();
    if (!s)
        return NULL;
    s->addr = *addr;
    s->local = *local;
    s->port = port;
    return s;
}

/* A new stream, or one that asks again since our answer got lost. Longer
 * datagrams are late ones of the test before. */
static void connect_stream(const struct pbuf *p, const ip_addr_t *addr,
                           u16_t port)
{
    struct iperf3_stream *known = find(addr, port);
    struct iperf3_stream *s;
    u8_t msg[CONNECT_LEN];

    if (p->tot_len != CONNECT_LEN) {
        iperf3_count.stray_udp++;
        return;
    }
    s = known ? known : new_stream(addr, port);
    if (!s)
        return;
    pbuf_copy_partial(p, msg, CONNECT_LEN, 0);
    answer_connect(s, msg);
    if (!known)
        iperf3_stream_ready();
}

/* ---- receiving ---- */

static void count_number(struct iperf3_stream *s, u64_t number)
{
    if (number > s->packets) {
        s->errors += number - s->packets - 1;
        s->packets = number;
        return;
    }
    s->out_of_order++; /* counted as missing before */
    if (s->errors > 0)
        s->errors--;
}

static void count_jitter(struct iperf3_stream *s, u32_t sec, u32_t usec)
{
    s64_t now = (s64_t)sys_now_ns();
    s64_t sent = ((s64_t)sec * 1000000 + usec) * NS_PER_US;
    s64_t transit = now - sent;
    s64_t d = transit - s->transit_ns;

    d = LWIP_MIN(d < 0 ? -d : d, JITTER_MAX_NS);
    if (s->transit_ns != 0)
        s->jitter16_ns += d - s->jitter16_ns / 16;
    s->transit_ns = transit;
}

static void received(struct iperf3_stream *s, const struct pbuf *p)
{
    bool wide = iperf3_test.params.counters_64bit;
    u16_t want = wide ? HEADER_64 : HEADER_32;
    u8_t h[HEADER_64];
    u64_t number;

    if (pbuf_copy_partial(p, h, want, 0) != want) {
        iperf3_count.stray_udp++;
        return;
    }
    number = get32(h + 8);
    if (wide)
        number = number << 32 | get32(h + 12);
    s->bytes += p->tot_len;
    iperf3_count.rx_bytes += p->tot_len;
    iperf3_active();
    count_number(s, number);
    count_jitter(s, get32(h), get32(h + 4));
}

static void udp_received(void *arg, struct udp_pcb *pcb, struct pbuf *p,
                         const ip_addr_t *addr, u16_t port)
{
    const struct iperf3_test *t = &iperf3_test;
    struct iperf3_stream *s;

    (void)arg;
    (void)pcb;
    if (t->params.udp && t->phase == PHASE_STREAMS) {
        connect_stream(p, addr, port);
    } else if (t->params.udp && iperf3_counting() &&
               (s = find(addr, port)) != NULL) {
        if (p->tot_len == CONNECT_LEN)
            connect_stream(p, addr, port);
        else if (!s->sender)
            received(s, p);
    } else {
        iperf3_count.stray_udp++;
    }
    pbuf_free(p);
}

err_t iperf3_udp_start(void)
{
    err_t err;

    udp = udp_new_ip_type(IPADDR_TYPE_ANY);
    if (!udp)
        return ERR_MEM;
    err = udp_bind(udp, IP_ANY_TYPE, IPERF3_PORT);
    udp_recv(udp, udp_received, NULL);
    return err;
}

/* ---- sending ---- */

static void write_header(u8_t *h, u64_t number, bool wide)
{
    u64_t us = sys_now_us();

    put32(h, (u32_t)(us / 1000000));
    put32(h + 4, (u32_t)(us % 1000000));
    if (wide) {
        put32(h + 8, (u32_t)(number >> 32));
        put32(h + 12, (u32_t)number);
    } else {
        put32(h + 8, (u32_t)number);
    }
}

/* A datagram: header of our own, payload from the pattern, no copy. */
static struct pbuf *make(const struct iperf3_stream *s)
{
    bool wide = iperf3_test.params.counters_64bit;
    u16_t head = wide ? HEADER_64 : HEADER_32;
    u16_t rest = (u16_t)(iperf3_test.params.block - head);
    struct pbuf *p = pbuf_alloc(PBUF_TRANSPORT, head, PBUF_RAM);
    struct pbuf *payload;

    if (!p)
        return NULL;
    write_header(p->payload, s->packets + 1, wide);
    if (rest == 0)
        return p;
    payload = pbuf_alloc_reference(iperf3_pattern, rest, PBUF_ROM);
    if (!payload) {
        pbuf_free(p);
        return NULL;
    }
    pbuf_cat(p, payload);
    return p;
}

/* False: no room; the same datagram again later. */
static bool send_one(struct iperf3_stream *s)
{
    struct pbuf *p = make(s);
    err_t err = ERR_MEM;

    if (p) {
        err = send_to(s, p);
        pbuf_free(p);
    }
    if (err != ERR_OK) {
        iperf3_count.tx_retry++;
        return false;
    }
    s->packets++;
    s->bytes += iperf3_test.params.block;
    s->paced += iperf3_test.params.block;
    iperf3_count.tx_bytes += iperf3_test.params.block;
    iperf3_active();
    return true;
}

/* True: stopped only because others shall have their turn. */
static bool send_burst(struct iperf3_stream *s)
{
    u32_t block = iperf3_test.params.block;

    for (int i = 0; i < BURST; i++)
        if (iperf3_allowed(s, block, block) == 0 || !send_one(s))
            return false;
    return true;
}

bool iperf3_udp_pump(void)
{
    bool more = false;

    for (unsigned i = 0; i < iperf3_test.streams_len; i++)
        if (iperf3_streams[i].sender)
            more = send_burst(&iperf3_streams[i]) || more;
    return more;
}
