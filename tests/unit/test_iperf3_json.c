/*
 * net/apps/iperf3_json.c: what is well-formed and what is not, numbers of
 * any size, nesting, and texts that were damaged at random.
 */
#include <stdlib.h>
#include <string.h>

#include "apps/iperf3_json.h"
#include "check.h"
#include "plat.h"

struct seen {
    unsigned count;
    char key[32]; /* of the last member */
    char text[64];
    enum json_type type;
    int64_t number;
    bool is_number;
    bool truth;
};

static void keep(char *to, size_t size, const char *text, size_t len)
{
    size_t n = len < size ? len : size - 1;

    memcpy(to, text, n);
    to[n] = '\0';
}

static void see(void *arg, const char *key, size_t len,
                const struct json_value *v)
{
    struct seen *s = arg;

    s->count++;
    keep(s->key, sizeof(s->key), key, len);
    keep(s->text, sizeof(s->text), v->text, v->len);
    s->type = v->type;
    s->is_number = json_int(v, &s->number);
    s->truth = json_true(v);
}

/* In memory of just that size, so that a byte read too many is noticed. */
static bool read_len(const char *text, size_t len, struct seen *s)
{
    char *copy = malloc(len ? len : 1);
    bool ok;

    CHECK(copy);
    memcpy(copy, text, len);
    memset(s, 0, sizeof(*s));
    ok = json_object(copy, len, see, s);
    free(copy);
    return ok;
}

static bool reads(const char *text, struct seen *s)
{
    return read_len(text, strlen(text), s);
}

TEST(well_formed)
{
    static const char *const good[] = {
        "{}",
        " \t\r\n{ } \n",
        "{\"a\":1}",
        "{ \"a\" : 1 , \"b\" : [ ] , \"c\" : { } }",
        "{\"\":null}",
        "{\"a\":\"\"}",
        "{\"a\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uD834\"}",
        "{\"a\":\"\xc3\xa9\x7f\"}",
        "{\"a\":[1,\"x\",true,false,null,{\"b\":[]},[[]]]}",
        "{\"a\":-0,\"b\":0.0,\"c\":-1.5e+10,\"d\":1E-5,\"e\":0e0}",
    };
    struct seen s;

    for (unsigned i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        if (!reads(good[i], &s))
            check_fail(__FILE__, __LINE__, "refused: %s", good[i]);
}

TEST(not_well_formed)
{
    static const char *const bad[] = {
        "",
        " ",
        "[]",
        "1",
        "null",
        "\"a\"",
        "{",
        "}",
        "{}}",
        "{} x",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\" 1}",
        "{a:1}",
        "{'a':1}",
        "{1:1}",
        "{\"a\":1,}",
        "{,\"a\":1}",
        "{\"a\":1 \"b\":2}",
        "{\"a\":1;}",
        "{\"a\":[1,]}",
        "{\"a\":[,1]}",
        "{\"a\":[1 2]}",
        "{\"a\":[1}",
        "{\"a\":{]}",
        "{\"a\":01}",
        "{\"a\":+1}",
        "{\"a\":.5}",
        "{\"a\":1.}",
        "{\"a\":1.e5}",
        "{\"a\":1e}",
        "{\"a\":1e+}",
        "{\"a\":-}",
        "{\"a\":0x10}",
        "{\"a\":1_0}",
        "{\"a\":NaN}",
        "{\"a\":Infinity}",
        "{\"a\":-Infinity}",
        "{\"a\":True}",
        "{\"a\":tru}",
        "{\"a\":nul",
        "{\"a\":\"",
        "{\"a\":\"\\\"}",
        "{\"a\":\"\\x\"}",
        "{\"a\":\"\\u12\"}",
        "{\"a\":\"\\u12g4\"}",
        "{\"a\":\"new\nline\"}",
        "{\"a\":\"tab\t\"}",
        "{\"a\":1}\x01",
    };
    struct seen s;

    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (reads(bad[i], &s))
            check_fail(__FILE__, __LINE__, "taken: %s", bad[i]);
    CHECK(!read_len("{\"a\":\"\0\"}", 9, &s));
    CHECK(!read_len("{}\0", 3, &s));
    CHECK(!read_len("{\"a\":\"\\\0\"}", 10, &s));
}

TEST(members_of_the_object_itself)
{
    struct seen s;

    CHECK(reads("{\"a\":1,\"b\":{\"c\":2,\"d\":3},\"e\":[{\"f\":4}]}", &s));
    CHECK_EQ(s.count, 3);
    CHECK_STR_EQ(s.key, "e");
    CHECK_EQ(s.type, JSON_ARRAY);
    CHECK_STR_EQ(s.text, "[{\"f\":4}]");
    CHECK(reads("{\"k\":\"a\\\"b\"}", &s));
    CHECK_EQ(s.type, JSON_STRING);
    CHECK_STR_EQ(s.text, "a\\\"b");
    CHECK(reads("{\"k\":{\"x\":\"}\"}}", &s));
    CHECK_EQ(s.type, JSON_OBJECT);
    CHECK_STR_EQ(s.text, "{\"x\":\"}\"}");
    CHECK(reads("{\"k\":null}", &s));
    CHECK_EQ(s.type, JSON_NULL);
}

TEST(numbers)
{
    static const struct {
        const char *text;
        int64_t value;
    } n[] = {
        {"0", 0},
        {"-0", 0},
        {"7", 7},
        {"-5", -5},
        {"131072", 131072},
        {"1.048576e+06", 1048576},
        {"1e9", 1000000000},
        {"1E9", 1000000000},
        {"12.75", 12},
        {"-12.75", -12},
        {"0.99999", 0},
        {"1234e-2", 12},
        {"0.0000125e6", 12},
        {"999999999999999999", 999999999999999999},
        {"1e18", 1000000000000000000},
        {"9e18", 9000000000000000000},
        {"1e19", INT64_MAX},
        {"-1e19", -INT64_MAX},
        {"1e400", INT64_MAX},
        {"-1e400", -INT64_MAX},
        {"1e99999999999999999999", INT64_MAX},
        {"1e-99999999999999999999", 0},
        {"0e99999999999999999999", 0},
        {"123456789012345678901234567890", INT64_MAX},
        {"0.000000000000000000000000000001", 0},
        {"1000000000000000000000000e-20", 10000},
        {"1.0000000000000000000000000000001", 1},
    };
    struct seen s;
    char text[100];

    for (unsigned i = 0; i < sizeof(n) / sizeof(n[0]); i++) {
        strcpy(text, "{\"n\":");
        strcat(strcat(text, n[i].text), "}");
        CHECK(reads(text, &s));
        CHECK(s.is_number);
        if (s.number != n[i].value)
            check_fail(__FILE__, __LINE__, "%s read as %lld", n[i].text,
                       (long long)s.number);
    }
}

TEST(truth)
{
    static const struct {
        const char *text;
        bool value;
    } t[] = {
        {"{\"t\":true}", true},    {"{\"t\":false}", false},
        {"{\"t\":1}", true},       {"{\"t\":0}", false},
        {"{\"t\":null}", false},   {"{\"t\":\"true\"}", false},
        {"{\"t\":[true]}", false}, {"{\"t\":{}}", false},
    };
    struct seen s;

    for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
        CHECK(reads(t[i].text, &s));
        CHECK_EQ(s.truth, t[i].value);
    }
}

