/*
 * The figures of an iperf3 test: for the client as JSON, for the log as
 * lines. No floating point: seconds, rates and jitter are scaled integers.
 */
#include <string.h>

#include "apps/iperf3_priv.h"

enum { OUTPUT_STREAMS_MAX = 32 }; /* of which the server's output has lines */

static u64_t duration_us(void)
{
    const struct iperf3_test *t = &iperf3_test;

    return t->end_us > t->start_us ? t->end_us - t->start_us : 1;
}

static u64_t stream_bytes(const struct iperf3_stream *s)
{
    u64_t bytes = iperf3_moved(s);

    return bytes > s->omit_bytes ? bytes - s->omit_bytes : 0;
}

/* ---- JSON ---- */

static void member(struct text *t, const char *name, u64_t value)
{
    text_str(t, ",\"");
    text_str(t, name);
    text_str(t, "\":");
    text_u64(t, value);
}

static void add_stream(struct text *t, const struct iperf3_stream *s)
{
    text_str(t, "{\"id\":");
    text_u64(t, s->id);
    member(t, "bytes", stream_bytes(s));
    text_str(t, ",\"retransmits\":-1,\"jitter\":"); /* lwIP keeps no count */
    text_fixed(t, (u64_t)(s->jitter16_ns / 16), 9);
    member(t, "errors", s->errors);
    member(t, "omitted_errors", s->omit_errors);
    member(t, "packets", s->packets);
    member(t, "omitted_packets", s->omit_packets);
    text_str(t, ",\"start_time\":0,\"end_time\":");
    text_fixed(t, duration_us(), 6);
    text_str(t, "}");
}

static void add_streams(struct text *t)
{
    text_str(t, ",\"streams\":[");
    for (unsigned i = 0; i < iperf3_test.streams_len; i++) {
        if (i)
            text_str(t, ",");
        add_stream(t, &iperf3_streams[i]);
    }
    text_str(t, "]}");
}

/* ---- lines ---- */

struct total {
    u64_t bytes;
    u64_t packets; /* sent, or received and missing */
    u64_t errors;
    u64_t jitter_us;
    unsigned streams;
};

static u64_t less(u64_t a, u64_t b)
{
    return a > b ? a - b : 0;
}

static void add_to(struct total *n, const struct iperf3_stream *s)
{
    n->bytes += stream_bytes(s);
    n->packets += less(s->packets, s->omit_packets);
    n->errors += less(s->errors, s->omit_errors);
    n->jitter_us += (u64_t)(s->jitter16_ns / 16 / 1000);
    n->streams++;
}

static struct total sum(bool sender)
{
    struct total n = {0};

    for (unsigned i = 0; i < iperf3_test.streams_len; i++)
        if (iperf3_streams[i].sender == sender)
            add_to(&n, &iperf3_streams[i]);
    return n;
}

static void add_rate(struct text *t, u64_t bytes, u64_t us)
{
    text_str(t, " ");
    text_u64(t, bytes);
    text_str(t, " bytes in ");
    text_fixed(t, us / 10000, 2);
    text_str(t, " s, ");
    text_fixed(t, bytes / us * 800 + bytes % us * 800 / us, 2);
    text_str(t, " Mbit/s");
}

static void add_loss(struct text *t, const struct total *n)
{
    u64_t of = n->packets ? n->packets : 1;

    text_str(t, ", jitter ");
    text_fixed(t, n->jitter_us / n->streams, 3);
    text_str(t, " ms, lost ");
    text_u64(t, n->errors);
    text_str(t, " of ");
    text_u64(t, n->packets);
    text_str(t, " (");
    text_fixed(t, n->errors / of * 10000 + n->errors % of * 10000 / of, 2);
    text_str(t, "%)");
}

static void add_total(struct text *t, bool sender, const struct total *n)
{
    text_str(t, sender ? " sent" : " received");
    add_rate(t, n->bytes, duration_us());
    if (iperf3_test.params.udp && !sender)
        add_loss(t, n);
}

static void add_direction(struct text *t, bool sender)
{
    struct total n = sum(sender);

    if (n.streams == 0)
        return;
    text_str(t, ", ");
    text_u64(t, n.streams);
    text_str(t, n.streams > 1 ? " streams" : " stream");
    add_total(t, sender, &n);
}

static void add_summary(struct text *t)
{
    char peer[IPADDR_STRLEN_MAX];

    ipaddr_ntoa_r(&iperf3_test.peer, peer, sizeof(peer));
    text_str(t, peer);
    text_str(t, iperf3_test.params.udp ? " UDP" : " TCP");
    add_direction(t, false);
    add_direction(t, true);
}

/* The text that --get-server-output asks for, inside a JSON string. */
static void add_output(struct text *t)
{
    unsigned n = LWIP_MIN(iperf3_test.streams_len, OUTPUT_STREAMS_MAX);

    text_str(t, ",\"server_output_text\":\"");
    for (unsigned i = 0; i < n; i++) {
        const struct iperf3_stream *s = &iperf3_streams[i];
        struct total one = {0};

        add_to(&one, s);
        text_str(t, "[");
        text_u64(t, s->id);
        text_str(t, "]");
        add_total(t, s->sender, &one);
        text_str(t, "\\n");
    }
    add_summary(t);
    text_str(t, "\\n\"");
}

/* ---- what the others call ---- */

void iperf3_results(struct text *t)
{
    const struct iperf3_params *p = &iperf3_test.params;

    text_str(t, "{\"cpu_util_total\":0,\"cpu_util_user\":0,"
                "\"cpu_util_system\":0,\"sender_has_retransmits\":");
    text_str(t, p->reverse || p->bidir ? "0" : "-1");
    if (!p->udp)
        text_str(t, ",\"congestion_used\":\"reno\"");
    if (p->server_output)
        add_output(t);
    add_streams(t);
}

void iperf3_log_summary(void)
{
    char line[400];
    struct text t;

    text_begin(&t, line, sizeof(line));
    add_summary(&t);
    plat_log(LOG_INFO, "iperf3: %s", line);
}

void iperf3_log_interval(void)
{
    struct iperf3_test *test = &iperf3_test;
    u64_t now = sys_now_us(), us = now - test->report_us;
    u64_t moved[2] = {0, 0};
    char line[160];
    struct text t;

    for (unsigned i = 0; i < test->streams_len; i++)
        moved[iperf3_streams[i].sender] += iperf3_moved(&iperf3_streams[i]);
    text_begin(&t, line, sizeof(line));
    text_str(&t, "received");
    add_rate(&t, less(moved[0], test->report[0]), us);
    text_str(&t, ", sent");
    add_rate(&t, less(moved[1], test->report[1]), us);
    plat_log(LOG_DEBUG, "iperf3: %s", line);
    test->report_us = now;
    memcpy(test->report, moved, sizeof(moved));
}
