/*
 * The kernel's command line: words of the form key=value. Pure; also in a
 * unit test. Nothing in a command line is fatal, and no length of it either.
 */
#include "cmdline.h"

#include <stddef.h>
#include <string.h>

#include "format.h"
#include "plat.h"
#include "verr.h"
#include "vnet.h"
#include "virtio/spec.h"
#include "virtio/spec_net.h"

#define KEY_MAX 32u
#define BUDGET_DEFAULT 64u
#define BUDGET_MAX 65536u
#define RING_MAX 32768u
#define RX_BUFS_MAX 1048576u
#define RX_BYTES_MIN 64u
#define RX_BYTES_MAX 32768u
#define RX_COPY_MAX 128u
#define TSC_HZ_MIN UINT64_C(1000000)
#define TSC_HZ_MAX UINT64_C(100000000000)

struct feature {
    const char *name;
    unsigned bit;
};

#define NET(name) {#name, VIRTIO_NET_F_##name}
#define RESERVED(name) {#name, VIRTIO_F_##name}

static const struct feature features[] = {
    NET(CSUM), NET(GUEST_CSUM), NET(CTRL_GUEST_OFFLOADS), NET(MTU), NET(MAC),
    NET(GUEST_TSO4), NET(GUEST_TSO6), NET(GUEST_ECN), NET(GUEST_UFO),
    NET(HOST_TSO4), NET(HOST_TSO6), NET(HOST_ECN), NET(HOST_UFO),
    NET(MRG_RXBUF), NET(STATUS), NET(CTRL_VQ), NET(CTRL_RX), NET(CTRL_VLAN),
    NET(CTRL_RX_EXTRA), NET(GUEST_ANNOUNCE), NET(MQ), NET(CTRL_MAC_ADDR),
    NET(HASH_TUNNEL), NET(VQ_NOTF_COAL), NET(NOTF_COAL), NET(GUEST_USO4),
    NET(GUEST_USO6), NET(HOST_USO), NET(HASH_REPORT), NET(GUEST_HDRLEN),
    NET(RSS), NET(RSC_EXT), NET(STANDBY), NET(SPEED_DUPLEX),
    RESERVED(NOTIFY_ON_EMPTY), RESERVED(ANY_LAYOUT), RESERVED(INDIRECT_DESC),
    RESERVED(EVENT_IDX), RESERVED(VERSION_1), RESERVED(ACCESS_PLATFORM),
    RESERVED(RING_PACKED), RESERVED(IN_ORDER), RESERVED(ORDER_PLATFORM),
    RESERVED(SR_IOV), RESERVED(NOTIFICATION_DATA),
    RESERVED(NOTIF_CONFIG_DATA), RESERVED(RING_RESET), RESERVED(ADMIN_VQ),
};

static char upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

static bool same_name(const char *a, const char *b)
{
    while (*a != '\0' && upper(*a) == upper(*b)) {
        a++;
        b++;
    }
    return *a == '\0' && *b == '\0';
}

/* A decimal number min .. max and nothing behind it. */
static bool number(const char *text, uint64_t min, uint64_t max,
                   uint64_t *out)
{
    uint64_t val = 0;

    if (*text == '\0')
        return false;
    for (; *text != '\0'; text++) {
        unsigned d = (unsigned)(uint8_t)*text - '0';

        if (d > 9 || val > (UINT64_MAX - d) / 10)
            return false;
        val = val * 10 + d;
    }
    *out = val;
    return val >= min && val <= max;
}

int cmdline_feature(const char *name)
{
    uint64_t bit;

    for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++) {
        if (same_name(name, features[i].name))
            return (int)features[i].bit;
    }
    return number(name, 0, 63, &bit) ? (int)bit : -1;
}

static int set_ip(struct cmdline *c, const char *val)
{
    memcpy(c->ip, val, strlen(val) + 1);
    return V_OK;
}

static int set_gw(struct cmdline *c, const char *val)
{
    memcpy(c->gw, val, strlen(val) + 1);
    return V_OK;
}

static int set_log(struct cmdline *c, const char *val)
{
    static const char *const names[] = {
        [LOG_ERR] = "err",
        [LOG_WARN] = "warn",
        [LOG_INFO] = "info",
        [LOG_DEBUG] = "debug",
    };

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(val, names[i]) == 0) {
            c->log = i;
            return V_OK;
        }
    }
    return V_INVAL;
}

static int set_budget(struct cmdline *c, const char *val)
{
    uint64_t n;

    if (!number(val, 1, BUDGET_MAX, &n))
        return V_INVAL;
    c->budget = (unsigned)n;
    return V_OK;
}

static int set_rx_ring(struct cmdline *c, const char *val)
{
    uint64_t n;

    if (!number(val, 1, RING_MAX, &n))
        return V_INVAL;
    c->rx_ring = (uint16_t)n;
    return V_OK;
}

static int set_tx_ring(struct cmdline *c, const char *val)
{
    uint64_t n;

    if (!number(val, 1, RING_MAX, &n))
        return V_INVAL;
    c->tx_ring = (uint16_t)n;
    return V_OK;
}

static int set_rx_bufs(struct cmdline *c, const char *val)
{
    uint64_t n;

    if (!number(val, 1, RX_BUFS_MAX, &n))
        return V_INVAL;
    c->rx_bufs = (uint32_t)n;
    return V_OK;
}

/* The place of val in the list, or -1. */
static int choice(const char *val, const char *const names[], int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(val, names[i]) == 0)
            return i;
    return -1;
}

