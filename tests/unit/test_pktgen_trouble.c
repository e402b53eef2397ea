/*
 * net/pktgen.c when something is in its way: a full ring, no link, a device
 * that is rebuilt, nobody who answers, words that make no sense.
 */
#include <string.h>

#include "check.h"
#include "host.h"
#include "netstack.h"
#include "pktgen_rig.h"

#define MS UINT64_C(1000000)

/* The device finishes nothing: the generator must not spin. */
static void fill_ring(const char *line)
{
    uint64_t sent, n = 0;

    pg_begin(MODEL_FEATURES, NULL);
    rig.m->tx_hold = true;
    pg_command(line);
    pg_run(20, MS / 10);
    sent = pg.frames;
    CHECK(sent >= 2);
    CHECK(sent <= 256);
    CHECK(!pg.busy);
    pg_run(20, MS / 10);
    CHECK_EQ(pg.frames, sent);
    CHECK(rig_stat("pktgen_ring_full") > 0);
    while (pg.frames < 5000) {
        model_tx_release(rig.m, 50);
        pg_run(1, MS / 10);
        CHECK(n++ < 5000);
    }
    pg_command("pktgen stop");
    CHECK_EQ(pg.frames, rig_stat("pktgen_sent"));
    CHECK_EQ(pg.next, pg.frames);
    model_tx_release(rig.m, 256);
    rig.m->tx_hold = false;
    rig_end();
}

TEST(ring_full_of_small_frames)
{
    fill_ring("pktgen 10.0.2.2 time=60");
}

/* Their memory is the same for all of them, all the time. */
TEST(ring_full_of_large_frames)
{
    fill_ring("pktgen 10.0.2.2 len=1514 time=60");
}

TEST(ring_full_at_the_end)
{
    pg_begin(MODEL_FEATURES, NULL);
    rig.m->tx_hold = true;
    pg_command("pktgen 10.0.2.2 time=10ms");
    pg_run(12, MS);
    CHECK_EQ(host_log_count("pktgen: done"), 1);
    rig.m->tx_hold = false;
    host_log_clear();
    pg.next = 0;
    pg_command("pktgen 10.0.2.2 rate=1M time=10ms");
    pg_run(1, MS);
    model_tx_release(rig.m, 256);
    rig.m->tx_hold = true;
    pg_run(12, MS);
    CHECK_EQ(host_log_count("pktgen: done"), 1);
    model_tx_release(rig.m, 256);
    rig.m->tx_hold = false;
    rig_end();
}

TEST(tiny_ring)
{
    struct vnet_config config = {.tx_ring = 4};

    pg_begin(MODEL_FEATURES_MIN | VIRTIO_BIT(VIRTIO_NET_F_MAC), &config);
    pg_command("pktgen 10.0.2.2 count=1000 len=1000");
    pg_until("pktgen: done", MS);
    CHECK_EQ(pg.frames, 1000);
    rig_end();
}

TEST(link_goes_and_comes)
{
    uint64_t sent;

    pg_begin(MODEL_FEATURES, NULL);
    pg_command("pktgen 10.0.2.2 rate=1k time=1");
    pg_run(100, MS);
    model_set_link(rig.m, false);
    pg_run(1, MS);
    sent = pg.frames;
    pg_run(50, MS);
    CHECK_EQ(pg.frames, sent);
    CHECK(!pg.busy);
    model_set_link(rig.m, true);
    pg_until("pktgen: done", MS);
    CHECK(pg.frames >= 990);
    CHECK_EQ(pg.frames, rig_stat("pktgen_sent"));
    model_set_link(rig.m, false);
    pg_run(2, MS);
    pg_command("pktgen 10.0.2.2");
    pg_run(2, MS);
    CHECK_EQ(host_log_count("pktgen: the link is down"), 1);
    rig_end();
}

/* What was in the old ring is lost; all that is sent after it arrives, from
 * the device's new address. */
