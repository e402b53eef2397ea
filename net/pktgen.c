/*
 * Packet generator. See pktgen.h; pktgen_frame.c makes the frames,
 * pktgen_path.c finds out where to send them.
 *
 * Frames go straight to vnet_send(), below lwIP, and nothing is allocated.
 * When the ring is full the burst ends, and the driver wakes the loop when
 * there is room again; so nothing here ever waits.
 */
#include "pktgen.h"

#include <string.h>

#include "apps/apps.h"
#include "args.h"
#include "pktgen_frame.h"
#include "pktgen_pace.h"
#include "pktgen_path.h"
#include "plat.h"
#include "traffic_rate.h"

extern const struct app pktgen_app;

typedef unsigned long long ull;

#define NS_PER_S UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)
#define TIME_DEFAULT (10 * NS_PER_S)
#define TIME_LEAST NS_PER_MS
#define TIME_MOST (86400 * NS_PER_S)
#define COUNT_MOST UINT64_C(1000000000000)
#define RATE_MOST UINT64_C(100000000)
#define ASK_FIRST (5 * NS_PER_MS)
#define ASK_PAUSE_MOST (250 * NS_PER_MS)
#define ASK_FOR (3 * NS_PER_S)
#define DOWN_PAUSE (10 * NS_PER_MS)
/* At high rates several frames are due at each wake-up. */
#define SLEEP_LEAST (NS_PER_MS / 20)

enum {
    BURST = 64, /* frames in one turn of the loop */
    PORT_FIRST = 49152, /* each run has a source port of its own ... */
    PORT_COUNT = 16384, /* ... so that a sink can tell it from the last */
};

enum state { OFF, ASKING, SENDING };

static struct {
    enum state state;
    uint64_t len;
    uint64_t rate;  /* frames a second; 0: no limit */
    uint64_t time;  /* ns */
    uint64_t count; /* 0: no limit */
    struct pktgen_path path;
    struct pktgen_ends ends; /* what the frame was made of */
    struct pktgen_frame frame;
    struct pktgen_pace pace;
    uint64_t start_ns;
    uint64_t next_ns; /* next question, or next line and look at the way */
    uint64_t pause_ns; /* between two questions */
    uint64_t shown_ns; /* the last line */
    struct pktgen_counters shown; /* as of that line */
    struct pktgen_counters n;
} g;

static struct pktgen_counters total; /* of the runs before this one */
static unsigned runs;

/* ---- lines -------------------------------------------------------------- */

static void show_second(uint64_t now)
{
    uint64_t us = (now - g.shown_ns) / 1000;
    uint64_t ms = (now - g.start_ns) / NS_PER_MS;
    uint64_t sent = g.n.sent - g.shown.sent;
    uint64_t mbit = traffic_mbit10(g.n.bytes - g.shown.bytes, us);

    plat_log(LOG_INFO, "pktgen: %llu.%03llu s: %llu packets, %llu packets/s, "
             "%llu.%llu Mbit/s, %llu ring full, %llu refused", (ull)ms / 1000,
             (ull)ms % 1000, (ull)sent, (ull)traffic_per_second(sent, us),
             (ull)mbit / 10, (ull)mbit % 10,
             (ull)(g.n.ring_full - g.shown.ring_full),
             (ull)(g.n.refused - g.shown.refused));
    g.shown = g.n;
    g.shown_ns = now;
}

static void add_total(struct pktgen_counters *to)
{
#define X(name, meaning) to->name += g.n.name;
    PKTGEN_COUNTERS(X)
#undef X
}

static void finish(uint64_t now, const char *why)
{
    uint64_t us = (now - g.start_ns) / 1000;
    uint64_t mbit = traffic_mbit10(g.n.bytes, us);

    plat_log(LOG_INFO, "pktgen: done%s: %llu packets, %llu bytes, "
             "%llu.%03llu s, %llu packets/s, %llu.%llu Mbit/s, %llu ring full,"
             " %llu refused, %llu late", why, (ull)g.n.sent, (ull)g.n.bytes,
             (ull)us / 1000000, (ull)us / 1000 % 1000,
             (ull)traffic_per_second(g.n.sent, us), (ull)mbit / 10,
             (ull)mbit % 10, (ull)g.n.ring_full, (ull)g.n.refused,
             (ull)g.n.late);
    g.state = OFF;
    add_total(&total);
    memset(&g.n, 0, sizeof(g.n));
}

