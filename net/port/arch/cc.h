/*
 * lwIP's compiler and system seam, on top of plat.h.
 *
 * It also declares what the port exports to the servers in net/apps, which
 * include lwIP's headers only: the clocks sys_now_ns() and sys_now_us(),
 * plat_log(), plat_random() and plat_wakeup_at().
 */
#ifndef ARCH_CC_H
#define ARCH_CC_H

#include <stddef.h>
#include <stdint.h>

#include "plat.h"

#define LWIP_NO_CTYPE_H 1

/* lwIP passes the arguments with their parentheses. */
#define PORT_DIAG(...) plat_log(LOG_DEBUG, __VA_ARGS__)
#define LWIP_PLATFORM_DIAG(x) PORT_DIAG x
#define LWIP_PLATFORM_ASSERT(x)                                              \
    plat_panic("lwip: %s, %s:%d", x, __FILE__, __LINE__)

#define LWIP_RAND() ((uint32_t)plat_random())

/* Internet checksum of a run of bytes, not complemented; chksum.c. */
#define LWIP_CHKSUM port_chksum
uint16_t port_chksum(const void *data, int len);

/* The allocator behind mem_malloc(); alloc.c. */
void *port_mem_alloc(size_t size);
void *port_mem_calloc(size_t count, size_t size);
void port_mem_free(void *ptr);

/* Time since some fixed point, never going back; clock.c. */
uint64_t sys_now_ns(void);
uint64_t sys_now_us(void);

#endif
