/*
 * Checksums in software where a device was to finish them, or left them
 * unfinished: the field holds the sum of the pseudo header, not complemented
 * (virtio 1.3, 5.1.6.2.1 and 5.1.6.4.2), and the rest is added here.
 *
 * Needed for a received frame of VNET_CSUM_PARTIAL that is sent on, and for
 * a packet that is cut into fragments although its checksum was left to the
 * device. What is delivered to the stack of this machine needs none of it.
 */
#ifndef CSUM_COMPLETE_H
#define CSUM_COMPLETE_H

#include <stdbool.h>
#include <stdint.h>

#include "lwip/pbuf.h"

/*
 * Finishes the checksum over all bytes from `start` to the end of the chain;
 * its field is at start + offset. Pieces may be of any length, the field may
 * be divided between two of them, and nothing but the field is written. A
 * result of zero becomes 0xffff, which means the same to TCP and is needed
 * for UDP. False, and nothing is written: the field is not in the frame.
 */
bool csum_complete(struct pbuf *p, unsigned start, unsigned offset);

/*
 * The same for an IP packet that begins at p->payload, without Ethernet
 * header, if it carries TCP or UDP and is no fragment: the sum of the pseudo
 * header is put in first, whatever the field held. False: it is none.
 */
bool csum_complete_ip(struct pbuf *p);

#endif
