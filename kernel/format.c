/*
 * Formatted text: %s %c %d %i %u %x %X %p %% with the flags - 0, a width
 * (also *), a precision (also .*) and the sizes hh h l ll z. Anything else is
 * printed as it stands. Pure; also compiled into a unit test.
 */
#include "format.h"

#include <stdbool.h>
#include <stdint.h>

enum size { SIZE_CHAR, SIZE_SHORT, SIZE_INT, SIZE_LONG };

/* Where the text goes; len counts beyond the end. */
struct sink {
    char *out;
    size_t size;
    size_t len;
};

struct spec {
    bool left;
    bool zero;
    bool upper;
    bool has_precision;
    unsigned width;
    unsigned precision;
    enum size size;
};

/* Widths above this are nobody's intention. */
#define WIDTH_MAX 512u

static void put(struct sink *s, char c)
{
    if (s->len + 1 < s->size)
        s->out[s->len] = c;
    s->len++;
}

static void pad(struct sink *s, char c, unsigned n)
{
    while (n-- > 0)
        put(s, c);
}

static void put_string(struct sink *s, const struct spec *sp, const char *text)
{
    unsigned n = 0, fill;

    if (!text)
        text = "(null)";
    while ((!sp->has_precision || n < sp->precision) && text[n] != '\0')
        n++;
    fill = n < sp->width ? sp->width - n : 0;
    if (!sp->left)
        pad(s, ' ', fill);
    for (unsigned i = 0; i < n; i++)
        put(s, text[i]);
    if (sp->left)
        pad(s, ' ', fill);
}

/* Digits of val in reverse; returns how many. */
static unsigned digits(char *buf, uint64_t val, unsigned base, bool upper)
{
    const char *set = upper ? "0123456789ABCDEF" : "0123456789abcdef";
    unsigned n = 0;

    do {
        buf[n++] = set[val % base];
        val /= base;
    } while (val != 0);
    return n;
}

static void put_number(struct sink *s, const struct spec *sp, uint64_t val,
                       unsigned base, const char *prefix)
{
    char buf[24];
    unsigned n, plen = 0, zeros = 0, fill;

    n = sp->has_precision && sp->precision == 0 && val == 0
            ? 0
            : digits(buf, val, base, sp->upper);
    while (prefix[plen] != '\0')
        plen++;
    if (sp->has_precision && sp->precision > n)
        zeros = sp->precision - n;
    if (!sp->has_precision && sp->zero && !sp->left && sp->width > n + plen)
        zeros = sp->width - n - plen;
    fill = n + plen + zeros < sp->width ? sp->width - n - plen - zeros : 0;
    if (!sp->left)
        pad(s, ' ', fill);
    for (unsigned i = 0; i < plen; i++)
        put(s, prefix[i]);
    pad(s, '0', zeros);
    while (n > 0)
        put(s, buf[--n]);
    if (sp->left)
        pad(s, ' ', fill);
}

static unsigned parse_number(const char **fmt)
{
    unsigned n = 0;

    for (; **fmt >= '0' && **fmt <= '9'; (*fmt)++)
        n = n < WIDTH_MAX ? n * 10 + (unsigned)(**fmt - '0') : WIDTH_MAX;
    return n < WIDTH_MAX ? n : WIDTH_MAX;
}

static void parse_flags(const char **fmt, struct spec *sp)
{
    for (;; (*fmt)++) {
        if (**fmt == '-')
            sp->left = true;
        else if (**fmt == '0')
            sp->zero = true;
        else if (**fmt != ' ' && **fmt != '+' && **fmt != '#')
            return;
    }
}

/* A width or precision handed over as an int; negative: as C says. */
static void star_width(struct spec *sp, int n)
{
    if (n < 0)
        sp->left = true;
    sp->width = n < 0 ? 0u - (unsigned)n : (unsigned)n;
    if (sp->width > WIDTH_MAX)
        sp->width = WIDTH_MAX;
}

static void star_precision(struct spec *sp, int n)
{
    sp->has_precision = n >= 0;
    sp->precision = n > (int)WIDTH_MAX ? WIDTH_MAX : (unsigned)n;
}

