/* kernel/kmem.c: no two blocks overlap, everything comes together again. */
#include <stdlib.h>
#include <string.h>

#include "../../kernel/kmem.h"
#include "check.h"
#include "plat.h"

enum { PAGES = 4096 }; /* 16 MiB, four of the largest blocks */

static struct kmem k;
static uint8_t state[PAGES];
static uint8_t *memory;
static uint16_t owner[PAGES]; /* 0: nobody's */

static void setup(void)
{
    memory = aligned_alloc(4 << 20, (size_t)PAGES * KMEM_PAGE);
    CHECK(memory != NULL);
    kmem_init(&k, (uintptr_t)memory, PAGES, state);
    memset(owner, 0, sizeof(owner));
}

static void done(void)
{
    free(memory);
}

static size_t page_of(uintptr_t addr)
{
    return (addr - (uintptr_t)memory) / KMEM_PAGE;
}

/* Allocates and claims the pages; 0 when there are none. */
static uintptr_t take(size_t n, size_t align, uint16_t who)
{
    uintptr_t addr = kmem_alloc(&k, n, align);

    if (addr == 0)
        return 0;
    CHECK_EQ(addr % (align * KMEM_PAGE), 0);
    CHECK(page_of(addr) + n <= PAGES);
    for (size_t i = 0; i < n; i++) {
        CHECK_EQ(owner[page_of(addr) + i], 0);
        owner[page_of(addr) + i] = who;
    }
    memset((void *)addr, who, n * KMEM_PAGE);
    return addr;
}

static void give_back(uintptr_t addr, size_t n, uint16_t who)
{
    for (size_t i = 0; i < n; i++) {
        CHECK_EQ(owner[page_of(addr) + i], who);
        CHECK_EQ(((uint8_t *)addr)[i * KMEM_PAGE + 100], (uint8_t)who);
        owner[page_of(addr) + i] = 0;
    }
    CHECK(kmem_free(&k, addr, n));
}

TEST(kmem_whole_span)
{
    setup();
    CHECK_EQ(kmem_largest(&k), 0);
    CHECK_EQ(kmem_alloc(&k, 1, 1), 0);
    CHECK_EQ(k.failures, 1);
    kmem_give(&k, (uintptr_t)memory, PAGES);
    CHECK_EQ(k.pages_total, PAGES);
    CHECK_EQ(k.pages_free, PAGES);
    CHECK_EQ(kmem_largest(&k), KMEM_PAGES_MAX);
    done();
}

TEST(kmem_sizes_out_of_range)
{
    setup();
    kmem_give(&k, (uintptr_t)memory, PAGES);
    CHECK_EQ(kmem_alloc(&k, 0, 1), 0);
    CHECK_EQ(kmem_alloc(&k, KMEM_PAGES_MAX + 1, 1), 0);
    CHECK_EQ(kmem_alloc(&k, 1, 2 * KMEM_PAGES_MAX), 0);
    CHECK_EQ(kmem_alloc(&k, SIZE_MAX, 1), 0);
    CHECK_EQ(k.pages_free, PAGES);
    done();
}

TEST(kmem_every_page_once)
{
    static uintptr_t got[PAGES + 1];
    unsigned n = 0;

    setup();
    kmem_give(&k, (uintptr_t)memory, PAGES);
    while ((got[n] = take(1, 1, 7)) != 0)
        n++;
    CHECK_EQ(n, PAGES);
    CHECK_EQ(k.pages_free, 0);
    for (unsigned i = 0; i < PAGES; i++)
        give_back(got[(i * 2731u) % PAGES], 1, 7);
    CHECK_EQ(kmem_largest(&k), KMEM_PAGES_MAX);
    CHECK_EQ(k.pages_free, PAGES);
    done();
}

TEST(kmem_odd_sizes_give_their_tails_back)
{
    setup();
    kmem_give(&k, (uintptr_t)memory, PAGES);
    for (size_t n = 1; n <= KMEM_PAGES_MAX; n++) {
        uintptr_t addr = take(n, 1, 1);

        CHECK(addr != 0);
        CHECK_EQ(k.pages_free, PAGES - n);
        give_back(addr, n, 1);
        CHECK_EQ(k.pages_free, PAGES);
    }
    CHECK_EQ(kmem_largest(&k), KMEM_PAGES_MAX);
    done();
}

TEST(kmem_a_run_may_be_freed_in_pieces)
{
    uintptr_t addr;

    setup();
    kmem_give(&k, (uintptr_t)memory, PAGES);
    addr = take(300, 1, 1);
    for (unsigned i = 0; i < 300; i += 3)
        give_back(addr + i * KMEM_PAGE, 3, 1);
    CHECK_EQ(k.pages_free, PAGES);
    CHECK_EQ(kmem_largest(&k), KMEM_PAGES_MAX);
    done();
}

