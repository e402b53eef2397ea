/*
 * The figures of an iperf3 test: for the client as JSON, for the log as one
 * line. No floating point: seconds and rates are scaled integers.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "apps/iperf3_priv.h"

/* Text that grows to the end of a buffer and no further. */
struct text {
    char *at;
    char *end; /* one before the end: room for the zero */
};

static void add(struct text *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void add(struct text *t, const char *fmt, ...)
{
    size_t room = (size_t)(t->end - t->at);
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(t->at, room, fmt, ap);
    va_end(ap);
    if (n > 0)
        t->at += (size_t)n < room ? (size_t)n : room;
}

static u64_t stream_bytes(const struct iperf3_stream *s)
{
    return s->bytes > s->omit_bytes ? s->bytes - s->omit_bytes : 0;
}

static u64_t duration_us(void)
{
    const struct iperf3_test *t = &iperf3_test;

    return t->end_us > t->start_us ? t->end_us - t->start_us : 1;
}

static void add_stream(struct text *t, const struct iperf3_stream *s)
{
    u64_t jitter_ns = (u64_t)(s->jitter16_ns / 16);
    u64_t us = duration_us();

    add(t, "{\"id\":%u,\"bytes\":%llu,\"retransmits\":-1,"
        "\"jitter\":%llu.%09llu,\"errors\":%llu,\"omitted_errors\":%llu,"
        "\"packets\":%llu,\"omitted_packets\":%llu,\"start_time\":0,"
        "\"end_time\":%llu.%06llu}",
        s->id, (unsigned long long)stream_bytes(s),
        (unsigned long long)(jitter_ns / 1000000000),
        (unsigned long long)(jitter_ns % 1000000000),
        (unsigned long long)s->errors, (unsigned long long)s->omit_errors,
        (unsigned long long)s->packets, (unsigned long long)s->omit_packets,
        (unsigned long long)(us / 1000000),
        (unsigned long long)(us % 1000000));
}

struct total {
    u64_t bytes[2]; /* received, sent */
    u64_t packets;  /* received by UDP, and missing */
    u64_t errors;
    unsigned streams[2];
};

static struct total sum(void)
{
    struct total n = {0};

    for (unsigned i = 0; i < iperf3_test.streams_len; i++) {
        const struct iperf3_stream *s = &iperf3_streams[i];

        n.bytes[s->sender] += stream_bytes(s);
        n.streams[s->sender]++;
        if (!s->sender) {
            n.packets += s->packets - s->omit_packets;
            n.errors += s->errors > s->omit_errors
                            ? s->errors - s->omit_errors
                            : 0;
        }
    }
    return n;
}

/* "to the guest 1 streams 12345 bytes 1.00 s 98 Mbit/s" */
static void add_direction(struct text *t, const char *word, unsigned streams,
                          u64_t bytes)
{
    u64_t us = duration_us();

    add(t, " %s: %u streams, %llu bytes in %llu.%02llu s, %llu kbit/s;", word,
        streams, (unsigned long long)bytes, (unsigned long long)(us / 1000000),
        (unsigned long long)(us % 1000000 / 10000),
        (unsigned long long)(bytes * 8000 / us));
}

static void add_summary(struct text *t)
{
    struct total n = sum();

    add(t, "%s", iperf3_test.params.udp ? "UDP" : "TCP");
    if (n.streams[0])
        add_direction(t, "received", n.streams[0], n.bytes[0]);
    if (n.streams[1])
        add_direction(t, "sent", n.streams[1], n.bytes[1]);
    if (n.streams[0] && iperf3_test.params.udp)
        add(t, " lost %llu of %llu;", (unsigned long long)n.errors,
            (unsigned long long)n.packets);
}

size_t iperf3_results(char *out, size_t size)
{
    const struct iperf3_params *p = &iperf3_test.params;
    struct text t = {out, out + size - 1};
    bool sends = p->reverse || p->bidir;

    add(&t, "{\"cpu_util_total\":0,\"cpu_util_user\":0,\"cpu_util_system\":0,"
        "\"sender_has_retransmits\":%d", sends ? 0 : -1);
    if (!p->udp)
        add(&t, ",\"congestion_used\":\"reno\"");
    if (p->server_output) {
        add(&t, ",\"server_output_text\":\"");
        add_summary(&t);
        add(&t, "\\n\"");
    }
    add(&t, ",\"streams\":[");
    for (unsigned i = 0; i < iperf3_test.streams_len; i++) {
        if (i)
            add(&t, ",");
        add_stream(&t, &iperf3_streams[i]);
    }
    add(&t, "]}");
    return (size_t)(t.at - out);
}

void iperf3_log_summary(void)
{
    char line[256];
    struct text t = {line, line + sizeof(line) - 1};

    add_summary(&t);
    plat_log(LOG_INFO, "iperf3: %s", line);
}
