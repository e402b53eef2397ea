/*
 * net/gro.c with streams at random: whatever arrives, each connection gets
 * the same bytes in the same order as without it, only in fewer frames. Then
 * the same with the whole stack behind it.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "frame.h"
#include "gro_rig.h"
#include "host.h"
#include "lwip/stats.h"
#include "lwip_hooks.h"
#include "net_rig.h"
#include "netstack.h"

enum {
    FIN = 0x01,
    RST = 0x04,
    PSH = 0x08,
    ACK = 0x10,
    STREAMS = 20, /* more than the table has room for */
    SENT_MAX = 200, /* in a turn */
};

/* ---- what was sent ----------------------------------------------------- */

struct sent {
    struct gro_spec spec;
    bool verified; /* by the device */
};

struct stream {
    struct gro_spec next; /* the segment that would go on */
    struct sent sent[SENT_MAX];
    unsigned nsent;
    unsigned at; /* of them, delivered */
};

static struct stream stream[STREAMS];

static unsigned chance(unsigned n)
{
    return (unsigned)(plat_random() % n);
}

/* Every second stream over IPv6; some differ only in the host. */
static void begin_stream(unsigned i)
{
    struct stream *st = &stream[i];

    memset(st, 0, sizeof(*st));
    st->next.ip6 = i & 1;
    st->next.host = (uint8_t)(2 + i % 3);
    st->next.sport = (uint16_t)(1000 + i / 6);
    st->next.dport = 80;
    st->next.seq = (uint32_t)plat_random();
    st->next.ack = (uint32_t)plat_random();
    st->next.wnd = 100;
    st->next.optlen = i % 4 == 3 ? 12 : 0;
}

/* Something about the segment that is not as with its neighbours. */
static void spoil(struct gro_spec *s)
{
    switch (chance(14)) {
    case 0: s->payload = 0; break;
    case 1: s->flags = ACK | FIN; break;
    case 2: s->flags = RST; break;
    case 3: s->flags = ACK | PSH; break;
    case 4: s->seq += 1 + chance(3000); break;
    case 5: s->seq -= 1 + chance(3000); break;
    case 6: s->ack -= chance(100); break;
    case 7: s->tos ^= 3; break;
    case 8: s->ttl = 63; break;
    case 9: s->mac = 7; break;
    case 10: s->opt[chance(12)] ^= 1; break;
    case 11: s->bad_csum = true; break;
    case 12: s->payload = (uint16_t)(1 + chance(1448)); break;
    default:
        s->frag = s->ip6 ? 0 : 0x2000;
        s->next = s->ip6 ? 44 : 0;
    }
}

/* One more segment of the stream arrives. */
static void send_one(struct stream *st)
{
    static const uint32_t piece[] = {0, 0, 1000, 333, 100};
    static uint8_t f[GRO_FRAME_MAX];
    struct sent *e = &st->sent[st->nsent++];
    struct gro_spec *s = &e->spec;

    *s = st->next;
    s->payload = chance(10) ? 1448 : (uint16_t)chance(1449);
    if (chance(12) == 0)
        spoil(s);
    if (s->payload < 6)
        s->pad = 6;
    e->verified = chance(2) && !s->bad_csum;
    gro_in(f, gro_make(f, s), piece[chance(5)], e->verified, 0);
    st->next.seq = chance(20) ? s->seq + s->payload : st->next.seq;
    st->next.ack += chance(3) ? 0 : chance(5000);
    st->next.wnd = (uint16_t)(st->next.wnd + chance(3));
    if (chance(50) == 0)
        st->next.opt[11]++;
}

/* ---- what was delivered ------------------------------------------------ */

static struct stream *stream_of(const uint8_t *f)
{
    bool ip6 = f[12] == 0x86;
    const uint8_t *t = f + (ip6 ? 54 : 34);
    uint8_t host = ip6 ? f[14 + 23] : f[14 + 15];

    for (unsigned i = 0; i < STREAMS; i++) {
        const struct gro_spec *s = &stream[i].next;

        if (s->ip6 == ip6 && s->host == host &&
            s->sport == (t[0] << 8 | t[1]))
            return &stream[i];
    }
    return NULL;
}

static bool plain(const struct gro_spec *s)
{
    return (s->flags | PSH | ACK) == (PSH | ACK) && !s->frag &&
           !s->next && s->payload > 0 && !s->bad_csum;
}

