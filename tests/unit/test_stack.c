/*
 * net/stack.c: addresses as text, interfaces coming and going, the link,
 * DHCP, timers, and counters.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "host.h"
#include "lwip/dhcp.h"
#include "lwip/prot/dhcp.h"
#include "lwip/priv/tcp_priv.h"
#include "net_rig.h"
#include "netstack.h"

/* ---- addresses ----------------------------------------------------------- */

static bool parses(const char *text, uint32_t ip, uint32_t mask)
{
    struct netstack_ifconfig c = {.gw = 42};

    return netstack_parse_ip(text, &c) == V_OK && !c.dhcp &&
           c.ip == lwip_htonl(ip) && c.mask == lwip_htonl(mask) && c.gw == 42;
}

TEST(parse_ip_good)
{
    struct netstack_ifconfig c = {0};

    CHECK(parses("10.0.2.15/24", 0x0a00020f, 0xffffff00));
    CHECK(parses("255.255.255.255/32", 0xffffffff, 0xffffffff));
    CHECK(parses("0.0.0.0/0", 0, 0));
    CHECK(parses("192.168.1.1/1", 0xc0a80101, 0x80000000));
    CHECK_EQ(netstack_parse_ip("dhcp", &c), V_OK);
    CHECK(c.dhcp);
}

TEST(parse_ip_bad)
{
    static const char *const bad[] = {
        "",           "10.0.2.15",      "10.0.2.15/",     "10.0.2.15/33",
        "10.0.2/24",  "10.0.2.256/24",  "10.0.2.15/24 ",  " 10.0.2.15/24",
        "10..2.15/8", "10.0.2.15.1/24", "1.2.3.4/99999999999",
        "99999999999.0.0.1/8",          "a.b.c.d/8",      "-1.2.3.4/8",
        "1.2.3.4/-8", "dhcp6",          "DHCP",           "dhc",
    };
    struct netstack_ifconfig c = {.ip = 1};

    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CHECK_EQ(netstack_parse_ip(bad[i], &c), V_INVAL);
    CHECK_EQ(c.ip, 1);
    CHECK(!c.dhcp);
}

TEST(parse_addr)
{
    uint32_t a = 7;

    CHECK_EQ(netstack_parse_addr("1.2.3.4", &a), V_OK);
    CHECK_EQ(a, lwip_htonl(0x01020304));
    CHECK_EQ(netstack_parse_addr("1.2.3.4/8", &a), V_INVAL);
    CHECK_EQ(netstack_parse_addr("1.2.3", &a), V_INVAL);
    CHECK_EQ(a, lwip_htonl(0x01020304));
}

/* ---- interfaces ---------------------------------------------------------- */

TEST(addresses_are_printed)
{
    rig_begin(MODEL_FEATURES, NULL);
    CHECK_EQ(host_log_count("vireo: en0 address 10.0.2.15/24 gw 10.0.2.2"), 1);
    CHECK_EQ(host_log_count("address FE80"), 0);
    rig_run(3000); /* duplicate address detection */
    CHECK_EQ(host_log_count("en0 address FE80::5054:FF:FE12:3456/64"), 1);
    rig_end();
}

TEST(ping)
{
    rig_begin(MODEL_FEATURES, NULL);
    for (uint32_t len = 0; len <= 1472; len += 46)
        rig_ping(len);
    rig_run(10);
    CHECK_EQ(rig.icmp_replies, 33);
    rig_end();
}

/* Everything that can hold a receive buffer does, and lets go. */
TEST(remove_leaves_nothing_held)
{
    static const uint8_t data[1000];
    struct peer reader, gap;

    rig_begin(MODEL_FEATURES, NULL);
    rig_fragment(17, 1, data, 800, 0, true);
    rig_fragment(17, 2, data, 800, 1600, false);
    peer_open(&reader, 7);
    reader.deaf = true;
    for (unsigned i = 0; i < 100; i++) {
        peer_send(&reader, data, sizeof(data));
        rig_turn();
    }
    peer_open(&gap, 7);
    for (unsigned i = 1; i < 20; i++)
        peer_segment(&gap, 0x10, (int32_t)(i * 1000), "", 0, data,
                     sizeof(data));
    rig_turn();
    CHECK(vnet_bufs_held(rig.v) > 20);
    netstack_remove(rig.v);
    CHECK_EQ(vnet_bufs_held(rig.v), 0);
    CHECK(!tcp_active_pcbs);
    CHECK(!netif_list);
    rig_end();
}

