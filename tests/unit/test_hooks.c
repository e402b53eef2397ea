/*
 * net/port/hooks.c: sequence numbers that cannot be guessed, and the segments
 * that must not reach their connection.
 */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "host.h"
#include "lwip/priv/tcp_priv.h"
#include "lwip/prot/tcp.h"
#include "lwip/tcp.h"
#include "lwip_hooks.h"

/* ---- sequence numbers ---------------------------------------------------- */

static ip_addr_t v4(uint32_t a)
{
    ip_addr_t ip = IPADDR4_INIT(a);

    return ip;
}

TEST(isn_same_ends_same_time)
{
    ip_addr_t a = v4(1), b = v4(2);

    CHECK_EQ(port_tcp_isn(&a, 80, &b, 4000), port_tcp_isn(&a, 80, &b, 4000));
}

TEST(isn_follows_the_clock)
{
    ip_addr_t a = v4(1), b = v4(2);
    uint32_t first = port_tcp_isn(&a, 80, &b, 4000);

    host_advance_ms(1000);
    CHECK_EQ((uint32_t)(port_tcp_isn(&a, 80, &b, 4000) - first), 250000);
}

/* Neighbouring ports and addresses: about half of the bits must change. */
TEST(isn_depends_on_every_end)
{
    ip_addr_t a = v4(1), b = v4(2);
    uint32_t base = port_tcp_isn(&a, 80, &b, 4000);
    unsigned bits = 0;

    for (unsigned i = 1; i <= 64; i++) {
        ip_addr_t c = v4(2 + (i << 24));

        bits += (unsigned)__builtin_popcount(
            base ^ port_tcp_isn(&a, 80, &b, (u16_t)(4000 + i)));
        bits += (unsigned)__builtin_popcount(
            base ^ port_tcp_isn(&a, (u16_t)(80 + i), &b, 4000));
        bits += (unsigned)__builtin_popcount(base ^
                                             port_tcp_isn(&a, 80, &c, 4000));
        bits += (unsigned)__builtin_popcount(base ^
                                             port_tcp_isn(&c, 80, &b, 4000));
    }
    CHECK(bits > 256 * 14 && bits < 256 * 18);
}

TEST(isn_ipv6_uses_all_bytes)
{
    ip_addr_t a = IPADDR6_INIT(1, 2, 3, 4);
    ip_addr_t b = IPADDR6_INIT(5, 6, 7, 8);
    uint32_t base = port_tcp_isn(&a, 80, &b, 4000);

    for (unsigned i = 0; i < 4; i++) {
        ip_addr_t c = b;

        ip_2_ip6(&c)->addr[i] ^= 1;
        CHECK(port_tcp_isn(&a, 80, &c, 4000) != base);
    }
}

/* The number that a process of its own computes under this seed. */
static uint32_t isn_of_boot(uint64_t seed)
{
    ip_addr_t a = v4(1), b = v4(2);
    uint32_t isn = 0;
    int fd[2];
    pid_t pid;

    CHECK_EQ(pipe(fd), 0);
    pid = fork();
    if (pid == 0) {
        host_seed(seed);
        isn = port_tcp_isn(&a, 80, &b, 4000);
        _exit(write(fd[1], &isn, sizeof(isn)) != sizeof(isn));
    }
    CHECK(pid > 0);
    CHECK_EQ(read(fd[0], &isn, sizeof(isn)), sizeof(isn));
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    close(fd[0]);
    close(fd[1]);
    return isn;
}

TEST(isn_differs_from_boot_to_boot)
{
    CHECK_EQ(isn_of_boot(5), isn_of_boot(5));
    CHECK(isn_of_boot(5) != isn_of_boot(6));
}

/* ---- segments ------------------------------------------------------------ */

struct segment {
    struct tcp_hdr hdr;
    uint8_t opt[40];
};

static struct tcp_pcb pcb;
static struct pbuf data;

/* What the hook says of a segment with these options. */
static err_t offer(uint16_t flags, const void *opt, unsigned len)
{
    struct segment s;

    memset(&s, 0, sizeof(s));
    memcpy(s.opt, opt, len);
    TCPH_HDRLEN_FLAGS_SET(&s.hdr, 5 + (len + 3) / 4, flags);
    return port_tcp_inpacket(&pcb, &s.hdr, (u16_t)len, (u16_t)len, NULL,
                             &data);
}