/* May b be behind a in one frame? */
static void check_neighbours(const struct gro_spec *a,
                             const struct gro_spec *b)
{
    CHECK(plain(a) && plain(b));
    CHECK(!(a->flags & PSH));
    CHECK(b->payload <= a->payload);
    CHECK_EQ(a->seq + a->payload, b->seq);
    CHECK(b->ack - a->ack <= INT32_MAX);
    CHECK_EQ(a->tos, b->tos);
    CHECK_EQ(a->ttl, b->ttl);
    CHECK_EQ(a->mac, b->mac);
    CHECK_EQ(a->optlen, b->optlen);
    CHECK_MEM_EQ(a->opt, b->opt, a->optlen);
}

/*
 * The frame stands for the next one of its stream, or the next few: the
 * bytes, the last one's ACK and window, and headers that hold for all.
 */
static void check_got(unsigned n)
{
    const struct gro_got *g = &gr.got[n];
    struct stream *st = stream_of(g->frame);
    struct gro_spec want;
    unsigned l4, hdr;

    CHECK(st && st->at < st->nsent);
    want = st->sent[st->at++].spec;
    l4 = want.ip6 ? 54 : 34;
    hdr = l4 + 20 + want.optlen;
    if (g->verified)
        CHECK(!want.bad_csum);
    while (g->merged && g->len > hdr + want.payload) {
        const struct gro_spec *s = &st->sent[st->at].spec;

        CHECK(st->at < st->nsent);
        CHECK(g->verified);
        check_neighbours(&st->sent[st->at - 1].spec, s);
        want.payload = (uint16_t)(want.payload + s->payload);
        want.ack = s->ack;
        want.wnd = s->wnd;
        want.flags |= s->flags;
        want.pad = 0;
        st->at++;
    }
    if (g->len == hdr + want.payload)
        want.pad = 0; /* cut off already */
    gro_check(n, &want);
}

static void check_turn(void)
{
    gro_flush(&gr.gro);
    for (unsigned i = 0; i < gr.count; i++)
        check_got(i);
    gro_forget();
    for (unsigned i = 0; i < STREAMS; i++)
        CHECK_EQ(stream[i].at, stream[i].nsent);
}

static void forget_sent(void)
{
    for (unsigned i = 0; i < STREAMS; i++)
        stream[i].at = stream[i].nsent = 0;
}

static void run_streams(unsigned streams, unsigned burst)
{
    gro_begin();
    for (unsigned i = 0; i < STREAMS; i++)
        begin_stream(i);
    for (unsigned turn = 0; turn < 100; turn++) {
        for (unsigned k = 0; k < 64;) {
            struct stream *st = &stream[chance(streams)];

            for (unsigned n = 1 + chance(burst); n > 0; n--, k++)
                send_one(st);
            if (chance(200) == 0)
                check_turn();
        }
        check_turn();
        forget_sent();
    }
    CHECK(gro_stats.gro_merged > 0);
    gro_end();
}

TEST(gro_streams_one)
{
    run_streams(1, 30);
}

TEST(gro_streams_few)
{
    run_streams(5, 10);
    CHECK(gro_stats.gro_flush_table == 0);
}

TEST(gro_streams_many)
{
    run_streams(STREAMS, 3);
    CHECK(gro_stats.gro_flush_table > 0);
}

/* ---- with the whole stack ---------------------------------------------- */

#define NO_OFFLOADS (MODEL_FEATURES_MIN | VIRTIO_BIT(VIRTIO_NET_F_MAC))

static uint8_t data[200000];

/* A connection to the echo server, and bytes for it. */
static void begin_echo(uint64_t features, struct peer *p)
{
    rig_begin(features, NULL);
    memset(&gro_stats, 0, sizeof(gro_stats));
    for (uint32_t i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)(i * 2654435761u >> 13);
    peer_open(p, 7);
    CHECK(p->connected);
}

/* Up to `burst` segments in a turn, until all has been echoed. */
static void echo_all(struct peer *p, unsigned burst, uint32_t size)
{
    uint32_t sent = 0, first = p->seq;

    while (sent < sizeof(data)) {
        for (unsigned i = 0; i < burst && sent < sizeof(data); i++) {
            uint32_t len = LWIP_MIN(size, sizeof(data) - sent);

            peer_segment(p, ACK, 0, "", 0, data + sent, len);
            p->seq += len;
            sent += len;
        }
        rig_turn();
        CHECK_EQ(p->acked, p->seq);
    }
    rig_run(100);
    CHECK_EQ(p->seq - first, sizeof(data));
    CHECK_EQ(p->got_len, sizeof(data));
    CHECK_MEM_EQ(p->got, data, sizeof(data));
    CHECK_EQ(lwip_stats.tcp.chkerr, 0);
    CHECK_EQ(lwip_stats.ip.chkerr, 0);
    CHECK_EQ(vnet_bufs_held(rig.v), 0);
}

