/* kernel/cmdline.c: every key, bad values, over-long and odd lines. */
#include <stdio.h>
#include <string.h>

#include "../../kernel/cmdline.h"
#include "check.h"
#include "plat.h"
#include "vnet.h"
#include "virtio/spec.h"
#include "virtio/spec_net.h"

static struct cmdline c;
static unsigned reports;
static char last_report[256];

static void report(const char *line)
{
    reports++;
    snprintf(last_report, sizeof(last_report), "%s", line);
}

static void parse(const char *text)
{
    reports = 0;
    last_report[0] = '\0';
    cmdline_parse(&c, text, report);
}

/* The line changes nothing, and is reported once. */
static void refused(const char *text)
{
    struct cmdline defaults;

    parse("");
    defaults = c;
    parse(text);
    CHECK_EQ(reports, 1);
    CHECK_MEM_EQ(&c, &defaults, sizeof(c));
}

TEST(cmdline_defaults)
{
    parse("");
    CHECK_EQ(reports, 0);
    CHECK_STR_EQ(c.ip, "dhcp");
    CHECK_STR_EQ(c.gw, "");
    CHECK_EQ(c.log, LOG_INFO);
    CHECK(c.budget > 0);
    CHECK_EQ(c.refuse, 0);
    CHECK_EQ(c.tsc_hz, 0);
    CHECK(c.gro);
}

TEST(cmdline_every_key)
{
    parse("ip=10.0.2.15/24 gw=10.0.2.2 log=debug budget=32 rx-ring=512 "
          "tx-ring=128 rx-bufs=1000 refuse=mrg_rxbuf,EVENT_IDX,5 "
          "tsc=2500000000 gro=off");
    CHECK_EQ(reports, 0);
    CHECK_STR_EQ(c.ip, "10.0.2.15/24");
    CHECK_STR_EQ(c.gw, "10.0.2.2");
    CHECK_EQ(c.log, LOG_DEBUG);
    CHECK_EQ(c.budget, 32);
    CHECK_EQ(c.rx_ring, 512);
    CHECK_EQ(c.tx_ring, 128);
    CHECK_EQ(c.rx_bufs, 1000);
    CHECK_EQ(c.refuse, VIRTIO_BIT(VIRTIO_NET_F_MRG_RXBUF) |
                           VIRTIO_BIT(VIRTIO_F_EVENT_IDX) |
                           VIRTIO_BIT(VIRTIO_NET_F_MAC));
    CHECK_EQ(c.tsc_hz, UINT64_C(2500000000));
    CHECK(!c.gro);
    parse("gro=off gro=on");
    CHECK_EQ(reports, 0);
    CHECK(c.gro);
}

TEST(cmdline_receive_defaults_are_the_drivers)
{
    parse("");
    CHECK_EQ(c.rx_mode, VNET_RX_AUTO);
    CHECK_EQ(c.rx_size, VNET_RXBUF_AUTO);
    CHECK_EQ(c.rx_bytes, 0);
    CHECK_EQ(c.rx_copy, 0);
    CHECK(!c.rx_early);
}

TEST(cmdline_receive_mode)
{
    static const char *const words[] = {
        "rx-mode=auto", "rx-mode=small", "rx-mode=big", "rx-mode=mergeable"};
    static const uint8_t modes[] = {VNET_RX_AUTO, VNET_RX_SMALL, VNET_RX_BIG,
                                    VNET_RX_MERGEABLE};

    for (unsigned i = 0; i < 4; i++) {
        parse(words[i]);
        CHECK_EQ(reports, 0);
        CHECK_EQ(c.rx_mode, modes[i]);
    }
}

TEST(cmdline_receive_buffer_size)
{
    static const struct {
        const char *word;
        unsigned size;
        uint32_t bytes;
    } t[] = {
        {"rx-buf=auto", VNET_RXBUF_AUTO, 0},
        {"rx-buf=mtu", VNET_RXBUF_MTU, 0},
        {"rx-buf=page", VNET_RXBUF_PAGE, 0},
        {"rx-buf=mtu-faulty", VNET_RXBUF_MTU_FAULTY, 0},
        {"rx-buf=64", VNET_RXBUF_BYTES, 64},
        {"rx-buf=1536", VNET_RXBUF_BYTES, 1536},
        {"rx-buf=32768", VNET_RXBUF_BYTES, 32768},
        {"rx-buf=2048 rx-buf=page", VNET_RXBUF_PAGE, 0},
        {"rx-buf=page rx-buf=2048", VNET_RXBUF_BYTES, 2048},
    };

    for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
        parse(t[i].word);
        CHECK_EQ(reports, 0);
        CHECK_EQ(c.rx_size, t[i].size);
        CHECK_EQ(c.rx_bytes, t[i].bytes);
    }
}

TEST(cmdline_receive_copies_and_early_objects)
{
    parse("rx-copy=none rx-early=on");
    CHECK_EQ(c.rx_copy, VNET_RX_COPY_NONE);
    CHECK(c.rx_early);
    parse("rx-copy=0 rx-early=on rx-early=off");
    CHECK_EQ(c.rx_copy, VNET_RX_COPY_NONE);
    CHECK(!c.rx_early);
    parse("rx-copy=1");
    CHECK_EQ(c.rx_copy, 1);
    parse("rx-copy=128");
    CHECK_EQ(c.rx_copy, 128);
    CHECK_EQ(reports, 0);
}