/* The same with the options split after `cut` bytes. */
static err_t offer_split(uint16_t flags, const void *opt, unsigned len,
                         unsigned cut)
{
    struct segment s;
    uint8_t rest[40];

    memset(&s, 0, sizeof(s));
    memcpy(s.opt, opt, cut);
    memcpy(rest, (const uint8_t *)opt + cut, len - cut);
    TCPH_HDRLEN_FLAGS_SET(&s.hdr, 5 + (len + 3) / 4, flags);
    return port_tcp_inpacket(&pcb, &s.hdr, (u16_t)len, (u16_t)cut, rest,
                             &data);
}

static const uint8_t mss_1460[] = {2, 4, 0x05, 0xb4};
static const uint8_t mss_late[] = {1, 1, 8, 10, 0, 0, 0,    0,
                                   0, 0, 0, 0,  2, 4, 0x00, 0x64};
static const uint8_t timestamps[] = {1, 1, 8, 10, 2, 4, 5, 180, 2, 4, 5, 180};

TEST(hook_mss_only_in_syn)
{
    pcb.state = ESTABLISHED;
    CHECK_EQ(offer(TCP_ACK, mss_1460, 4), ERR_VAL);
    CHECK_EQ(offer(TCP_ACK, mss_late, sizeof(mss_late)), ERR_VAL);
    CHECK_EQ(offer(TCP_SYN, mss_1460, 4), ERR_OK);
    CHECK_EQ(offer(TCP_SYN | TCP_ACK, mss_late, sizeof(mss_late)), ERR_OK);
    CHECK_EQ(port_hook_stats.drop_mss, 2);
}

TEST(hook_mss_in_two_pieces)
{
    for (unsigned cut = 0; cut < sizeof(mss_late); cut++)
        CHECK_EQ(offer_split(TCP_ACK, mss_late, sizeof(mss_late), cut),
                 ERR_VAL);
}

/* Bytes that look like the option inside another one are none. */
TEST(hook_other_options_pass)
{
    static const uint8_t after_end[] = {0, 2, 4, 5, 180, 0, 0, 0};

    pcb.state = ESTABLISHED;
    CHECK_EQ(offer(TCP_ACK, timestamps, sizeof(timestamps)), ERR_OK);
    CHECK_EQ(offer(TCP_ACK, after_end, sizeof(after_end)), ERR_OK);
    CHECK_EQ(offer(TCP_ACK, "", 0), ERR_OK);
}

/* lwIP stops at these, so they cannot carry an MSS; nothing may hang. */
TEST(hook_malformed_options)
{
    static const uint8_t no_len[] = {1, 1, 1, 2};
    static const uint8_t zero_len[] = {8, 0, 2, 4, 5, 180, 0, 0};
    static const uint8_t cut[] = {1, 2, 4, 5};
    static const uint8_t too_long[] = {3, 255, 2, 4, 5, 180, 0, 0};

    pcb.state = ESTABLISHED;
    CHECK_EQ(offer(TCP_ACK, no_len, 4), ERR_OK);
    CHECK_EQ(offer(TCP_ACK, zero_len, 8), ERR_OK);
    CHECK_EQ(offer(TCP_ACK, cut, 4), ERR_OK);
    CHECK_EQ(offer(TCP_ACK, too_long, 8), ERR_OK);
}

TEST(hook_tiny_mss_in_syn)
{
    static const uint8_t mss_1[] = {2, 4, 0, 1};
    static const uint8_t mss_48[] = {2, 4, 0, 48};

    pcb.state = LISTEN;
    CHECK_EQ(offer(TCP_SYN, mss_1, 4), ERR_VAL);
    CHECK_EQ(offer(TCP_SYN, mss_48, 4), ERR_OK);
    CHECK_EQ(port_hook_stats.drop_tiny, 1);
}

