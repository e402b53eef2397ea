/*
 * An iperf3 client, step by step. See iperf3_rig.h.
 */
#include "iperf3_rig.h"

#include <stdlib.h>
#include <string.h>

#include "apps/iperf3_json.h"
#include "check.h"
#include "netstack.h"

const char client_cookie[37] = "abcdefghijklmnopqrstuvwxyz2345672345";
const char other_cookie[37] = "zyxwvutsrqponmlkjihgfedcba7654327654";

static const char *wanted;
static uint64_t found;

static void match(const char *name, uint64_t value)
{
    if (strcmp(name, wanted) == 0)
        found = value;
}

uint64_t iperf3_stat(const char *name)
{
    wanted = name;
    found = UINT64_MAX;
    netstack_stats(match);
    CHECK(found != UINT64_MAX);
    return found;
}

int client_state(struct client *c)
{
    if (c->seen == c->control.got_len)
        rig_run(10);
    if (c->seen == c->control.got_len)
        return NO_STATE;
    return (int8_t)c->control.got[c->seen++];
}

static void put_len(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 24);
    p[1] = (uint8_t)(v >> 16);
    p[2] = (uint8_t)(v >> 8);
    p[3] = (uint8_t)v;
}

void client_message(struct client *c, const char *text)
{
    uint32_t len = (uint32_t)strlen(text);
    uint8_t head[4];

    put_len(head, len);
    peer_send(&c->control, head, 4);
    for (uint32_t at = 0; at < len; at += 1460)
        peer_send(&c->control, text + at, len - at < 1460 ? len - at : 1460);
    rig_run(5);
}

void client_connect(struct client *c, const char *cookie)
{
    c->seen = 0;
    c->streams = 0;
    c->cookie = cookie;
    c->window = CLIENT_WINDOW;
    c->results[0] = '\0';
    peer_open(&c->control, 5201);
    CHECK(c->control.connected);
}

void client_hello(struct client *c, const char *cookie)
{
    client_connect(c, cookie);
    peer_send(&c->control, cookie, 37);
    CHECK_EQ(client_state(c), 9);
}

void client_params(struct client *c, const char *params)
{
    char text[1000] = "{";

    strncat(text, params, sizeof(text) - 3);
    strcat(text, "}");
    client_message(c, text);
    CHECK_EQ(client_state(c), 10);
}

struct peer *client_stream(struct client *c)
{
    struct peer *p = &c->stream[c->streams++];

    peer_open_window(p, 5201, c->window);
    CHECK(p->connected);
    peer_send(p, c->cookie, 37);
    rig_turn();
    return p;
}

void client_runs(struct client *c)
{
    CHECK_EQ(client_state(c), 1);
    CHECK_EQ(client_state(c), 2);
}

void client_start(struct client *c, const char *params, unsigned streams)
{
    client_hello(c, client_cookie);
    client_params(c, params);
    for (unsigned i = 0; i < streams; i++)
        client_stream(c);
    client_runs(c);
}

void client_end(struct client *c)
{
    peer_send(&c->control, "\x04", 1);
    CHECK_EQ(client_state(c), 13);
}

static uint32_t get_len(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 |
           p[3];
}

static void no_member(void *arg, const char *key, size_t len,
                      const struct json_value *v)
{
    (void)arg;
    (void)key;
    (void)len;
    (void)v;
}

void client_take_results(struct client *c)
{
    client_message(c, "{\"cpu_util_total\":1.5,\"streams\":[]}");
    rig_run(50);
    client_read_results(c);
}

void client_read_results(struct client *c)
{
    uint32_t len;

    CHECK(c->control.got_len >= c->seen + 4);
    len = get_len(c->control.got + c->seen);
    CHECK(len > 0 && len < sizeof(c->results));
    CHECK(c->control.got_len >= c->seen + 4 + len);
    memcpy(c->results, c->control.got + c->seen + 4, len);
    c->results[len] = '\0';
    CHECK(json_object(c->results, len, no_member, NULL));
    c->seen += 4 + len;
    CHECK_EQ(client_state(c), 14);
}

void client_finish(struct client *c)
{
    uint64_t done = iperf3_stat("iperf3_done");

    client_end(c);
    client_take_results(c);
    for (unsigned i = 0; i < c->streams; i++) {
        peer_fin(&c->stream[i]);
        if (i % 32 == 31)
            rig_turn();
    }
    peer_send(&c->control, "\x10", 1);
    peer_fin(&c->control);
    rig_run(20);
    CHECK(c->control.got_fin);
    CHECK_EQ(iperf3_stat("iperf3_done"), done + 1);
}

void client_forget(struct client *c)
{
    peer_free(&c->control);
    for (unsigned i = 0; i < c->streams; i++)
        peer_free(&c->stream[i]);
    c->streams = 0;
}

void server_is_ready(void)
{
    static struct client c;

    client_hello(&c, other_cookie);
    client_params(&c, "\"tcp\":true,\"time\":1,\"parallel\":1");
    client_stream(&c);
    client_runs(&c);
    peer_send(&c.stream[0], "some data", 9);
    rig_run(10);
    client_finish(&c);
    CHECK_EQ(client_result(&c, 0, "bytes"), 9);
    client_forget(&c);
}

uint64_t client_result(const struct client *c, unsigned n, const char *name)
{
    const char *at = strstr(c->results, "\"streams\":[");
    char key[40] = "\"";

    strncat(strncat(key, name, 30), "\":", 3);
    for (unsigned i = 0; at && i <= n; i++)
        at = strstr(at + 1, "{\"id\":");
    at = at ? strstr(at, key) : NULL;
    CHECK(at);
    return strtoull(at + strlen(key), NULL, 10);
}