TEST(cmdline_log_levels)
{
    parse("log=err");
    CHECK_EQ(c.log, LOG_ERR);
    parse("log=warn");
    CHECK_EQ(c.log, LOG_WARN);
    parse("log=info");
    CHECK_EQ(c.log, LOG_INFO);
}

TEST(cmdline_later_wins_refusals_add_up)
{
    parse("budget=1 ip=dhcp refuse=csum budget=2 ip=1.2.3.4/8 "
          "refuse=63");
    CHECK_EQ(reports, 0);
    CHECK_EQ(c.budget, 2);
    CHECK_STR_EQ(c.ip, "1.2.3.4/8");
    CHECK_EQ(c.refuse, VIRTIO_BIT(0) | VIRTIO_BIT(63));
}

TEST(cmdline_bad_values_change_nothing)
{
    static const char *const bad[] = {
        "nosuch=1", "nosuch", "=", "=x", "ipx=1", "i=1", "log=", "log=INFO",
        "log=4", "budget=", "budget=0", "budget=-1", "budget=1x",
        "budget=65537", "budget=99999999999999999999999", "rx-ring=0",
        "rx-ring=32769", "tx-ring=0x100", "tx-ring=65536", "rx-bufs=0",
        "rx-bufs=1048577", "refuse=nosuch", "refuse=csum,nosuch",
        "refuse=64", "refuse=-1", "refuse=csum,,mac", "tsc=0", "tsc=999999",
        "tsc=100000000001", "gro=", "gro=1", "gro=ON", "gro=offf",
        "rx-mode=", "rx-mode=Small", "rx-mode=1",
        "rx-mode=smal", "rx-mode=small,big", "rx-mode", "rx-buf=",
        "rx-buf=bytes", "rx-buf=63", "rx-buf=32769", "rx-buf=-64",
        "rx-buf=1536x", "rx-buf=mtufaulty", "rx-buf=18446744073709551680",
        "rx-copy=", "rx-copy=129", "rx-copy=-1", "rx-copy=65535",
        "rx-copy=all", "rx-copy=00000000000000000000", "rx-early=",
        "rx-early=1", "rx-early=ON", "rx-early=yes",
    };

    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        refused(bad[i]);
}

TEST(cmdline_a_bad_word_does_not_spoil_its_neighbours)
{
    parse("budget=7 budget=x rx-ring=64 foo rx-bufs=9");
    CHECK_EQ(reports, 2);
    CHECK_EQ(c.budget, 7);
    CHECK_EQ(c.rx_ring, 64);
    CHECK_EQ(c.rx_bufs, 9);
}

TEST(cmdline_report_names_the_word)
{
    parse("frobnicate=1");
    CHECK(strstr(last_report, "frobnicate=1") != NULL);
    CHECK(strstr(last_report, "unknown") != NULL);
    parse("budget=no");
    CHECK(strstr(last_report, "budget=no") != NULL);
}

TEST(cmdline_spaces_and_control_characters)
{
    parse("  \t budget=5 \r\n\n  rx-ring=64   ");
    CHECK_EQ(reports, 0);
    CHECK_EQ(c.budget, 5);
    CHECK_EQ(c.rx_ring, 64);
    refused("\xff\xfe");
}

TEST(cmdline_over_long_words)
{
    static char text[5000];

    /* At every length around the limits of value and word. */
    for (unsigned n = 4; n < 1200; n++) {
        memset(text, 'x', n);
        memcpy(text, "ip=", 3);
        strcpy(text + n, " budget=9");
        parse(text);
        CHECK_EQ(c.budget, 9);
        CHECK(memchr(c.ip, '\0', sizeof(c.ip)) != NULL);
        CHECK_EQ(reports, n - 3 >= CMDLINE_VALUE_MAX);
    }
    memset(text, ' ', sizeof(text));
    memset(text + 2000, 'y', 2000);
    text[sizeof(text) - 1] = '\0';
    refused(text);
}

TEST(cmdline_ip_at_the_limit)
{
    char text[100];

    memset(text, '1', sizeof(text));
    memcpy(text, "ip=", 3);
    text[3 + CMDLINE_VALUE_MAX - 1] = '\0';
    parse(text);
    CHECK_EQ(reports, 0);
    CHECK_STR_EQ(c.ip, text + 3);
    text[3 + CMDLINE_VALUE_MAX - 1] = '1';
    text[3 + CMDLINE_VALUE_MAX] = '\0';
    refused(text);
}

TEST(cmdline_long_refusals_are_fine)
{
    parse("refuse=csum,guest_csum,ctrl_guest_offloads,mtu,guest_tso4,"
          "guest_tso6,guest_ecn,guest_ufo,host_tso4,host_tso6,host_ecn,"
          "host_ufo,mrg_rxbuf,status,ctrl_vq");
    CHECK_EQ(reports, 0);
    CHECK_EQ(c.refuse, UINT64_C(0x3ff8f) & ~UINT64_C(0x20));
}

TEST(cmdline_feature_names)
{
    CHECK_EQ(cmdline_feature("csum"), 0);
    CHECK_EQ(cmdline_feature("Speed_Duplex"), 63);
    CHECK_EQ(cmdline_feature("VERSION_1"), 32);
    CHECK_EQ(cmdline_feature("0"), 0);
    CHECK_EQ(cmdline_feature("63"), 63);
    CHECK_EQ(cmdline_feature("64") + 1, 0);
    CHECK_EQ(cmdline_feature("") + 1, 0);
    CHECK_EQ(cmdline_feature("csu") + 1, 0);
    CHECK_EQ(cmdline_feature("csumm") + 1, 0);
}
