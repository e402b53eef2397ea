/*
 * An iperf3 client over net_rig.h: its control connection and streams, step
 * by step, so that a test can leave the path at any of them.
 *
 *     client_start(&c, "\"tcp\":true,\"time\":1", 2);
 *     peer_send(&c.stream[0], data, len);
 *     client_finish(&c);
 *     ... c.results ...
 */
#ifndef IPERF3_RIG_H
#define IPERF3_RIG_H

#include "net_rig.h"

enum {
    CLIENT_STREAMS = 256,
    NO_STATE = 100,       /* nothing has come */
    CLIENT_WINDOW = 5000, /* a quarter of what a stream's peer takes ahead */
    CLIENT_UDP_PORT = 40000, /* of the first stream, the next is one above */
};

struct client {
    struct peer control;
    uint32_t seen; /* bytes of control that have been looked at */
    const char *cookie;
    uint16_t window; /* of streams to come, in units of 4 bytes */
    struct peer stream[CLIENT_STREAMS];
    unsigned streams;
    char results[100 * 1024]; /* zero at the end */
};

/* The next byte from the server, or NO_STATE. */
int client_state(struct client *c);

/* A length and the text. */
void client_message(struct client *c, const char *text);

/* Connects; cookie is 37 bytes, the last one zero. */
void client_connect(struct client *c, const char *cookie);

/* ... and sends the cookie, and sees the server ask for the parameters. */
void client_hello(struct client *c, const char *cookie);

/* ... and sends them (the inside of an object), and is asked for streams. */
void client_params(struct client *c, const char *params);

/* One more TCP stream. */
struct peer *client_stream(struct client *c);

/* The test runs now. */
void client_runs(struct client *c);

/* All of it up to there, with so many TCP streams. */
void client_start(struct client *c, const char *params, unsigned streams);

/* The end: TEST_END, results both ways, IPERF_DONE, all closed. */
void client_end(struct client *c);
void client_take_results(struct client *c);
/* The second half of client_take_results: the server's answer. */
void client_read_results(struct client *c);
void client_finish(struct client *c);

/* Nothing more comes from it: it may be used again. */
void client_forget(struct client *c);

/* A short test that succeeds: the server is ready again. */
void server_is_ready(void);

/* The value of "name": in the n-th stream (from 0) of the results. */
uint64_t client_result(const struct client *c, unsigned n, const char *name);

/* The server's counter of this name. */
uint64_t iperf3_stat(const char *name);

extern const char client_cookie[37];
extern const char other_cookie[37];

#endif
