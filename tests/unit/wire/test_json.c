/* The tokenizer in memory and through small windows, its numbers, and the writer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "wire/base64.h"
#include "wire/json.h"
#include "wire/json_quick.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- reading: every case in memory, and through small windows of every size ---- */

typedef struct drip {
    source base;
    str left;
    size_t step; /* bytes per call */
} drip;

static bool drip_read(source *s, void *p, size_t n, size_t *got, err *e)
{
    drip *d = (drip *)s;
    (void)e;
    size_t k = d->left.n < d->step ? d->left.n : d->step;
    if (k > n) k = n;
    if (k) memcpy(p, d->left.p, k);
    d->left.p += k;
    d->left.n -= k;
    *got = k;
    return true;
}

/* Writes all tokens as text, or "! message @byte". */
static void tokens_of(json *j, err *e, char *out, size_t n)
{
    static const char *const marks[] = {
        [JSON_OBJECT] = "{",  [JSON_OBJECT_END] = "}", [JSON_ARRAY] = "[",   [JSON_ARRAY_END] = "]",
        [JSON_TRUE] = "true", [JSON_FALSE] = "false",  [JSON_NULL] = "null", [JSON_KEY] = "k:",
        [JSON_STRING] = "s:", [JSON_NUMBER] = "n:"};
    size_t k = 0;
    out[0] = '\0';
    for (json_token t; (t = json_next(j)) > JSON_END;) {
        bool text = t == JSON_KEY || t == JSON_STRING || t == JSON_NUMBER;
        str s = text ? j->text : STR("");
        k += (size_t)snprintf(out + k, n - k, "%s%s%.*s", k ? " " : "", marks[t], STR_ARG(s));
        assert_true(k < n);
    }
    if (e->code != ERR_OK) snprintf(out, n, "! %s @%" PRIu64, e->msg, e->offset);
}

static void check_tokens(const char *name, str in, const char *want)
{
    char got[512], label[640];
    for (size_t step = 0; step < 24; step++) { /* 0: in memory */
        arena a = {0};
        err e = {0};
        drip d = {.base = {.read = drip_read}, .left = in, .step = step};
        json j = step ? json_open_source(&d.base, 4, &a, &e) : json_open(in.p, in.n, &a, &e);
        tokens_of(&j, &e, got, sizeof got);
        assert_true(e.code == ERR_OK || e.offset <= in.n);
        assert_int_equal(json_next(&j),
                         e.code == ERR_OK ? JSON_END : JSON_FAIL); /* also on later calls */
        snprintf(label, sizeof label, "%s, step %zu: %s", name, step, got);
        char wanted[640];
        snprintf(wanted, sizeof wanted, "%s, step %zu: %s", name, step, want);
        assert_string_equal(label, wanted);
        arena_free(&a);
    }
}

#define C(name, text, want)                                                                        \
    {                                                                                              \
        name, {text, sizeof text - 1}, want                                                        \
    }

