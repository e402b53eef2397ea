/* How much of the main stack has been used: a pattern that does not survive
 * use. The stack's memory is the image's (linker.ld). */
#include "stack.h"

#include <stdint.h>

#include "image.h"

#define PATTERN UINT64_C(0x5afe57ac5afe57ac)
/* Room for our own frame. */
#define MARGIN 256u

static uint64_t *bottom(void)
{
    return (uint64_t *)image_addr(stack_bottom);
}

void stack_paint(void)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0) - MARGIN;

    for (uint64_t *p = bottom(); (uintptr_t)p < here; p++)
        *p = PATTERN;
}

size_t stack_used(void)
{
    const uint64_t *p = bottom();

    while ((uintptr_t)p < image_addr(stack_top) && *p == PATTERN)
        p++;
    return image_addr(stack_top) - (uintptr_t)p;
}
