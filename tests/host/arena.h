/* Between plat_host.c and arena.c. */
#ifndef ARENA_H
#define ARENA_H

void arena_begin(void);
void arena_end(void);

#endif
