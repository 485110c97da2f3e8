/* The small parsers of POST /ingest: application names, times, forms, labels of recordings. */
#include "pyroscope/at_time.h"
#include "pyroscope/ingest_query.h"
#include "pyroscope/labels_snapshot.h"
#include "pyroscope/multipart.h"
#include "pyroscope/sample_types.h"
#include "pyroscope/stack_type.h"
#include "wire/pb.h"

#include "../../support/test.h"

#define ASSERT_STR(got, want)                                                                      \
    do {                                                                                           \
        str got_ = (got);                                                                          \
        if (!str_eq(got_, str_of(want)))                                                           \
            fail_msg("%s is `%.*s`, expected `%s`", #got, STR_ARG(got_), (want));                  \
    } while (0)

/* ---- application names ---- */

static void test_app_names(void **state)
{
    (void)state;
    static const struct {
        const char *text, *app;
        size_t n;
        const char *name, *value; /* one of the labels */
    } cases[] = {
        {"shop", "shop", 0, "", ""},
        {" shop { } ", "shop", 0, "", ""},
        {"shop.web{region=eu}", "shop.web", 1, "region", "eu"},
        {"shop{ a = b , path=/x/y=z ,}", "shop", 2, "path", "/x/y=z"},
        {"shop{a=1,b=2,a=3}", "shop", 2, "a", "3"},
        {"shop{a=1,a=}", "shop", 0, "", ""},
        {"shop{otel.scope.name=com.grafana.pyroscope/nodejs}", "shop", 1, "otel.scope.name",
         "com.grafana.pyroscope/nodejs"},
        {"shop{k={x}", "shop", 1, "k", "{x"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        arena a = {0};
        pyro_labels l = {0};
        str app;
        err e = {0};
        assert_ok(pyro_app_name(str_of(cases[i].text), &a, &app, &l, &e), &e);
        ASSERT_STR(app, cases[i].app);
        assert_u64(l.n, cases[i].n);
        if (cases[i].n) ASSERT_STR(pyro_labels_get(&l, str_of(cases[i].name)), cases[i].value);
        arena_free(&a);
    }
}

static void test_bad_app_names(void **state)
{
    (void)state;
    static const struct {
        const char *text, *why;
        uint64_t at;
    } cases[] = {
        {"", "the application has no name", 0},
        {"{a=b}", "the application has no name", 0},
        {"a{b", "a label has no `=`", 2},
        {"a{b=c", "the labels do not end with `}`", 5},
        {"a{b=c}d", "text after the `}` of the labels", 6},
        {"a{=c}", "a label has no name", 2},
        {"a{x=y,b=\xff}", "the value of label `b` is not UTF-8", 6},
        {"a\xff", "the name of the application is not UTF-8", 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        arena a = {0};
        pyro_labels l = {0};
        str app;
        err e = {.offset = NO_OFFSET};
        assert_false(pyro_app_name(str_of(cases[i].text), &a, &app, &l, &e));
        assert_string_equal(e.msg, cases[i].why);
        assert_u64(e.offset, cases[i].at);
        arena_free(&a);
    }
}

static void test_limits(void **state)
{
    (void)state;
    arena a = {0};
    pyro_labels l = {0};
    char name[16];
    static char longer[PYRO_MAX_LABEL_VALUE + 2];
    memset(longer, 'x', sizeof longer - 1);
    for (int i = 0; i < PYRO_MAX_LABELS; i++) {
        char *copy = arena_alloc(&a, sizeof name);
        err e = {0};
        assert_non_null(copy);
        snprintf(copy, sizeof name, "k%d", i);
        assert_ok(pyro_labels_set(&l, str_of(copy), STR("v"), &a, &e), &e);
    }
    err e = {0};
    assert_true(pyro_labels_set(&l, STR("k3"), STR("w"), &a, &e)); /* replaces */
    assert_false(pyro_labels_set(&l, STR("more"), STR("v"), &a, &e));
    assert_string_equal(e.msg, "more than 64 labels");
    assert_int_equal(e.code, ERR_LIMIT);
    e = (err){0};
    assert_false(pyro_labels_set(&l, STR("k3"), str_of(longer), &a, &e));
    assert_string_equal(e.msg, "the value of label `k3` has 2049 bytes, more than 2048");
    e = (err){0};
    assert_false(pyro_labels_set(&l, (str){longer, 1025}, STR("v"), &a, &e));
    assert_int_equal(e.code, ERR_LIMIT);
    arena_free(&a);
}

/* ---- times ---- */

static void test_times(void **state)
{
    (void)state;
    const uint64_t s = 1000000000, now = 1794794057 * s;
    static const struct {
        const char *text;
        int64_t want; /* ns; relative to now if it begins with "now"; -1: invalid */
    } cases[] = {
        {"1794794057", 1794794057000000000},
        {"1794794057123", 1794794057123000000},
        {"1794794057123456", 1794794057123456000},
        {"1794794057123456789", 1794794057123456789},
        {"20261116", 1794787200000000000},
        {"1794_794,057", 1794794057000000000},
        {"99999999", 99999999000000000}, /* not a date */
        {"0", 0},
        {"now", 0},
        {"now-1h", -3600000000000},
        {"now-1h30m", -5400000000000},
        {"now - 2d", -172800000000000},
        {"now+5min", 300000000000},
        {"now-1M", -2592000000000000},
        {"now-1y", -31536000000000000},
        {"", -1},
        {"yesterday", -1},
        {"now-", -1},
        {"now-1x", -1},
        {"now1h", -1},
        {"12a", -1},
        {"99999999999999999999999", -1},
        {"now-9999999y", -1},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint64_t ns = 0;
        bool relative = !strncmp(cases[i].text, "now", 3);
        bool ok = pyro_at_time(str_of(cases[i].text), now, &ns);
        if (ok != (cases[i].want != -1)) fail_msg("`%s`", cases[i].text);
        if (ok) assert_u64(ns, (uint64_t)cases[i].want + (relative ? now : 0));
    }
}

static void test_query(void **state)
{
    (void)state;
    arena a = {0};
    ingest_query q;
    err e = {0};
    assert_ok(ingest_query_parse(STR("name=shop%7Bregion%3Deu%2Cx%3Da+b%7D&from=1794794057&until=&"
                                     "sampleRate=17&spyName=nodespy&format=pprof&units=&other"),
                                 7, &a, &q, &e),
              &e);
    ASSERT_STR(q.app, "shop");
    ASSERT_STR(pyro_labels_get(&q.labels, STR("x")), "a b");
    ASSERT_STR(q.format, "pprof");
    ASSERT_STR(q.spy, "nodespy");
    assert_u64(q.from, 1794794057000000000);
    assert_u64(q.until, 0);
    assert_u64(q.sample_rate, 17);
    assert_ok(ingest_query_parse(STR("name=a&sampleRate=0"), 7, &a, &q, &e), &e);
    assert_u64(q.sample_rate, INGEST_SAMPLE_RATE);
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"", "the parameter `name` is missing"},
        {"name=a&from=x", "from must be a time such as 1687841520 or now-1h, not `x`"},
        {"name=a&from=2&until=1", "from is later than until"},
        {"name=a&sampleRate=1e9", "sampleRate must be a number up to 1000000"},
        {"name=a&sampleRate=9999999", "sampleRate must be a number up to 1000000"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        e = (err){0};
        assert_false(ingest_query_parse(str_of(cases[i].text), 7, &a, &q, &e));
        assert_string_equal(e.msg, cases[i].why);
    }
    arena_free(&a);
}

/* ---- forms ---- */

#define TYPE "multipart/form-data; charset=x; boundary=\"b 1\""

static void test_forms(void **state)
{
    (void)state;
    multipart m;
    err e = {0};
    str body =
        STR("preamble\r\n--b 1  \r\ncontent-disposition: form-data; filename=f; NAME=profile\r\n"
            "Content-Type: x\r\n\r\nA\r\n--b\r\n\r\n--b 1\r\n"
            "Content-Disposition: form-data; name=\"empty\"\r\n\r\n\r\n--b 1--epilogue");
    assert_true(multipart_is(STR(TYPE)) && multipart_is(STR("Multipart/Form-Data;boundary=x")));
    assert_false(multipart_is(STR("multipart/form-database")) || multipart_is((str){0}));
    assert_ok(multipart_parse(STR(TYPE), body, &m, &e), &e);
    assert_u64(m.n, 2);
    ASSERT_STR(multipart_get(&m, STR("profile")), "A\r\n--b\r\n");
    assert_true(multipart_get(&m, STR("empty")).p && !multipart_get(&m, STR("empty")).n);
    assert_null(multipart_get(&m, STR("none")).p);
    assert_ok(multipart_parse(STR(TYPE), STR("--b 1--"), &m, &e), &e);
    assert_u64(m.n, 0);
}

static void test_bad_forms(void **state)
{
    (void)state;
    static const struct {
        const char *type, *body, *why, *path;
        uint64_t at;
    } cases[] = {
        {"multipart/form-data", "--b 1--", "has no boundary", "", NO_OFFSET},
        {"multipart/form-data; boundary=", "--b 1--", "has no boundary", "", NO_OFFSET},
        {TYPE, "", "does not contain its boundary", "", 0},
        {TYPE, "text", "does not contain its boundary", "", 4},
        {TYPE, "--b 1", "no line end after a boundary", "part[0]", 5},
        {TYPE, "--b 1\r\nname: x", "ends in the headers", "part[0]", 14},
        {TYPE, "--b 1\r\n\r\nbody\r\n--b 1--", "a part has no name", "part[0]", 7},
        {TYPE, "--b 1\r\nContent-Disposition: form-data; name=a\r\n\r\nbody\r\n--b",
         "ends before its closing boundary", "part[0]", 58},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        multipart m;
        err e = {.offset = NO_OFFSET};
        assert_false(multipart_parse(str_of(cases[i].type), str_of(cases[i].body), &m, &e));
        if (!strstr(e.msg, cases[i].why)) fail_msg("%zu: %s", i, e.msg);
        assert_string_equal(e.path, cases[i].path);
        assert_u64(e.offset, cases[i].at);
    }
}

/* ---- the labels of a recording ---- */

static void put_entry(buf *b, uint32_t map, uint64_t key, str value)
{
    buf entry = {0};
    pb_put_uint(&entry, 1, key);
    pb_put_bytes(&entry, 2, value);
    pb_put_bytes(b, map, buf_view(&entry));
    buf_free(&entry);
}

static void put_label(buf *b, uint64_t name, uint64_t value)
{
    buf entry = {0};
    pb_put_uint(&entry, 1, name);
    pb_put_uint(&entry, 2, value);
    pb_put_bytes(b, 1, buf_view(&entry));
    buf_free(&entry);
}

static buf snapshot(void)
{
    buf b = {0}, one = {0}, two = {0};
    put_label(&one, 1, 2), put_label(&one, 3, 4), put_label(&one, 9, 2); /* 9: missing */
    put_label(&two, 1, 4);
    put_entry(&b, 1, 7, buf_view(&one));
    put_entry(&b, 2, 1, STR("endpoint")), put_entry(&b, 2, 2, STR("/pay"));
    put_entry(&b, 2, 3, STR("user")), put_entry(&b, 2, 4, STR("u1"));
    put_entry(&b, 1, UINT64_MAX, buf_view(&two));
    buf_free(&one), buf_free(&two);
    return b;
}

static void test_snapshot(void **state)
{
    (void)state;
    buf b = snapshot();
    arena a = {0};
    labels_snapshot s;
    err e = {0};
    assert_ok(labels_snapshot_decode(buf_view(&b), &a, &s, &e), &e);
    assert_u64(s.contexts.n, 2);
    ptrdiff_t at = labels_snapshot_find(&s, 7);
    assert_true(at >= 0);
    assert_u64(s.contexts.v[at].labels.n, 2);
    ASSERT_STR(pyro_labels_get(&s.contexts.v[at].labels, STR("endpoint")), "/pay");
    at = labels_snapshot_find(&s, UINT64_MAX);
    assert_true(at >= 0);
    ASSERT_STR(pyro_labels_get(&s.contexts.v[at].labels, STR("endpoint")), "u1");
    assert_int_equal(labels_snapshot_find(&s, 8), -1);
    for (size_t n = 1; n < b.n; n++) { /* any cut is an error with a position, or fewer entries */
        e = (err){.offset = NO_OFFSET};
        if (!labels_snapshot_decode((str){b.p, n}, &a, &s, &e)) assert_true(e.offset <= n);
    }
    for (size_t budget = 0; budget < 4096; budget += 64) {
        arena little = {.budget = budget + 1};
        e = (err){0};
        if (!labels_snapshot_decode(buf_view(&b), &little, &s, &e))
            assert_int_equal(e.code, ERR_MEMORY);
        arena_free(&little);
    }
    arena_free(&a);
    buf_free(&b);
}

/* ---- types ---- */

static void test_types(void **state)
{
    (void)state;
    str app;
    stack_type t = stack_type_of(STR("shop.web.inuse_space"), &app);
    ASSERT_STR(app, "shop.web");
    ASSERT_STR(t.name, "memory");
    ASSERT_STR(t.unit, "bytes");
    assert_false(t.sampled);
    t = stack_type_of(STR("shop.web"), &app); /* not a type */
    ASSERT_STR(app, "shop.web");
    ASSERT_STR(t.type, "cpu");
    assert_true(t.sampled);
    t = stack_type_of(STR(".cpu"), &app);
    ASSERT_STR(app, ".cpu");

    arena a = {0};
    sample_types s;
    err e = {0};
    assert_ok(sample_types_read((str){0}, &a, &s, &e), &e);
    assert_true(sample_types_find(&s, STR("alloc_space"))->cumulative);
    assert_false(sample_types_find(&s, STR("inuse_space"))->cumulative);
    assert_ok(sample_types_read(STR("{\"x\":{\"cumulative\":true,\"units\":\"u\",\"sampled\":{}},"
                                    "\"y\":{\"display-name\":\"block_count\"}}"),
                                &a, &s, &e),
              &e);
    assert_true(sample_types_find(&s, STR("x"))->cumulative);
    ASSERT_STR(sample_types_find(&s, STR("y"))->display_name, "block_count");
    assert_null(sample_types_find(&s, STR("alloc_space")));
    assert_false(sample_types_read(STR("[]"), &a, &s, &e));
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_app_names), cmocka_unit_test(test_bad_app_names),
        cmocka_unit_test(test_limits),    cmocka_unit_test(test_times),
        cmocka_unit_test(test_query),     cmocka_unit_test(test_forms),
        cmocka_unit_test(test_bad_forms), cmocka_unit_test(test_snapshot),
        cmocka_unit_test(test_types),
    };
    return cmocka_run_group_tests_name("ingest_parts", tests, NULL, NULL);
}
