/*
 * Page tables. Intel SDM volume 3, 4.5: four levels, 4 KiB and 2 MiB pages.
 *
 * Owns the tables; their pages come from kernel/mem.c and are never given
 * back. The map is one to one, so that a table's address is its pointer.
 */
#include "paging.h"

#include <stdbool.h>

#include "cpu.h"
#include "image.h"
#include "mem.h"
#include "plat.h"

#define PAGE 4096u
#define LARGE 0x200000u
#define ENTRIES 512u
#define LEVEL_LARGE 2u /* where an entry may be a page of 2 MiB */

#define PTE_PRESENT UINT64_C(1)
#define PTE_WRITE UINT64_C(2)
#define PTE_PWT UINT64_C(8)
#define PTE_PCD UINT64_C(0x10)
#define PTE_LARGE UINT64_C(0x80)
#define PTE_NX (UINT64_C(1) << 63)
#define PTE_ADDR UINT64_C(0x000ffffffffff000)

/* Lower half of the canonical addresses. */
#define ADDR_BITS_MAX 47u

static uint64_t *root;
static uint64_t nx; /* PTE_NX, where the processor has it */

static unsigned slot(uint64_t addr, unsigned level)
{
    return addr >> (12 + 9 * (level - 1)) & (ENTRIES - 1);
}

static uint64_t *table_of(uint64_t entry)
{
    return (uint64_t *)(entry & PTE_ADDR);
}

/* The entry for addr at `level`, tables made on the way; NULL: no page left,
 * or a large page is in the way. */
static uint64_t *entry_make(uint64_t addr, unsigned level)
{
    uint64_t *table = root;

    for (unsigned l = 4; l > level; l--) {
        uint64_t *e = &table[slot(addr, l)];

        if (*e == 0) {
            void *page = mem_pages_alloc(1, 1);

            if (!page)
                return NULL;
            *e = (uintptr_t)page | PTE_PRESENT | PTE_WRITE;
        } else if (*e & PTE_LARGE) {
            return NULL;
        }
        table = table_of(*e);
    }
    return &table[slot(addr, level)];
}

/* Maps whole pages, large ones where they fit. What is mapped already must
 * be so with the same flags. */
static bool map(uint64_t addr, uint64_t end, uint64_t flags)
{
    while (addr < end) {
        bool large = addr % LARGE == 0 && end - addr >= LARGE;
        uint64_t *e = entry_make(addr, large ? LEVEL_LARGE : 1);
        uint64_t want = addr | flags | PTE_PRESENT | (large ? PTE_LARGE : 0);

        if (e && large && *e != 0 && (*e & PTE_LARGE) == 0) {
            /* Small pages are here: go on with small ones. */
            if (!map(addr, addr + LARGE - PAGE, flags) ||
                !map(addr + LARGE - PAGE, addr + LARGE, flags))
                return false;
            addr += LARGE;
            continue;
        }
        /* The processor may have set the accessed and dirty bits. */
        if (!e || (*e != 0 && (*e & ~UINT64_C(0x60)) != want))
            return false;
        if (*e == 0)
            *e = want;
        addr += large ? LARGE : PAGE;
    }
    return true;
}

static void map_or_panic(uint64_t start, uint64_t end, uint64_t flags)
{
    if (!map(start, end, flags))
        plat_panic("no page tables for %p .. %p", (void *)start, (void *)end);
}

static void map_image(void)
{
    uint64_t rw = PTE_WRITE | nx;

    map_or_panic(image_addr(image_start), image_addr(text_end), 0);
    map_or_panic(image_addr(text_end), image_addr(rodata_end), nx);
    map_or_panic(image_addr(rodata_end), image_addr(stack_guard), rw);
    map_or_panic(image_addr(stack_bottom), image_addr(stack_top), rw);
    map_or_panic(image_addr(fault_stack_bottom), image_addr(image_end), rw);
}

void paging_init(void)
{
    struct ranges ram = *mem_ram();

    nx = rdmsr(MSR_EFER) & EFER_NXE ? PTE_NX : 0;
    root = mem_pages_alloc(1, 1);
    if (!root)
        plat_panic("no page for the page tables");
    ranges_remove(&ram, image_addr(image_start), image_addr(image_end));
    map_image();
    for (unsigned i = 0; i < ram.count; i++)
        map_or_panic(ram.r[i].start, ram.r[i].end, PTE_WRITE | nx);
    write_cr3((uintptr_t)root);
}

static unsigned phys_bits(void)
{
    struct cpuid c = cpuid_leaf(0x80000008u);
    unsigned bits = c.eax & 0xff;

    if (bits < 32)
        return 36;
    return bits < ADDR_BITS_MAX ? bits : ADDR_BITS_MAX;
}

void *paging_map_mmio(uint64_t phys, uint64_t len)
{
    uint64_t limit = UINT64_C(1) << phys_bits();
    uint64_t start = phys & ~(uint64_t)(PAGE - 1), end;

    if (phys < PAGE || len == 0 || phys >= limit || len > limit - phys)
        return NULL;
    end = (phys + len + PAGE - 1) & ~(uint64_t)(PAGE - 1);
    if (ranges_touch(mem_ram(), start, end) ||
        (start < image_addr(image_end) && end > image_addr(image_start)))
        return NULL;
    if (!map(start, end, PTE_WRITE | PTE_PCD | PTE_PWT | nx))
        return NULL;
    return (void *)(uintptr_t)phys;
}

static bool page_mapped(uint64_t addr)
{
    const uint64_t *table = root;

    if (addr >> ADDR_BITS_MAX)
        return false;
    for (unsigned level = 4; level > 0; level--) {
        uint64_t e = table[slot(addr, level)];

        if ((e & PTE_PRESENT) == 0)
            return false;
        if (level == LEVEL_LARGE && (e & PTE_LARGE))
            return true;
        table = table_of(e);
    }
    return true;
}

int paging_mapped(uint64_t addr, uint64_t len)
{
    uint64_t last = addr + len - 1;

    if (last < addr)
        return 0;
    if (!root) /* the boot tables */
        return last < UINT64_C(1) << 32;
    return page_mapped(addr) && page_mapped(last);
}
