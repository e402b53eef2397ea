/*
 * DMA memory for a Linux process. Owns a file that is mapped twice.
 *
 * The point is that lucky mistakes fail: a pointer given to the device, a
 * descriptor that reaches past its allocation, a use after free, each is
 * noticed the first time it happens. Pages are handed out next-fit, so a page
 * that was freed stays out of use for as long as possible.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arena.h"
#include "check.h"
#include "host.h"

#if defined(__SANITIZE_ADDRESS__)
#define HAVE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAVE_ASAN 1
#endif
#endif
#ifdef HAVE_ASAN
#include <sanitizer/asan_interface.h>
#endif

#define PAGE 4096u
#define PAGES ((unsigned)(HOST_ARENA_BYTES / PAGE))
#define ALLOC_MAX (4u << 20)

/* One a page. `pages` is set in the first page of an allocation only. */
struct page {
    uint32_t first; /* first page of the allocation, plus 1; 0: free */
    uint32_t pages;
};

static uint8_t *driver_view;
static uint8_t *device_view;
static struct page *page;
static unsigned cursor;
static unsigned live;
static uint64_t live_bytes;
static unsigned asked;
static unsigned failed;
static unsigned fail_at; /* value of `asked` at which to fail, 0: never */
static bool fail_all;

void (*host_on_dma_free)(uint64_t addr, uint64_t len);

void host_poison(const void *ptr, size_t len)
{
#ifdef HAVE_ASAN
    __asan_poison_memory_region(ptr, len);
#else
    (void)ptr;
    (void)len;
#endif
}

void host_unpoison(const void *ptr, size_t len)
{
#ifdef HAVE_ASAN
    __asan_unpoison_memory_region(ptr, len);
#else
    (void)ptr;
    (void)len;
#endif
}

bool host_poisoned(const void *ptr, size_t len)
{
#ifdef HAVE_ASAN
    return __asan_region_is_poisoned((void *)(uintptr_t)ptr, len) != NULL;
#else
    (void)ptr;
    (void)len;
    return false;
#endif
}

static void *map(int fd, int prot)
{
    void *p = mmap(NULL, HOST_ARENA_BYTES, prot, MAP_SHARED, fd, 0);

    if (p == MAP_FAILED)
        check_fail(__FILE__, __LINE__, "cannot map the arena");
    return p;
}

void arena_begin(void)
{
    int fd = memfd_create("dma", MFD_CLOEXEC);

    if (fd < 0 || ftruncate(fd, (off_t)HOST_ARENA_BYTES) != 0)
        check_fail(__FILE__, __LINE__, "cannot make the arena");
    driver_view = map(fd, PROT_NONE);
    device_view = map(fd, PROT_READ | PROT_WRITE);
    close(fd);
    page = calloc(PAGES, sizeof(*page));
    CHECK(page);
    cursor = live = asked = failed = fail_at = 0;
    live_bytes = 0;
    fail_all = false;
    host_on_dma_free = NULL;
}

void arena_end(void)
{
    munmap(driver_view, HOST_ARENA_BYTES);
    munmap(device_view, HOST_ARENA_BYTES);
    free(page);
    page = NULL;
}

void host_fail_alloc(unsigned n)
{
    fail_at = n ? asked + n : 0;
}

void host_fail_alloc_all(bool on)
{
    fail_all = on;
}

unsigned host_allocs(void)
{
    return asked;
}

unsigned host_allocs_failed(void)
{
    return failed;
}

unsigned host_dma_live(void)
{
    return live;
}

uint64_t host_dma_live_bytes(void)
{
    return live_bytes;
}

/* Is the run free? If not, *at becomes the page behind what is in the way. */
static bool run_is_free(unsigned *at, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (page[*at + i].first) {
            *at += i + 1;
            return false;
        }
    }
    return true;
}

static unsigned align_page(unsigned at, unsigned step)
{
    /* The base is a multiple of 64 KiB, so pages align as addresses do. */
    return (at + step - 1) / step * step;
}

/* The first of n free pages at a multiple of `step`; PAGES if none. */
static unsigned find_run(unsigned from, unsigned to, unsigned n, unsigned step)
{
    unsigned at = align_page(from, step);

    while (at + n <= to) {
        if (run_is_free(&at, n))
            return at;
        at = align_page(at, step);
    }
    return PAGES;
}

static bool must_fail(void)
{
    asked++;
    if (!fail_all && asked != fail_at)
        return false;
    failed++;
    return true;
}

