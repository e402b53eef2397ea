/*
 * PLATFORM SEAM: what a build must supply, chosen at link time.
 *
 * Everything in drivers/ and net/ rests on these functions and on nothing
 * else of the machine. kernel/plat.c implements them for the bare machine,
 * tests/host/ for a Linux process. A port to another kernel writes its own.
 *
 * Context: drivers and stack run in one context per core. These functions
 * are called from that context only, never from an interrupt handler, with
 * the exception of plat_log and plat_panic, which must work anywhere.
 */
#ifndef PLAT_H
#define PLAT_H

#include <stddef.h>
#include <stdint.h>

/*
 * Zeroed memory that the device may read and write, physically contiguous.
 *
 * size   bytes, 1 .. 4 MiB; rounded up to whole pages of 4096 by the platform
 * align  a power of two, at most 65536; anything below 4096 means 4096
 * Returns NULL when there is none; that is ordinary and must be survived.
 */
void *plat_dma_alloc(size_t size, size_t align);

/* Gives back what plat_dma_alloc returned, with the same size. */
void plat_dma_free(void *ptr, size_t size);

/*
 * The address under which the device sees the byte at ptr.
 *
 * Valid for memory of plat_dma_alloc and, for data that the device only
 * reads, for every object of the program (static data, heap). A run of bytes
 * inside one object is contiguous for the device too.
 */
uint64_t plat_dma_addr(const void *ptr);

/* Nanoseconds since some fixed point before start; never goes back. */
uint64_t plat_now_ns(void);

/*
 * Asks that the idle loop be left no later than at the time `ns` (on the
 * clock of plat_now_ns). Requests add up: the earliest wins; they are
 * forgotten when the loop wakes. A time that has passed wakes at once.
 */
void plat_wakeup_at(uint64_t ns);

/* A pause inside a short wait for the device. */
void plat_relax(void);

/* 64 random bits, not to be guessed by a peer. */
uint64_t plat_random(void);

enum plat_log_level { LOG_ERR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/*
 * One line of log, without the newline. The formats understood everywhere:
 * %s %c %d %i %u %x %X %p %% with - 0 width, .precision and the sizes
 * hh h l ll z.
 */
void plat_log(enum plat_log_level level, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Ends the program with a message: for our own mistakes only. */
_Noreturn void plat_panic(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));

#endif