static void parse_size(const char **fmt, struct spec *sp)
{
    sp->size = SIZE_INT;
    for (;; (*fmt)++) {
        if (**fmt == 'h')
            sp->size = sp->size == SIZE_SHORT ? SIZE_CHAR : SIZE_SHORT;
        else if (**fmt == 'l' || **fmt == 'z' || **fmt == 'j' ||
                 **fmt == 't')
            sp->size = SIZE_LONG;
        else
            return;
    }
}

static uint64_t cut_unsigned(const struct spec *sp, uint64_t val)
{
    switch (sp->size) {
    case SIZE_CHAR:
        return (uint8_t)val;
    case SIZE_SHORT:
        return (uint16_t)val;
    case SIZE_INT:
        return (uint32_t)val;
    default:
        return val;
    }
}

static int64_t cut_signed(const struct spec *sp, int64_t val)
{
    switch (sp->size) {
    case SIZE_CHAR:
        return (int8_t)val;
    case SIZE_SHORT:
        return (int16_t)val;
    case SIZE_INT:
        return (int32_t)val;
    default:
        return val;
    }
}

static void put_signed(struct sink *s, const struct spec *sp, int64_t val)
{
    val = cut_signed(sp, val);
    put_number(s, sp, val < 0 ? 0 - (uint64_t)val : (uint64_t)val, 10,
               val < 0 ? "-" : "");
}

/* One conversion; false when it is none that we know. */
static bool convert(struct sink *s, struct spec *sp, char conv, va_list *ap)
{
    char one[2] = {0, 0};

    switch (conv) {
    case 's':
        put_string(s, sp, va_arg(*ap, const char *));
        return true;
    case 'c':
        one[0] = (char)va_arg(*ap, int);
        sp->has_precision = false;
        put_string(s, sp, one);
        return true;
    case 'd':
    case 'i':
        put_signed(s, sp, sp->size == SIZE_LONG ? va_arg(*ap, int64_t)
                                                : va_arg(*ap, int));
        return true;
    case 'u':
    case 'x':
    case 'X':
        sp->upper = conv == 'X';
        put_number(s, sp,
                   cut_unsigned(sp, sp->size == SIZE_LONG
                                        ? va_arg(*ap, uint64_t)
                                        : va_arg(*ap, unsigned)),
                   conv == 'u' ? 10 : 16, "");
        return true;
    case 'p':
        put_number(s, sp, (uintptr_t)va_arg(*ap, void *), 16, "0x");
        return true;
    case '%':
        put(s, '%');
        return true;
    default:
        return false;
    }
}

/* Everything between the % and the conversion letter. */
static void parse_spec(const char **fmt, struct spec *sp, va_list *ap)
{
    parse_flags(fmt, sp);
    if (**fmt == '*') {
        star_width(sp, va_arg(*ap, int));
        (*fmt)++;
    } else {
        sp->width = parse_number(fmt);
    }
    if (**fmt == '.') {
        (*fmt)++;
        if (**fmt == '*') {
            star_precision(sp, va_arg(*ap, int));
            (*fmt)++;
        } else {
            star_precision(sp, (int)parse_number(fmt));
        }
    }
    parse_size(fmt, sp);
}

int format_v(char *out, size_t size, const char *fmt, va_list args)
{
    struct sink s = {.out = out, .size = size};
    va_list ap;

    va_copy(ap, args);
    for (; *fmt != '\0'; fmt++) {
        struct spec sp = {0};
        const char *start = fmt;

        if (*fmt != '%') {
            put(&s, *fmt);
            continue;
        }
        fmt++;
        parse_spec(&fmt, &sp, &ap);
        if (convert(&s, &sp, *fmt, &ap))
            continue;
        put(&s, '%');
        fmt = start;
    }
    va_end(ap);
    if (size > 0)
        out[s.len < size ? s.len : size - 1] = '\0';
    return (int)s.len;
}

int format(char *out, size_t size, const char *fmt, ...)
{
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = format_v(out, size, fmt, ap);
    va_end(ap);
    return n;
}