static const struct {
    const char *name;
    str in;
    const char *want;
} cases[] = {
    C("empty object", "{}", "{ }"),
    C("empty array", " [ ] ", "[ ]"),
    C("scalar", "\t\r\n 17 \n", "n:17"),
    C("members", "{\"a\":1,\"b\" : [true,false,null] ,\"c\":{}}",
      "{ k:a n:1 k:b [ true false null ] k:c { } }"),
    C("members, indented", "{\n  \"a\": 1,\n          \"b\": \"x\"\n}\n", "{ k:a n:1 k:b s:x }"),
    C("numbers", "[0,-0,-1.5,1e5,1E+05,2.25e-3,12345678901234567890]",
      "[ n:0 n:-0 n:-1.5 n:1e5 n:1E+05 n:2.25e-3 n:12345678901234567890 ]"),
    C("escapes", "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]", "[ s:\"\\/\b\f\n\r\t ]"),
    C("text around escapes", "[\"before\\nbetween\\u0041after\",\"plain\"]",
      "[ s:before\nbetweenAafter s:plain ]"),
    C("escaped key", "{\"\\u006bey\":1}", "{ k:key n:1 }"),
    C("unicode escapes", "[\"\\u00e9\\u20AC\"]", "[ s:\xc3\xa9\xe2\x82\xac ]"),
    C("surrogate pair", "[\"\\ud83d\\ude00!\"]", "[ s:\xf0\x9f\x98\x80! ]"),
    C("unescaped UTF-8", "[\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"]",
      "[ s:\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 ]"),
    C("long string", "[\"0123456789abcdef0123456789abcdef0123456789\"]",
      "[ s:0123456789abcdef0123456789abcdef0123456789 ]"),
    C("DEL is allowed", "[\"\x7f\"]", "[ s:\x7f ]"),

    C("nothing", "", "! the input ends where a value should be @0"),
    C("only spaces", "  \n", "! the input ends where a value should be @3"),
    C("garbage", "x", "! expected a value, found 'x' @0"),
    C("zero byte", "\0", "! expected a value, found byte 0x00 @0"),
    C("trailing garbage", "{} x", "! expected the end, found 'x' @3"),
    C("two values", "1 2", "! expected the end, found '2' @2"),
    C("open object", "{\"a\":1", "! the input ends where a comma or } should be @6"),
    C("open array", "[1", "! the input ends where a comma or ] should be @2"),
    C("trailing comma", "[1,]", "! expected a value, found ']' @3"),
    C("trailing comma of an object", "{\"a\":1,}", "! expected a key, found '}' @7"),
    C("no comma", "[1 2]", "! expected a comma or ], found '2' @3"),
    C("wrong bracket", "[1}", "! expected a comma or ], found '}' @2"),
    C("wrong brace", "{\"a\":1]", "! expected a comma or }, found ']' @6"),
    C("no key", "{1:2}", "! expected a key or }, found '1' @1"),
    C("no colon", "{\"a\" 1}", "! expected a colon, found '1' @5"),
    C("no value", "{\"a\":}", "! expected a value, found '}' @5"),
    C("bare word", "[tru]", "! expected a value, found 't' @1"),
    C("truncated word", "[nul", "! expected a value, found 'n' @1"),
    C("leading zero", "[012]", "! a number begins with 0 @1"),
    C("minus without digits", "[-]", "! a number lacks a digit here @2"),
    C("no fraction", "[1.]", "! a number lacks a digit here @3"),
    C("no exponent", "[1e+]", "! a number lacks a digit here @4"),
    C("plus", "[+1]", "! expected a value, found '+' @1"),
    C("open string", "[\"abc", "! the string that begins here never ends @1"),
    C("open string with escape", "[\"a\\nbc", "! the string that begins here never ends @1"),
    C("truncated escape", "[\"abc\\", "! the string that begins here never ends @1"),
    C("newline in a string", "[\"ab\ncd\"]", "! control character 0x0a inside a string @4"),
    C("control character after an escape", "[\"a\\tb\x01\"]",
      "! control character 0x01 inside a string @6"),
    C("unknown escape", "[\"abcdefgh\\q\"]", "! \\q is not an escape @10"),
    C("escaped byte", "[\"\\\x01\"]", "! a backslash before byte 0x01 @2"),
    C("short \\u", "[\"\\u12\"]", "! \\u requires four hex digits @2"),
    C("bad \\u", "[\"\\u12G4\"]", "! \\u requires four hex digits @2"),
    C("lone high surrogate", "[\"xy\\ud83dz\"]", "! lone surrogate \\ud83d @4"),
    C("high, then no surrogate", "[\"\\ud83d\\u0041\"]", "! lone surrogate \\ud83d @2"),
    C("lone low surrogate", "[\"\\ude00\"]", "! lone surrogate \\ude00 @2"),
    C("high at the end", "[\"\\ud83d\"]", "! lone surrogate \\ud83d @2"),
    C("not UTF-8", "[\"abc\xff\"]", "! text is not UTF-8: byte 0xff @5"),
    C("overlong UTF-8", "[\"ok \xc0\x80\"]", "! text is not UTF-8: byte 0xc0 @5"),
    C("UTF-8 surrogate", "[\"\xed\xa0\x80\"]", "! text is not UTF-8: byte 0xed @2"),
    C("not UTF-8 after an escape", "[\"a\\nb\xe9z\"]", "! text is not UTF-8: byte 0xe9 @6"),
    C("truncated UTF-8 before an escape", "[\"\xc3\\n\"]", "! text is not UTF-8: byte 0xc3 @2"),
};