TEST(remove_and_add_again)
{
    struct netstack_ifconfig cfg = {0};
    struct peer p;

    rig_begin(MODEL_FEATURES, NULL);
    netstack_remove(rig.v);
    netstack_remove(rig.v); /* no such interface: nothing happens */
    rig_ping(10);
    rig_run(10);
    CHECK_EQ(rig.icmp_replies, 0);
    CHECK_EQ(vnet_bufs_held(rig.v), 0);
    CHECK_EQ(netstack_parse_ip("10.0.2.15/24", &cfg), V_OK);
    CHECK_EQ(netstack_add(rig.v, &cfg), V_OK);
    rig.netif = netif_default;
    rig_arp(1, RIG_IP);
    rig_run(10);
    peer_open(&p, 7);
    peer_send(&p, "abc", 3);
    rig_run(10);
    CHECK_EQ(p.got_len, 3);
    rig_end();
}

/* Two interfaces: each answers on its own side; one goes, the other stays. */
TEST(two_interfaces)
{
    struct netstack_ifconfig cfg = {0};
    struct rig first;
    struct peer p;

    rig_begin(MODEL_FEATURES, NULL);
    first = rig;
    rig.m = model_new(MODEL_FEATURES);
    model_set_mac(rig.m, (const uint8_t *)"\x52\x54\0\x12\x34\x99");
    CHECK_EQ(vnet_open(model_dev(rig.m), NULL, &rig.v), V_OK);
    CHECK_EQ(netstack_parse_ip("10.0.3.15/24", &cfg), V_OK);
    CHECK_EQ(netstack_add(rig.v, &cfg), V_OK);
    rig_run(10);
    CHECK_EQ(host_log_count("vireo: en1 address 10.0.3.15/24"), 1);
    netstack_remove(rig.v);
    rig_turn();
    CHECK_EQ(vnet_close(rig.v), V_OK);
    model_free(rig.m);
    rig = first;
    rig_run(10);
    peer_open(&p, 7);
    CHECK(p.connected);
    peer_fin(&p);
    rig_run(20);
    rig_end();
}

TEST(link_down_and_up)
{
    struct peer p;

    rig_begin(MODEL_FEATURES, NULL);
    peer_open(&p, 7);
    model_set_link(rig.m, false);
    rig_run(50);
    CHECK(!netif_is_link_up(rig.netif));
    model_set_link(rig.m, true);
    rig_run(50);
    CHECK(netif_is_link_up(rig.netif));
    peer_send(&p, "abc", 3);
    rig_run(50);
    CHECK_EQ(p.got_len, 3);
    rig_end();
}

/* A link too narrow for IPv6 has none; IPv4 works. */
TEST(small_mtu)
{
    struct netstack_ifconfig cfg = {0};

    rig_begin(MODEL_FEATURES, NULL);
    netstack_remove(rig.v);
    CHECK_EQ(vnet_close(rig.v), V_OK);
    rig.m->offered |= VIRTIO_BIT(VIRTIO_NET_F_MTU);
    model_set_mtu(rig.m, 1000);
    CHECK_EQ(vnet_open(model_dev(rig.m), NULL, &rig.v), V_OK);
    CHECK_EQ(netstack_parse_ip("10.0.2.15/24", &cfg), V_OK);
    CHECK_EQ(netstack_add(rig.v, &cfg), V_OK);
    rig.netif = netif_default;
    CHECK_EQ(rig.netif->mtu, 1000);
    CHECK_EQ(netif_ip6_addr_state(rig.netif, 0), IP6_ADDR_INVALID);
    rig_arp(1, RIG_IP);
    rig_ping(900);
    rig_run(10);
    CHECK_EQ(rig.icmp_replies, 1);
    rig_end();
}

