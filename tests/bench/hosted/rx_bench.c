/*
 * Measures the receive path of the driver as a Linux process: the sources of
 * drivers/ as they are, -O2, against the lean device (dev.c).
 *
 *     rx_bench [mode=M] [buf=B] [copy=none|N] [early=on|off] [len=L]
 *              [frames=N | seconds=S] [keep=N]
 *
 * frames=N runs the device between the driver's turns: deterministic, for
 * counting instructions. bench_turn is what belongs to the driver (and the
 * client, which gives the buffers back), so a profiler collects in that
 * function alone. seconds=S runs the device on a thread of its own, as fast
 * as it can, and the client reads every byte. keep=N: the client keeps so many
 * frames before it gives the oldest back, as a stack with full sockets does.
 *
 * Prints NAME VALUE lines.
 */
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dev.h"
#include "plat.h"
#include "verr.h"
#include "virtio/spec_net.h"
#include "vnet.h"

#define BUDGET 64u
#define KEEP_MAX 1024u
#define KEEP_BYTES (2u << 20) /* the driver has 8 MiB for all */
#define WARM_UP 2000u
#define ROUND 32u /* frames the device delivers between two turns */

struct bench {
    struct bench_dev device;
    struct vnet *v;
    struct vnet_config config;
    uint32_t len;
    uint32_t keep;
    uint64_t frames;
    double seconds;
    bool reads;          /* the client reads the bytes */
    uint64_t sum;        /* of them, so that they are read */
    struct vnet_buf *kept[KEEP_MAX];
    uint32_t kept_at;
    _Atomic bool stop;
};

static struct bench bench;

/* Called by name from the profiler's command line. */
void bench_turn(struct vnet *v);

__attribute__((noinline)) void bench_turn(struct vnet *v)
{
    vnet_poll(v, BUDGET);
    vnet_flush(v);
}

/* ---- the client ---- */

static void give_back(struct bench *b, struct vnet_buf *buf)
{
    while (buf) {
        struct vnet_buf *next = buf->next;

        vnet_buf_return(b->v, buf);
        buf = next;
    }
}

static void read_bytes(struct bench *b, const struct vnet_buf *buf)
{
    for (; buf; buf = buf->next) {
        uint64_t word;

        for (uint32_t i = 0; i + 8 <= buf->len; i += 8) {
            memcpy(&word, buf->data + i, 8);
            b->sum += word;
        }
    }
}

static void rx(void *arg, const struct vnet_frame *frame)
{
    struct bench *b = arg;
    struct vnet_buf *oldest = frame->buf;

    if (b->reads)
        read_bytes(b, frame->buf);
    if (b->keep > 0) {
        oldest = b->kept[b->kept_at];
        b->kept[b->kept_at] = frame->buf;
        b->kept_at = (b->kept_at + 1) % b->keep;
    }
    give_back(b, oldest);
}

static void tx_done(void *arg, void *cookie)
{
    (void)arg;
    (void)cookie;
}

static void link_changed(void *arg, bool up)
{
    (void)arg;
    (void)up;
}

static const struct vnet_client client = {rx, tx_done, link_changed};

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

static bool set_buf(struct bench *b, const char *val)
{
    static const struct {
        const char *name;
        enum vnet_rx_size size;
    } sizes[] = {
        {"auto", VNET_RXBUF_AUTO},
        {"mtu", VNET_RXBUF_MTU},
        {"page", VNET_RXBUF_PAGE},
        {"mtu-faulty", VNET_RXBUF_MTU_FAULTY},
    };

    for (int i = 0; i < 4; i++)
        if (strcmp(val, sizes[i].name) == 0) {
            b->config.rx_size = sizes[i].size;
            return true;
        }
    b->config.rx_size = VNET_RXBUF_BYTES;
    b->config.rx_bytes = (uint32_t)strtoul(val, NULL, 10);
    return b->config.rx_bytes >= 64 && b->config.rx_bytes <= 32768;
}

static bool set_word(struct bench *b, const char *key, const char *val)
{
    unsigned long n = strtoul(val, NULL, 10);

    if (strcmp(key, "mode") == 0)
        return set_mode(b, val);
    if (strcmp(key, "buf") == 0)
        return set_buf(b, val);
    if (strcmp(key, "copy") == 0)
        b->config.rx_copy = strcmp(val, "none") == 0 ? VNET_RX_COPY_NONE
                                                     : (uint16_t)n;
    else if (strcmp(key, "early") == 0)
        b->config.rx_early = strcmp(val, "on") == 0;
    else if (strcmp(key, "len") == 0)
        b->len = (uint32_t)n;
    else if (strcmp(key, "frames") == 0)
        b->frames = n;
    else if (strcmp(key, "seconds") == 0)
        b->seconds = strtod(val, NULL);
    else if (strcmp(key, "keep") == 0)
        b->keep = (uint32_t)n;
    else
        return false;
    return true;
}

