/*
 * What an iperf3 client asks for: the parameters, from their JSON, with
 * every number brought into its range. Pure.
 */
#include <string.h>

#include "apps/iperf3_json.h"
#include "apps/iperf3_priv.h"

enum {
    TIME_MAX_S = 86400,
    OMIT_MAX_S = 600,
    TOS_MAX = 255,
    TCP_BLOCK_DEFAULT = 128 * 1024,
    UDP_BLOCK_DEFAULT = 1448,
};

#define RATE_MAX INT64_C(1000000000000)
#define BLOCKS_MAX (INT64_MAX / BLOCK_MAX)

static bool is(const char *key, size_t len, const char *name)
{
    return len == strlen(name) && memcmp(key, name, len) == 0;
}

/* The number, limited to low .. high; low for what is none. */
static s64_t number(const struct json_value *v, s64_t low, s64_t high)
{
    int64_t n;

    if (!json_int(v, &n) || n < low)
        return low;
    return n > high ? high : n;
}

static void read_flag(struct iperf3_params *p, const char *key, size_t len,
                      const struct json_value *v)
{
    const struct {
        const char *name;
        bool *flag;
    } flags[] = {
        {"udp", &p->udp},
        {"sctp", &p->sctp},
        {"reverse", &p->reverse},
        {"bidirectional", &p->bidir},
        {"nodelay", &p->nodelay},
        {"get_server_output", &p->server_output},
        {"udp_counters_64bit", &p->counters_64bit},
    };

    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
        if (is(key, len, flags[i].name))
            *flags[i].flag = json_true(v);
}

static void read_member(void *arg, const char *key, size_t len,
                        const struct json_value *v)
{
    struct iperf3_params *p = arg;

    read_flag(p, key, len, v);
    if (is(key, len, "parallel"))
        p->parallel = (u16_t)number(v, 0, PARALLEL_MAX + 1);
    else if (is(key, len, "omit"))
        p->omit_s = (u32_t)number(v, 0, OMIT_MAX_S);
    else if (is(key, len, "time"))
        p->time_s = (u32_t)number(v, 0, TIME_MAX_S);
    else if (is(key, len, "len"))
        p->block = (u32_t)number(v, 0, BLOCK_MAX);
    else if (is(key, len, "num"))
        p->bytes = (u64_t)number(v, 0, INT64_MAX);
    else if (is(key, len, "blockcount"))
        p->blocks = (u64_t)number(v, 0, BLOCKS_MAX);
    else if (is(key, len, "bandwidth"))
        p->rate = (u64_t)number(v, 0, RATE_MAX);
    else if (is(key, len, "fqrate"))
        p->socket_rate = (u64_t)number(v, 0, RATE_MAX);
    else if (is(key, len, "TOS"))
        p->tos = (u8_t)number(v, 0, TOS_MAX);
}

static void fit_block(struct iperf3_params *p)
{
    if (p->block == 0)
        p->block = p->udp ? UDP_BLOCK_DEFAULT : TCP_BLOCK_DEFAULT;
    if (p->udp && p->block < UDP_BLOCK_MIN)
        p->block = UDP_BLOCK_MIN;
    if (p->udp && p->block > UDP_BLOCK_MAX)
        p->block = UDP_BLOCK_MAX;
}

/* The rate of the socket and that of the program: the lower one holds. */
static void fit_rate(struct iperf3_params *p)
{
    if (p->socket_rate && (p->rate == 0 || p->socket_rate < p->rate))
        p->rate = p->socket_rate;
}

enum iperf3_error iperf3_read_params(const char *text, size_t len,
                                     struct iperf3_params *p)
{
    memset(p, 0, sizeof(*p));
    p->parallel = 1;
    if (!json_object(text, len, read_member, p))
        return ERROR_PARAMS;
    if (p->parallel < 1 || p->parallel > PARALLEL_MAX)
        return ERROR_STREAMS;
    if (p->sctp)
        return ERROR_PROTOCOL;
    fit_block(p);
    fit_rate(p);
    if (p->bytes == 0)
        p->bytes = p->blocks * p->block;
    return ERROR_NONE;
}
