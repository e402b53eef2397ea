/*
 * Ethernet frames in tests: taken apart, checked, cut up, made.
 */
#ifndef FRAME_H
#define FRAME_H

#include <stdbool.h>
#include <stdint.h>

enum { FRAME_TCP = 6, FRAME_UDP = 17, FRAME_ICMP6 = 58 };

/* Where things are. l4_proto 0: nothing known above the network layer. */
struct frame_info {
    bool ipv4;
    bool ipv6;
    bool fragment;
    unsigned l3;       /* offset of the IP header */
    unsigned l4;       /* of the TCP or UDP header */
    uint8_t l4_proto;
    unsigned csum;     /* of the checksum field */
    unsigned payload;
    unsigned end;      /* of the IP packet; what follows is padding */
};

/* False: not IP, or headers that reach past the end. */
bool frame_parse(const uint8_t *frame, uint32_t len, struct frame_info *i);

/* One's complement sums. */
uint32_t frame_sum(uint32_t sum, const uint8_t *p, uint32_t len);
uint16_t frame_fold(uint32_t sum);

/* Sum of the pseudo header for `len` bytes of transport header and data. */
uint32_t frame_pseudo(const uint8_t *frame, const struct frame_info *i,
                      uint32_t len);

/* Checksums of an IPv4 header, and of what it carries. */
bool frame_ip_csum_ok(const uint8_t *frame, const struct frame_info *i);
bool frame_l4_csum_ok(const uint8_t *frame, const struct frame_info *i);

/* Finishes a checksum that starts at `start`, field at start + offset. */
void frame_finish_csum(uint8_t *frame, uint32_t len, unsigned start,
                       unsigned offset);

/*
 * Piece n of a TCP or UDP frame cut into `size` bytes of payload each, as
 * segmenting hardware does it. Returns its length, 0 behind the last one.
 * Checksums are complete.
 */
uint32_t frame_cut(const uint8_t *frame, uint32_t len,
                   const struct frame_info *i, unsigned size, unsigned n,
                   uint8_t *out);

/* What to make; zero means a sensible value. */
struct frame_spec {
    bool ipv6;
    bool udp;
    bool vlan;
    bool partial;      /* the checksum field holds the pseudo header's sum */
    bool bad_csum;
    uint8_t tcp_flags; /* 0: ACK and PSH */
    uint32_t seq;
    uint16_t sport;
    uint16_t dport;
    uint32_t payload;  /* bytes, of a pattern */
    uint8_t seed;      /* of the pattern */
};

/* Makes it; returns its length. `out` has room for 65 KiB and 100 bytes. */
uint32_t frame_make(uint8_t *out, const struct frame_spec *s);

/* An Ethernet frame of no known protocol, `len` bytes of a pattern. */
void frame_make_raw(uint8_t *out, uint32_t len, uint32_t seed);
bool frame_is_raw(const uint8_t *frame, uint32_t len, uint32_t seed);

#endif
