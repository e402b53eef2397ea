/*
 * The part of the C library that the compiler, lwIP and the kernel call.
 *
 * Copying is by unrolled 8-byte moves, or by rep movsb where that was
 * measured to be faster: an emulator runs rep movsb byte by byte, several
 * times slower than the loop, while some processors have it in microcode.
 *
 * Pure; also compiled into a unit test under other names.
 */
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "copy.h"
#include "format.h"

/* Any 8, 4, 2 bytes, wherever they are and whatever they belong to. */
typedef uint64_t __attribute__((may_alias, aligned(1))) any64;
typedef uint32_t __attribute__((may_alias, aligned(1))) any32;
typedef uint16_t __attribute__((may_alias, aligned(1))) any16;

bool copy_by_rep;

void copy_words(void *dst, const void *src, size_t n)
{
    uint8_t *d = dst;
    const uint8_t *s = src;

    for (; n >= 32; n -= 32, d += 32, s += 32) {
        uint64_t a = ((const any64 *)s)[0];
        uint64_t b = ((const any64 *)s)[1];
        uint64_t c = ((const any64 *)s)[2];
        uint64_t e = ((const any64 *)s)[3];

        ((any64 *)d)[0] = a;
        ((any64 *)d)[1] = b;
        ((any64 *)d)[2] = c;
        ((any64 *)d)[3] = e;
    }
    for (; n >= 8; n -= 8, d += 8, s += 8)
        *(any64 *)d = *(const any64 *)s;
    if (n & 4) {
        *(any32 *)d = *(const any32 *)s;
        d += 4;
        s += 4;
    }
    if (n & 2) {
        *(any16 *)d = *(const any16 *)s;
        d += 2;
        s += 2;
    }
    if (n & 1)
        *d = *s;
}

void copy_rep(void *dst, const void *src, size_t n)
{
    __asm__ volatile("rep movsb" : "+D"(dst), "+S"(src), "+c"(n) : : "memory");
}

/* From the end, for a target that overlaps the source from above. */
static void copy_back(uint8_t *d, const uint8_t *s, size_t n)
{
    for (; n >= 8; n -= 8)
        *(any64 *)(d + n - 8) = *(const any64 *)(s + n - 8);
    for (; n > 0; n--)
        d[n - 1] = s[n - 1];
}

void *memcpy(void *restrict dst, const void *restrict src, size_t n)
{
    if (copy_by_rep && n >= COPY_REP_MIN)
        copy_rep(dst, src, n);
    else
        copy_words(dst, src, n);
    return dst;
}

void *memmove(void *dst, const void *src, size_t n)
{
    /* Upwards reads each group of bytes before it overwrites it only when
     * the target lies below the source, or beyond its end. */
    if ((uintptr_t)dst - (uintptr_t)src >= n)
        copy_words(dst, src, n);
    else
        copy_back(dst, src, n);
    return dst;
}

void *memset(void *dst, int c, size_t n)
{
    uint8_t *d = dst;
    uint64_t v = (uint8_t)c * UINT64_C(0x0101010101010101);

    for (; n >= 32; n -= 32, d += 32) {
        ((any64 *)d)[0] = v;
        ((any64 *)d)[1] = v;
        ((any64 *)d)[2] = v;
        ((any64 *)d)[3] = v;
    }
    for (; n >= 8; n -= 8, d += 8)
        *(any64 *)d = v;
    for (; n > 0; n--, d++)
        *d = (uint8_t)v;
    return dst;
}

int memcmp(const void *a, const void *b, size_t n)
{
    const uint8_t *p = a, *q = b;

    for (; n >= 8 && *(const any64 *)p == *(const any64 *)q; n -= 8) {
        p += 8;
        q += 8;
    }
    for (; n > 0; n--, p++, q++) {
        if (*p != *q)
            return *p < *q ? -1 : 1;
    }
    return 0;
}

void *memchr(const void *s, int c, size_t n)
{
    const uint8_t *p = s;

    for (; n > 0; n--, p++) {
        if (*p == (uint8_t)c)
            return (void *)(uintptr_t)p;
    }
    return NULL;
}

size_t strlen(const char *s)
{
    size_t n = 0;

    while (s[n] != '\0')
        n++;
    return n;
}

