/*
 * The JSON reader of the iperf3 server: recursive descent with a bound on
 * the depth, over a buffer with a bound on the length.
 */
#include "apps/iperf3_json.h"

#include <string.h>

struct reader {
    const char *at;
    const char *end;
};

static void skip_space(struct reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' ||
                              *r->at == '\n' || *r->at == '\r'))
        r->at++;
}

/* Takes the character c, if it is next. */
static bool take(struct reader *r, char c)
{
    if (r->at == r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* What follows a backslash. */
static bool skip_escape(struct reader *r)
{
    char c;

    if (r->at == r->end)
        return false;
    c = *r->at++;
    if (c == 'u') {
        for (int i = 0; i < 4; i++)
            if (r->at == r->end || !is_hex(*r->at++))
                return false;
        return true;
    }
    return c != '\0' && strchr("\"\\/bfnrt", c) != NULL;
}

static bool read_string(struct reader *r, struct json_value *v)
{
    if (!take(r, '"'))
        return false;
    v->type = JSON_STRING;
    v->text = r->at;
    while (r->at < r->end) {
        char c = *r->at++;

        if (c == '"') {
            v->len = (size_t)(r->at - 1 - v->text);
            return true;
        }
        if ((unsigned char)c < 0x20 || (c == '\\' && !skip_escape(r)))
            return false;
    }
    return false;
}

static bool skip_digits(struct reader *r)
{
    const char *start = r->at;

    while (r->at < r->end && is_digit(*r->at))
        r->at++;
    return r->at > start;
}

static bool read_number(struct reader *r, struct json_value *v)
{
    v->type = JSON_NUMBER;
    v->text = r->at;
    take(r, '-');
    if (!take(r, '0') && !skip_digits(r))
        return false;
    if (take(r, '.') && !skip_digits(r))
        return false;
    if (take(r, 'e') || take(r, 'E')) {
        if (!take(r, '+'))
            take(r, '-');
        if (!skip_digits(r))
            return false;
    }
    v->len = (size_t)(r->at - v->text);
    return true;
}

static bool read_literal(struct reader *r, struct json_value *v)
{
    static const struct {
        const char *word;
        enum json_type type;
    } literal[] = {{"true", JSON_BOOL},
                   {"false", JSON_BOOL},
                   {"null", JSON_NULL}};

    for (size_t i = 0; i < sizeof(literal) / sizeof(literal[0]); i++) {
        size_t len = strlen(literal[i].word);

        if ((size_t)(r->end - r->at) < len ||
            memcmp(r->at, literal[i].word, len) != 0)
            continue;
        v->type = literal[i].type;
        v->text = r->at;
        v->len = len;
        r->at += len;
        return true;
    }
    return false;
}

static bool read_value(struct reader *r, unsigned depth,
                       struct json_value *v);

static bool read_array(struct reader *r, unsigned depth)
{
    struct json_value v;

    r->at++;
    skip_space(r);
    if (take(r, ']'))
        return true;
    do {
        if (!read_value(r, depth, &v))
            return false;
        skip_space(r);
    } while (take(r, ','));
    return take(r, ']');
}

static bool read_object(struct reader *r, unsigned depth,
                        json_member_fn *member, void *arg)
{
    struct json_value key, v;

    r->at++;
    skip_space(r);
    if (take(r, '}'))
        return true;
    do {
        skip_space(r);
        if (!read_string(r, &key))
            return false;
        skip_space(r);
        if (!take(r, ':') || !read_value(r, depth, &v))
            return false;
        if (member)
            member(arg, key.text, key.len, &v);
        skip_space(r);
    } while (take(r, ','));
    return take(r, '}');
}

/* An array or object at the given depth; *v becomes all of its text. */
static bool read_nested(struct reader *r, unsigned depth,
                        struct json_value *v)
{
    bool ok;

    if (depth >= JSON_DEPTH_MAX)
        return false;
    v->text = r->at;
    v->type = *r->at == '{' ? JSON_OBJECT : JSON_ARRAY;
    ok = v->type == JSON_OBJECT ? read_object(r, depth + 1, NULL, NULL)
                                : read_array(r, depth + 1);
    v->len = (size_t)(r->at - v->text);
    return ok;
}

static bool read_value(struct reader *r, unsigned depth, struct json_value *v)
{
    skip_space(r);
    if (r->at == r->end)
        return false;
    switch (*r->at) {
    case '"':
        return read_string(r, v);
    case '{':
    case '[':
        return read_nested(r, depth, v);
    case 't':
    case 'f':
    case 'n':
        return read_literal(r, v);
    default:
        return read_number(r, v);
    }
}

bool json_object(const char *text, size_t len, json_member_fn *member,
                 void *arg)
{
    struct reader r = {text, text + len};

    skip_space(&r);
    if (r.at == r.end || *r.at != '{' || !read_object(&r, 1, member, arg))
        return false;
    skip_space(&r);
    return r.at == r.end;
}

/* ---- numbers ---- */

/* Digits of the value and where its decimal point stands among them. */
struct decimal {
    uint64_t digits; /* the first 18 that count */
    int dropped;     /* digits before the point that did not fit */
    int after;       /* digits kept from behind the point */
};

static void add_digit(struct decimal *d, char c, bool fraction)
{
    if (d->digits < UINT64_C(100000000000000000)) {
        d->digits = d->digits * 10 + (uint64_t)(c - '0');
        d->after += fraction;
    } else {
        d->dropped += !fraction;
    }
}

/* The exponent at p, limited to what makes any value zero or too large. */
static int read_exponent(const char *p, const char *end)
{
    bool negative = p < end && *p == '-';
    int e = 0;

    if (p < end && (*p == '-' || *p == '+'))
        p++;
    for (; p < end && e < 10000; p++)
        e = e * 10 + (*p - '0');
    return negative ? -e : e;
}

static uint64_t scale(uint64_t digits, int power)
{
    for (; power > 0 && digits != 0; power--) {
        if (digits > INT64_MAX / 10)
            return INT64_MAX;
        digits *= 10;
    }
    for (; power < 0 && digits != 0; power++)
        digits /= 10;
    return digits;
}

bool json_int(const struct json_value *v, int64_t *out)
{
    const char *p = v->text, *end = v->text + v->len;
    struct decimal d = {0};
    bool negative, fraction = false;
    int exponent = 0;
    uint64_t magnitude;

    if (v->type != JSON_NUMBER)
        return false;
    negative = *p == '-';
    for (p += negative; p < end; p++) {
        if (*p == '.') {
            fraction = true;
        } else if (is_digit(*p)) {
            add_digit(&d, *p, fraction);
        } else {
            exponent = read_exponent(p + 1, end);
            break;
        }
    }
    magnitude = scale(d.digits, exponent + d.dropped - d.after);
    *out = negative ? -(int64_t)magnitude : (int64_t)magnitude;
    return true;
}

bool json_true(const struct json_value *v)
{
    int64_t n;

    if (v->type == JSON_BOOL)
        return v->text[0] == 't';
    return json_int(v, &n) && n != 0;
}