static void give_up(const char *why)
{
    plat_log(LOG_ERR, "pktgen: %s", why);
    g.state = OFF;
}

/* ---- sending ------------------------------------------------------------ */

static void wake_for_next(uint64_t now)
{
    uint64_t next = pktgen_pace_next(&g.pace);

    plat_wakeup_at(next < now + SLEEP_LEAST ? now + SLEEP_LEAST : next);
}

/*
 * Sends up to n frames, less when the driver takes no more. True: it took
 * them all. The time in them is that of the burst.
 */
static bool burst(uint64_t n, uint64_t now)
{
    struct vnet_tx tx = {
        .seg = g.frame.seg,
        .nseg = g.frame.seg[1].len ? 2 : 1,
        .cookie = &netif_vnet_static,
    };

    for (; n > 0; n--) {
        int result;

        pktgen_frame_stamp(&g.frame, (uint32_t)g.n.sent, now);
        result = vnet_send(g.path.v, &tx);
        if (result == V_FULL) {
            g.n.ring_full++;
            return false;
        }
        if (result < 0) {
            g.n.refused++;
            plat_wakeup_at(now + DOWN_PAUSE);
            if (result == V_INVAL)
                finish(now, " (the interface no longer takes such frames)");
            return false;
        }
        g.n.sent++;
        g.n.bytes += g.len;
        g.pace.sent++;
    }
    return true;
}

static uint64_t min64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Frames that this turn is to send. The last moment of a run ends just before
 * its time is over: a rate of N for a second makes N frames, not N + 1. */
static uint64_t wanted(uint64_t now, uint64_t end)
{
    uint64_t n;

    if (!netif_is_link_up(&g.path.n->netif))
        return 0;
    if (g.rate == 0)
        n = now < end ? BURST : 0;
    else
        n = pktgen_pace_due(&g.pace, min64(now, end - 1), BURST);
    return g.count ? min64(n, g.count - g.n.sent) : n;
}

static bool send_some(uint64_t now)
{
    uint64_t end = g.start_ns + g.time;
    uint64_t most = wanted(now, end);
    uint64_t n = min64(most, BURST);
    bool took_all = burst(n, now);

    if (g.state == OFF)
        return false;
    g.n.late = g.pace.late;
    if ((g.count && g.n.sent == g.count) ||
        (now >= end && (!took_all || n == most))) {
        finish(min64(now, end), "");
        return false;
    }
    if (g.rate && took_all && n == most)
        wake_for_next(now);
    return took_all && n > 0 && (g.rate == 0 || n < most);
}

/* ---- a run -------------------------------------------------------------- */

static void make_frame(void)
{
    g.ends = g.path.ends;
    pktgen_frame_make(&g.frame, &g.ends, (uint32_t)g.len);
}

/*
 * Addresses may have changed, ours or the neighbour's. While there is no
 * better knowledge, frames go where they went.
 */
static void look_again(void)
{
    if (pktgen_find_way(&g.path) == WAY_FOUND &&
        memcmp(&g.ends, &g.path.ends, sizeof(g.ends)) != 0)
        make_frame();
}

static bool mac_changed(void)
{
    return memcmp(g.ends.src_mac, g.path.n->netif.hwaddr,
                  sizeof(g.ends.src_mac)) != 0;
}

static bool run(uint64_t now)
{
    if (!pktgen_path_alive(&g.path)) {
        finish(now, " (the interface is gone)");
        return false;
    }
    if (now >= g.next_ns || mac_changed())
        look_again();
    if (now >= g.next_ns) {
        show_second(now);
        while (g.next_ns <= now)
            g.next_ns += NS_PER_S;
    }
    plat_wakeup_at(min64(g.next_ns, g.start_ns + g.time));
    return send_some(now);
}

/* ---- its beginning ------------------------------------------------------ */

static bool fits(void)
{
    bool ip6 = g.path.ends.ip6;
    uint64_t least = pktgen_frame_least(ip6);
    uint64_t most = g.path.n->netif.mtu + VNET_ETH_HLEN;

    if (g.len == 0)
        g.len = least;
    if (g.len >= least && g.len <= most)
        return true;
    plat_log(LOG_ERR, "pktgen: len=%llu: %llu to %llu possible with %s here",
             (ull)g.len, (ull)least, (ull)most, ip6 ? "IPv6" : "IPv4");
    g.state = OFF;
    return false;
}