static size_t length_max(const char *s, size_t max)
{
    size_t n = 0;

    while (n < max && s[n] != '\0')
        n++;
    return n;
}

int strncmp(const char *a, const char *b, size_t n)
{
    for (; n > 0; n--, a++, b++) {
        if (*a != *b)
            return (uint8_t)*a < (uint8_t)*b ? -1 : 1;
        if (*a == '\0')
            break;
    }
    return 0;
}

int strcmp(const char *a, const char *b)
{
    return strncmp(a, b, SIZE_MAX);
}

char *strchr(const char *s, int c)
{
    for (;; s++) {
        if (*s == (char)c)
            return (char *)(uintptr_t)s;
        if (*s == '\0')
            return NULL;
    }
}

char *strrchr(const char *s, int c)
{
    char *last = NULL;

    do {
        if (*s == (char)c)
            last = (char *)(uintptr_t)s;
    } while (*s++ != '\0');
    return last;
}

char *strstr(const char *s, const char *what)
{
    size_t n = strlen(what);

    for (; *s != '\0' || n == 0; s++) {
        if (strncmp(s, what, n) == 0)
            return (char *)(uintptr_t)s;
    }
    return NULL;
}

char *strncpy(char *restrict dst, const char *restrict src, size_t n)
{
    size_t len = length_max(src, n);

    memcpy(dst, src, len);
    memset(dst + len, 0, n - len);
    return dst;
}

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'Z')
        return c - 'A' + 10;
    return INT_MAX;
}

/* Skips spaces and a sign, and 0x or 0 where the base allows; the base. */
static int number_start(const char **s, bool *minus, int base)
{
    const char *p = *s;

    while (*p == ' ' || (*p >= '\t' && *p <= '\r'))
        p++;
    *minus = *p == '-';
    if (*p == '-' || *p == '+')
        p++;
    if ((base == 0 || base == 16) && p[0] == '0' &&
        (p[1] == 'x' || p[1] == 'X') && digit(p[2]) < 16) {
        p += 2;
        base = 16;
    }
    *s = p;
    if (base == 0)
        return *p == '0' ? 8 : 10;
    return base;
}

/* The magnitude, ULONG_MAX and *over when it does not fit. */
static unsigned long number(const char **s, int base, bool *over)
{
    unsigned long val = 0;

    *over = false;
    for (; digit(**s) < base; (*s)++) {
        unsigned long d = (unsigned long)digit(**s);

        if (val > (ULONG_MAX - d) / (unsigned long)base)
            *over = true;
        val = *over ? ULONG_MAX : val * (unsigned long)base + d;
    }
    return val;
}

unsigned long strtoul(const char *restrict s, char **restrict end, int base)
{
    const char *p = s, *first;
    unsigned long val;
    bool minus, over;

    base = number_start(&p, &minus, base);
    first = p;
    val = number(&p, base, &over);
    if (end)
        *end = (char *)(uintptr_t)(p == first ? s : p);
    return minus && !over ? 0 - val : val;
}

long strtol(const char *restrict s, char **restrict end, int base)
{
    const char *p = s, *first;
    unsigned long val, limit;
    bool minus, over;

    base = number_start(&p, &minus, base);
    first = p;
    val = number(&p, base, &over);
    if (end)
        *end = (char *)(uintptr_t)(p == first ? s : p);
    limit = minus ? (unsigned long)LONG_MAX + 1 : LONG_MAX;
    if (val > limit)
        val = limit;
    return (long)(minus ? 0 - val : val);
}

int atoi(const char *s)
{
    return (int)strtol(s, NULL, 10);
}

int vsnprintf(char *restrict out, size_t size, const char *restrict fmt,
              va_list ap)
{
    return format_v(out, size, fmt, ap);
}

int snprintf(char *restrict out, size_t size, const char *restrict fmt, ...)
{
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = format_v(out, size, fmt, ap);
    va_end(ap);
    return n;
}

/* What the compiler calls for __builtin_popcountll on the baseline. */
int __popcountdi2(long v);

int __popcountdi2(long v)
{
    unsigned long u = (unsigned long)v;
    int n = 0;

    for (; u != 0; u &= u - 1)
        n++;
    return n;
}
