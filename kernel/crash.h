/* Deliberate crashes, to see that each of them is reported. */
#ifndef CRASH_H
#define CRASH_H

/* Prints the kinds there are. */
void crash_list(void);

/* Crashes in the way called `kind`; returns when there is none. */
void crash(const char *kind);

#endif
