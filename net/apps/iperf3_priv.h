/*
 * Inside the iperf3 server. One test at a time; everything is static, so
 * that a test needs no memory of its own beyond what lwIP queues for it.
 *
 * Connections are ended in the pump only, never inside their own callbacks:
 * a callback that finds something wrong notes it in test.fault.
 */
#ifndef APPS_IPERF3_PRIV_H
#define APPS_IPERF3_PRIV_H

#include "apps/apps.h"
#include "apps/iperf3_text.h"
#include "lwip/sys.h"
#include "lwip/tcp.h"
#include "lwip/udp.h"

enum {
    IPERF3_PORT = 5201,
    COOKIE_LEN = 37, /* 36 characters and a zero */
    PARALLEL_MAX = 128,
    STREAMS_MAX = 2 * PARALLEL_MAX,
    WAITING_MAX = 32, /* connections of which the cookie has not come */
    PARAMS_MAX = 8192,
    RESULTS_MAX = 256 * 1024, /* the client's, which are not kept */
    BLOCK_MAX = 1024 * 1024,
    UDP_BLOCK_MAX = 65507,
    UDP_BLOCK_MIN = 16,
};

enum {
    COOKIE_MS = 5000,  /* for the cookie to come */
    ORDER_MS = 1000,   /* for one that is due before another's */
    ANSWER_MS = 10000, /* for each step of the client */
    CONNECT_MS = 250,  /* the same, more for each stream */
    GRACE_MS = 30000,  /* past the end that the client announced */
    /* A new client does not have to wait for longer than ... */
    SLOW_MS = 4000,    /* ... a step of the client before it, */
    SILENT_MS = 10000, /* ... a test that runs, but moves nothing */
};

enum {
    QUIET_US = 50000,       /* nothing for so long: nothing is on its way */
    DRAIN_MAX_US = 2000000, /* but no longer than this is waited for it */
};

/* The control connection's states, as one signed byte each way. */
enum iperf3_state {
    TEST_START = 1,
    TEST_RUNNING = 2,
    TEST_END = 4,
    PARAM_EXCHANGE = 9,
    CREATE_STREAMS = 10,
    CLIENT_TERMINATE = 12,
    EXCHANGE_RESULTS = 13,
    DISPLAY_RESULTS = 14,
    IPERF_DONE = 16,
    ACCESS_DENIED = -1,
    SERVER_ERROR = -2, /* two numbers of 4 bytes follow: what, and errno */
};

/* What the client is told when a test fails; its numbers. */
enum iperf3_error {
    ERROR_NONE = 0,
    ERROR_STREAMS = 6, /* too many */
    ERROR_INIT = 101,
    ERROR_MESSAGE = 110, /* not understood */
    ERROR_PARAMS = 114,
    ERROR_PROTOCOL = 131,
    ERROR_SILENCE = 144, /* nothing came for too long */
};

/* Why a test ended. */
enum iperf3_end {
    END_NONE,
    END_OK,
    END_CLIENT_GONE, /* control connection closed or reset */
    END_CLIENT_QUIT, /* the client said that it gives up */
    END_BAD_MESSAGE, /* something unexpected on the control connection */
    END_BAD_PARAMS,  /* parameters that are no JSON or cannot be served */
    END_TIMEOUT,     /* a step did not come, or the test never ended */
    END_PREEMPTED,   /* silent, and another client is waiting */
    END_NOMEM,
    END_KINDS,
};

/* What the client asked for. */
struct iperf3_params {
    bool udp;
    bool sctp;
    bool reverse;
    bool bidir;
    bool nodelay;
    bool server_output;
    bool counters_64bit;
    u8_t tos;
    u16_t parallel;
    u32_t omit_s;
    u32_t time_s;      /* 0: until the client says so */
    u32_t block;       /* bytes of a datagram or write */
    u64_t bytes;       /* of all streams together; 0: no limit */
    u64_t blocks;      /* the same in blocks */
    u64_t rate;        /* bits/s of each stream; 0: as fast as possible */
    u64_t socket_rate; /* another limit of the same kind */
};

struct iperf3_stream {
    /* written when it is made */
    struct tcp_pcb *pcb; /* NULL: UDP, or gone */
    ip_addr_t addr;      /* UDP: the peer */
    ip_addr_t local;     /* UDP: the address of ours that it knows */
    u16_t port;
    u16_t id;    /* what the client calls it */
    bool sender; /* we send */

    /* data path */
    bool stopped;     /* nothing more is sent */
    u64_t bytes;      /* received, or handed to lwIP */
    u64_t omit_bytes; /* of them, before the omit time was over */
    u64_t pace_us;    /* sender: when its budget began */
    u64_t paced;      /* sender: bytes since then */
    u32_t offset;     /* TCP sender: next byte of the pattern */

    /* UDP */
    u64_t packets; /* highest number received, or number sent */
    u64_t errors;  /* missing */
    u64_t out_of_order;
    u64_t omit_packets;
    u64_t omit_errors;
    s64_t transit_ns;  /* of the last one */
    s64_t jitter16_ns; /* 16 times the jitter of RFC 1889 */
};