static void test_tokens(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check_tokens(cases[i].name, cases[i].in, cases[i].want);
}

static void test_depth(void **state)
{
    (void)state;
    static char deep[10000];
    memset(deep, '[', sizeof deep);
    arena a = {0};
    err e = {0};
    json j = json_open(deep, sizeof deep, &a, &e);
    assert_false(json_skip_value(&j));
    assert_int_equal(e.code, ERR_LIMIT);
    assert_string_equal(e.msg, "nested deeper than 128 levels");
    assert_int_equal(e.offset, 128);

    e = (err){0};
    j = json_open(deep, sizeof deep, &a, &e);
    j.max_depth = 100000; /* JSON_DEPTH_CAP limits it */
    assert_false(json_skip_value(&j));
    assert_string_equal(e.msg, "nested deeper than 512 levels");

    memset(deep + 128, ']', 128); /* exactly as deep as allowed */
    e = (err){0};
    j = json_open(deep, 256, &a, &e);
    assert_true(json_skip_value(&j) && json_finish(&j));
    arena_free(&a);
}

static void test_nesting_is_remembered(void **state)
{
    (void)state;
    /* Alternates objects and arrays so that the pattern crosses the words of j.objects. */
    char text[2048] = "", *p = text;
    for (int i = 0; i < 150; i++) {
        const char *open = i % 3 ? "[" : "{\"k\":";
        for (size_t k = 0; open[k]; k++) *p++ = open[k];
    }
    *p++ = '1';
    for (int i = 149; i >= 0; i--) *p++ = i % 3 ? ']' : '}';
    arena a = {0};
    err e = {0};
    json j = json_open(text, (size_t)(p - text), &a, &e);
    j.max_depth = 150;
    assert_true(json_skip_value(&j) && json_finish(&j));
    arena_free(&a);
}

static void test_skip(void **state)
{
    (void)state;
    str in = STR("{\"skip\":{\"a\":[1,{\"b\":[]}],\"c\":\"\\n\"},\"also\":7,\"take\":8}");
    arena a = {0};
    err e = {0};
    json j = json_open(in.p, in.n, &a, &e);
    int64_t v = 0;
    assert_int_equal(json_next(&j), JSON_OBJECT);
    while (json_next(&j) == JSON_KEY) {
        if (!str_eq(j.text, STR("take")))
            assert_true(json_skip_value(&j));
        else
            assert_true(json_next(&j) == JSON_NUMBER && json_to_i64(&j, 0, 10, &v));
    }
    assert_true(json_finish(&j));
    assert_int_equal(v, 8);

    j = json_open(in.p, in.n, &a, &e);
    assert_int_equal(json_next(&j), JSON_OBJECT);
    assert_true(json_skip_open(&j) && json_finish(&j));
    arena_free(&a);
}

static void test_json_lines(void **state)
{
    (void)state;
    str in = STR("{\"a\":1}\n[2]\n\n3\n");
    arena a = {0};
    err e = {0};
    drip d = {.base = {.read = drip_read}, .left = in, .step = 3};
    json j = json_open_source(&d.base, 8, &a, &e);
    size_t n = 0;
    do assert_true(json_skip_value(&j));
    while (++n < 10 && json_another(&j));
    assert_int_equal(n, 3);
    assert_true(json_finish(&j));
    arena_free(&a);
}

/* A token larger than the window makes it grow; the memory budget bounds it. */
static void test_memory(void **state)
{
    (void)state;
    enum { N = 40000 };
    char *text = malloc(N);
    assert_non_null(text);
    memset(text, 'x', N);
    text[0] = text[N - 1] = '"';
    text[N / 2] = '\\';
    text[N / 2 + 1] = 'n';
    size_t failed = 0;
    for (size_t budget = 0; budget < 256 * 1024; budget += 4096) { /* every budget */
        arena a = {.budget = budget ? budget : 1};
        err e = {0};
        drip d = {.base = {.read = drip_read}, .left = {text, N}, .step = 1000};
        json j = json_open_source(&d.base, 64, &a, &e);
        json_token t = json_next(&j);
        if (t == JSON_FAIL)
            assert_int_equal(e.code, ERR_MEMORY), failed++;
        else
            assert_true(t == JSON_STRING && j.text.n == N - 3);
        arena_free(&a);
    }
    assert_in_range(failed, 1, 62);
    free(text);
}

