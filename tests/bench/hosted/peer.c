/* The other end of TCP connections, for measurements. See peer.h. */
#include "peer.h"

#include <string.h>

enum {
    ETH = 14,
    IP = 20,
    TCP = 20,
    SYN_OPTIONS = 8, /* maximum segment size, window scale */
    SCALE = 8,
    MSS = 1460,
    FIRST_PORT = 40000,
    DISCARD = 9,
    F_SYN = 2,
    F_PUSH = 8,
    F_ACK = 16,
};

static const uint8_t our_mac[6] = {0x02, 0, 0, 0, 0, 1};
static const uint8_t their_mac[6] = {0x52, 0x54, 0, 0x12, 0x34, 0x56};
static const uint8_t our_ip[4] = {10, 0, 2, 2};
static const uint8_t their_ip[4] = {10, 0, 2, 15};

static void put16(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

static void put32(uint8_t *p, uint32_t v)
{
    put16(p, v >> 16);
    put16(p + 2, v & 0xffff);
}

static uint32_t get32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 |
           p[3];
}

static uint32_t sum(const uint8_t *p, uint32_t len, uint32_t start)
{
    uint32_t s = start;

    for (uint32_t i = 0; i < len; i++)
        s += i & 1 ? p[i] : (uint32_t)p[i] << 8;
    return s;
}

static uint32_t fold(uint32_t s)
{
    while (s >> 16)
        s = (s & 0xffff) + (s >> 16);
    return ~s & 0xffff;
}

static void eth(uint8_t *f, const uint8_t *to, uint16_t type)
{
    memcpy(f, to, 6);
    memcpy(f + 6, our_mac, 6);
    put16(f + 12, type);
}

/* `l4`: bytes behind the IP header. */
static void ip(uint8_t *f, uint32_t l4)
{
    uint8_t *h = f + ETH;

    eth(f, their_mac, 0x0800);
    memset(h, 0, IP);
    h[0] = 0x45;
    put16(h + 2, IP + l4);
    h[6] = 0x40; /* do not fragment */
    h[8] = 64;
    h[9] = 6;
    memcpy(h + 12, our_ip, 4);
    memcpy(h + 16, their_ip, 4);
    put16(h + 10, fold(sum(h, IP, 0)));
}

/* The payload is zeros, so that it counts for nothing in the sum. */
static void tcp(struct bench_peer *p, unsigned n, uint8_t *f, uint8_t flags,
                uint32_t options, uint32_t payload)
{
    const struct bench_flow *w = &p->flow[n];
    uint8_t *h = f + ETH + IP;

    ip(f, TCP + options + payload);
    put16(h, FIRST_PORT + n);
    put16(h + 2, DISCARD);
    put32(h + 4, w->seq);
    put32(h + 8, flags & F_ACK ? w->ack : 0);
    h[12] = (uint8_t)((TCP + options) / 4 << 4);
    h[13] = flags;
    put16(h + 14, 65535);
    put32(h + 16, 0);
    put16(h + 16, fold(sum(h, TCP + options,
                           sum(f + ETH + 12, 8, 6 + TCP + options + payload))));
}

static void send(struct bench_peer *p, const uint8_t *f, uint32_t len)
{
    bench_dev_put_frame(p->device, f, len);
}

static void greet(struct bench_peer *p)
{
    static const uint8_t everyone[6] = {255, 255, 255, 255, 255, 255};
    static const uint8_t request[8] = {0, 1, 8, 0, 6, 4, 0, 1};
    uint8_t f[60] = {0};

    eth(f, everyone, 0x0806);
    memcpy(f + ETH, request, 8);
    memcpy(f + ETH + 8, our_mac, 6);
    memcpy(f + ETH + 14, our_ip, 4);
    memcpy(f + ETH + 24, their_ip, 4);
    send(p, f, sizeof(f));
}

static void ask(struct bench_peer *p, unsigned n)
{
    static const uint8_t options[SYN_OPTIONS] = {
        2, 4, MSS >> 8, MSS & 0xff, 3, 3, SCALE, 0};
    uint8_t f[ETH + IP + TCP + SYN_OPTIONS] = {0};

    p->flow[n] = (struct bench_flow){.seq = 1000 * (n + 1)};
    memcpy(f + ETH + IP + TCP, options, SYN_OPTIONS);
    tcp(p, n, f, F_SYN, SYN_OPTIONS, 0);
    send(p, f, sizeof(f));
    p->flow[n].seq++;
}

void bench_peer_greet(struct bench_peer *p)
{
    greet(p);
    for (unsigned n = 0; n < p->flows; n++)
        ask(p, n);
}

/* The shift of the windows to come, from the options of a SYN. */
static unsigned scale_of(const uint8_t *h)
{
    uint32_t end = (h[12] >> 4) * 4u;

    for (uint32_t i = TCP; i + 2 < end && h[i] != 0;) {
        if (h[i] == 3)
            return h[i + 2] & 15;
        i += h[i] == 1 || h[i + 1] < 2 ? 1u : h[i + 1];
    }
    return 0;
}

static void heard(struct bench_peer *p, const uint8_t *f)
{
    const uint8_t *h = f + ETH + IP;
    uint32_t n = (uint32_t)(h[2] << 8 | h[3]) - FIRST_PORT;
    struct bench_flow *w = &p->flow[n];
    uint8_t bare[ETH + IP + TCP] = {0};

    if (n >= p->flows || (h[13] & (F_SYN | F_ACK)) == 0)
        return;
    w->acked = get32(h + 8);
    w->window = (uint32_t)(h[14] << 8 | h[15]);
    if (!(h[13] & F_SYN)) {
        w->window <<= w->scale;
        p->acks++;
        return;
    }
    w->scale = scale_of(h);
    w->ack = get32(h + 4) + 1;
    w->open = true;
    tcp(p, n, bare, F_ACK, 0, 0);
    send(p, bare, sizeof(bare));
}

void bench_peer_listen(struct bench_peer *p)
{
    static uint8_t f[65600];
    uint32_t len;

    while ((len = bench_dev_take(p->device, f, sizeof(f))) > 0)
        if (len >= ETH + IP + TCP && f[12] == 8 && f[13] == 0 &&
            f[ETH + 9] == 6)
            heard(p, f);
}

bool bench_peer_ready(const struct bench_peer *p)
{
    for (unsigned n = 0; n < p->flows; n++)
        if (!p->flow[n].open)
            return false;
    return true;
}

bool bench_peer_all_acked(const struct bench_peer *p)
{
    for (unsigned n = 0; n < p->flows; n++)
        if (p->flow[n].acked != p->flow[n].seq)
            return false;
    return true;
}

bool bench_peer_send(struct bench_peer *p)
{
    static uint8_t f[ETH + IP + TCP + MSS];
    struct bench_flow *w = &p->flow[p->next];

    if (w->seq - w->acked + p->payload > w->window)
        return false;
    tcp(p, p->next, f, p->push ? F_ACK | F_PUSH : F_ACK, 0, p->payload);
    if (!bench_dev_put_frame(p->device, f, ETH + IP + TCP + p->payload))
        return false;
    w->seq += p->payload;
    p->next = (p->next + 1) % p->flows;
    return true;
}
