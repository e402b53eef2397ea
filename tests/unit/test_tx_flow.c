/*
 * Transmit from TCP and UDP down to the wire: chains that stay as they are,
 * late devices, a full ring, a device that is rebuilt.
 */
#include <string.h>

#include "check.h"
#include "frame.h"
#include "lwip/priv/tcp_priv.h"
#include "net_rig.h"

static uint32_t hash_chain(const struct pbuf *p)
{
    uint32_t h = 5381;

    for (; p; p = p->next) {
        const uint8_t *b = p->payload;
        uint32_t word[] = {(uint32_t)(uintptr_t)p->next,
                           p->len,
                           p->tot_len,
                           p->flags,
                           p->type_internal,
                           (uint32_t)(uintptr_t)p->payload};

        for (unsigned i = 0; i < 6; i++)
            h = h * 33 + word[i];
        for (unsigned i = 0; i < p->len; i++)
            h = h * 33 + b[i];
    }
    return h;
}

/* Nothing but the checksum field of a segment may change. */
TEST(tx_leaves_the_chain_as_it_is)
{
    static const struct frame_spec s = {.payload = 500};
    static uint8_t frame[1000];
    uint32_t len = frame_make(frame, &s);
    struct pbuf *p, *rest;
    uint32_t before;

    rig_begin(MODEL_FEATURES, NULL);
    p = pbuf_alloc(PBUF_RAW, 54, PBUF_RAM);
    pbuf_take(p, frame, 54);
    rest = pbuf_alloc_reference(frame + 54, (u16_t)(len - 54), PBUF_ROM);
    pbuf_cat(p, rest);
    memset((uint8_t *)p->payload + 50, 0, 2);
    before = hash_chain(p);
    CHECK_EQ(pbuf_tx(rig.v, p, true), ERR_OK);
    rig_turn();
    memset((uint8_t *)p->payload + 50, 0, 2);
    CHECK_EQ(hash_chain(p), before);
    CHECK_EQ(p->ref, 1);
    pbuf_free(p);
    rig_end();
}

/*
 * The device reads late: a datagram is echoed from the buffer it came in,
 * which must stay ours until then, and go back afterwards.
 */
TEST(tx_late_device_keeps_the_buffer_alive)
{
    static uint8_t data[1200];

    memset(data, 0x77, sizeof(data));
    rig_begin(MODEL_FEATURES, NULL);
    rig.m->tx_hold = true;
    rig_udp(6000, 7, data, sizeof(data));
    rig_run(100);
    CHECK(vnet_bufs_held(rig.v) > 0);
    rig.m->tx_hold = false;
    model_tx_release(rig.m, 100);
    rig_run(10);
    CHECK_EQ(vnet_bufs_held(rig.v), 0);
    CHECK_EQ(rig.udp_count, 1);
    CHECK_MEM_EQ(rig.udp, data, sizeof(data));
    rig_end();
}

/*
 * The ring is far too small for all: every connection still gets its share,
 * although the one that has just got its ACKs is first in lwIP's list.
 */
TEST(tx_small_ring_is_shared)
{
    static const struct vnet_config small = {.tx_ring = 16};
    static struct peer p[8];
    uint32_t least = UINT32_MAX, most = 0;

    rig_begin(MODEL_FEATURES, &small);
    for (unsigned i = 0; i < 8; i++)
        peer_open(&p[i], 19);
    for (unsigned i = 0; i < 8; i++)
        p[i].got_len = 0;
    rig_run(300);
    for (unsigned i = 0; i < 8; i++) {
        least = p[i].got_len < least ? p[i].got_len : least;
        most = p[i].got_len > most ? p[i].got_len : most;
    }
    CHECK(netif_vnet_stats.tx_refused > 0);
    CHECK(least > 100000);
    CHECK(most < 2 * least);
    rig_end();
}

/* Nobody acknowledges, so only what was put off for lack of room can be
 * sent: it is, as soon as there is room, and not by a timer. */
TEST(tx_resumes_when_the_ring_has_room)
{
    static const struct vnet_config small = {.tx_ring = 16};
    static struct peer p[8];
    unsigned sent = 0;

    rig_begin(MODEL_FEATURES, &small);
    rig.m->tx_hold = true;
    for (unsigned i = 0; i < 8; i++) {
        peer_open(&p[i], 19);
        model_tx_release(rig.m, 100);
        rig_turn();
    }
    for (unsigned i = 0; i < 8; i++)
        p[i].deaf = true;
    rig_run(5);
    CHECK(netif_vnet_stats.tx_refused > 0);
    for (unsigned i = 0; i < 8; i++)
        sent += p[i].acks;
    for (unsigned i = 0; i < 40; i++) {
        model_tx_release(rig.m, 100);
        rig_turn();
    }
    for (unsigned i = 0; i < 8; i++)
        sent = p[i].acks + (i ? sent : 0 - sent);
    CHECK(sent > 0);
    for (struct tcp_pcb *q = tcp_active_pcbs; q; q = q->next)
        CHECK(!(q->flags & TF_NAGLEMEMERR));
    rig.m->tx_hold = false;
    model_tx_release(rig.m, 100);
    rig_end();
}

/* A device that is being rebuilt takes nothing; afterwards all goes on. */
TEST(tx_survives_a_rebuild_of_the_device)
{
    struct peer p;
    uint32_t before;

    rig_begin(MODEL_FEATURES, NULL);
    peer_open(&p, 19);
    rig_run(10);
    before = p.got_len;
    model_needs_reset(rig.m);
    rig_run(1200); /* the first retransmission comes after a second */
    CHECK(p.got_len > before + 50000);
    CHECK(!p.got_rst);
    peer_fin(&p);
    rig_run(100);
    CHECK(p.got_fin);
    rig_end();
}