static bool broken_read(source *s, void *p, size_t n, size_t *got, err *e)
{
    (void)s, (void)p, (void)n, (void)got;
    return err_sys(e, 5, "cannot read");
}

static void test_source_fails(void **state)
{
    (void)state;
    source s = {.read = broken_read};
    arena a = {0};
    err e = {0};
    json j = json_open_source(&s, 0, &a, &e);
    assert_int_equal(json_next(&j), JSON_FAIL);
    assert_int_equal(e.code, ERR_SYS);
    assert_string_equal(e.msg, "cannot read");
    arena_free(&a);
}

/* ---- numbers ---- */

static void test_integers(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        int64_t min, max, want;
        const char *fails;
    } ints[] = {
        {"0", -1, 1, 0, NULL},
        {"-0", 0, 1, 0, NULL},
        {"1.0", 0, 10, 1, NULL},
        {"1e3", 0, 1000, 1000, NULL},
        {"1.5e1", 0, 100, 15, NULL},
        {"100e-2", 0, 100, 1, NULL},
        {"0e999999999999", 0, 1, 0, NULL},
        {"0.000e-5", 0, 1, 0, NULL},
        {"-9223372036854775808", INT64_MIN, INT64_MAX, INT64_MIN, NULL},
        {"\"9223372036854775807\"", INT64_MIN, INT64_MAX, INT64_MAX, NULL},
        {"\"-12\"", INT64_MIN, INT64_MAX, -12, NULL},
        {"\"007\"", 0, 10, 7, NULL},
        {"9223372036854775808", INT64_MIN, INT64_MAX, 0,
         "9223372036854775808 is not between -9223372036854775808 and 9223372036854775807"},
        {"-9223372036854775809", INT64_MIN, INT64_MAX, 0,
         "-9223372036854775809 is not between -9223372036854775808 and 9223372036854775807"},
        {"2147483648", INT32_MIN, INT32_MAX, 0,
         "2147483648 is not between -2147483648 and 2147483647"},
        {"1e400", 0, 10, 0, "1e400 is not between 0 and 10"},
        {"1.5", 0, 10, 0, "1.5 is not an integer"},
        {"1e-1", 0, 10, 0, "1e-1 is not an integer"},
        {"\"abc\"", 0, 10, 0, "expected an integer, found \"abc\""},
        {"\"\"", 0, 10, 0, "expected an integer, found \"\""},
        {"\"1 \"", 0, 10, 0, "expected an integer, found \"1 \""},
        {"\"1.\"", 0, 10, 0, "expected an integer, found \"1.\""},
        {"\".5\"", 0, 10, 0, "expected an integer, found \".5\""},
        {"\"1e\"", 0, 10, 0, "expected an integer, found \"1e\""},
        {"true", 0, 10, 0, "expected an integer, found true"},
        {"{}", 0, 10, 0, "expected an integer, found an object"},
    };
    for (size_t i = 0; i < ARRAY_LEN(ints); i++) {
        arena a = {0};
        err e = {0};
        char text[64];
        int n = snprintf(text, sizeof text, " %s ", ints[i].in);
        json j = json_open(text, (size_t)n, &a, &e);
        int64_t v = 0;
        json_next(&j);
        bool ok = json_to_i64(&j, ints[i].min, ints[i].max, &v);
        assert_string_equal(e.msg, ints[i].fails ? ints[i].fails : "");
        assert_true(ok == !ints[i].fails && (!ok || v == ints[i].want));
        if (!ok) assert_int_equal(e.offset, 1);
        arena_free(&a);
    }
}