TEST(device_is_rebuilt)
{
    static const uint8_t mac[6] = {0x52, 0x54, 0, 9, 9, 9};

    pg_begin(MODEL_FEATURES, NULL);
    pg.may_lose = true;
    pg_command("pktgen 10.0.2.2 count=5000 len=700");
    pg_run(10, MS);
    model_needs_reset(rig.m);
    pg_run(10, MS);
    model_set_mac(rig.m, mac);
    model_needs_reset(rig.m);
    pg_until("pktgen: done", MS);
    CHECK_EQ(vnet_stats(rig.v)->resets, 2);
    CHECK_MEM_EQ(rig.netif->hwaddr, mac, 6);
    CHECK_EQ(pg.next, 5000);
    CHECK_EQ(rig_stat("pktgen_sent"), 5000);
    CHECK(pg.lost <= 2 * 256);
    CHECK_EQ(pg.frames + pg.lost, 5000);
    rig_end();
}

/* The rebuild makes frames of this length impossible. */
TEST(mtu_shrinks)
{
    pg_begin(MODEL_FEATURES | VIRTIO_BIT(VIRTIO_NET_F_MTU), NULL);
    pg.may_lose = true;
    pg_command("pktgen 10.0.2.2 len=1400");
    pg_run(10, MS);
    model_set_mtu(rig.m, 1000);
    model_needs_reset(rig.m);
    pg_until("pktgen: done (the interface no longer takes such frames)", MS);
    host_log_clear();
    pg_command("pktgen 10.0.2.2 len=1015 count=1");
    pg_run(2, MS);
    CHECK_EQ(host_log_count("len=1015: 60 to 1014 possible"), 1);
    rig_end();
}

/* Found out by ARP at the latest a second later; frames go on meanwhile. */
TEST(neighbour_moves)
{
    pg_begin(MODEL_FEATURES, NULL);
    pg_command("pktgen 10.0.2.2 rate=100 time=5");
    pg_run(100, 10 * MS);
    CHECK_EQ(pg.frames, 100);
    netif_set_down(rig.netif); /* forgets its neighbours */
    netif_set_up(rig.netif);
    pg.mac[5] = 77;
    pg.port = 1; /* still to the old address: nothing of ours is checked */
    pg_run(150, 10 * MS);
    pg.port = 9009;
    pg.next = 250;
    pg_until("pktgen: done: 500 packets", MS);
    CHECK_EQ(pg.frames, 350);
    rig_end();
}

TEST(interface_goes)
{
    pg_begin(MODEL_FEATURES, NULL);
    rig.m->tx_hold = true; /* and frames are on their way */
    pg_command("pktgen 10.0.2.2 len=1000 rate=1k");
    pg_run(10, MS);
    rig_end();
    netstack_step();
    CHECK_EQ(host_log_count("pktgen: done (the interface is gone): "), 1);
    CHECK(!netstack_step());
}

/* ---- no way -------------------------------------------------------------- */

TEST(nobody_answers)
{
    pg_begin(MODEL_FEATURES, NULL);
    pg.silent = true;
    pg_command("pktgen 10.0.2.77");
    pg_run(20, 100 * MS);
    CHECK_EQ(host_log_count("pktgen:"), 0);
    CHECK(!pg.busy);
    pg_run(20, 100 * MS);
    CHECK_EQ(host_log_count("pktgen: no answer"), 1);
    CHECK(pg.questions >= 3);
    CHECK(pg.questions <= 20);
    pg_command("pktgen 10.0.2.77");
    pg_run(2, 100 * MS);
    pg_command("pktgen stop");
    CHECK_EQ(host_log_count("pktgen: stopped"), 1);
    pg_run(20, 100 * MS);
    pg_command("pktgen " PG_PEER6);
    pg_run(40, 100 * MS);
    CHECK_EQ(host_log_count("pktgen: no answer"), 2);
    CHECK_EQ(pg.frames, 0);
    rig_end();
}

