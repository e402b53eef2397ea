/* Blocks and fragments for receive buffers. See rxfrag.h. */
#include "vnet/rxfrag.h"

#include <string.h>

#include "plat.h"
#include "verr.h"

int rxfrag_init(struct rxfrag *f, uint64_t bytes_max)
{
    memset(f, 0, sizeof(*f));
    f->tails = true;
    f->blocks_max = (uint32_t)(bytes_max / RXFRAG_PAGE);
    f->bytes_max = (uint64_t)f->blocks_max * RXFRAG_PAGE;
    f->large = RXFRAG_BLOCK;
    f->blocks = plat_dma_alloc(f->blocks_max * sizeof(struct rxblock),
                               RXFRAG_PAGE);
    return f->blocks ? V_OK : V_NOMEM;
}

void rxfrag_destroy(struct rxfrag *f)
{
    for (uint32_t i = 0; i < f->blocks_len; i++)
        if (f->blocks[i].mem)
            plat_dma_free(f->blocks[i].mem, f->blocks[i].size);
    if (f->blocks)
        plat_dma_free(f->blocks, f->blocks_max * sizeof(struct rxblock));
    memset(f, 0, sizeof(*f));
}

static struct rxblock **free_list(struct rxfrag *f, const struct rxblock *b)
{
    return b->size == RXFRAG_PAGE ? &f->free_page : &f->free_large;
}

static struct rxblock *take(struct rxfrag *f, struct rxblock **list)
{
    struct rxblock *b = *list;

    if (!b)
        return NULL;
    *list = b->next;
    f->bytes_free -= b->size;
    b->refs = 1;
    return b;
}

/* Gives a block up that nobody uses. */
static void release(struct rxfrag *f, struct rxblock *b)
{
    plat_dma_free(b->mem, b->size);
    f->bytes -= b->size;
    b->mem = NULL;
    b->size = 0;
    b->refs = 0;
    b->next = f->slots;
    f->slots = b;
}

/* A new block. Idle pages give way to a large one. */
static struct rxblock *make(struct rxfrag *f, uint32_t size)
{
    struct rxblock *b;
    uint8_t *mem;

    while (f->bytes + size > f->bytes_max && size > RXFRAG_PAGE &&
           f->free_page)
        release(f, take(f, &f->free_page));
    if (f->bytes + size > f->bytes_max ||
        (!f->slots && f->blocks_len == f->blocks_max))
        return NULL;
    mem = plat_dma_alloc(size, RXFRAG_PAGE);
    f->exhausted = !mem;
    if (!mem)
        return NULL;
    b = f->slots;
    if (b)
        f->slots = b->next;
    else
        b = &f->blocks[f->blocks_len++];
    b->mem = mem;
    b->dma = plat_dma_addr(mem);
    b->size = size;
    b->refs = 1;
    f->bytes += size;
    return b;
}

/* A block for our own use, one reference. */
static struct rxblock *get(struct rxfrag *f)
{
    struct rxblock *b = take(f, &f->free_large);

    if (!b)
        b = make(f, f->large);
    if (!b)
        b = take(f, &f->free_page);
    if (!b)
        b = make(f, RXFRAG_PAGE);
    return b;
}

void rxfrag_idle(struct rxfrag *f, struct rxblock *b)
{
    struct rxblock **list;

    if (b->size != RXFRAG_PAGE && b->size != f->large) {
        release(f, b);
        return;
    }
    list = free_list(f, b);
    b->next = *list;
    *list = b;
    f->bytes_free += b->size;
}

static void retire(struct rxfrag *f)
{
    if (f->cur)
        rxfrag_put(f, f->cur);
    f->cur = NULL;
}

void rxfrag_largest(struct rxfrag *f, uint32_t size)
{
    uint32_t large = (size + RXFRAG_PAGE - 1) / RXFRAG_PAGE * RXFRAG_PAGE;

    if (large <= f->large)
        return;
    f->large = large;
    retire(f);
    while (f->free_large)
        release(f, take(f, &f->free_large));
}

struct rxblock *rxfrag_renew(struct rxfrag *f, uint32_t *size, uint32_t least)
{
    retire(f);
    f->cur = get(f);
    f->off = 0;
    if (!f->cur)
        return NULL;
    if (f->cur->size < *size) {
        if (f->cur->size < least)
            retire(f);
        else
            *size = f->cur->size;
    }
    return f->cur;
}

bool rxfrag_whole(struct rxfrag *f, struct rxseg *seg)
{
    struct rxblock *b = get(f);

    if (!b)
        return false;
    seg->block = b;
    seg->mem = b->mem;
    seg->dma = b->dma;
    seg->len = b->size;
    return true;
}

uint64_t rxfrag_left(const struct rxfrag *f)
{
    return f->bytes_free + (f->exhausted ? 0 : f->bytes_max - f->bytes);
}

void rxfrag_probe(struct rxfrag *f)
{
    struct rxblock *b = f->exhausted ? make(f, f->large) : NULL;

    if (f->exhausted && !b)
        b = make(f, RXFRAG_PAGE);
    if (b)
        rxfrag_put(f, b);
}

uint32_t rxfrag_cost(const struct rxfrag *f, uint32_t size)
{
    return size < f->large ? f->large / (f->large / size) : f->large;
}
