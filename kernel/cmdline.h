/*
 * The kernel's command line. Pure.
 *
 *     ip=dhcp|A.B.C.D/LEN  gw=A.B.C.D  log=err|warn|info|debug  budget=N
 *     rx-ring=N  tx-ring=N  rx-bufs=N  refuse=NAME[,NAME...]  tsc=HZ
 *     gro=on|off
 *     rx-mode=auto|small|big|mergeable  rx-buf=auto|mtu|page|mtu-faulty|BYTES
 *     rx-copy=none|BYTES  rx-early=on|off
 */
#ifndef CMDLINE_H
#define CMDLINE_H

#include <stdbool.h>
#include <stdint.h>

#define CMDLINE_VALUE_MAX 64u

struct cmdline {
    char ip[CMDLINE_VALUE_MAX]; /* as given, "dhcp" by default */
    char gw[CMDLINE_VALUE_MAX]; /* as given, or empty */
    unsigned log;               /* enum plat_log_level */
    unsigned budget;            /* frames a turn */
    uint16_t rx_ring;           /* 0: the driver's default */
    uint16_t tx_ring;
    uint32_t rx_bufs;
    bool gro;        /* merge received segments in software */
    uint8_t rx_mode;  /* enum vnet_rx_mode */
    uint8_t rx_size;  /* enum vnet_rx_size */
    uint32_t rx_bytes;
    uint16_t rx_copy; /* as struct vnet_config has it */
    bool rx_early;
    uint64_t refuse; /* feature bits not to be accepted */
    uint64_t tsc_hz; /* 0: find out */
};

/*
 * Fills *c with defaults and with what `text` says; a later setting of a key
 * replaces an earlier one, except for refuse, which adds up. report() is
 * called with a line of text for every key that is unknown and every value
 * that is not usable; they change nothing.
 */
void cmdline_parse(struct cmdline *c, const char *text,
                   void (*report)(const char *line));

/* The number of the feature bit that is called `name` (without the prefix
 * VIRTIO_NET_F_ or VIRTIO_F_, upper or lower case) or is that number in
 * decimal; -1 when there is none. */
int cmdline_feature(const char *name);

#endif
