/*
 * The table of servers: one line each.
 */
#include "apps/apps.h"

extern const struct app echo_app;
extern const struct app discard_app;
extern const struct app chargen_app;
extern const struct app iperf3_app;
extern const struct app sockperf_app;
extern const struct app pktgen_app; /* net/pktgen.c */

const struct app *const apps[] = {
    &echo_app,
    &discard_app,
    &chargen_app,
    &iperf3_app,
    &sockperf_app,
    &pktgen_app,
};

const unsigned app_count = sizeof(apps) / sizeof(apps[0]);
