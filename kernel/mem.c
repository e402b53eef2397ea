/*
 * The machine's memory. Owns every page that the boot information calls
 * usable, from 1 MiB to MEM_TOP, without the image and the modules.
 *
 * Memory below 1 MiB is left alone: firmware data and the loader's structures
 * are there, and nothing may ever be found at page 0.
 */
#include "mem.h"

#include <string.h>

#include "image.h"
#include "kmem.h"
#include "plat.h"

#define LOW_END UINT64_C(0x100000)
#define FOUR_GIB (UINT64_C(1) << 32)
/* One state byte a page: 16 MiB for this much. More memory is not used. */
#define MEM_TOP (UINT64_C(64) << 30)

static struct ranges ram;  /* mapped */
static struct ranges pool; /* given to the allocator */
static struct kmem kmem;

/* Takes room for the allocator's own table out of the pool. */
static uint8_t *carve(uint64_t bytes)
{
    bytes = (bytes + KMEM_PAGE - 1) & ~(uint64_t)(KMEM_PAGE - 1);
    for (unsigned i = 0; i < pool.count; i++) {
        uint64_t start = pool.r[i].start, end = pool.r[i].end;

        if (end > FOUR_GIB)
            end = FOUR_GIB;
        if (start < end && end - start >= bytes) {
            ranges_remove(&pool, start, start + bytes);
            return (uint8_t *)(uintptr_t)start;
        }
    }
    plat_panic("no room for the page allocator's table");
}

static void give(uint64_t from, uint64_t to)
{
    for (unsigned i = 0; i < pool.count; i++) {
        uint64_t start = pool.r[i].start, end = pool.r[i].end;

        if (start < from)
            start = from;
        if (end > to)
            end = to;
        if (start < end)
            kmem_give(&kmem, start, (end - start) / KMEM_PAGE);
    }
}

static void find_ram(const struct bootinfo *b)
{
    ram = b->ram;
    ranges_remove(&ram, 0, LOW_END);
    ranges_remove(&ram, MEM_TOP, UINT64_MAX);
    ranges_to_pages(&ram);
    if (b->ram.count > 0 && b->ram.r[b->ram.count - 1].end > MEM_TOP)
        plat_log(LOG_WARN, "memory above 64 GiB is not used");
}

void mem_init_low(const struct bootinfo *b)
{
    uint64_t pages;

    find_ram(b);
    pool = ram;
    ranges_remove(&pool, image_addr(image_start), image_addr(image_end));
    for (unsigned i = 0; i < b->modules; i++)
        ranges_remove(&pool, b->module[i].start & ~(uint64_t)(KMEM_PAGE - 1),
                      b->module[i].end);
    ranges_to_pages(&pool);
    if (pool.count == 0)
        plat_panic("the boot loader named no usable memory");
    pages = pool.r[pool.count - 1].end / KMEM_PAGE;
    kmem_init(&kmem, 0, pages, carve(pages));
    give(0, FOUR_GIB);
}

void mem_init_high(void)
{
    give(FOUR_GIB, UINT64_MAX);
}

const struct ranges *mem_ram(void)
{
    return &ram;
}

void *mem_pages_alloc(size_t n, size_t align)
{
    void *ptr = (void *)kmem_alloc(&kmem, n, align);

    if (ptr)
        memset(ptr, 0, n * KMEM_PAGE);
    return ptr;
}

void mem_pages_free(void *ptr, size_t n)
{
    if (!kmem_free(&kmem, (uintptr_t)ptr, n))
        plat_panic("%zu pages at %p freed that are not allocated", n, ptr);
}

void mem_info(struct mem_info *info)
{
    info->total = (uint64_t)kmem.pages_total * KMEM_PAGE;
    info->free = (uint64_t)kmem.pages_free * KMEM_PAGE;
    info->largest = (uint64_t)kmem_largest(&kmem) * KMEM_PAGE;
    info->failures = kmem.failures;
}
