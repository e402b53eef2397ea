/* Addresses of the image's parts, made by linker.ld. Only the addresses
 * mean anything. */
#ifndef IMAGE_H
#define IMAGE_H

#include <stdint.h>

extern const char image_start[];
extern const char text_last[]; /* end of the code */
extern const char text_end[];  /* the same, rounded up to a page */
extern const char rodata_end[];
extern const char image_end[];
extern const char stack_guard[];
extern const char stack_bottom[];
extern const char stack_top[];
extern const char fault_stack_guard[];
extern const char fault_stack_bottom[];
extern const char fault_stack_top[];

static inline uintptr_t image_addr(const char *symbol)
{
    return (uintptr_t)symbol;
}

#endif