static bool begin(uint64_t now)
{
    if (!fits())
        return false;
    g.path.ends.sport = (uint16_t)(PORT_FIRST + runs++ % PORT_COUNT);
    make_frame();
    g.state = SENDING;
    g.start_ns = now;
    g.shown_ns = now;
    g.next_ns = now + NS_PER_S;
    pktgen_pace_start(&g.pace, g.rate, now);
    memset(&g.shown, 0, sizeof(g.shown));
    plat_log(LOG_INFO, "pktgen: to %s port %u from port %u, frames of %llu "
             "bytes", ipaddr_ntoa(&g.path.dest), g.ends.dport, g.ends.sport,
             (ull)g.len);
    return run(now);
}

/* Asks for the way until there is one. */
static bool ask(uint64_t now)
{
    enum pktgen_way way;

    if (now < g.next_ns) {
        plat_wakeup_at(g.next_ns);
        return false;
    }
    way = pktgen_find_way(&g.path);
    if (way == WAY_FOUND)
        return begin(now);
    if (way != WAY_ASKED)
        give_up(pktgen_way_text(way));
    else if (now - g.start_ns >= ASK_FOR)
        give_up("no answer to the question for a MAC address");
    g.next_ns = now + g.pause_ns;
    g.pause_ns = min64(2 * g.pause_ns, ASK_PAUSE_MOST);
    plat_wakeup_at(g.next_ns);
    return false;
}

static bool pktgen_pump(void)
{
    uint64_t now;

    if (g.state == OFF)
        return false;
    now = plat_now_ns();
    return g.state == ASKING ? ask(now) : run(now);
}

/* ---- the command -------------------------------------------------------- */

static void stop(void)
{
    if (g.state == OFF)
        give_up("not running");
    else if (g.state == ASKING)
        give_up("stopped");
    else
        finish(plat_now_ns(), " (stopped)");
}

/* The words behind the address. */
static bool read_options(int argc, char *argv[])
{
    const struct arg args[] = {
        {"len", ARG_NUMBER, PKTGEN_LEN_LEAST, PKTGEN_LEN_MOST, &g.len},
        {"rate", ARG_NUMBER, 1, RATE_MOST, &g.rate},
        {"time", ARG_TIME, TIME_LEAST, TIME_MOST, &g.time},
        {"count", ARG_NUMBER, 1, COUNT_MOST, &g.count},
    };

    if (!args_read("pktgen", argc, argv, args,
                   sizeof(args) / sizeof(args[0])))
        return false;
    if (g.time && g.count) {
        plat_log(LOG_ERR, "pktgen: either time= or count=");
        return false;
    }
    if (g.time == 0)
        g.time = g.count ? TIME_MOST : TIME_DEFAULT;
    return true;
}

static void start(int argc, char *argv[])
{
    uint16_t port = PKTGEN_PORT;

    memset(&g, 0, sizeof(g));
    if (!pktgen_read_dest(argv[1], &g.path.dest, &port)) {
        plat_log(LOG_ERR, "pktgen: '%s' is not an address, ADDR:PORT, or "
                 "[ADDR]:PORT", argv[1]);
        return;
    }
    if (!read_options(argc - 2, argv + 2))
        return;
    g.path.ends.dport = port;
    g.start_ns = plat_now_ns();
    g.next_ns = g.start_ns;
    g.pause_ns = ASK_FIRST;
    g.state = ASKING;
}

void pktgen_command(int argc, char *argv[])
{
    if (argc < 2)
        plat_log(LOG_ERR, "pktgen ADDR[:PORT] [len=N] [rate=PPS] "
                 "[time=S|count=N], or pktgen stop");
    else if (argc == 2 && strcmp(argv[1], "stop") == 0)
        stop();
    else if (g.state != OFF)
        plat_log(LOG_ERR, "pktgen: running; 'pktgen stop' ends it");
    else
        start(argc, argv);
}

/* ---- an application ----------------------------------------------------- */

static err_t pktgen_start(void)
{
    return ERR_OK;
}

static void pktgen_stats(app_line_fn *line)
{
    struct pktgen_counters sum = total;

    add_total(&sum);
#define X(name, meaning) line("pktgen_" #name, sum.name);
    PKTGEN_COUNTERS(X)
#undef X
}

const struct app pktgen_app = {
    .name = "pktgen",
    .start = pktgen_start,
    .pump = pktgen_pump,
    .stats = pktgen_stats,
};