/* Where in its life a test is: what the control connection waits for. */
enum iperf3_phase {
    PHASE_IDLE,
    PHASE_PARAMS,  /* length and text of the parameters */
    PHASE_STREAMS, /* connections of all streams */
    PHASE_RUNNING, /* TEST_END */
    PHASE_RESULTS, /* length and text of the client's results */
    PHASE_DRAIN,   /* what is still on its way to us */
    PHASE_DONE,    /* IPERF_DONE */
};

struct iperf3_test {
    enum iperf3_phase phase;
    enum iperf3_end fault;   /* the pump ends the test for this reason */
    enum iperf3_error error; /* ... and says this, if not the usual */
    struct tcp_pcb *control;
    ip_addr_t peer;
    char cookie[COOKIE_LEN];
    struct iperf3_params params;
    u32_t deadline_ms; /* of the phase */
    u32_t entered_ms;
    bool has_deadline;

    /* incoming message: a length of 4 bytes, then text */
    u32_t got;
    u32_t len;
    char text[PARAMS_MAX];

    u16_t streams_len;
    u16_t streams_want;
    bool omitting;
    u64_t start_us; /* of the running phase, or of the end of omitting */
    u64_t end_us;
    u64_t drain_us;  /* when the draining began */
    u64_t active_us; /* when a byte last moved on any stream */
    u64_t sent;      /* by all streams */
    u64_t report_us; /* when the last interval ended ... */
    u64_t report[2]; /* ... and what had been received and sent by then */
};

struct iperf3_counters {
    u64_t ended[END_KINDS];
    u64_t denied;
    u64_t no_cookie; /* connections without a proper one, in time */
    u64_t stray_udp; /* datagrams of no stream */
    u64_t rx_bytes;
    u64_t tx_bytes;
    u64_t tx_retry; /* datagrams that had to wait for room */
};

extern struct iperf3_test iperf3_test;
extern struct iperf3_stream iperf3_streams[STREAMS_MAX];
extern struct iperf3_counters iperf3_count;

/* ---- iperf3.c ---- */

/* Takes the callbacks off and closes; aborts where that needs memory. Not
 * inside a callback of the same pcb. */
void iperf3_close(struct tcp_pcb *pcb);
void iperf3_abort(struct tcp_pcb *pcb);

/* ---- iperf3_control.c ---- */

/* A client whose cookie has come becomes the one that is served. */
void iperf3_begin(struct tcp_pcb *pcb, const char *cookie);
/* The next stream, with its number; NULL when there are enough. */
struct iperf3_stream *iperf3_new_stream(void);
/* A stream is there; when it was the last, the test starts. */
void iperf3_stream_ready(void);
/* The test ends for this reason, at the pump's next turn. */
void iperf3_fault(enum iperf3_end why);
/* Once a turn: deadlines, omit time, the end. */
void iperf3_control_pump(void);

/* ---- iperf3_params.c ---- */

/* ERROR_NONE, or why it cannot be served. */
enum iperf3_error iperf3_read_params(const char *text, size_t len,
                                     struct iperf3_params *p);

/* ---- iperf3_tcp.c ---- */

/* Makes the connection the next stream of the test. */
void iperf3_tcp_stream(struct tcp_pcb *pcb);
/* Sends what may be sent. */
void iperf3_tcp_pump(void);

/* ---- iperf3_udp.c ---- */

err_t iperf3_udp_start(void);
/* Sends what may be sent; true: call again at once. */
bool iperf3_udp_pump(void);

/* ---- iperf3_pace.c ---- */

/* So many bytes take so long at this rate, which is not 0. */
u64_t iperf3_bytes_us(u64_t bytes, u64_t rate);

/*
 * Bytes that the stream may send now under its rate, at most `most`. Less
 * than it asked for: a wake-up has been requested for the rest.
 */
u32_t iperf3_allowed(struct iperf3_stream *s, u32_t block, u32_t most);

/* ---- iperf3_streams.c ---- */

/* Bytes received, or sent: those that still wait in lwIP are not. */
u64_t iperf3_moved(const struct iperf3_stream *s);
/* Does what comes count? Until the results go out: some is late. */
bool iperf3_counting(void);
/* A byte has moved now. */
void iperf3_active(void);
/* The first byte counts from here on: the test begins. */
void iperf3_streams_start(void);
/* What has been counted so far does not count: the omit time is over. */
void iperf3_streams_omit(void);
/* The test is over: nothing more is sent. */
void iperf3_streams_stop(void);
/* Connections are ended, and the streams forgotten. */
void iperf3_streams_end(void);

/* ---- iperf3_report.c ---- */

/* Our results as the protocol has them. */
void iperf3_results(struct text *t);
/* The line at the end of a test. */
void iperf3_log_summary(void);
/* A line for the time since the last such line. */
void iperf3_log_interval(void);

/* Room that the results need at most. */
enum {
    STREAM_TEXT_MAX = 320,
    RESULTS_TEXT_MAX = STREAMS_MAX * STREAM_TEXT_MAX + 4096,
};

/* Data that streams send. */
enum { IPERF3_PATTERN = 128 * 1024 };
extern u8_t iperf3_pattern[IPERF3_PATTERN];

#endif
