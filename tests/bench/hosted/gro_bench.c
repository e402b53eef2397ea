/*
 * Measures what software merging of received segments costs, and what it
 * saves: driver and stack as a Linux process, -O2, against the lean device
 * (dev.c), with one TCP connection to the discard server in full flow.
 *
 *     gro_bench [gro=on|off] [mode=M] [csum=on|off] [len=L] [flows=N]
 *               [push=on|off] [round=N] [segments=N]
 *
 * The device runs between the turns of the loop and delivers round=N segments
 * of L bytes each time, a flow after the other, one segment of each.
 * bench_turn is what belongs to the driver and the stack, so a profiler
 * collects in that function alone. csum=off: the device verifies no checksums,
 * the stack does.
 *
 * Prints NAME VALUE lines; fails when bytes were lost.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dev.h"
#include "netstack.h"
#include "peer.h"
#include "plat.h"
#include "verr.h"
#include "virtio/spec_net.h"
#include "vnet.h"

#define BUDGET 64u
#define WARM_UP 2000u
#define SETTLE_NS UINT64_C(5000000000) /* under a profiler, slowly */

struct bench {
    struct bench_dev device;
    struct vnet *v;
    struct vnet_config config;
    struct bench_peer peer;
    uint32_t round;
    uint64_t segments;
    bool gro;
};

static struct bench bench;

/* Called by name from the profiler's command line. */
void bench_turn(struct vnet *v);

__attribute__((noinline)) void bench_turn(struct vnet *v)
{
    vnet_poll(v, BUDGET);
    netstack_step();
    vnet_flush(v);
}

/* ---- arguments ---- */

static bool set_mode(struct bench *b, const char *val)
{
    static const char *const names[] = {"auto", "small", "big", "mergeable"};

    for (int i = 0; i < 4; i++)
        if (strcmp(val, names[i]) == 0) {
            b->config.rx_mode = (enum vnet_rx_mode)i;
            return true;
        }
    return false;
}

static bool set_word(struct bench *b, const char *key, const char *val)
{
    bool on = strcmp(val, "on") == 0;
    uint32_t n = (uint32_t)strtoul(val, NULL, 10);

    if (strcmp(key, "mode") == 0)
        return set_mode(b, val);
    if (strcmp(key, "gro") == 0)
        b->gro = on;
    else if (strcmp(key, "csum") == 0)
        b->config.refuse = on ? 0 : VIRTIO_BIT(VIRTIO_NET_F_GUEST_CSUM);
    else if (strcmp(key, "len") == 0)
        b->peer.payload = n;
    else if (strcmp(key, "push") == 0)
        b->peer.push = on;
    else if (strcmp(key, "flows") == 0)
        b->peer.flows = n;
    else if (strcmp(key, "round") == 0)
        b->round = n;
    else if (strcmp(key, "segments") == 0)
        b->segments = n;
    else
        return false;
    return true;
}

static bool usable(const struct bench *b)
{
    return b->peer.payload >= 1 && b->peer.payload <= 1460 &&
           b->peer.flows >= 1 && b->peer.flows <= BENCH_FLOWS_MAX &&
           b->round >= 1 && b->round <= BUDGET && b->segments > 0;
}

static void arguments(struct bench *b, int argc, char *argv[])
{
    b->peer.payload = 1460;
    b->peer.flows = 1;
    b->round = 32;
    b->segments = 8192;
    b->gro = true;
    for (int i = 1; i < argc; i++) {
        char *val = strchr(argv[i], '=');

        if (val)
            *val++ = '\0';
        if (!val || !set_word(b, argv[i], val)) {
            fprintf(stderr, "gro_bench: %s: not known\n", argv[i]);
            exit(2);
        }
    }
    if (!usable(b)) {
        fprintf(stderr, "gro_bench: out of range\n");
        exit(2);
    }
}

/* ---- runs ---- */

/* A twin of bench_turn that the profiler does not count. */
static void plain_turn(struct bench *b)
{
    bench_dev_show(&b->device);
    vnet_poll(b->v, BUDGET);
    netstack_step();
    vnet_flush(b->v);
    bench_peer_listen(&b->peer);
}

static uint64_t send_round(struct bench *b, uint64_t left)
{
    uint64_t n = 0;

    while (n < b->round && n < left && bench_peer_send(&b->peer))
        n++;
    bench_dev_show(&b->device);
    return n;
}

static bool connect_all(struct bench *b)
{
    plain_turn(b); /* publishes the first buffers */
    bench_peer_greet(&b->peer);
    for (unsigned i = 0; i < 8; i++)
        plain_turn(b);
    return bench_peer_ready(&b->peer);
}

/* The last acknowledgement may be a delayed one. False: none came. */
static bool settle(struct bench *b)
{
    uint64_t end = plat_now_ns() + SETTLE_NS;

    while (!bench_peer_all_acked(&b->peer) && plat_now_ns() < end)
        plain_turn(b);
    return bench_peer_all_acked(&b->peer);
}

/* False: the flow came to a stand. */
static bool run(struct bench *b, uint64_t segments, bool counted)
{
    unsigned idle = 0;

    while (segments > 0 && idle < 100) {
        uint64_t n = send_round(b, segments);

        segments -= n;
        idle = n > 0 ? 0 : idle + 1;
        if (counted)
            bench_turn(b->v);
        else
            plain_turn(b);
        bench_peer_listen(&b->peer);
    }
    return segments == 0 && settle(b);
}

static uint64_t found;
static const char *wanted;

static void pick(const char *name, uint64_t value)
{
    if (strcmp(name, wanted) == 0)
        found = value;
}

static uint64_t stack_counter(const char *name)
{
    found = 0;
    wanted = name;
    netstack_stats(pick);
    return found;
}

static void print(const char *name, uint64_t value)
{
    printf("%s %" PRIu64 "\n", name, value);
}

static bool start(struct bench *b)
{
    struct netstack_ifconfig ip = {0};
    struct virtio_dev *dev =
        bench_dev_init(&b->device, VIRTIO_BIT(VIRTIO_NET_F_MAC) |
                                       VIRTIO_BIT(VIRTIO_NET_F_MRG_RXBUF) |
                                       VIRTIO_BIT(VIRTIO_NET_F_CSUM) |
                                       VIRTIO_BIT(VIRTIO_NET_F_GUEST_CSUM));

    b->peer.device = &b->device;
    netstack_set_gro(b->gro);
    return netstack_parse_ip("10.0.2.15/24", &ip) == V_OK &&
           vnet_open(dev, &b->config, &b->v) == V_OK &&
           netstack_start() == V_OK && netstack_add(b->v, &ip) == V_OK;
}

int main(int argc, char *argv[])
{
    struct bench *b = &bench;
    uint64_t before, up;

    arguments(b, argc, argv);
    if (!start(b) || !connect_all(b) || !run(b, WARM_UP, false)) {
        fprintf(stderr, "gro_bench: no connection\n");
        return 1;
    }
    before = b->peer.acks;
    up = stack_counter("net_gro_out");
    if (!run(b, b->segments, true)) {
        fprintf(stderr, "gro_bench: segments were lost\n");
        return 1;
    }
    print("segments", b->segments);
    print("acks", b->peer.acks - before);
    print("merged_frames", stack_counter("net_gro_out") - up);
    netstack_remove(b->v);
    return vnet_close(b->v) == V_OK ? 0 : 1;
}