/* echo_all has seen to it that each burst is acknowledged at once. */
TEST(gro_stack_gets_merged_frames)
{
    struct peer p;

    begin_echo(NO_OFFLOADS, &p);
    echo_all(&p, 10, 1000);
    CHECK_EQ(gro_stats.gro_merged, 180);
    CHECK_EQ(gro_stats.gro_out, 20);
    CHECK_EQ(gro_stats.gro_csum_ok, 200);
    CHECK(port_hook_stats.merged >= 20);
    rig_end();
}

TEST(gro_stack_without)
{
    uint64_t segments;
    struct peer p;

    netstack_set_gro(false);
    begin_echo(NO_OFFLOADS, &p);
    segments = lwip_stats.tcp.recv;
    echo_all(&p, 10, 1000);
    CHECK(lwip_stats.tcp.recv - segments >= 200);
    CHECK_EQ(gro_stats.gro_in, 0);
    rig_end();
}

/* A merged frame of little data: its ACK waits for nothing either. */
TEST(gro_stack_acks_at_once)
{
    struct peer p;

    begin_echo(NO_OFFLOADS, &p);
    peer_segment(&p, ACK, 0, "", 0, data, 100);
    peer_segment(&p, ACK, 100, "", 0, data + 100, 50);
    p.seq += 150;
    CHECK_EQ(port_hook_stats.merged, 0);
    rig_turn();
    CHECK_EQ(gro_stats.gro_out, 1);
    CHECK_EQ(port_hook_stats.merged, 1);
    CHECK_EQ(p.acked, p.seq);
    rig_end();
}

/* A segment is late: what follows is answered at once, asking for it. */
TEST(gro_stack_with_a_gap)
{
    struct peer p;
    unsigned acks;

    begin_echo(NO_OFFLOADS, &p);
    acks = p.acks;
    peer_segment(&p, ACK, 1000, "", 0, data + 1000, 1000);
    peer_segment(&p, ACK, 2000, "", 0, data + 2000, 1000);
    rig_turn();
    CHECK_EQ(gro_stats.gro_out, 1);
    CHECK_EQ(p.acks, acks + 1);
    CHECK_EQ(p.acked, p.seq);
    CHECK_EQ(p.got_len, 0);
    peer_segment(&p, ACK, 0, "", 0, data, 1000);
    p.seq += 3000;
    rig_run(100);
    CHECK_EQ(p.acked, p.seq);
    CHECK_EQ(p.got_len, 3000);
    CHECK_MEM_EQ(p.got, data, 3000);
    rig_end();
}

/* The interface goes while segments are held. */
TEST(gro_stack_removed_while_held)
{
    struct peer p;

    begin_echo(NO_OFFLOADS, &p);
    peer_segment(&p, ACK, 0, "", 0, data, 1000);
    peer_segment(&p, ACK, 1000, "", 0, data + 1000, 1000);
    CHECK_EQ(vnet_poll(rig.v, 64), 2);
    CHECK_EQ(gro_stats.gro_merged, 1);
    CHECK_EQ(vnet_bufs_held(rig.v), 2);
    rig_end();
}

/* Frames copied because buffers are short are merged as well, or not. */
TEST(gro_stack_short_of_buffers)
{
    static const struct vnet_config small = {.rx_ring = 32,
                                             .tx_ring = 32,
                                             .rx_bufs_max = 64};
    static struct peer peers[10]; /* each keeps a window of 64 KiB */

    rig_begin(NO_OFFLOADS, &small);
    for (unsigned n = 0; n < 10; n++) {
        struct peer *p = &peers[n];

        peer_open(p, 7);
        p->deaf = true;
        for (unsigned k = 0; k < 10; k++) {
            for (unsigned i = 0; i < 8; i++) {
                peer_segment(p, ACK, 0, "", 0, data, 1000);
                p->seq += 1000;
            }
            rig_turn();
        }
    }
    CHECK(netif_vnet_stats.rx_bufs_low > 0);
    CHECK(gro_stats.gro_merged > 100);
    rig_ping(100);
    rig_run(5);
    CHECK_EQ(rig.icmp_replies, 1);
    rig_end();
}