static int set_rx_mode(struct cmdline *c, const char *val)
{
    static const char *const names[] = {
        [VNET_RX_AUTO] = "auto",
        [VNET_RX_SMALL] = "small",
        [VNET_RX_BIG] = "big",
        [VNET_RX_MERGEABLE] = "mergeable",
    };
    int mode = choice(val, names, 4);

    if (mode < 0)
        return V_INVAL;
    c->rx_mode = (uint8_t)mode;
    return V_OK;
}

static int set_rx_buf(struct cmdline *c, const char *val)
{
    static const char *const names[] = {
        [VNET_RXBUF_AUTO] = "auto",
        [VNET_RXBUF_MTU] = "mtu",
        [VNET_RXBUF_PAGE] = "page",
        [VNET_RXBUF_BYTES] = "bytes",
        [VNET_RXBUF_MTU_FAULTY] = "mtu-faulty",
    };
    int size = choice(val, names, 5);
    uint64_t n = 0;

    if (size == VNET_RXBUF_BYTES ||
        (size < 0 && !number(val, RX_BYTES_MIN, RX_BYTES_MAX, &n)))
        return V_INVAL;
    c->rx_size = (uint8_t)(size < 0 ? VNET_RXBUF_BYTES : size);
    c->rx_bytes = (uint32_t)n;
    return V_OK;
}

static int set_rx_copy(struct cmdline *c, const char *val)
{
    uint64_t n;

    if (strcmp(val, "none") == 0 || strcmp(val, "0") == 0) {
        c->rx_copy = VNET_RX_COPY_NONE;
        return V_OK;
    }
    if (!number(val, 1, RX_COPY_MAX, &n))
        return V_INVAL;
    c->rx_copy = (uint16_t)n;
    return V_OK;
}

static int set_rx_early(struct cmdline *c, const char *val)
{
    static const char *const names[] = {"off", "on"};
    int on = choice(val, names, 2);

    if (on < 0)
        return V_INVAL;
    c->rx_early = on;
    return V_OK;
}

/* All names of the list, or none. */
static int set_refuse(struct cmdline *c, const char *val)
{
    uint64_t mask = 0;
    char name[KEY_MAX];

    while (*val != '\0') {
        size_t n = 0;
        int bit;

        while (val[n] != '\0' && val[n] != ',')
            n++;
        if (n >= sizeof(name))
            return V_INVAL;
        memcpy(name, val, n);
        name[n] = '\0';
        bit = cmdline_feature(name);
        if (bit < 0)
            return V_INVAL;
        mask |= VIRTIO_BIT(bit);
        val += n + (val[n] == ',');
    }
    c->refuse |= mask;
    return V_OK;
}

static int set_tsc(struct cmdline *c, const char *val)
{
    uint64_t n;

    if (!number(val, TSC_HZ_MIN, TSC_HZ_MAX, &n))
        return V_INVAL;
    c->tsc_hz = n;
    return V_OK;
}

static int set_gro(struct cmdline *c, const char *val)
{
    bool on = strcmp(val, "on") == 0;

    if (!on && strcmp(val, "off") != 0)
        return V_INVAL;
    c->gro = on;
    return V_OK;
}

static const struct {
    const char *key;
    int (*set)(struct cmdline *c, const char *val);
} keys[] = {
    {"ip", set_ip},           {"gw", set_gw},
    {"log", set_log},         {"budget", set_budget},
    {"rx-ring", set_rx_ring}, {"tx-ring", set_tx_ring},
    {"rx-bufs", set_rx_bufs}, {"refuse", set_refuse},
    {"gro", set_gro},
    {"rx-mode", set_rx_mode}, {"rx-buf", set_rx_buf},
    {"rx-copy", set_rx_copy}, {"rx-early", set_rx_early},
    {"tsc", set_tsc},
};

/* Refused names are long: a list of them has its own limit. */
#define WORD_MAX 512u

static void complain(void (*report)(const char *line), const char *what,
                     const char *word)
{
    char line[128];

    format(line, sizeof(line), "command line: %s '%.80s'", what, word);
    report(line);
}

static void apply(struct cmdline *c, char *word,
                  void (*report)(const char *line))
{
    char *val = strchr(word, '=');
    size_t len = val ? (size_t)(val - word) : 0;

    for (size_t i = 0; val && i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (strlen(keys[i].key) != len ||
            strncmp(word, keys[i].key, len) != 0)
            continue;
        val++;
        if ((keys[i].set != set_refuse && strlen(val) >= CMDLINE_VALUE_MAX) ||
            keys[i].set(c, val) != V_OK)
            complain(report, "value not usable:", word);
        return;
    }
    complain(report, "unknown setting", word);
}

void cmdline_parse(struct cmdline *c, const char *text,
                   void (*report)(const char *line))
{
    char word[WORD_MAX];

    memset(c, 0, sizeof(*c));
    memcpy(c->ip, "dhcp", 5);
    c->log = LOG_INFO;
    c->budget = BUDGET_DEFAULT;
    c->gro = true;
    while (*text != '\0') {
        size_t n = 0;

        while (*text != '\0' && (uint8_t)*text <= ' ')
            text++;
        while ((uint8_t)text[n] > ' ')
            n++;
        if (n >= sizeof(word))
            complain(report, "word too long:", text);
        if (n == 0 || n >= sizeof(word)) {
            text += n;
            continue;
        }
        memcpy(word, text, n);
        word[n] = '\0';
        apply(c, word, report);
        text += n;
    }
}
