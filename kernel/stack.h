/* How much of the main stack has been used. */
#ifndef STACK_H
#define STACK_H

#include <stddef.h>

/* Fills the part below the caller with a pattern; once, at start. */
void stack_paint(void);

/* Bytes used at most since then. */
size_t stack_used(void);

#endif
