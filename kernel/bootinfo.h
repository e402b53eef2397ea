/*
 * What the boot loader told us, copied out of its structures: afterwards
 * nothing of them is needed any more but the modules themselves.
 */
#ifndef BOOTINFO_H
#define BOOTINFO_H

#include <stdbool.h>
#include <stdint.h>

#include "ranges.h"

#define BOOT_CMDLINE_MAX 1024u
#define BOOT_MODULES_MAX 16u

struct bootinfo {
    const char *protocol;           /* "multiboot 1", ... */
    char cmdline[BOOT_CMDLINE_MAX]; /* always ends with a zero */
    bool cmdline_cut;               /* it was longer */
    bool no_map;                    /* the loader gave no memory map */
    struct ranges ram;              /* usable memory, anywhere */
    struct range module[BOOT_MODULES_MAX];
    unsigned modules;
    uint64_t rsdp; /* ACPI root pointer, 0: to be searched for */
};

enum bootinfo_magic {
    BOOTINFO_MB1 = 0x2badb002,
    BOOTINFO_MB2 = 0x36d76289,
    BOOTINFO_PVH = 0x336ec578,
};

/*
 * Reads the structures at address `info`, everything below 4 GiB being
 * mapped. V_OK, or V_INVAL when the magic is unknown.
 */
int bootinfo_read(struct bootinfo *b, uint32_t magic, uint64_t info);

#endif
