/*
 * The other end of the wire for the packet generator. See pktgen_rig.h.
 */
#include "pktgen_rig.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "frame.h"
#include "host.h"
#include "netstack.h"
#include "pktgen_frame.h"

enum { ETH = 14, IP6 = 40, TURNS_MOST = 200000 };

struct pg pg;

static const uint8_t our_mac[6] = {0x52, 0x54, 0, 0x12, 0x34, 0x56};
static const uint8_t peer6[16] = {0xfe, 0x80, [15] = 0x55};

/* ---- answers ------------------------------------------------------------- */

static void answer_arp(const uint8_t *f)
{
    uint8_t a[60] = {0};

    if (rig_get16(f + ETH + 6) != 1)
        return;
    pg.questions++;
    if (pg.silent || rig_get32(f + ETH + 24) != RIG_PEER_IP)
        return;
    memcpy(a, our_mac, 6);
    memcpy(a + 6, pg.mac, 6);
    rig_put16(a + 12, 0x0806);
    rig_put32(a + ETH, 0x00010800);
    rig_put32(a + ETH + 4, 0x06040002);
    memcpy(a + ETH + 8, pg.mac, 6);
    rig_put32(a + ETH + 14, RIG_PEER_IP);
    memcpy(a + ETH + 18, our_mac, 6);
    rig_put32(a + ETH + 24, RIG_IP);
    rig_frame(a, sizeof(a));
}

static void answer_solicitation(const uint8_t *f)
{
    uint8_t a[ETH + IP6 + 32] = {0};
    uint8_t *ip = a + ETH, *icmp = ip + IP6;
    struct frame_info i;

    if (memcmp(f + ETH + IP6 + 8, peer6, 16) != 0)
        return;
    pg.questions++;
    if (pg.silent)
        return;
    memcpy(a, our_mac, 6);
    memcpy(a + 6, pg.mac, 6);
    rig_put16(a + 12, 0x86dd);
    ip[0] = 0x60;
    rig_put16(ip + 4, 32);
    ip[6] = 58;
    ip[7] = 255;
    memcpy(ip + 8, peer6, 16);
    memcpy(ip + 24, f + ETH + 8, 16);
    icmp[0] = 136;
    icmp[4] = 0x60;
    memcpy(icmp + 8, peer6, 16);
    icmp[24] = 2;
    icmp[25] = 1;
    memcpy(icmp + 26, pg.mac, 6);
    CHECK(frame_parse(a, sizeof(a), &i));
    i.l4_proto = 58;
    rig_put16(icmp + 2, frame_fold(frame_pseudo(a, &i, 32)));
    frame_finish_csum(a, sizeof(a), ETH + IP6, 2);
    rig_frame(a, sizeof(a));
}

/* ---- what arrives -------------------------------------------------------- */

/* Everything that a frame of the generator must be. */
static void take_generated(const uint8_t *f, uint32_t len,
                           const struct frame_info *i)
{
    const uint8_t *p = f + i->payload;
    uint32_t number;

    CHECK(i->end - i->payload >= PKTGEN_PAYLOAD_LEAST);
    CHECK_EQ(i->end, len);
    CHECK_EQ(rig_get32(p), PKTGEN_MAGIC);
    CHECK(frame_ip_csum_ok(f, i));
    CHECK(rig_get16(f + i->csum) != 0);
    CHECK(frame_l4_csum_ok(f, i));
    CHECK_MEM_EQ(f, pg.mac, 6);
    CHECK_MEM_EQ(f + 6, rig.netif->hwaddr, 6);
    number = rig_get32(p + 4);
    CHECK(number >= pg.next);
    CHECK(pg.may_lose || number == pg.next);
    pg.lost += number - pg.next;
    pg.next = number + 1;
    pg.time_ns = (uint64_t)rig_get32(p + 8) << 32 | rig_get32(p + 12);
    pg.sport = rig_get16(f + i->l4);
    pg.frames++;
    pg.bytes += len;
    pg.len = len;
    pg.ip6 = i->ipv6;
}

static void take_other(const uint8_t *f, uint32_t len)
{
    CHECK(len <= sizeof(pg.last));
    memcpy(pg.last, f, len);
    pg.last_len = len;
    pg.others++;
}

static void take(const struct model_frame *m)
{
    const uint8_t *f = m->data;
    struct frame_info i;

    if (rig_get16(f + 12) == 0x0806)
        answer_arp(f);
    if (!frame_parse(f, m->len, &i))
        return;
    if (i.ipv6 && f[i.l3 + 6] == 58 && f[i.l3 + IP6] == 135)
        answer_solicitation(f);
    else if (i.ipv4 && f[i.l3 + 9] == 1 && f[i.l3 + 20] == 0)
        pg.pongs++;
    else if (i.l4_proto != FRAME_UDP)
        return;
    else if (rig_get16(f + i.l4 + 2) == pg.port)
        take_generated(f, m->len, &i);
    else
        take_other(f, m->len);
}

void pg_turn(void)
{
    struct model_frame *f;

    vnet_poll(rig.v, 64);
    pg.busy = netstack_step();
    vnet_flush(rig.v);
    model_step(rig.m);
    while ((f = model_tx_pop(rig.m)) != NULL) {
        take(f);
        free(f);
    }
    if (vnet_arm(rig.v))
        vnet_poll(rig.v, 64);
}

void pg_run(unsigned turns, uint64_t ns)
{
    while (turns-- > 0) {
        host_now += ns;
        pg_turn();
    }
}

void pg_until(const char *text, uint64_t ns)
{
    unsigned turns = 0;

    while (host_log_count(text) == 0) {
        CHECK(turns++ < TURNS_MOST);
        pg_run(1, ns);
    }
}

/* ---- life ---------------------------------------------------------------- */

void pg_command(const char *line)
{
    char text[128];
    char *argv[8];
    int argc = 0;

    strncpy(text, line, sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    for (char *w = strtok(text, " "); w && argc < 8; w = strtok(NULL, " "))
        argv[argc++] = w;
    for (unsigned i = 0; i < netstack_command_count; i++)
        if (strcmp(netstack_commands[i].name, argv[0]) == 0) {
            netstack_commands[i].run(argc, argv);
            return;
        }
    CHECK(!"a command of the stack");
}

void pg_begin(uint64_t features, const struct vnet_config *config)
{
    static const uint8_t mac[6] = {0x52, 0x55, 0x0a, 0, 2, 2};

    memset(&pg, 0, sizeof(pg));
    memcpy(pg.mac, mac, sizeof(mac));
    pg.port = 9009;
    rig_begin(features, config);
    host_log_clear();
}
