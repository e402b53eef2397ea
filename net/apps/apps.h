/*
 * The servers on top of lwIP. A server includes lwIP's headers (and through
 * them the clocks and plat_log of net/port/arch/cc.h) and this one; it adds
 * itself by one line in apps.c. Everything runs in one context: a server
 * never waits, and does little in each turn.
 */
#ifndef APPS_H
#define APPS_H

#include <stdbool.h>
#include <stdint.h>

#include "lwip/err.h"

/* Prints one counter. */
typedef void app_line_fn(const char *name, uint64_t value);

struct app {
    const char *name;
    /* Once, after lwIP's start: binds and listens. ERR_OK or ERR_MEM... */
    err_t (*start)(void);
    /*
     * Once in every turn of the main loop, after receive and timers; NULL
     * when the server lives by callbacks alone. True: call again at once.
     * False: not before the next frame or timer; who wants to be called at a
     * time of its own asks for it each turn with plat_wakeup_at().
     */
    bool (*pump)(void);
    /* Prints the server's counters, prefixed by its name; or NULL. */
    void (*stats)(app_line_fn *line);
};

extern const struct app *const apps[];
extern const unsigned app_count;

#endif
