/*
 * The allocator behind lwIP's mem_malloc(): packet headers, copied payload.
 *
 * Chunks of 32 KiB from the platform, each cut into slots of one size. A
 * chunk lies on a multiple of its size, so that a slot finds its chunk by a
 * mask. Taking and returning a slot is a step on a list. Whatever is larger
 * than the largest class is a chunk of its own. A chunk that is wholly free
 * goes back to the platform unless it is the last of its class with room.
 *
 * Under the address sanitizer (a weak symbol tells) every byte that nobody
 * asked for is out of bounds.
 */
#include "alloc.h"

#include <stdbool.h>
#include <string.h>

#include "plat.h"

void *port_mem_alloc(size_t size);
void *port_mem_calloc(size_t count, size_t size);
void port_mem_free(void *ptr);

void __asan_poison_memory_region(void const volatile *addr, size_t size)
    __attribute__((weak));
void __asan_unpoison_memory_region(void const volatile *addr, size_t size)
    __attribute__((weak));

enum {
    CHUNK_SIZE = 32768,
    CHUNK_HEADER = 64, /* keeps the slots on cache lines */
    SIZE_MAX_TOTAL = 4 << 20,
};

struct slot {
    struct slot *next;
};

struct chunk {
    struct chunk *next; /* chunks of the class that have room */
    struct chunk *prev;
    struct slot *free;
    uint32_t magic;
    uint32_t used;
    size_t size; /* of the whole chunk */
    unsigned cls;
    bool listed;
};

_Static_assert(sizeof(struct chunk) <= CHUNK_HEADER, "header fits");

/*
 * An acknowledgement and the headers of a segment without payload take 128
 * to 192 bytes, a full segment of copied payload about 1600.
 */
static const uint16_t class_size[] = {64,   128,  192,  256,  512,
                                      1024, 1664, 2560, 4608, 10816};

enum {
    CLASSES = sizeof(class_size) / sizeof(class_size[0]),
    CLASS_LARGE = CLASSES,
    CHUNK_MAGIC = 0x736c6162,
};

static struct chunk *partial[CLASSES];

struct port_mem_stats port_mem_stats;
size_t port_mem_limit;

static void poison(const void *ptr, size_t size)
{
    if (__asan_poison_memory_region)
        __asan_poison_memory_region(ptr, size);
}

static void unpoison(const void *ptr, size_t size)
{
    if (__asan_unpoison_memory_region)
        __asan_unpoison_memory_region(ptr, size);
}

static struct chunk *chunk_of(void *ptr)
{
    return (struct chunk *)((uintptr_t)ptr & ~(uintptr_t)(CHUNK_SIZE - 1));
}

static uint8_t *chunk_data(struct chunk *c)
{
    return (uint8_t *)c + CHUNK_HEADER;
}

static void list_add(struct chunk *c)
{
    c->prev = NULL;
    c->next = partial[c->cls];
    if (c->next)
        c->next->prev = c;
    partial[c->cls] = c;
    c->listed = true;
}

static void list_remove(struct chunk *c)
{
    if (c->prev)
        c->prev->next = c->next;
    else
        partial[c->cls] = c->next;
    if (c->next)
        c->next->prev = c->prev;
    c->listed = false;
}

static struct chunk *chunk_new(size_t size, unsigned cls)
{
    struct chunk *c;

    if (port_mem_limit && port_mem_stats.bytes_held + size > port_mem_limit)
        return NULL;
    c = plat_dma_alloc(size, CHUNK_SIZE);
    if (!c)
        return NULL;
    c->magic = CHUNK_MAGIC;
    c->size = size;
    c->cls = cls;
    port_mem_stats.bytes_held += size;
    return c;
}

static void chunk_free(struct chunk *c)
{
    size_t size = c->size;

    unpoison(c, size);
    c->magic = 0;
    port_mem_stats.bytes_held -= size;
    plat_dma_free(c, size);
}

static void slot_push(struct chunk *c, void *ptr)
{
    struct slot *s = ptr;

    unpoison(s, sizeof(*s));
    s->next = c->free;
    c->free = s;
    poison(s, class_size[c->cls]);
}

static void *slot_pop(struct chunk *c, size_t size)
{
    struct slot *s = c->free;

    unpoison(s, sizeof(*s));
    c->free = s->next;
    unpoison(s, size);
    if (size < sizeof(*s))
        poison((uint8_t *)s + size, sizeof(*s) - size);
    return s;
}

static struct chunk *chunk_cut(unsigned cls)
{
    struct chunk *c = chunk_new(CHUNK_SIZE, cls);
    unsigned n = (CHUNK_SIZE - CHUNK_HEADER) / class_size[cls];

    if (!c)
        return NULL;
    while (n-- > 0)
        slot_push(c, chunk_data(c) + (size_t)n * class_size[cls]);
    list_add(c);
    return c;
}

static unsigned class_for(size_t size)
{
    unsigned cls = 0;

    while (cls < CLASSES && class_size[cls] < size)
        cls++;
    return cls;
}

static void *alloc_large(size_t size)
{
    struct chunk *c;

    if (size > SIZE_MAX_TOTAL - CHUNK_HEADER)
        return NULL;
    c = chunk_new(size + CHUNK_HEADER, CLASS_LARGE);
    if (!c)
        return NULL;
    c->used = 1;
    return chunk_data(c);
}

static void *alloc_slot(unsigned cls, size_t size)
{
    struct chunk *c = partial[cls];

    if (!c)
        c = chunk_cut(cls);
    if (!c)
        return NULL;
    c->used++;
    void *ptr = slot_pop(c, size);

    if (!c->free)
        list_remove(c);
    return ptr;
}

void *port_mem_alloc(size_t size)
{
    unsigned cls = class_for(size);
    void *ptr = cls == CLASS_LARGE ? alloc_large(size) : alloc_slot(cls, size);

    if (ptr)
        port_mem_stats.in_use++;
    else
        port_mem_stats.failures++;
    return ptr;
}

void *port_mem_calloc(size_t count, size_t size)
{
    size_t total;
    void *ptr;

    if (__builtin_mul_overflow(count, size, &total))
        return NULL;
    ptr = port_mem_alloc(total);
    if (ptr)
        memset(ptr, 0, total);
    return ptr;
}

static void free_slot(struct chunk *c, void *ptr)
{
    size_t off = (size_t)((uint8_t *)ptr - chunk_data(c));

    if (off % class_size[c->cls])
        plat_panic("alloc: %p is not the start of a slot", ptr);
    slot_push(c, ptr);
    c->used--;
    if (!c->listed)
        list_add(c);
    if (c->used == 0 && (c->next || c->prev)) {
        list_remove(c);
        chunk_free(c);
    }
}

void port_mem_free(void *ptr)
{
    struct chunk *c = chunk_of(ptr);

    if (c->magic != CHUNK_MAGIC || c->used == 0)
        plat_panic("alloc: %p was not handed out", ptr);
    port_mem_stats.in_use--;
    if (c->cls == CLASS_LARGE)
        chunk_free(c);
    else
        free_slot(c, ptr);
}
