/* The part of kernel/plat.c that only the kernel needs. */
#ifndef PLAT_KERNEL_H
#define PLAT_KERNEL_H

#include "plat.h"

/* Lines of a level above this are not printed. */
void plat_log_level_set(enum plat_log_level level);

#endif
