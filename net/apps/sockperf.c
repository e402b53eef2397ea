/*
 * A server for the stock sockperf client: ping-pong, under-load, throughput
 * and playback, over TCP and UDP, port 11111.
 *
 * A message is a header of 14 bytes, big-endian (sequence number 64 bits,
 * flags 16, length of the whole message 32), and bytes that mean nothing. A
 * client that wants an answer gets the same message back with one flag
 * cleared; most messages of a throughput test want none.
 *
 * TCP: messages are found by their lengths, wherever segments and buffers
 * end; what wants no answer is passed over without a look at its bytes. An
 * answer begins as soon as the header is there, so a message may be longer
 * than all that we keep. UDP: a message is a datagram, and the answer is that
 * datagram, from the buffer it arrived in.
 */
#include "apps/service.h"

extern const struct app sockperf_app;

enum {
    SOCKPERF_PORT = 11111,
    HEADER = 14,
    AT_FLAGS = 8,
    AT_FLAGS_LOW = 9,
    AT_LENGTH = 10,
    LENGTH_MOST = (1 << 20) - 1, /* the client's own limit for TCP */
};

enum {
    FLAG_CLIENT = 1, /* cleared in answers */
    FLAG_ANSWER = 2, /* wanted */
    FLAG_WARMUP = 4, /* neither counted nor answered */
};

/*
 * Bytes without a message that wants an answer, from the beginning of a
 * connection, after which it counts as a throughput test: the client may then
 * send as much ahead as the stack allows. svc_conn.passed counts them, and is
 * PASSED_KNOWN when it is known what kind of connection this is.
 */
enum {
    PASSED_ENOUGH = 256 * 1024,
    PASSED_KNOWN = PASSED_ENOUGH + 1,
};

/*
 * svc_conn.pos: bytes of the present message that are still to come or still
 * to be dealt with, 0 between messages; and whether they are sent back.
 */
enum {
    ECHOING = 1 << 30,
};

static struct {
    u64_t messages; /* of clients, warm-up apart; counted by their headers */
    u64_t answers;  /* begun */
    u64_t warmup;
    u64_t not_client; /* without the client's flag: nobody's question */
    u64_t bad_length; /* connection ended; datagram dropped */
    u64_t cut_short;  /* connections that ended within a message */
} count;

/* The flags of a message, counted; is it to be answered? */
static bool wants_answer(unsigned flags)
{
    if (!(flags & FLAG_CLIENT)) {
        count.not_client++;
        return false;
    }
    if (flags & FLAG_WARMUP) {
        count.warmup++;
        return false;
    }
    count.messages++;
    return flags & FLAG_ANSWER;
}

static u32_t length_of(const u8_t *header)
{
    const u8_t *at = header + AT_LENGTH;

    return (u32_t)at[0] << 24 | (u32_t)at[1] << 16 | (u32_t)at[2] << 8 | at[3];
}

static unsigned flags_of(const u8_t *header)
{
    return (unsigned)header[AT_FLAGS] << 8 | header[AT_FLAGS_LOW];
}

/* Makes a question of a client the server's answer, where it lies. */
static void turn_round(struct pbuf *p, u16_t at)
{
    u8_t flags = pbuf_get_at(p, (u16_t)(at + AT_FLAGS_LOW));

    count.answers++;
    pbuf_put_at(p, (u16_t)(at + AT_FLAGS_LOW),
                (u8_t)(flags & ~FLAG_CLIENT));
}

/* ---- TCP -------------------------------------------------------------- */

/* A place in c->rx. */
struct cursor {
    struct pbuf *q;
    u16_t offset; /* in q */
    u16_t done;   /* from the beginning */
};

static void advance(struct cursor *at, u16_t len)
{
    unsigned offset = at->offset + (unsigned)len;

    at->done = (u16_t)(at->done + len);
    while (at->q && offset >= at->q->len) {
        offset -= at->q->len;
        at->q = at->q->next;
    }
    at->offset = (u16_t)offset;
}

/* The header at the cursor, all of which is there; copied when it lies in
 * pieces. */
static const u8_t *header_at(const struct cursor *at, u8_t *copy)
{
    if (at->q->len - at->offset >= HEADER)
        return (const u8_t *)at->q->payload + at->offset;
    pbuf_copy_partial(at->q, copy, HEADER, at->offset);
    return copy;
}