TEST(kmem_alignment)
{
    uintptr_t addr[64];

    setup();
    kmem_give(&k, (uintptr_t)memory, PAGES);
    for (unsigned i = 0; i < 64; i++)
        addr[i] = take(1 + i % 3, (size_t)1 << i % 11, (uint16_t)(i + 1));
    for (unsigned i = 0; i < 64; i++) {
        if (addr[i])
            give_back(addr[i], 1 + i % 3, (uint16_t)(i + 1));
    }
    CHECK_EQ(k.pages_free, PAGES);
    done();
}

/* Pages that were never given are never handed out; nor are the neighbours
 * of a hole merged across it. */
TEST(kmem_holes)
{
    unsigned n = 0;

    setup();
    for (unsigned i = 0; i < PAGES; i++)
        owner[i] = i % 100 == 50 || i < 3 ? 999 : 0;
    for (unsigned i = 0; i < PAGES; i++) {
        if (owner[i] == 0)
            kmem_give(&k, (uintptr_t)memory + i * KMEM_PAGE, 1);
    }
    CHECK_EQ(kmem_largest(&k), 64);
    while (take(3, 1, 1) != 0)
        n += 3;
    while (take(1, 1, 1) != 0)
        n++;
    CHECK_EQ(n, k.pages_total);
    done();
}

TEST(kmem_give_outside_and_twice)
{
    uintptr_t base;

    setup();
    base = (uintptr_t)memory;
    kmem_give(&k, base - KMEM_PAGE, 1);
    kmem_give(&k, base + (size_t)PAGES * KMEM_PAGE, 1);
    kmem_give(&k, base + 1, 1);
    CHECK_EQ(k.pages_total, 0);
    kmem_give(&k, base + (PAGES - 2) * KMEM_PAGE, 100);
    CHECK_EQ(k.pages_total, 2);
    kmem_give(&k, base + (PAGES - 4) * KMEM_PAGE, 4);
    CHECK_EQ(k.pages_total, 4);
    CHECK_EQ(k.pages_free, 4);
    CHECK_EQ(kmem_largest(&k), 4);
    done();
}

TEST(kmem_bad_frees_are_refused)
{
    uintptr_t addr, base;

    setup();
    base = (uintptr_t)memory;
    kmem_give(&k, base, PAGES);
    addr = kmem_alloc(&k, 4, 1);
    CHECK(!kmem_free(&k, addr + 1, 1));
    CHECK(!kmem_free(&k, addr, 0));
    CHECK(!kmem_free(&k, addr, 5));
    CHECK(!kmem_free(&k, base - KMEM_PAGE, 1));
    CHECK(!kmem_free(&k, base + (size_t)PAGES * KMEM_PAGE, 1));
    CHECK(!kmem_free(&k, base + (PAGES - 1) * KMEM_PAGE, 2));
    CHECK(!kmem_free(&k, 0, 1));
    CHECK_EQ(k.pages_free, PAGES - 4);
    CHECK(kmem_free(&k, addr, 4));
    CHECK(!kmem_free(&k, addr, 4));
    CHECK(!kmem_free(&k, addr + 2 * KMEM_PAGE, 1));
    CHECK_EQ(k.pages_free, PAGES);
    done();
}

TEST(kmem_random)
{
    enum { SLOTS = 500 };
    static uintptr_t addr[SLOTS];
    static size_t len[SLOTS];
    unsigned refused = 0;

    setup();
    kmem_give(&k, (uintptr_t)memory, PAGES);
    for (unsigned i = 0; i < 30000; i++) {
        unsigned at = (unsigned)(plat_random() % SLOTS);
        uint16_t who = (uint16_t)(at + 1);

        if (addr[at]) {
            give_back(addr[at], len[at], who);
            addr[at] = 0;
            continue;
        }
        len[at] = 1 + plat_random() % (plat_random() % 8 ? 8 : 200);
        addr[at] = take(len[at], (size_t)1 << plat_random() % 5, who);
        refused += addr[at] == 0;
    }
    CHECK_EQ(k.failures, refused);
    CHECK(refused > 0);
    for (unsigned i = 0; i < SLOTS; i++) {
        if (addr[i])
            give_back(addr[i], len[i], (uint16_t)(i + 1));
    }
    CHECK_EQ(k.pages_free, PAGES);
    CHECK_EQ(kmem_largest(&k), KMEM_PAGES_MAX);
    done();
}
