/*
 * Rules that a driver must keep, as always-on assertions of the model. Each
 * has the id of the specification checklist (SPL-03, NET-TX-06 ...); rules
 * that go without saying there are called RING-something or PCI-something.
 *
 * A broken rule fails the running test, except that a test of the model
 * itself may say beforehand which one it is going to break.
 */
#ifndef LINT_H
#define LINT_H

#include <stdbool.h>

/* The driver broke rule `id`. Returns only when that was expected. */
void lint(const char *id, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Rule `id` is going to be broken; NULL: none. Forgets what was seen. */
void lint_expect(const char *id);

/* Times the expected rule was broken. */
unsigned lint_seen(void);

#endif
