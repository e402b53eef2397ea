/*
 * As much JSON (RFC 8259) as iperf3's control connection needs: a strict
 * reader over a buffer that allocates nothing, and numbers without floating
 * point. Pure.
 */
#ifndef APPS_IPERF3_JSON_H
#define APPS_IPERF3_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum json_type {
    JSON_NULL,
    JSON_BOOL,
    JSON_NUMBER,
    JSON_STRING, /* text: between the quotes, escapes as they stand */
    JSON_OBJECT,
    JSON_ARRAY,
};

struct json_value {
    enum json_type type;
    const char *text; /* in the caller's buffer, not terminated */
    size_t len;
};

/* Levels of nesting that are read; deeper ones make the text invalid. */
#define JSON_DEPTH_MAX 16

typedef void json_member_fn(void *arg, const char *key, size_t key_len,
                            const struct json_value *value);

/*
 * Reads one object that fills the whole text, and calls member() for each of
 * its own members (not those of nested ones). False when the text is not
 * well-formed; members before the fault have been reported then.
 */
bool json_object(const char *text, size_t len, json_member_fn *member,
                 void *arg);

/*
 * The value of a number, its fraction cut off, limited to the range of the
 * type. False for what is no number.
 */
bool json_int(const struct json_value *v, int64_t *out);

/* True for the literal true, and for a number other than zero. */
bool json_true(const struct json_value *v);

#endif
