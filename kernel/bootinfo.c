/*
 * Boot information of the three protocols, made into one structure.
 *
 * Multiboot Specification 0.6.96 (3.3), Multiboot2 Specification 2.0 (3.6),
 * Xen public header arch-x86/hvm/start_info.h. The loader is trusted to point
 * at its structures; counts and sizes inside them are bounded all the same,
 * and nothing above 4 GiB is followed, for it is not mapped yet.
 */
#include "bootinfo.h"

#include <stddef.h>
#include <string.h>

#include "verr.h"

#define FOUR_GIB (UINT64_C(1) << 32)
#define MAP_ENTRIES_MAX 512u
#define MAP_USABLE 1u /* the same number in all three */

/* A reader of usable ranges: entries that are not usable are taken out of
 * what others claim, whatever the order, hence two passes. */
struct map_entry {
    uint64_t base;
    uint64_t len;
    uint32_t type;
};

static uint64_t map_end(const struct map_entry *e)
{
    return e->len > UINT64_MAX - e->base ? UINT64_MAX : e->base + e->len;
}

static void map_usable(struct bootinfo *b, const struct map_entry *e)
{
    if (e->type == MAP_USABLE)
        ranges_add(&b->ram, e->base, map_end(e));
}

static void map_reserved(struct bootinfo *b, const struct map_entry *e)
{
    if (e->type != MAP_USABLE)
        ranges_remove(&b->ram, e->base, map_end(e));
}

static const void *at(uint64_t addr, uint64_t len)
{
    if (addr == 0 || addr >= FOUR_GIB || len > FOUR_GIB - addr)
        return NULL;
    return (const void *)(uintptr_t)addr;
}

/* What cannot be printed ends up on the console all the same. */
static char printable(char c)
{
    if ((uint8_t)c < ' ')
        return ' ';
    return (uint8_t)c < 0x7f ? c : '?';
}

static void copy_cmdline(struct bootinfo *b, const char *text, size_t max)
{
    size_t n = 0;

    while (n < max && text[n] != '\0' && n < BOOT_CMDLINE_MAX - 1) {
        b->cmdline[n] = printable(text[n]);
        n++;
    }
    b->cmdline[n] = '\0';
    b->cmdline_cut = n < max && text[n] != '\0';
}

static void add_module(struct bootinfo *b, uint64_t start, uint64_t end)
{
    if (start >= end || b->modules == BOOT_MODULES_MAX)
        return;
    b->module[b->modules].start = start;
    b->module[b->modules].end = end;
    b->modules++;
}

/*
 * A Multiboot 1 loader puts the name of the image in front. It is the first
 * word unless that is a setting: has a '=' before any '/'.
 */
static const char *skip_image_name(const char *text)
{
    const char *p = text;

    while (*p != '\0' && *p != ' ' && *p != '=' && *p != '/')
        p++;
    if (*p == '=')
        return text;
    while (*p != '\0' && *p != ' ')
        p++;
    while (*p == ' ')
        p++;
    return p;
}

struct mb1_info {
    uint32_t flags;
    uint32_t mem_lower; /* KiB */
    uint32_t mem_upper; /* KiB from 1 MiB on */
    uint32_t boot_device;
    uint32_t cmdline;
    uint32_t mods_count;
    uint32_t mods_addr;
    uint32_t syms[4];
    uint32_t mmap_length;
    uint32_t mmap_addr;
};

enum mb1_flags {
    MB1_MEMORY = 1 << 0,
    MB1_CMDLINE = 1 << 2,
    MB1_MODS = 1 << 3,
    MB1_MMAP = 1 << 6,
};

struct mb1_module {
    uint32_t start;
    uint32_t end;
    uint32_t string;
    uint32_t reserved;
};

/* Entry i's successor lies `size` bytes behind the size field itself. */
static void mb1_map(struct bootinfo *b, const struct mb1_info *m,
                    void (*use)(struct bootinfo *, const struct map_entry *))
{
    const uint8_t *p = at(m->mmap_addr, m->mmap_length);
    uint64_t left = m->mmap_length;

    for (unsigned i = 0; p && left >= 24 && i < MAP_ENTRIES_MAX; i++) {
        struct map_entry e;
        uint32_t size;

        memcpy(&size, p, 4);
        memcpy(&e.base, p + 4, 8);
        memcpy(&e.len, p + 12, 8);
        memcpy(&e.type, p + 20, 4);
        use(b, &e);
        if (size < 20 || (uint64_t)size + 4 > left)
            return;
        p += size + 4;
        left -= (uint64_t)size + 4;
    }
}

static void mb1_modules(struct bootinfo *b, const struct mb1_info *m)
{
    const struct mb1_module *mod;
    uint32_t n = m->mods_count;

    if (n > BOOT_MODULES_MAX)
        n = BOOT_MODULES_MAX;
    mod = at(m->mods_addr, n * sizeof(*mod));
    for (uint32_t i = 0; mod && i < n; i++)
        add_module(b, mod[i].start, mod[i].end);
}

static int mb1_read(struct bootinfo *b, uint64_t info)
{
    const struct mb1_info *m = at(info, sizeof(*m));
    const char *text;

    b->protocol = "multiboot 1";
    if (!m)
        return V_INVAL;
    text = m->flags & MB1_CMDLINE ? at(m->cmdline, 1) : NULL;
    if (text)
        copy_cmdline(b, skip_image_name(text), SIZE_MAX);
    if (m->flags & MB1_MODS)
        mb1_modules(b, m);
    if (m->flags & MB1_MMAP) {
        mb1_map(b, m, map_usable);
        mb1_map(b, m, map_reserved);
    } else if (m->flags & MB1_MEMORY) {
        b->no_map = true;
        ranges_add(&b->ram, 0x100000,
                   0x100000 + (uint64_t)m->mem_upper * 1024);
    }
    return V_OK;
}

