/*
 * The Linux process as a platform: what a test controls and observes of it.
 * Implements include/plat.h (plat_host.c, arena.c) and include/plat_pci.h
 * (fake_pci.c, see fake_pci.h).
 */
#ifndef HOST_H
#define HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plat.h"

/* Called by the runner around every test. */
void host_begin(void);
void host_end(void);

/* Fails the test when anything is outstanding beyond the baseline. */
void host_leak_check(void);

/* What is outstanding now is allowed to stay (a stack that never stops). */
void host_leak_baseline(void);

/* Something else to be counted by the leak check: receive buffers, pbufs. */
void host_leak_probe(const char *what, uint64_t (*count)(void));

/* ---- memory ------------------------------------------------------------- */

/*
 * DMA memory is a file mapped twice. The driver's view is what
 * plat_dma_alloc returns; the device's view is another address range; the
 * device address is neither. Freed pages cannot be touched through the
 * driver's view.
 */
#define HOST_ARENA_BYTES (UINT64_C(128) << 20)
/* The arena crosses a multiple of 4 GiB after 4.7 MiB. */
#define HOST_DMA_BASE UINT64_C(0x2ffb50000)
/* Device addresses of memory outside of the arena: device-readable only. */
#define HOST_DMA_OUTSIDE (UINT64_C(1) << 60)

/*
 * The device's view of `len` bytes at device address `addr`, or NULL, and
 * the reason in *why: not memory that the driver may name.
 */
void *host_dma_view(uint64_t addr, uint64_t len, bool write, const char **why);

/* The driver's view of the same; no checks. */
void *host_dma_driver_view(uint64_t addr);

/* Called before memory is given back: device address and bytes. */
extern void (*host_on_dma_free)(uint64_t addr, uint64_t len);

/* The n-th allocation from now on fails (1: the next one; 0: none). */
void host_fail_alloc(unsigned n);
/* Every allocation fails, until switched off. */
void host_fail_alloc_all(bool on);
/* Allocations asked for and failed since the test began. */
unsigned host_allocs(void);
unsigned host_allocs_failed(void);
/* Live allocations, and the bytes in them. */
unsigned host_dma_live(void);
uint64_t host_dma_live_bytes(void);

/* Poisoning in the driver's view; does nothing without the sanitizer. */
void host_poison(const void *ptr, size_t len);
void host_unpoison(const void *ptr, size_t len);
/* Has the sanitizer been told not to touch a byte of this? */
bool host_poisoned(const void *ptr, size_t len);

/* ---- time, chance, log -------------------------------------------------- */

extern uint64_t host_now;        /* the clock, ns */
extern uint64_t host_now_step;   /* added by each plat_now_ns; 0 */
extern uint64_t host_relax_step; /* added by each plat_relax; 10 us */
extern bool host_clock_real;     /* the real clock instead */

static inline void host_advance_ms(uint64_t ms)
{
    host_now += ms * UINT64_C(1000000);
}

/* The earliest wake-up asked for since the last call; UINT64_MAX: none. */
uint64_t host_wakeup_take(void);
uint64_t host_wakeup(void); /* the same, and it stays */

void host_seed(uint64_t seed);

extern bool host_verbose; /* -v: log lines go to stderr as well */

/* Log lines of this test that contain `text`. */
unsigned host_log_count(const char *text);
void host_log_clear(void);

#endif
