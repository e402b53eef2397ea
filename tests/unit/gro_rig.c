/*
 * Frames for software GRO, and what becomes of them. See gro_rig.h.
 */
#include "gro_rig.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "frame.h"
#include "host.h"
#include "lwip_hooks.h"

enum { ETH = 14, TCP = 20, ACK = 0x10, PROTO_TCP = 6 };

struct gro_rig gr;

struct test_pbuf {
    struct pbuf_custom custom;
    uint8_t data[]; /* as long as it is: what reads behind it is caught */
};

static void put16(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

static void put32(uint8_t *p, uint32_t v)
{
    put16(p, v >> 16);
    put16(p + 2, v);
}

/* ---- making frames ----------------------------------------------------- */

static uint8_t *make_ip4(uint8_t *ip, const struct gro_spec *s, uint32_t len)
{
    uint32_t hlen = s->ihl ? s->ihl * 4u : 20;

    memset(ip, 0, 20);
    memset(ip + 20, 1, hlen - 20);
    ip[0] = (uint8_t)(0x40 | hlen / 4);
    ip[1] = s->tos;
    put16(ip + 2, hlen + len);
    put16(ip + 4, 0x1234);
    put16(ip + 6, s->frag);
    ip[8] = s->ttl ? s->ttl : 64;
    ip[9] = s->next ? s->next : PROTO_TCP;
    put32(ip + 12, 0x0a000200u | s->host);
    put32(ip + 16, 0x0a00020fu);
    put16(ip + 10, (uint16_t)~frame_fold(frame_sum(0, ip, hlen)));
    if (s->bad_ip_csum)
        ip[10] ^= 0x55;
    return ip + hlen;
}

static uint8_t *make_ip6(uint8_t *ip, const struct gro_spec *s, uint32_t len)
{
    memset(ip, 0, 40);
    put32(ip, 0x60000000u | (uint32_t)s->tos << 20 | s->label);
    put16(ip + 4, len);
    ip[6] = s->next ? s->next : PROTO_TCP;
    ip[7] = s->ttl ? s->ttl : 64;
    ip[8] = ip[24] = 0xfe;
    ip[9] = ip[25] = 0x80;
    ip[23] = s->host;
    ip[39] = 15;
    return ip + 40;
}

static void make_tcp(uint8_t *t, const struct gro_spec *s)
{
    unsigned flags = s->flags ? s->flags : ACK;

    put16(t, s->sport);
    put16(t + 2, s->dport);
    put32(t + 4, s->seq);
    put32(t + 8, s->ack);
    put16(t + 12, (TCP + s->optlen) / 4u << 12 | flags);
    put16(t + 14, s->wnd);
    put32(t + 16, 0);
    memcpy(t + TCP, s->opt, s->optlen);
    for (uint32_t i = 0; i < s->payload; i++) {
        uint32_t v = (s->seq + i) * 2654435761u + s->sport;

        t[TCP + s->optlen + i] = (uint8_t)(v >> 16);
    }
}

uint32_t gro_make(uint8_t *out, const struct gro_spec *s)
{
    uint32_t l4_len = TCP + s->optlen + s->payload;
    uint8_t *tcp;
    uint32_t sum;

    memset(out, 0x52, ETH);
    out[11] = s->mac;
    put16(out + 12, s->ip6 ? 0x86dd : 0x0800);
    tcp = s->ip6 ? make_ip6(out + ETH, s, l4_len)
                 : make_ip4(out + ETH, s, l4_len);
    make_tcp(tcp, s);
    sum = s->ip6 ? frame_sum(0, out + ETH + 8, 32)
                 : frame_sum(0, out + ETH + 12, 8);
    sum = frame_sum(sum + PROTO_TCP + l4_len, tcp, l4_len);
    put16(tcp + 16, (uint16_t)~frame_fold(sum));
    if (s->bad_csum)
        tcp[17] ^= 0x55;
    memset(tcp + l4_len, 0xee, s->pad);
    return (uint32_t)(tcp - out) + l4_len + s->pad;
}

/* ---- in ---------------------------------------------------------------- */

static void free_pbuf(struct pbuf *p)
{
    gr.live--;
    free(p);
}

static struct pbuf *make_pbuf(const uint8_t *data, uint32_t len)
{
    struct test_pbuf *tp = malloc(sizeof(*tp) + len);

    CHECK(tp);
    tp->custom.custom_free_function = free_pbuf;
    memcpy(tp->data, data, len);
    gr.live++;
    return pbuf_alloced_custom(PBUF_RAW, (u16_t)len, PBUF_REF, &tp->custom,
                               tp->data, (u16_t)len);
}

void gro_in(const void *frame, uint32_t len, uint32_t piece, bool verified,
            uint16_t gso_size)
{
    const uint8_t *f = frame;
    struct pbuf *head = NULL, **tail = &head;

    while (len > 0) {
        uint32_t n = piece && piece < len ? piece : len;
        struct pbuf *p = make_pbuf(f, n);

        p->tot_len = (u16_t)len;
        *tail = p;
        tail = &p->next;
        f += n;
        len -= n;
    }
    if (gso_size)
        head->flags |= PBUF_FLAG_MERGED;
    gro_input(&gr.gro, head, verified, gso_size);
}

void gro_in_spec(const struct gro_spec *s)
{
    static uint8_t f[GRO_FRAME_MAX];

    gro_in(f, gro_make(f, s), 0, false, 0);
}

/* ---- out --------------------------------------------------------------- */

static void take(void *arg, struct pbuf *p, bool verified)
{
    struct gro_got *g = &gr.got[gr.count++];
    uint32_t at = 0;

    CHECK_EQ(arg, &gr);
    CHECK(gr.count < GRO_GOT_MAX);
    memset(g, 0, sizeof(*g));
    g->len = p->tot_len;
    g->frame = malloc(g->len);
    CHECK(g->frame);
    g->verified = verified;
    g->merged = p->flags & PBUF_FLAG_MERGED;
    for (struct pbuf *q = p; q; q = q->next) {
        CHECK(q->len > 0);
        CHECK_EQ(q->ref, 1);
        CHECK_EQ(q->tot_len, g->len - at);
        CHECK(at + q->len <= g->len);
        memcpy(g->frame + at, q->payload, q->len);
        at += q->len;
        g->pieces++;
    }
    CHECK_EQ(at, g->len);
    pbuf_free(p);
}

void gro_check(unsigned n, const struct gro_spec *s)
{
    static uint8_t want[GRO_FRAME_MAX];
    uint32_t len = gro_make(want, s);
    unsigned csum = ETH + (s->ip6 ? 40 : 20) + 16;

    CHECK(n < gr.count);
    CHECK_EQ(gr.got[n].len, len);
    memcpy(want + csum, gr.got[n].frame + csum, 2);
    CHECK_MEM_EQ(gr.got[n].frame, want, len);
}

/* ---- life -------------------------------------------------------------- */

void gro_begin(void)
{
    memset(&gr, 0, sizeof(gr));
    memset(&gro_stats, 0, sizeof(gro_stats));
    gr.gro.deliver = take;
    gr.gro.arg = &gr;
}

void gro_forget(void)
{
    while (gr.count > 0)
        free(gr.got[--gr.count].frame);
}

void gro_end(void)
{
    gro_forget();
    CHECK_EQ(gr.gro.count, 0);
    CHECK_EQ(gr.live, 0);
}