static void test_unsigned(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        uint64_t want;
        const char *fails;
    } ints[] = {
        {"18446744073709551615", UINT64_MAX, NULL},
        {"\"18446744073709551615\"", UINT64_MAX, NULL},
        {"1.8446744073709551615e19", UINT64_MAX, NULL},
        {"-0.0", 0, NULL},
        {"18446744073709551616", 0,
         "18446744073709551616 is not between 0 and 18446744073709551615"},
        {"-1", 0, "-1 is not between 0 and 18446744073709551615"},
    };
    for (size_t i = 0; i < ARRAY_LEN(ints); i++) {
        arena a = {0};
        err e = {0};
        json j = json_open(ints[i].in, strlen(ints[i].in), &a, &e);
        uint64_t v = 0;
        json_next(&j);
        bool ok = json_to_u64(&j, UINT64_MAX, &v);
        assert_string_equal(e.msg, ints[i].fails ? ints[i].fails : "");
        assert_true(ok == !ints[i].fails && v == ints[i].want);
        arena_free(&a);
    }
}

static void test_doubles(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        double want;
        const char *fails;
    } doubles[] = {
        {"0.1", 0.1, NULL},
        {"-2.5e-3", -2.5e-3, NULL},
        {"1e22", 1e22, NULL},
        {"1e23", 1e23, NULL},
        {"123456789012345678", 123456789012345678.0, NULL},
        {"1.7976931348623157e308", 1.7976931348623157e308, NULL},
        {"5e-324", 5e-324, NULL},
        {"1e-400", 0, NULL},
        {"\"0.5\"", 0.5, NULL},
        {"\"Infinity\"", (double)INFINITY, NULL},
        {"\"-Infinity\"", -(double)INFINITY, NULL},
        {"0."
         "10000000000000000555111512312578270211815834045410156250000000000000000000000000000000000"
         "000"
         "00000000000000000000000000000000000000000000000000000000000000000000000000",
         0.1, NULL},
        {"1e400", 0, "1e400 does not fit a double"},
        {"-1e400", 0, "-1e400 does not fit a double"},
        {"\"nan\"", 0, "expected a number, found \"nan\""},
        {"null", 0, "expected a number, found null"},
    };
    for (size_t i = 0; i < ARRAY_LEN(doubles); i++) {
        arena a = {0};
        err e = {0};
        json j = json_open(doubles[i].in, strlen(doubles[i].in), &a, &e);
        double v = 0;
        json_next(&j);
        bool ok = json_to_double(&j, &v);
        assert_string_equal(e.msg, doubles[i].fails ? doubles[i].fails : "");
        assert_true(ok == !doubles[i].fails && (!ok || v == doubles[i].want));
        arena_free(&a);
    }
    arena a = {0};
    json j = json_open("\"NaN\"", 5, &a, NULL);
    double v = 0;
    json_next(&j);
    assert_true(json_to_double(&j, &v) && isnan(v));
}

/* The shortcuts accept only input that json_next accepts. */
static char *put_wide(char *p, uint64_t v)
{
    memcpy(p, &v, 8);
    return p + 8;
}

static void test_take_ints(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        size_t want; /* number of integers */
        json_token then;
    } lists[] = {
        {"[]          ", 0, JSON_ARRAY_END},
        {"[1,22,333,4444,55555,666666,7777777]          ", 7, JSON_ARRAY_END},
        {"[1]", 1, JSON_ARRAY_END},
        {"[ 1 , 2 ,\n        3 ]         ", 3, JSON_ARRAY_END},
        {"[12345678,123456789012,-5,\"17\",\"-17\",\"1234567890123456789\"]        ", 6,
         JSON_ARRAY_END},
        {"[1,2,1.0,3]          ", 2, JSON_NUMBER},
        {"[1,2,1e3]           ", 2, JSON_NUMBER},
        {"[1,\"x\"]         ", 1, JSON_STRING},
        {"[1,\"2x\"]         ", 1, JSON_STRING},
        {"[1,9223372036854775808]       ", 1, JSON_NUMBER},
        {"[1,00]         ", 1, JSON_FAIL},
        {"[1,007]         ", 1, JSON_FAIL},
        {"[1,-]         ", 1, JSON_FAIL},
        {"[1,,2]         ", 1, JSON_FAIL},
        {"[1 2]          ", 1, JSON_FAIL},
        {"[1}          ", 1, JSON_FAIL},
        {"[1,null]         ", 1, JSON_NULL},
        {"[1,\"\"]         ", 1, JSON_STRING},
    };
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        arena a = {0};
        err e = {0};
        json j = json_open(lists[i].in, strlen(lists[i].in), &a, &e);
        char out[16 * 8];
        size_t n;
        assert_int_equal(json_next(&j), JSON_ARRAY);
        char *end = json_take_ints(&j, INT64_MIN, INT64_MAX, 16, &n, out, put_wide);
        assert_int_equal(n, lists[i].want);
        assert_ptr_equal(end, out + 8 * n);
        assert_int_equal(json_next(&j), lists[i].then);
        arena_free(&a);
    }
    arena a = {0};
    err e = {0};
    json j = json_open("[1,300,2]       ", 16, &a, &e);
    char out[64];
    size_t n;
    json_next(&j);
    json_take_ints(&j, 0, 255, 8, &n, out, put_wide); /* 300 is out of range: left for json_next */
    assert_int_equal(n, 1);
    assert_true(json_next(&j) == JSON_NUMBER && str_eq(j.text, STR("300")));
    json_take_ints(&j, 0, 255, 8, &n, out, put_wide);
    assert_int_equal(n, 1);
    assert_true(json_take_close(&j) && json_finish(&j));
}