TEST(by_the_gateway)
{
    ip4_addr_t none = {0};

    pg_begin(MODEL_FEATURES, NULL);
    pg_command("pktgen 192.0.2.1 count=10");
    pg_until("pktgen: done", MS);
    CHECK_EQ(pg.frames, 10);
    netif_set_gw(rig.netif, &none);
    host_log_clear();
    pg_command("pktgen 192.0.2.1 count=10");
    pg_run(2, MS);
    CHECK_EQ(host_log_count("pktgen: no route"), 1);
    pg_run(40, 50 * MS);
    pg_command("pktgen 2001:db8::1");
    pg_run(2, MS);
    CHECK_EQ(host_log_count("pktgen: no route"), 2);
    CHECK_EQ(pg.frames, 10);
    rig_end();
}

TEST(not_to_these)
{
    static const char *const dest[] = {
        "10.0.2.15", "127.0.0.1", "::1", "fe80::5054:ff:fe12:3456",
        "10.0.2.255", "255.255.255.255", "224.0.0.1", "ff02::1",
    };
    char line[64];

    pg_begin(MODEL_FEATURES, NULL);
    pg_run(40, 50 * MS);
    host_log_clear();
    for (unsigned i = 0; i < 8; i++) {
        strcpy(line, "pktgen ");
        strcat(line, dest[i]);
        pg_command(line);
        pg_run(2, MS);
        CHECK_EQ(host_log_count("an address of this machine"),
                 i < 4 ? i + 1 : 4);
        CHECK_EQ(host_log_count("not the address of one host"),
                 i < 4 ? 0 : i - 3);
    }
    CHECK_EQ(pg.frames, 0);
    rig_end();
}

TEST(no_address_yet)
{
    ip4_addr_t none = {0};

    pg_begin(MODEL_FEATURES, NULL);
    netif_set_addr(rig.netif, &none, &none, &none);
    pg_command("pktgen 10.0.2.2");
    pg_run(2, MS);
    CHECK_EQ(host_log_count("pktgen: the interface has no address yet"), 1);
    rig_end();
}

/* ---- words --------------------------------------------------------------- */

TEST(bad_arguments)
{
    static const char *const line[] = {
        "pktgen", "pktgen stop now", "pktgen 10", "pktgen 10.0.2",
        "pktgen 10.0.2.256", "pktgen 10.0.2.2:", "pktgen 10.0.2.2:0",
        "pktgen 10.0.2.2:65536", "pktgen 10.0.2.2:x", "pktgen :9",
        "pktgen [10.0.2.2]:9", "pktgen [fe80::55", "pktgen [fe80::55]9",
        "pktgen [fe80::55]:", "pktgen fe80::55xyz", "pktgen fe80:::55",
        "pktgen ::g", "pktgen []", "pktgen [", "pktgen ]", "pktgen %",
        "pktgen fe80::1%en9", "pktgen fe80::1%", "pktgen fe80::1%e",
        "pktgen 10.0.2.2 len=59", "pktgen 10.0.2.2 len=65550",
        "pktgen 10.0.2.2 len=60k", "pktgen 10.0.2.2 len=1515",
        "pktgen fe80::55 len=77", "pktgen 10.0.2.2 rate=0",
        "pktgen 10.0.2.2 rate=1G", "pktgen 10.0.2.2 time=0",
        "pktgen 10.0.2.2 time=2000m", "pktgen 10.0.2.2 time=1 count=1",
        "pktgen 10.0.2.2 count=0", "pktgen 10.0.2.2 count=-1",
        "pktgen 10.0.2.2 fast", "pktgen 10.0.2.2 len=60 len=60",
        "pktgen 11111111111111111111111111111111111111111111111111111111111"
        "111111111111111111111",
    };
    const unsigned count = sizeof(line) / sizeof(line[0]);

    pg_begin(MODEL_FEATURES, NULL);
    pg_run(40, 50 * MS);
    for (unsigned i = 0; i < count; i++) {
        host_log_clear();
        pg_command(line[i]);
        pg_run(20, MS);
        if (host_log_count("pktgen") != 1 || pg.frames)
            check_fail(__FILE__, __LINE__, "%s", line[i]);
        host_log_clear();
        pg_command("pktgen stop");
        CHECK_EQ(host_log_count("pktgen: not running"), 1);
    }
    rig_end();
}
