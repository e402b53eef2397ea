/*
 * What lwIP calls from inside its own code: initial sequence numbers that
 * nobody can guess, and a look at each segment before its connection gets it.
 */
#include "lwip_hooks.h"

#include <stdbool.h>

#include "lwip/priv/tcp_priv.h"
#include "lwip/prot/tcp.h"
#include "lwip/tcp.h"

struct port_hook_stats port_hook_stats;

/* ---- initial sequence numbers ---------------------------------------- */

static inline u64_t rotl(u64_t v, unsigned n)
{
    return v << n | v >> (64 - n);
}

/* SipHash's mixing step (Aumasson, Bernstein, 2012). */
static void sip_round(u64_t v[4])
{
    v[0] += v[1];
    v[2] += v[3];
    v[1] = rotl(v[1], 13) ^ v[0];
    v[3] = rotl(v[3], 16) ^ v[2];
    v[0] = rotl(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = rotl(v[1], 17) ^ v[2];
    v[3] = rotl(v[3], 21) ^ v[0];
    v[2] = rotl(v[2], 32);
}

/* SipHash-2-4 of whole 64-bit words. */
static u64_t sip_hash(const u64_t key[2], const u64_t *word, unsigned n)
{
    u64_t v[4] = {
        key[0] ^ 0x736f6d6570736575u,
        key[1] ^ 0x646f72616e646f6du,
        key[0] ^ 0x6c7967656e657261u,
        key[1] ^ 0x7465646279746573u,
    };

    for (unsigned i = 0; i <= n; i++) {
        u64_t w = i < n ? word[i] : (u64_t)(n * 8) << 56;

        v[3] ^= w;
        sip_round(v);
        sip_round(v);
        v[0] ^= w;
    }
    v[2] ^= 0xff;
    for (unsigned i = 0; i < 4; i++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* The address as two words, an IPv4 one as the low half of the first. */
static void addr_words(const ip_addr_t *ip, u64_t out[2])
{
    if (IP_IS_V6(ip)) {
        const ip6_addr_t *a = ip_2_ip6(ip);

        out[0] = (u64_t)a->addr[0] << 32 | a->addr[1];
        out[1] = (u64_t)a->addr[2] << 32 | a->addr[3];
    } else {
        out[0] = ip4_addr_get_u32(ip_2_ip4(ip));
        out[1] = 0;
    }
}

/*
 * RFC 6528: a clock of 4 us, so that a new connection between the same ends
 * starts above the old one, plus a keyed hash of the ends.
 */
u32_t port_tcp_isn(const ip_addr_t *local_ip, u16_t local_port,
                   const ip_addr_t *remote_ip, u16_t remote_port)
{
    static u64_t key[2];
    u64_t word[5];

    while (!key[0]) {
        key[0] = plat_random();
        key[1] = plat_random();
    }
    addr_words(local_ip, &word[0]);
    addr_words(remote_ip, &word[2]);
    word[4] = (u64_t)local_port << 16 | remote_port;
    return (u32_t)(sip_hash(key, word, 5) + sys_now_ns() / 4000);
}

/* ---- segments --------------------------------------------------------- */

struct options {
    const u8_t *part1;
    const u8_t *part2; /* NULL when all are in part1 */
    u16_t len1;
    u16_t len;
};

static u8_t option_byte(const struct options *o, u16_t i)
{
    return o->part2 && i >= o->len1 ? o->part2[i - o->len1] : o->part1[i];
}

/* The value of the MSS option, -1 without one, as lwIP would read it. */
static int find_mss(const struct options *o)
{
    u16_t i = 0;

    while (i < o->len) {
        u8_t kind = option_byte(o, i);
        u16_t left = (u16_t)(o->len - i);

        if (kind == LWIP_TCP_OPT_EOL)
            return -1;
        if (kind == LWIP_TCP_OPT_NOP) {
            i++;
            continue;
        }
        if (left < 2)
            return -1;
        u8_t size = option_byte(o, (u16_t)(i + 1));

        if (kind == LWIP_TCP_OPT_MSS && size == LWIP_TCP_OPT_LEN_MSS &&
            left >= size)
            return option_byte(o, (u16_t)(i + 2)) << 8 |
                   option_byte(o, (u16_t)(i + 3));
        if (size < 2)
            return -1;
        i = (u16_t)(i + size);
    }
    return -1;
}

/*
 * lwIP takes an MSS option from any segment whose addresses and ports match,
 * before it looks at the sequence number, and then trips over segments queued
 * under the old value. The option belongs into a SYN (RFC 9293, 3.7.1). In a
 * SYN, sizes that no link can be so small for would only multiply our work.
 */
static err_t check_mss(const struct tcp_hdr *hdr, const struct options *o)
{
    enum { MSS_LEAST = 48 };
    int mss = find_mss(o);

    if (mss < 0)
        return ERR_OK;
    if (!(TCPH_FLAGS(hdr) & TCP_SYN)) {
        port_hook_stats.drop_mss++;
        return ERR_VAL;
    }
    if (mss > 0 && mss < MSS_LEAST) {
        port_hook_stats.drop_tiny++;
        return ERR_VAL;
    }
    return ERR_OK;
}

/*
 * lwIP makes segments of at most half the largest window it has seen, except
 * while that is 0 or 1: then of the full size, which trips it up as soon as
 * the peer opens a small window. So such a peer counts as one with a window
 * of two segments of the least size that every host takes.
 */
static void raise_window(struct tcp_pcb *pcb)
{
    if (pcb->snd_wnd_max < 2)
        pcb->snd_wnd_max = 2 * 536;
}

/*
 * Segments that came too early. lwIP queues the first of them as it is, also
 * what of it lies behind the window, and later finds that more has arrived
 * than it ever allowed. A FIN among them makes it count a byte too many in
 * the same way. Both are cut off here: the peer will send them again.
 */
static err_t trim_early(const struct tcp_pcb *pcb, struct tcp_hdr *hdr,
                        struct pbuf *p)
{
    u32_t ahead = hdr->seqno - pcb->rcv_nxt;
    u32_t room = pcb->rcv_wnd - ahead;
    bool fin = TCPH_FLAGS(hdr) & TCP_FIN;

    if (ahead >= pcb->rcv_wnd || (p->tot_len == 0 && !fin))
        return ERR_OK; /* not in the window, or nothing to be queued */
    if (p->tot_len == 0 || pcb->state < ESTABLISHED) {
        port_hook_stats.drop_early++;
        return ERR_VAL;
    }
    if (fin)
        TCPH_UNSET_FLAG(hdr, TCP_FIN);
    if (p->tot_len > room) {
        port_hook_stats.cut_early++;
        pbuf_realloc(p, (u16_t)room);
    }
    return ERR_OK;
}

err_t port_tcp_inpacket(struct tcp_pcb *pcb, struct tcp_hdr *hdr,
                        u16_t optlen, u16_t opt1len, u8_t *opt2,
                        struct pbuf *p)
{
    if (optlen) {
        struct options o = {(const u8_t *)hdr + TCP_HLEN, opt2, opt1len,
                            optlen};

        if (check_mss(hdr, &o) != ERR_OK)
            return ERR_VAL;
    }
    if (pcb->state == LISTEN || pcb->state == TIME_WAIT)
        return ERR_OK;
    raise_window(pcb);
    if (hdr->seqno != pcb->rcv_nxt && pcb->state != SYN_SENT &&
        trim_early(pcb, hdr, p) != ERR_OK)
        return ERR_VAL;
    /*
     * lwIP acknowledges every second segment. One that the device merged is
     * two or more already: with this flag set, lwIP answers it at once.
     */
    if (((p->flags & PBUF_FLAG_MERGED) || p->tot_len > TCP_MSS) &&
        pcb->state >= ESTABLISHED) {
        port_hook_stats.merged++;
        tcp_set_flags(pcb, TF_ACK_DELAY);
    }
    return ERR_OK;
}