static void test_take_key(void **state)
{
    (void)state;
    static const char name[32] = "\"values\":";
    str quoted = {name, 9};
    str in = STR("{\"values\":1,\"values\" :2,\"valuez\":3,\"values\":4          }");
    arena a = {0};
    err e = {0};
    json j = json_open(in.p, in.n, &a, &e);
    int64_t v = 0;
    assert_true(json_next(&j) == JSON_OBJECT && json_take_key(&j, quoted));
    assert_int_equal(j.at, 1);
    assert_true(json_take_int(&j, 0, 9, &v) && v == 1);
    assert_false(json_take_key(&j, quoted)); /* a space before the colon */
    assert_true(json_next(&j) == JSON_KEY && json_take_int(&j, 0, 9, &v) == false);
    assert_true(json_next(&j) == JSON_NUMBER);
    assert_false(json_take_key(&j, quoted));
    assert_true(json_next(&j) == JSON_KEY && json_take_int(&j, 0, 9, &v) && v == 3);
    assert_true(json_take_key(&j, quoted) && json_take_int(&j, 0, 9, &v) && v == 4);
    assert_true(json_next(&j) == JSON_OBJECT_END && json_finish(&j));
}

/* ---- writing ---- */

static void put_some(json_out *o)
{
    json_put_object(o);
    json_put_key(o, STR("a"));
    json_put_i64(o, -5);
    json_put_key(o, STR("empty"));
    json_put_array(o);
    json_put_array_end(o);
    json_put_key(o, STR("none"));
    json_put_object(o);
    json_put_object_end(o);
    json_put_key(o, STR("list"));
    json_put_array(o);
    json_put_object(o);
    json_put_key(o, STR("n"));
    json_put_array_flat(o);
    json_put_u64(o, 1);
    json_put_u64_quoted(o, 2);
    json_put_array_end(o);
    json_put_object_end(o);
    json_put_bool(o, true);
    json_put_null(o);
    json_put_array_end(o);
    json_put_object_end(o);
}

static void test_writer(void **state)
{
    (void)state;
    buf b = {0};
    json_out o = {.b = &b};
    put_some(&o);
    buf_putc(&b, '\0');
    assert_string_equal(
        b.p, "{\"a\":-5,\"empty\":[],\"none\":{},\"list\":[{\"n\":[1,\"2\"]},true,null]}");
    buf_reset(&b);
    o = (json_out){.b = &b, .pretty = true};
    put_some(&o);
    buf_putc(&b, '\0');
    assert_string_equal(b.p,
                        "{\n  \"a\": -5,\n  \"empty\": [],\n  \"none\": {},\n  \"list\": [\n    {\n"
                        "      \"n\": [1, \"2\"]\n    },\n    true,\n    null\n  ]\n}");
    buf_free(&b);

    b = (buf){.limit = 300}; /* too small: fails without a crash */
    o = (json_out){.b = &b};
    for (int i = 0; i < 20; i++) put_some(&o);
    assert_true(b.failed);
    buf_free(&b);
}