void *plat_dma_alloc(size_t size, size_t align)
{
    unsigned n = (unsigned)((size + PAGE - 1) / PAGE);
    unsigned step = align > PAGE ? (unsigned)(align / PAGE) : 1;
    unsigned at;
    uint8_t *p;

    if (size == 0 || size > ALLOC_MAX || align > 65536 ||
        (align & (align - 1)) != 0)
        check_fail(__FILE__, __LINE__, "plat_dma_alloc(%zu, %zu)", size, align);
    if (must_fail())
        return NULL;
    at = find_run(cursor, PAGES, n, step);
    if (at == PAGES)
        at = find_run(0, PAGES, n, step);
    if (at == PAGES)
        return NULL;
    cursor = at + n;
    for (unsigned i = 0; i < n; i++)
        page[at + i].first = at + 1;
    page[at].pages = n;
    live++;
    live_bytes += size;
    p = driver_view + (size_t)at * PAGE;
    if (mprotect(p, (size_t)n * PAGE, PROT_READ | PROT_WRITE) != 0)
        check_fail(__FILE__, __LINE__, "mprotect");
    memset(p, 0, (size_t)n * PAGE);
    /* What lies behind `size` in the last page is nobody's. */
    host_poison(p + size, (size_t)n * PAGE - size);
    return p;
}

static bool in_arena(const void *ptr)
{
    return (uintptr_t)ptr - (uintptr_t)driver_view < HOST_ARENA_BYTES;
}

void plat_dma_free(void *ptr, size_t size)
{
    unsigned n = (unsigned)((size + PAGE - 1) / PAGE);
    unsigned at = (unsigned)((size_t)((uint8_t *)ptr - driver_view) / PAGE);

    if (!in_arena(ptr) || page[at].first != at + 1 || page[at].pages != n ||
        (uintptr_t)ptr % PAGE != 0)
        check_fail(__FILE__, __LINE__, "plat_dma_free(%p, %zu): not an "
                   "allocation of this size", ptr, size);
    if (host_on_dma_free)
        host_on_dma_free(plat_dma_addr(ptr), (uint64_t)n * PAGE);
    for (unsigned i = 0; i < n; i++)
        page[at + i] = (struct page){0};
    live--;
    live_bytes -= size;
    host_unpoison(ptr, (size_t)n * PAGE);
    memset(ptr, 0xdd, (size_t)n * PAGE);
    if (mprotect(ptr, (size_t)n * PAGE, PROT_NONE) != 0)
        check_fail(__FILE__, __LINE__, "mprotect");
}

uint64_t plat_dma_addr(const void *ptr)
{
    if (in_arena(ptr))
        return HOST_DMA_BASE + ((uintptr_t)ptr - (uintptr_t)driver_view);
    return HOST_DMA_OUTSIDE + (uintptr_t)ptr;
}

void *host_dma_driver_view(uint64_t addr)
{
    if (addr - HOST_DMA_BASE < HOST_ARENA_BYTES)
        return driver_view + (addr - HOST_DMA_BASE);
    return (void *)(uintptr_t)(addr - HOST_DMA_OUTSIDE);
}

/* Memory of the program: readable, and alive as far as can be told. */
static void *outside_view(uint64_t addr, uint64_t len, bool write,
                          const char **why)
{
    void *p = (void *)(uintptr_t)(addr - HOST_DMA_OUTSIDE);

    *why = NULL;
    if (addr < HOST_DMA_OUTSIDE || addr - HOST_DMA_OUTSIDE < 65536 ||
        addr - HOST_DMA_OUTSIDE >= UINT64_C(1) << 47)
        *why = "not an address that plat_dma_addr gave out";
    else if (write)
        *why = "the device may write to plat_dma_alloc memory only";
    else if (host_poisoned(p, len))
        *why = "memory outside of the arena that is not alive";
    return *why ? NULL : p;
}

void *host_dma_view(uint64_t addr, uint64_t len, bool write, const char **why)
{
    uint64_t off = addr - HOST_DMA_BASE;
    unsigned first;

    if (off >= HOST_ARENA_BYTES)
        return outside_view(addr, len, write, why);
    *why = NULL;
    first = page[off / PAGE].first;
    if (first == 0)
        *why = "memory that is not allocated";
    else if (len > HOST_ARENA_BYTES ||
             off + len > (uint64_t)(first - 1 + page[first - 1].pages) * PAGE)
        *why = "reaches past the end of its allocation";
    return *why ? NULL : device_view + off;
}