/* A message begins at the cursor. False: not one that can be. */
static bool begin_message(struct svc_conn *c, const struct cursor *at)
{
    u8_t copy[HEADER];
    const u8_t *header = header_at(at, copy);
    u32_t len = length_of(header);

    if (len < HEADER || len > LENGTH_MOST) {
        count.bad_length++;
        c->broken = true;
        return false;
    }
    c->pos = len;
    if (wants_answer(flags_of(header))) {
        turn_round(at->q, at->offset);
        c->pos |= ECHOING;
        c->passed = PASSED_KNOWN;
    }
    return true;
}

/* Bytes that wanted no answer. */
static void widen_in_time(struct svc_conn *c, u16_t len)
{
    if (c->passed == PASSED_KNOWN)
        return;
    c->passed += len;
    if (c->passed < PASSED_ENOUGH)
        return;
    c->passed = PASSED_KNOWN;
    svc_widen(c);
}

/*
 * Passes over messages that want no answer, up to one that does or to the
 * end, and gives back all their bytes at once.
 */
static void pass_over(struct svc_conn *c)
{
    struct cursor at = {.q = c->rx};
    u16_t all = c->rx->tot_len;

    while (!(c->pos & ECHOING)) {
        u16_t n = (u16_t)LWIP_MIN(c->pos, (u32_t)(all - at.done));

        advance(&at, n);
        c->pos -= n;
        if (c->pos > 0 || all - at.done < HEADER)
            break;
        if (!begin_message(c, &at))
            return;
    }
    if (at.done == 0)
        return;
    widen_in_time(c, at.done);
    svc_consume(c, at.done);
}

/* Sends back what is there of the present message. False: not all of it. */
static bool send_back(struct svc_conn *c)
{
    while (c->rx && c->pos != ECHOING) {
        u32_t left = c->pos & ~(u32_t)ECHOING;
        u16_t n = (u16_t)LWIP_MIN(left, c->rx->len);
        u8_t flags = TCP_WRITE_FLAG_COPY;

        if (n < left)
            flags |= TCP_WRITE_FLAG_MORE;
        n = svc_send(c, c->rx->payload, n, flags);
        if (n == 0)
            return false;
        svc_consume(c, n);
        c->pos -= n;
    }
    if (c->pos != ECHOING)
        return false;
    c->pos = 0;
    return true;
}

/* The peer has closed and what is left is not a whole message. */
static void end_cut_short(struct svc_conn *c)
{
    bool rest = c->rx && !(c->pos & ECHOING);

    if (rest)
        svc_consume(c, c->rx->tot_len);
    if (c->rx || (!rest && c->pos == 0))
        return; /* an answer waits for room; or the end was in good order */
    count.cut_short++;
    c->pos = 0;
}

static void sockperf_work(struct svc_conn *c)
{
    while (c->rx && !c->broken) {
        if (!(c->pos & ECHOING))
            pass_over(c);
        if (!(c->pos & ECHOING) || !send_back(c))
            break;
    }
    if (c->rx_closed && !c->broken)
        end_cut_short(c);
}

/* ---- UDP -------------------------------------------------------------- */

/* Is the datagram a message, and one to be answered? */
static bool judge_datagram(struct pbuf *p)
{
    struct cursor at = {.q = p};
    u8_t copy[HEADER];
    const u8_t *header;

    if (p->tot_len < HEADER) {
        count.bad_length++;
        return false;
    }
    header = header_at(&at, copy);
    if (length_of(header) != p->tot_len) {
        count.bad_length++;
        return false;
    }
    return wants_answer(flags_of(header));
}

static void sockperf_datagram(void *arg, struct udp_pcb *pcb, struct pbuf *p,
                              const ip_addr_t *addr, u16_t port)
{
    struct service *s = arg;

    s->count.rx_bytes += p->tot_len;
    if (!judge_datagram(p)) {
        s->count.udp_in++;
    } else if (svc_may_answer(s, port)) {
        turn_round(p, 0);
        svc_answer(s, pcb, p, addr, port);
    }
    pbuf_free(p);
}

/* ---- the service ------------------------------------------------------ */

static struct service sockperf = {
    .name = "sockperf",
    .port = SOCKPERF_PORT,
    .work = sockperf_work,
    .datagram = sockperf_datagram,
};

static err_t sockperf_start(void)
{
    return svc_start(&sockperf);
}

static void sockperf_stats(app_line_fn *line)
{
    SVC_STATS(line, "sockperf", &sockperf);
    line("sockperf_messages", count.messages);
    line("sockperf_answers", count.answers);
    line("sockperf_warmup", count.warmup);
    line("sockperf_not_client", count.not_client);
    line("sockperf_bad_length", count.bad_length);
    line("sockperf_cut_short", count.cut_short);
}

const struct app sockperf_app = {
    .name = "sockperf",
    .start = sockperf_start,
    .stats = sockperf_stats,
};
