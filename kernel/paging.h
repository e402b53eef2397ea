/* Page tables: everything at its own physical address, W^X. */
#ifndef PAGING_H
#define PAGING_H

#include <stddef.h>
#include <stdint.h>

/*
 * Makes the final tables and switches to them. Code is read and execute,
 * constants read, all other memory read and write; nothing else is mapped:
 * not page 0, not the pages below the stacks. After mem_init_low.
 */
void paging_init(void);

/* Maps device registers uncached; NULL when the address is beyond the
 * processor's, is memory of ours, or no page is left for a table. */
void *paging_map_mmio(uint64_t phys, uint64_t len);

/* Are all bytes of addr .. addr+len-1 mapped? For backtraces. */
int paging_mapped(uint64_t addr, uint64_t len);

#endif
