/*
 * Checksums that were left open, see csum_complete.h. RFC 1071.
 *
 * port_chksum() adds words as they lie in memory. A piece that begins at an
 * odd offset has its bytes in the other half of each word, so its sum is
 * turned round before it is added.
 */
#include "csum_complete.h"

#include "arch/cc.h"
#include "gso.h"

static uint32_t sum_chain(const struct pbuf *p, unsigned skip)
{
    uint32_t sum = 0;
    bool odd = false;

    for (; p; p = p->next) {
        unsigned len = p->len;
        uint16_t part;

        if (skip >= len) {
            skip -= len;
            continue;
        }
        len -= skip;
        part = port_chksum((const uint8_t *)p->payload + skip, (int)len);
        sum += odd ? (uint16_t)(part << 8 | part >> 8) : part;
        odd ^= len & 1;
        skip = 0;
    }
    return sum;
}

static uint8_t *byte_at(struct pbuf *p, unsigned at)
{
    for (; at >= p->len; p = p->next)
        at -= p->len;
    return (uint8_t *)p->payload + at;
}

bool csum_complete(struct pbuf *p, unsigned start, unsigned offset)
{
    uint32_t sum;
    uint8_t *lo, *hi;

    if (start > p->tot_len || offset > p->tot_len - start ||
        p->tot_len - start - offset < 2)
        return false;
    sum = sum_chain(p, start);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = ~sum & 0xffff;
    if (sum == 0)
        sum = 0xffff;
    lo = byte_at(p, start + offset);
    hi = byte_at(p, start + offset + 1);
    /* A field at an odd offset of the sum has its halves exchanged. */
    *lo = (uint8_t)(offset & 1 ? sum >> 8 : sum);
    *hi = (uint8_t)(offset & 1 ? sum : sum >> 8);
    return true;
}

bool csum_complete_ip(struct pbuf *p)
{
    struct gso_seg s;

    if (gso_parse_ip(&s, p, 0) != GSO_SEGMENT)
        return false;
    gso_open_csum(&s);
    return csum_complete(p, s.l4, gso_csum_offset(&s));
}