static bool usable(const struct bench *b)
{
    return b->len >= 60 && b->len <= 65549 && b->keep < KEEP_MAX &&
           (uint64_t)b->keep * b->len <= KEEP_BYTES;
}

static void arguments(struct bench *b, int argc, char *argv[])
{
    b->len = 1514;
    b->frames = 100000;
    for (int i = 1; i < argc; i++) {
        char *val = strchr(argv[i], '=');

        if (val)
            *val++ = '\0';
        if (!val || !set_word(b, argv[i], val)) {
            fprintf(stderr, "rx_bench: %s: not known\n", argv[i]);
            exit(2);
        }
    }
    if (!usable(b)) {
        fprintf(stderr, "rx_bench: out of range\n");
        exit(2);
    }
}

/* ---- runs ---- */

static void put_round(struct bench *b, uint64_t left)
{
    for (unsigned i = 0; i < ROUND && i < left; i++)
        if (!bench_dev_put(&b->device, b->len))
            break;
    bench_dev_show(&b->device);
}

/* A twin of bench_turn that the profiler does not count. */
static void warm_up(struct bench *b)
{
    while (b->device.taken_frames < WARM_UP) {
        put_round(b, WARM_UP);
        vnet_poll(b->v, BUDGET);
        vnet_flush(b->v);
    }
}

static void run_inline(struct bench *b)
{
    uint64_t end = b->device.taken_frames + b->frames;

    while (b->device.taken_frames < end) {
        put_round(b, end - b->device.taken_frames);
        bench_turn(b->v);
    }
    while (vnet_stats(b->v)->rx_frames < end)
        bench_turn(b->v);
}

static void pin(unsigned core)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(core, &set);
    sched_setaffinity(0, sizeof(set), &set);
}

static void *device_thread(void *arg)
{
    struct bench *b = arg;

    pin(1);
    while (!atomic_load_explicit(&b->stop, memory_order_relaxed)) {
        if (!bench_dev_put(&b->device, b->len))
            sched_yield();
        bench_dev_show(&b->device);
    }
    return NULL;
}

/* Where others want the processor, spinning on an empty ring until the end of
 * our slice would measure the scheduler. */
static void turn_or_yield(struct bench *b)
{
    uint64_t before = vnet_stats(b->v)->rx_frames;

    bench_turn(b->v);
    if (vnet_stats(b->v)->rx_frames == before)
        sched_yield();
}

static void run_thread(struct bench *b)
{
    uint64_t end = plat_now_ns() + (uint64_t)(b->seconds * 1e9);
    pthread_t thread;

    b->device.copies = b->reads = true;
    pin(0);
    if (pthread_create(&thread, NULL, device_thread, b) != 0)
        exit(1);
    while (plat_now_ns() < end)
        for (unsigned i = 0; i < 64; i++)
            turn_or_yield(b);
    atomic_store(&b->stop, true);
    pthread_join(thread, NULL);
}

static void print(const char *name, uint64_t value)
{
    printf("%s %" PRIu64 "\n", name, value);
}

/* Counters of the measured part alone. */
static void report(const struct bench *b, const struct vnet_stats *before,
                   uint64_t ns)
{
    const struct vnet_stats *now = vnet_stats(b->v);

    for (unsigned i = 0; i < vnet_stat_count; i++) {
        const struct vnet_stat_desc *d = &vnet_stat_table[i];
        uint64_t old, val;

        memcpy(&old, (const char *)before + d->offset, sizeof(old));
        memcpy(&val, (const char *)now + d->offset, sizeof(val));
        print(d->name, strncmp(d->name, "now_", 4) == 0 ? val : val - old);
    }
    print("mode", vnet_info(b->v)->rx_mode);
    print("ns", ns);
}

static bool close_all(struct bench *b)
{
    for (uint32_t i = 0; i < b->keep; i++)
        give_back(b, b->kept[i]);
    return vnet_close(b->v) == V_OK;
}

int main(int argc, char *argv[])
{
    struct bench *b = &bench;
    struct virtio_dev *dev =
        bench_dev_init(&b->device, VIRTIO_BIT(VIRTIO_NET_F_MAC) |
                                       VIRTIO_BIT(VIRTIO_NET_F_MRG_RXBUF) |
                                       VIRTIO_BIT(VIRTIO_NET_F_GUEST_CSUM) |
                                       VIRTIO_BIT(VIRTIO_NET_F_GUEST_TSO4));
    struct vnet_stats before;
    uint64_t start;

    arguments(b, argc, argv);
    if (vnet_open(dev, &b->config, &b->v) != V_OK)
        return 1;
    vnet_attach(b->v, &client, b);
    warm_up(b);
    before = *vnet_stats(b->v);
    start = plat_now_ns();
    if (b->seconds > 0)
        run_thread(b);
    else
        run_inline(b);
    report(b, &before, plat_now_ns() - start);
    return close_all(b) ? 0 : 1;
}