TEST(hook_merged_segment_is_acknowledged_at_once)
{
    memset(&pcb, 0, sizeof(pcb));
    pcb.state = ESTABLISHED;
    data.tot_len = 1000;
    CHECK_EQ(offer(TCP_ACK, "", 0), ERR_OK);
    CHECK(!(pcb.flags & TF_ACK_DELAY));
    data.flags = PBUF_FLAG_MERGED;
    CHECK_EQ(offer(TCP_ACK, "", 0), ERR_OK);
    CHECK(pcb.flags & TF_ACK_DELAY);

    pcb.flags = 0;
    data.flags = 0;
    data.tot_len = TCP_MSS + 1;
    CHECK_EQ(offer(TCP_ACK, "", 0), ERR_OK);
    CHECK(pcb.flags & TF_ACK_DELAY);
}

/* A listening pcb is shorter: its flags are not there. */
TEST(hook_leaves_listeners_alone)
{
    memset(&pcb, 0, sizeof(pcb));
    pcb.state = LISTEN;
    data.tot_len = 5000;
    CHECK_EQ(offer(TCP_SYN, "", 0), ERR_OK);
    CHECK_EQ(pcb.flags, 0);
}

/* ---- segments that came too early ---------------------------------------- */

/* What is left of `len` bytes that are `ahead` in a window of `wnd`. */
static int early(uint32_t ahead, uint16_t len, uint32_t wnd, uint16_t flags)
{
    static uint8_t bytes[65535];
    struct pbuf p = {.payload = bytes, .tot_len = len, .len = len, .ref = 1};
    struct tcp_hdr hdr;

    memset(&pcb, 0, sizeof(pcb));
    pcb.state = ESTABLISHED;
    pcb.rcv_nxt = 0xfffffff0;
    pcb.rcv_wnd = wnd;
    memset(&hdr, 0, sizeof(hdr));
    hdr.seqno = pcb.rcv_nxt + ahead;
    TCPH_HDRLEN_FLAGS_SET(&hdr, 5, flags);
    if (port_tcp_inpacket(&pcb, &hdr, 0, 0, NULL, &p) != ERR_OK)
        return -1;
    if (TCPH_FLAGS(&hdr) & TCP_FIN)
        return 100000 + p.tot_len;
    return p.tot_len;
}

TEST(hook_early_data_ends_with_the_window)
{
    CHECK_EQ(early(1000, 1460, 65535, TCP_ACK), 1460);
    CHECK_EQ(early(64075, 1460, 65535, TCP_ACK), 1460);
    CHECK_EQ(early(64076, 1460, 65535, TCP_ACK), 1459);
    CHECK_EQ(early(65534, 1460, 65535, TCP_ACK), 1);
    CHECK_EQ(early(1, 65000, 100, TCP_ACK), 99);
    /* Not in the window, or in order: lwIP's own business. */
    CHECK_EQ(early(65535, 1460, 65535, TCP_ACK), 1460);
    CHECK_EQ(early(0, 1460, 1000, TCP_ACK), 1460);
    CHECK_EQ(early(UINT32_MAX, 1460, 1000, TCP_ACK), 1460);
    CHECK_EQ(early(0, 1, 0, TCP_ACK), 1);
}

TEST(hook_early_fin_waits_for_its_turn)
{
    CHECK_EQ(early(1000, 500, 65535, TCP_ACK | TCP_FIN), 500);
    CHECK_EQ(early(1000, 0, 65535, TCP_ACK | TCP_FIN), -1);
    CHECK_EQ(early(1000, 0, 65535, TCP_ACK), 0);
    CHECK_EQ(early(0, 500, 65535, TCP_ACK | TCP_FIN), 100500);
}

/* A window of 0 must not count as the largest ever seen. */
TEST(hook_window_of_nothing)
{
    memset(&pcb, 0, sizeof(pcb));
    data.tot_len = 0;
    pcb.state = SYN_RCVD;
    CHECK_EQ(offer(TCP_ACK, "", 0), ERR_OK);
    CHECK(pcb.snd_wnd_max >= 536);
    pcb.snd_wnd_max = 100;
    CHECK_EQ(offer(TCP_ACK, "", 0), ERR_OK);
    CHECK_EQ(pcb.snd_wnd_max, 100);
}
