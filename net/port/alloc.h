/*
 * Counters of the allocator behind mem_malloc().
 */
#ifndef PORT_ALLOC_H
#define PORT_ALLOC_H

#include <stddef.h>
#include <stdint.h>

struct port_mem_stats {
    uint64_t in_use;     /* objects handed out and not returned */
    uint64_t bytes_held; /* taken from the platform */
    uint64_t failures;   /* requests that could not be met */
};

extern struct port_mem_stats port_mem_stats;

/*
 * Above this many bytes held from the platform, requests fail: what a peer
 * can make the stack queue must not take the receive buffers' memory.
 * 0, the start value, means no limit.
 */
extern size_t port_mem_limit;

#endif
