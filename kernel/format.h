/* Formatted text for logs: the formats that plat.h lists. */
#ifndef FORMAT_H
#define FORMAT_H

#include <stdarg.h>
#include <stddef.h>

/*
 * As vsnprintf: writes at most size bytes, the final zero included, and
 * returns the length that the whole text would have.
 */
int format_v(char *out, size_t size, const char *fmt, va_list ap)
    __attribute__((format(printf, 3, 0)));
int format(char *out, size_t size, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