static bool nested(unsigned levels, const char *open, const char *close)
{
    static char text[100000];
    struct seen s;

    strcpy(text, "{\"a\":");
    for (unsigned i = 1; i < levels; i++)
        strcat(text, open);
    strcat(text, "1");
    for (unsigned i = 1; i < levels; i++)
        strcat(text, close);
    strcat(text, "}");
    return reads(text, &s);
}

TEST(depth_is_bounded)
{
    CHECK(nested(JSON_DEPTH_MAX, "[", "]"));
    CHECK(!nested(JSON_DEPTH_MAX + 1, "[", "]"));
    CHECK(nested(JSON_DEPTH_MAX, "{\"b\":", "}"));
    CHECK(!nested(JSON_DEPTH_MAX + 1, "{\"b\":", "}"));
    CHECK(!nested(2000, "[", "]"));
}

static const char sample[] =
    "{\"tcp\":true,\"omit\":0,\"time\":10,\"num\":1.048576e+06,"
    "\"title\":\"a \\u0041 \\\"b\\\"\",\"list\":[1,{\"x\":[null,false]}],"
    "\"len\":131072,\"client_version\":\"3.12\"}";

TEST(cut_anywhere)
{
    struct seen s;

    CHECK(reads(sample, &s));
    for (size_t len = 0; len < sizeof(sample) - 1; len++)
        CHECK(!read_len(sample, len, &s));
}

/* No damage may make it read beyond the end, or not come back. */
TEST(damaged_at_random)
{
    static const char bytes[] = "{}[]\",:\\0123456789eE+-.tfnu \n\x01\xff";
    unsigned taken = 0;
    struct seen s;

    for (unsigned i = 0; i < 50000; i++) {
        char text[sizeof(sample)];
        uint64_t r = plat_random();
        size_t len = sizeof(sample) - 1;

        memcpy(text, sample, sizeof(sample));
        for (unsigned n = 0; n <= r % 3; n++) {
            uint64_t q = plat_random();

            text[q % len] = bytes[(q >> 32) % (sizeof(bytes) - 1)];
        }
        if (r >> 60 == 0)
            len = (r >> 8) % len;
        taken += read_len(text, len, &s);
    }
    CHECK(taken > 100);
    CHECK(taken < 49000);
}