static void test_quoting(void **state)
{
    (void)state;
    static const struct {
        str in;
        const char *want;
    } texts[] = {
        {{"", 0}, "\"\""},
        {{"plain text of some length", 25}, "\"plain text of some length\""},
        {{"\"\\/\b\f\n\r\t", 8}, "\"\\\"\\\\/\\b\\f\\n\\r\\t\""},
        {{"zero \0 in the middle\x1f", 21}, "\"zero \\u0000 in the middle\\u001f\""},
        {{"\xc3\xa9 \x7f", 4}, "\"\xc3\xa9 \\u007f\""},
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        buf b = {0};
        json_quote(&b, texts[i].in);
        buf_putc(&b, '\0');
        assert_string_equal(b.p, texts[i].want);
        buf_free(&b);
    }
}

static void test_double_text(void **state)
{
    (void)state;
    static const struct {
        double v;
        const char *want;
    } doubles[] = {{0, "0"},
                   {-0.0, "-0.0"},
                   {1, "1"},
                   {0.1, "0.1"},
                   {-2.5, "-2.5"},
                   {1e300, "1e+300"},
                   {1.0 / 3, "0.3333333333333333"},
                   {0.1 + 0.2, "0.30000000000000004"},
                   {5e-324, "5e-324"},
                   {1.7976931348623157e308, "1.7976931348623157e+308"}};
    const char *host = setlocale(LC_ALL, "de_DE.UTF-8"); /* has a decimal comma, if installed */
    (void)host;
    for (size_t i = 0; i < ARRAY_LEN(doubles); i++) {
        char text[32];
        size_t n = double_text(doubles[i].v, text, sizeof text);
        assert_string_equal(text, doubles[i].want);
        assert_int_equal(n, strlen(text));
    }
    setlocale(LC_ALL, "C");
}

static void test_base64(void **state)
{
    (void)state;
    static const struct {
        const char *text, *bytes;
        size_t n;
        bool ok;
    } cases64[] = {
        {"", "", 0, true},
        {"Zg==", "f", 1, true},
        {"Zm8=", "fo", 2, true},
        {"Zm9v", "foo", 3, true},
        {"Zm9vYg", "foob", 4, true},
        {"Zm9vYmE", "fooba", 5, true},
        {"+/-_", "\xfb\xff\xbf", 3, true},
        {"Z", "", 1, false},
        {"Zg=", "", 2, false},
        {"Zm!v", "", 2, false},
        {"====", "", 0, false},
        {"Zg==Zg==", "", 2, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases64); i++) {
        uint8_t out[16];
        size_t n = 99;
        assert_int_equal(base64_decode(str_of(cases64[i].text), out, &n), cases64[i].ok);
        assert_int_equal(n, cases64[i].n);
        if (cases64[i].ok) assert_memory_equal(out, cases64[i].bytes, n);
    }
    buf b = {0};
    base64_encode(&b, STR("fooba"));
    base64_encode(&b, STR(""));
    base64_encode(&b, STR("\xff\xfe\xfd"));
    base64_encode(&b, STR("f"));
    buf_putc(&b, '\0');
    assert_string_equal(b.p, "Zm9vYmE=//79Zg==");
    buf_free(&b);

    uint8_t id[4];
    assert_true(hex_decode(STR("00fFaB9c"), id) && memcmp(id, "\x00\xff\xab\x9c", 4) == 0);
    assert_false(hex_decode(STR("0g"), id));
    assert_false(hex_decode(STR("123"), id));
    assert_false(hex_decode(STR("\xb0\xb1"), id));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_nesting_is_remembered),
        cmocka_unit_test(test_skip),
        cmocka_unit_test(test_json_lines),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_source_fails),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_unsigned),
        cmocka_unit_test(test_doubles),
        cmocka_unit_test(test_take_ints),
        cmocka_unit_test(test_take_key),
        cmocka_unit_test(test_writer),
        cmocka_unit_test(test_quoting),
        cmocka_unit_test(test_double_text),
        cmocka_unit_test(test_base64),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
