/*
 * Names of functions, for backtraces.
 *
 * The table is made from the first link of the image and put in by a second
 * one (see the Makefile): sorted addresses, and offsets of names.
 */
#include <stddef.h>
#include <stdint.h>

#include "image.h"
#include "panic.h"

struct symbol {
    uint32_t addr;
    uint32_t name; /* offset in ksymstr */
};

extern const struct symbol ksyms_start[];
extern const struct symbol ksyms_end[];
extern const char ksymstr_start[];

const char *symbol_find(uintptr_t addr, uintptr_t *offset)
{
    size_t low = 0, high = (size_t)(ksyms_end - ksyms_start);

    if (addr < image_addr(image_start) || addr >= image_addr(text_last))
        return NULL;
    /* The last symbol that does not lie above addr. */
    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (ksyms_start[mid].addr <= addr)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == 0)
        return NULL;
    *offset = addr - ksyms_start[low - 1].addr;
    return ksymstr_start + ksyms_start[low - 1].name;
}
