/*
 * The allocator behind lwIP's mem_malloc(): packet headers, copied payload.
 *
 * Chunks of 32 KiB from the platform, each cut into slots of one size. A slot
 * begins with a word that names its chunk; what follows is handed out. Taking
 * and returning a slot is a step on a list. What is larger than the largest
 * slot is a chunk of its own. A chunk that is wholly free goes back to the
 * platform unless it is the last of its class with room.
 *
 * Under the address sanitizer (a weak symbol tells) every byte that nobody
 * asked for is out of bounds.
 */
#include "alloc.h"

#include <stdbool.h>
#include <string.h>

#include "arch/cc.h"

void __asan_poison_memory_region(void const volatile *addr, size_t size)
    __attribute__((weak));
void __asan_unpoison_memory_region(void const volatile *addr, size_t size)
    __attribute__((weak));

enum {
    CHUNK_SIZE = 32768,
    SIZE_MOST = 4 << 20, /* what the platform gives in one piece */
};

struct chunk;

struct slot {
    struct chunk *chunk; /* NULL while the slot is free */
    union {
        struct slot *next; /* while it is free */
        uint8_t data[8];   /* and more */
    };
};

struct chunk {
    struct chunk *next; /* chunks of the class that have room */
    struct chunk *prev;
    struct slot *free;
    size_t size; /* of the whole chunk */
    unsigned cls;
    uint32_t used;
    _Alignas(64) struct slot first;
};

enum {
    CHUNK_HEADER = offsetof(struct chunk, first),
    SLOT_HEADER = offsetof(struct slot, data),
};

/*
 * Sizes of slots. An acknowledgement or the headers of a segment without
 * payload take 128 to 192 bytes, a full segment of copied payload 1600.
 */
static const uint16_t class_size[] = {64,   128,  192,  256,  512,
                                      1024, 1664, 2560, 4608, 10816};

enum {
    CLASSES = sizeof(class_size) / sizeof(class_size[0]),
    CLASS_LARGE = CLASSES,
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

/* ---- chunks ----------------------------------------------------------- */

static void list_add(struct chunk *c)
{
    c->prev = NULL;
    c->next = partial[c->cls];
    if (c->next)
        c->next->prev = c;
    partial[c->cls] = c;
}

static void list_remove(struct chunk *c)
{
    if (c->prev)
        c->prev->next = c->next;
    else
        partial[c->cls] = c->next;
    if (c->next)
        c->next->prev = c->prev;
}

static struct chunk *chunk_new(size_t size, unsigned cls)
{
    struct chunk *c;

    if (port_mem_limit && port_mem_stats.bytes_held + size > port_mem_limit)
        return NULL;
    c = plat_dma_alloc(size, 4096);
    if (!c)
        return NULL;
    c->size = size;
    c->cls = cls;
    port_mem_stats.bytes_held += size;
    return c;
}

static void chunk_free(struct chunk *c)
{
    size_t size = c->size;

    unpoison(c, size);
    port_mem_stats.bytes_held -= size;
    plat_dma_free(c, size);
}

/* ---- slots ------------------------------------------------------------ */

static void slot_push(struct chunk *c, struct slot *s)
{
    unpoison(s, sizeof(*s));
    s->chunk = NULL;
    s->next = c->free;
    c->free = s;
    poison(s, class_size[c->cls]);
}

static void *slot_out(struct chunk *c, struct slot *s, size_t size)
{
    s->chunk = c;
    poison(s, SLOT_HEADER);
    unpoison(s->data, size);
    return s->data;
}

static void *slot_pop(struct chunk *c, size_t size)
{
    struct slot *s = c->free;

    unpoison(s, sizeof(*s));
    c->free = s->next;
    poison(s->data, sizeof(s->data));
    c->used++;
    return slot_out(c, s, size);
}

/* A new chunk, cut into slots, the first of them in front. */
static struct chunk *chunk_cut(unsigned cls)
{
    struct chunk *c = chunk_new(CHUNK_SIZE, cls);
    unsigned n = (CHUNK_SIZE - CHUNK_HEADER) / class_size[cls];

    if (!c)
        return NULL;
    while (n-- > 0)
        slot_push(c, (struct slot *)((uint8_t *)&c->first +
                                     (size_t)n * class_size[cls]));
    list_add(c);
    return c;
}

static unsigned class_for(size_t size)
{
    unsigned cls = 0;

    while (cls < CLASSES && class_size[cls] - (size_t)SLOT_HEADER < size)
        cls++;
    return cls;
}

static void *alloc_large(size_t size)
{
    struct chunk *c;

    if (size > SIZE_MOST - CHUNK_HEADER - SLOT_HEADER)
        return NULL;
    c = chunk_new(CHUNK_HEADER + SLOT_HEADER + size, CLASS_LARGE);
    if (!c)
        return NULL;
    c->used = 1;
    return slot_out(c, &c->first, size);
}

static void *alloc_slot(unsigned cls, size_t size)
{
    struct chunk *c = partial[cls];
    void *ptr;

    if (!c)
        c = chunk_cut(cls);
    if (!c)
        return NULL;
    ptr = slot_pop(c, size);
    if (!c->free)
        list_remove(c);
    return ptr;
}

static void free_slot(struct chunk *c, struct slot *s)
{
    bool was_full = !c->free;

    slot_push(c, s);
    c->used--;
    if (was_full)
        list_add(c);
    if (c->used == 0 && (c->next || c->prev)) {
        list_remove(c);
        chunk_free(c);
    }
}

/* ---- what lwIP calls -------------------------------------------------- */

void *port_mem_alloc(size_t size)
{
    unsigned cls = class_for(size);
    void *ptr = cls == CLASS_LARGE ? alloc_large(size)
                                   : alloc_slot(cls, size);

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

void port_mem_free(void *ptr)
{
    struct slot *s = (struct slot *)((uint8_t *)ptr - SLOT_HEADER);
    struct chunk *c;

    unpoison(s, SLOT_HEADER);
    c = s->chunk;
    if (!c || c->used == 0)
        plat_panic("alloc: %p was not handed out", ptr);
    port_mem_stats.in_use--;
    if (c->cls == CLASS_LARGE)
        chunk_free(c);
    else
        free_slot(c, s);
}
