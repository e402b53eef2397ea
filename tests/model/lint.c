/* Broken rules: reported, or counted when a test asked for them. */
#include "lint.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

static const char *expected;
static unsigned seen;

void lint_expect(const char *id)
{
    expected = id;
    seen = 0;
}

unsigned lint_seen(void)
{
    return seen;
}

void lint(const char *id, const char *fmt, ...)
{
    char text[256];
    va_list ap;

    if (expected && strcmp(id, expected) == 0) {
        seen++;
        return;
    }
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    check_fail(__FILE__, __LINE__, "D-lint %s: %s", id, text);
}
