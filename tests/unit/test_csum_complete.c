/*
 * net/csum_complete.c: frames whose checksum was left open, in one piece and
 * in many, against the plain sums of the test's own frame code.
 */
#include <string.h>

#include "check.h"
#include "csum_complete.h"
#include "frame.h"
#include "lwip/memp.h"

static uint8_t frame[70000];
static uint8_t got[70000];

/* A chain over the bytes of f, pieces of `piece` bytes, the first `first`. */
static struct pbuf *chain(uint8_t *f, uint32_t len, uint32_t first,
                          uint32_t piece)
{
    struct pbuf *head = NULL;
    uint32_t at = 0;

    memp_init(); /* every chain takes the pool as it was at first */
    while (at < len) {
        uint32_t n = at == 0 ? first : piece;
        struct pbuf *p;

        n = n < len - at ? n : len - at;
        p = pbuf_alloc_reference(f + at, (u16_t)n, PBUF_REF);
        CHECK(p);
        at += n;
        if (head)
            pbuf_cat(head, p);
        else
            head = p;
    }
    return head;
}

/* Completed, the frame is that which has its checksum from the beginning. */
static void check_frame(struct frame_spec s, uint32_t first, uint32_t piece)
{
    struct frame_info i;
    struct pbuf *p;
    uint32_t len;

    s.partial = false;
    len = frame_make(frame, &s);
    s.partial = true;
    CHECK_EQ(frame_make(got, &s), len);
    CHECK(frame_parse(frame, len, &i));
    CHECK(memcmp(frame, got, len) != 0);
    p = chain(got, len, first, piece);
    CHECK(csum_complete(p, i.l4, i.csum - i.l4));
    CHECK_MEM_EQ(got, frame, len);
    CHECK(frame_l4_csum_ok(got, &i));
    pbuf_free(p);
}

static void check_spec(const struct frame_spec *s)
{
    check_frame(*s, 66000, 66000);
    check_frame(*s, 14, 1);
    check_frame(*s, 35, 2);
    for (uint32_t first = 30; first < 64; first++)
        check_frame(*s, first, 7);
    check_frame(*s, 1514, 999);
}

TEST(csum_of_any_frame_in_any_pieces)
{
    for (unsigned k = 0; k < 8; k++) {
        struct frame_spec s = {.ipv6 = k & 1, .vlan = k & 2, .udp = k & 4};

        for (s.payload = 0; s.payload < 1400; s.payload += 173) {
            s.seed = (uint8_t)(s.payload * 3 + k);
            check_spec(&s);
        }
    }
}

TEST(csum_of_a_merged_frame)
{
    struct frame_spec s = {.payload = 65000, .seed = 9};

    check_frame(s, 2000, 1501);
    s.ipv6 = true;
    check_frame(s, 77, 4097);
}

/* The bytes of the payload make the sum 0xffff, whose complement is zero. */
TEST(csum_zero_is_sent_as_all_ones)
{
    struct frame_spec s = {.udp = true, .payload = 2, .partial = true};
    uint32_t len = frame_make(got, &s);
    struct frame_info i;
    struct pbuf *p;
    uint16_t rest;

    CHECK(frame_parse(got, len, &i));
    got[i.payload] = got[i.payload + 1] = 0;
    rest = (uint16_t)~frame_fold(frame_sum(0, got + i.l4, len - i.l4));
    got[i.payload] = (uint8_t)(rest >> 8);
    got[i.payload + 1] = (uint8_t)rest;
    p = chain(got, len, 41, 3);
    CHECK(csum_complete(p, i.l4, 6));
    CHECK_EQ(got[i.csum], 0xff);
    CHECK_EQ(got[i.csum + 1], 0xff);
    pbuf_free(p);
}

TEST(csum_field_at_an_odd_offset)
{
    uint8_t data[9] = {0, 1, 2, 0, 0, 7, 9, 11, 13};
    uint8_t swapped[10] = {0};
    struct pbuf *p = chain(data, sizeof(data), 4, 2);

    CHECK(csum_complete(p, 0, 3));
    /* Behind one zero byte more, the field is at an even offset: the sum over
     * words that begin one byte later must be all ones there. */
    memcpy(swapped + 1, data, sizeof(data));
    CHECK_EQ(frame_fold(frame_sum(0, swapped, sizeof(swapped))), 0xffff);
    pbuf_free(p);
}

TEST(csum_field_outside_the_frame)
{
    uint8_t data[40], before[40];
    struct pbuf *p = chain(data, sizeof(data), 20, 20);

    memset(data, 0x5a, sizeof(data));
    memcpy(before, data, sizeof(data));
    CHECK(!csum_complete(p, 41, 0));
    CHECK(!csum_complete(p, 40, 0));
    CHECK(!csum_complete(p, 39, 0));
    CHECK(!csum_complete(p, 20, 19));
    CHECK(!csum_complete(p, 20, 65535));
    CHECK(!csum_complete(p, 65535, 65535));
    CHECK_MEM_EQ(data, before, sizeof(data));
    CHECK(csum_complete(p, 20, 18));
    CHECK_MEM_EQ(data, before, 38);
    pbuf_free(p);
}

/* A packet without Ethernet header, whatever stands in the field. */
TEST(csum_of_an_ip_packet)
{
    for (unsigned k = 0; k < 4; k++) {
        struct frame_spec s = {.ipv6 = k & 1, .udp = k & 2, .payload = 3001};
        uint32_t len = frame_make(frame, &s);
        struct frame_info i;
        struct pbuf *p;

        memcpy(got, frame, len);
        CHECK(frame_parse(frame, len, &i));
        got[i.csum] ^= 0xa7;
        p = chain(got + 14, len - 14, 80, 1111);
        CHECK(csum_complete_ip(p));
        CHECK_MEM_EQ(got, frame, len);
        pbuf_free(p);
    }
}

/* Nothing that says of itself what is not so makes us write outside. */
TEST(csum_of_no_whole_packet)
{
    struct frame_spec s = {.payload = 100};
    uint32_t len = frame_make(frame, &s);

    for (unsigned k = 0; k < 6; k++) {
        struct pbuf *p;

        memcpy(got, frame, len);
        switch (k) {
        case 0:
            got[14 + 6] = 0x20; /* more fragments */
            break;
        case 1:
            got[14 + 7] = 9; /* not the first */
            break;
        case 2:
            got[14 + 9] = 1; /* ICMP */
            break;
        case 3:
            got[14 + 2] = 2; /* longer than the packet */
            break;
        case 4:
            got[14] = 0x43; /* a header of 12 bytes */
            break;
        default:
            got[14] = 0x95; /* no version of IP */
            break;
        }
        memcpy(frame, got, len);
        p = chain(got + 14, len - 14, 40, 1111);
        CHECK(!csum_complete_ip(p));
        CHECK_MEM_EQ(got, frame, len);
        pbuf_free(p);
        frame_make(frame, &s);
    }
}
