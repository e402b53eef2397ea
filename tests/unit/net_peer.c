/*
 * The other end of a TCP connection. See net_rig.h.
 *
 * It announces what it is told to, sends what it is told to, and takes what
 * is in order; it never sends anything again.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "lwip/opt.h"
#include "net_rig.h"

enum {
    TCP = 20,
    FIN = 1,
    SYN = 2,
    RST = 4,
    PSH = 8,
    ACK = 16,
    PEER_MSS = 1460,
    PEER_SCALE = 2,
};

static struct peer *peers;
static uint16_t next_port;

void peer_segment(struct peer *p, uint8_t flags, int32_t ahead,
                  const void *opt, unsigned optlen, const void *data,
                  uint32_t len)
{
    static uint8_t t[66000];

    memset(t, 0, TCP);
    rig_put16(t, p->sport);
    rig_put16(t + 2, p->dport);
    rig_put32(t + 4, p->seq + (uint32_t)ahead);
    rig_put32(t + 8, flags & ACK ? p->rcv : 0);
    t[12] = (uint8_t)((TCP + optlen) / 4 << 4);
    t[13] = flags;
    rig_put16(t + 14, p->wnd);
    memcpy(t + TCP, opt, optlen);
    memcpy(t + TCP + optlen, data, len);
    rig_ip4(6, t, TCP + optlen + len);
}

void peer_ack(struct peer *p)
{
    peer_segment(p, ACK, 0, "", 0, "", 0);
}

void peer_send(struct peer *p, const void *data, uint32_t len)
{
    peer_segment(p, ACK | PSH, 0, "", 0, data, len);
    p->seq += len;
}

void peer_fin(struct peer *p)
{
    peer_segment(p, ACK | FIN, 0, "", 0, "", 0);
    p->seq++;
}

void peer_reset(struct peer *p)
{
    peer_segment(p, RST, 0, "", 0, "", 0);
}

void peer_open_window(struct peer *p, uint16_t dport, uint16_t wnd)
{
    static const uint8_t opt[8] = {2, 4, PEER_MSS >> 8, PEER_MSS & 0xff, 1,
                                   3, 3, PEER_SCALE};

    memset(p, 0, sizeof(*p));
    p->sport = (uint16_t)(20000 + next_port++ % 40000);
    p->dport = dport;
    p->wnd = wnd;
    p->seq = 0x10000u * p->sport;
    p->got_room = 4096;
    p->got = malloc(p->got_room);
    p->next = peers;
    peers = p;
    peer_segment(p, SYN, 0, opt, sizeof(opt), "", 0);
    p->seq++;
    rig_run(10);
}

void peer_open(struct peer *p, uint16_t dport)
{
    peer_open_window(p, dport, 65535);
}

void peer_free(struct peer *p)
{
    struct peer **at = &peers;

    while (*at && *at != p)
        at = &(*at)->next;
    CHECK(*at);
    *at = p->next;
    free(p->got);
}

static struct peer *find_peer(uint16_t sport, uint16_t dport)
{
    struct peer *p = peers;

    while (p && (p->sport != sport || p->dport != dport))
        p = p->next;
    return p;
}

static void peer_take(struct peer *p, const uint8_t *data, uint32_t len)
{
    while (p->got_len + len > p->got_room) {
        p->got_room *= 2;
        p->got = realloc(p->got, p->got_room);
        CHECK(p->got);
    }
    memcpy(p->got + p->got_len, data, len);
    p->got_len += len;
    p->rcv += len;
}

static void take_segment(struct peer *p, const uint8_t *t, uint32_t payload,
                         uint32_t len)
{
    uint8_t flags = t[13];
    uint32_t seq = rig_get32(t + 4);

    p->acks++;
    if (flags & RST) {
        p->got_rst = true;
        return;
    }
    if (flags & ACK) {
        p->acked = rig_get32(t + 8);
        p->their_wnd = (uint32_t)rig_get16(t + 14)
                       << (flags & SYN ? 0 : TCP_RCV_SCALE);
    }
    if ((flags & SYN) && !p->connected) {
        p->connected = true;
        p->rcv = seq + 1;
        peer_ack(p);
        return;
    }
    if (p->deaf)
        return;
    if (p->rcv - seq < len) /* the part of it that is new, if in order */
        peer_take(p, t + payload + (p->rcv - seq), len - (p->rcv - seq));
    if (seq + len == p->rcv && (flags & FIN) && !p->got_fin) {
        p->got_fin = true;
        p->rcv++;
    }
    if (len > 0 || (flags & FIN))
        peer_ack(p);
}

void peer_input(const uint8_t *tcp, uint32_t len)
{
    struct peer *p = find_peer(rig_get16(tcp + 2), rig_get16(tcp));
    uint32_t hlen = (uint32_t)(tcp[12] >> 4) * 4;

    if (p)
        take_segment(p, tcp, hlen, len - hlen);
}

void peer_free_all(void)
{
    while (peers)
        peer_free(peers);
}