/* ---- time ---------------------------------------------------------------- */

/* What is asked for is the next timer, neither late nor in a hurry. */
TEST(wakeup_is_asked_for)
{
    rig_begin(MODEL_FEATURES, NULL);
    rig_run(3000);
    for (unsigned i = 0; i < 200; i++) {
        uint64_t at;

        host_wakeup_take();
        netstack_step();
        at = host_wakeup();
        CHECK(at > host_now);
        CHECK(at <= host_now + UINT64_C(1000000000));
        host_now = at;
        rig_turn();
    }
    /* 200 wake-ups of an idle stack are a good while. */
    CHECK(host_now > UINT64_C(20000000000));
    rig_end();
}

/* ---- DHCP ---------------------------------------------------------------- */

/* The last DHCP message that was sent: its type, its transaction. */
static uint8_t dhcp_type(struct model_frame **last)
{
    struct model_frame *f;
    uint8_t type = 0;

    vnet_flush(rig.v);
    model_step(rig.m);
    while ((f = model_tx_pop(rig.m)) != NULL) {
        if (f->len > 42 + 243 && f->data[23] == 17 && f->data[37] == 67) {
            type = f->data[42 + 242];
            free(*last);
            *last = f;
        } else {
            free(f);
        }
    }
    return type;
}

static void dhcp_answer(const struct model_frame *asked, uint8_t type)
{
    static uint8_t m[300];
    static const uint8_t options[] = {
        99, 130, 83, 99, 53, 1, 0, 54, 4, 10, 0, 2, 2, 51, 4, 0, 0, 14, 16,
        1,  4,   255, 255, 255, 0, 3, 4, 10, 0, 2, 2, 255};
    uint8_t udp[8 + sizeof(m)];

    memset(m, 0, sizeof(m));
    m[0] = 2;
    m[1] = 1;
    m[2] = 6;
    memcpy(m + 4, asked->data + 42 + 4, 4);
    memcpy(m + 16, "\x0a\0\2\x0f", 4);
    memcpy(m + 28, asked->data + 42 + 28, 6);
    memcpy(m + 236, options, sizeof(options));
    m[242] = type;
    memset(udp, 0, 8);
    udp[1] = 67;
    udp[3] = 68;
    udp[4] = sizeof(udp) >> 8;
    udp[5] = sizeof(udp) & 0xff;
    memcpy(udp + 8, m, sizeof(m));
    rig_ip4(17, udp, sizeof(udp));
    vnet_poll(rig.v, 64);
    netstack_step();
}

TEST(dhcp_gets_an_address)
{
    struct netstack_ifconfig cfg = {0};
    struct model_frame *last = NULL;

    rig_begin(MODEL_FEATURES, NULL);
    netstack_remove(rig.v);
    CHECK_EQ(netstack_parse_ip("dhcp", &cfg), V_OK);
    CHECK_EQ(netstack_add(rig.v, &cfg), V_OK);
    CHECK_EQ(dhcp_type(&last), DHCP_DISCOVER);
    dhcp_answer(last, DHCP_OFFER);
    CHECK_EQ(dhcp_type(&last), DHCP_REQUEST);
    dhcp_answer(last, DHCP_ACK);
    CHECK_EQ(host_log_count("en0 address 10.0.2.15/24 gw 10.0.2.2"), 2);
    rig_arp(1, RIG_IP); /* where the server is */
    vnet_poll(rig.v, 64);
    netstack_remove(rig.v);
    CHECK_EQ(dhcp_type(&last), DHCP_RELEASE);
    free(last);
    rig_end();
}

/* ---- counters ------------------------------------------------------------ */

static unsigned lines;

static void count_line(const char *name, uint64_t value)
{
    (void)value;
    CHECK(name && *name);
    lines++;
}

TEST(stats_have_names)
{
    rig_begin(MODEL_FEATURES, NULL);
    netstack_stats(count_line);
    CHECK(lines > 50);
    rig_end();
}
