/* The end of a run that went wrong. */
#ifndef PANIC_H
#define PANIC_H

#include "irq.h"

/* Prints registers and a backtrace of the exception; ends the run. */
_Noreturn void trap_report(const struct trap_frame *f);

/* Name of the function that holds addr, and the distance from its start;
 * NULL when there is none. */
const char *symbol_find(uintptr_t addr, uintptr_t *offset);

#endif
