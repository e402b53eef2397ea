/*
 * Character generator, RFC 864: lines of 72 printable characters, each line
 * starting one character later. TCP and UDP port 19.
 *
 * TCP sends for as long as the peer takes it, straight from the pattern,
 * without a copy. UDP answers a datagram with one no longer than that: a
 * forged sender's address must not make us send more than we got.
 */
#include "apps/service.h"

extern const struct app chargen_app;

enum {
    FIRST_CHAR = ' ',
    CHARS = 95, /* printable ones */
    LINE_CHARS = 72,
    LINE_LEN = LINE_CHARS + 2,
    PERIOD = CHARS * LINE_LEN, /* then it begins again */
    PATTERN_LEN = 4 * PERIOD,
    DATAGRAM_MOST = 512,
};

static u8_t pattern[PATTERN_LEN];

static void fill_pattern(void)
{
    for (unsigned i = 0; i < PATTERN_LEN; i++) {
        unsigned line = i / LINE_LEN;
        unsigned col = i % LINE_LEN;

        if (col < LINE_CHARS)
            pattern[i] = (u8_t)(FIRST_CHAR + (line + col) % CHARS);
        else
            pattern[i] = col == LINE_CHARS ? '\r' : '\n';
    }
}

/* c->pos: offset of the next byte in the period. */
static void chargen_work(struct svc_conn *c)
{
    u16_t sent;

    if (c->rx)
        svc_consume(c, c->rx->tot_len);
    if (c->rx_closed)
        return;
    do {
        sent = svc_send(c, pattern + c->pos, (u16_t)(PATTERN_LEN - c->pos),
                        TCP_WRITE_FLAG_MORE);
        c->pos = (c->pos + sent) % PERIOD;
    } while (sent);
}

static void chargen_datagram(void *arg, struct udp_pcb *pcb, struct pbuf *p,
                             const ip_addr_t *addr, u16_t port)
{
    struct service *s = arg;
    static u32_t pos;
    u16_t len = (u16_t)LWIP_MIN(p->tot_len, DATAGRAM_MOST);
    struct pbuf *answer;

    pbuf_free(p);
    if (!svc_may_answer(s, port))
        return;
    answer = pbuf_alloc(PBUF_TRANSPORT, len, PBUF_RAM);
    if (!answer) {
        s->count.udp_failed++;
        return;
    }
    pbuf_take(answer, pattern + pos, len);
    pos = (pos + LINE_LEN) % PERIOD;
    svc_answer(s, pcb, answer, addr, port);
    pbuf_free(answer);
}

static struct service chargen = {
    .name = "chargen",
    .port = 19,
    .work = chargen_work,
    .datagram = chargen_datagram,
};

static err_t chargen_start(void)
{
    fill_pattern();
    return svc_start(&chargen);
}

static void chargen_stats(app_line_fn *line)
{
    SVC_STATS(line, "chargen", &chargen);
}

const struct app chargen_app = {
    .name = "chargen",
    .start = chargen_start,
    .stats = chargen_stats,
};