enum mb2_tag_type {
    MB2_END = 0,
    MB2_CMDLINE = 1,
    MB2_MODULE = 3,
    MB2_MEMORY = 4,
    MB2_MMAP = 6,
    MB2_ACPI_OLD = 14,
    MB2_ACPI_NEW = 15,
};

struct mb2_tag {
    uint32_t type;
    uint32_t size; /* of the whole tag; the next is aligned to 8 */
    uint32_t data[];
};

static void mb2_map(struct bootinfo *b, const struct mb2_tag *t,
                    void (*use)(struct bootinfo *, const struct map_entry *))
{
    uint32_t entry = t->size >= 16 ? t->data[0] : 0;
    const uint8_t *p = (const uint8_t *)(t->data + 2);
    uint32_t left = t->size >= 16 ? t->size - 16 : 0;

    while (entry >= 20 && left >= entry) {
        struct map_entry e;

        memcpy(&e.base, p, 8);
        memcpy(&e.len, p + 8, 8);
        memcpy(&e.type, p + 16, 4);
        use(b, &e);
        p += entry;
        left -= entry;
    }
}

static void mb2_tag(struct bootinfo *b, const struct mb2_tag *t)
{
    switch (t->type) {
    case MB2_CMDLINE:
        copy_cmdline(b, (const char *)t->data, t->size - 8);
        break;
    case MB2_MODULE:
        if (t->size >= 16)
            add_module(b, t->data[0], t->data[1]);
        break;
    case MB2_MMAP:
        mb2_map(b, t, map_usable);
        mb2_map(b, t, map_reserved);
        break;
    case MB2_ACPI_OLD:
    case MB2_ACPI_NEW:
        /* A copy inside the structures, good until they are given up. */
        b->rsdp = (uintptr_t)t->data;
        break;
    default:
        break;
    }
}

static int mb2_read(struct bootinfo *b, uint64_t info)
{
    const uint32_t *head = at(info, 8);
    const uint8_t *p = (const uint8_t *)head;
    uint32_t left;

    b->protocol = "multiboot 2";
    if (!head || !at(info, head[0]))
        return V_INVAL;
    p += 8;
    left = head[0] >= 8 ? head[0] - 8 : 0;
    while (left >= sizeof(struct mb2_tag)) {
        const struct mb2_tag *t = (const struct mb2_tag *)(const void *)p;
        uint32_t step = (t->size + 7) & ~UINT32_C(7);

        if (t->type == MB2_END || t->size < 8 || t->size > left)
            break;
        mb2_tag(b, t);
        if (step >= left)
            break;
        p += step;
        left -= step;
    }
    return V_OK;
}

struct pvh_info {
    uint32_t magic;
    uint32_t version;
    uint32_t flags;
    uint32_t nr_modules;
    uint64_t modlist;
    uint64_t cmdline;
    uint64_t rsdp;
    uint64_t memmap; /* version 1 and later */
    uint32_t memmap_entries;
    uint32_t reserved;
};

struct pvh_module {
    uint64_t start;
    uint64_t size;
    uint64_t cmdline;
    uint64_t reserved;
};

struct pvh_map {
    uint64_t base;
    uint64_t len;
    uint32_t type;
    uint32_t reserved;
};

static void pvh_map(struct bootinfo *b, const struct pvh_info *m,
                    void (*use)(struct bootinfo *, const struct map_entry *))
{
    uint32_t n = m->memmap_entries;
    const struct pvh_map *map;

    if (n > MAP_ENTRIES_MAX)
        n = MAP_ENTRIES_MAX;
    map = at(m->memmap, n * sizeof(*map));
    for (uint32_t i = 0; map && i < n; i++) {
        struct map_entry e = {map[i].base, map[i].len, map[i].type};

        use(b, &e);
    }
}

static void pvh_modules(struct bootinfo *b, const struct pvh_info *m)
{
    uint32_t n = m->nr_modules;
    const struct pvh_module *mod;

    if (n > BOOT_MODULES_MAX)
        n = BOOT_MODULES_MAX;
    mod = at(m->modlist, n * sizeof(*mod));
    for (uint32_t i = 0; mod && i < n; i++)
        add_module(b, mod[i].start, mod[i].start + mod[i].size);
}

static int pvh_read(struct bootinfo *b, uint64_t info)
{
    const struct pvh_info *m = at(info, sizeof(*m));
    const char *text;

    b->protocol = "PVH";
    if (!m || m->magic != BOOTINFO_PVH)
        return V_INVAL;
    text = at(m->cmdline, 1);
    if (text)
        copy_cmdline(b, text, SIZE_MAX);
    pvh_modules(b, m);
    b->rsdp = m->rsdp;
    if (m->version < 1)
        return V_OK;
    pvh_map(b, m, map_usable);
    pvh_map(b, m, map_reserved);
    return V_OK;
}

int bootinfo_read(struct bootinfo *b, uint32_t magic, uint64_t info)
{
    memset(b, 0, sizeof(*b));
    b->protocol = "unknown";
    switch (magic) {
    case BOOTINFO_MB1:
        return mb1_read(b, info);
    case BOOTINFO_MB2:
        return mb2_read(b, info);
    case BOOTINFO_PVH:
        return pvh_read(b, info);
    default:
        return V_INVAL;
    }
}
