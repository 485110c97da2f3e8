/* Tests request targets of browsers, scripts and attackers. */
#include "store/params.h"
#include "store/selection.h"

#include "../../support/test.h"

#define NOW UINT64_C(1700000000000000000)

static void test_targets(void **state)
{
    (void)state;
    static const struct {
        const char *target, *path, *a; /* path NULL: rejected */
    } cases[] = {
        {"/api/v1/tree", "/api/v1/tree", NULL},
        {"/x?a=1", "/x", "1"},
        {"/x?a=b+c%2Bd", "/x", "b c+d"},
        {"/x?b=2&a=cpu%7Bservice.name%3D%22x%22%7D&a=3", "/x", "cpu{service.name=\"x\"}"},
        {"/x?&&a", "/x", ""},
        {"/a+b", "/a+b", NULL},
        {"/", "/", NULL},
        {"/dir/", "/dir/", NULL},
        {"x", NULL, NULL},
        {"", NULL, NULL},
        {"/../etc/passwd", NULL, NULL},
        {"/a/%2e%2E/b", NULL, NULL},
        {"/a/./b", NULL, NULL},
        {"/a//b", NULL, NULL},
        {"/a%00b", NULL, NULL},
        {"/a%zz", NULL, NULL},
        {"/a%2", NULL, NULL},
        {"/x?a=%ff", NULL, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        arena a = {0};
        params p;
        err e = {0};
        bool ok = params_parse(str_of(cases[i].target), &a, &p, &e);
        if (ok != (cases[i].path != NULL)) fail_msg("%s: %s", cases[i].target, e.msg);
        if (ok) assert_true(str_eq(p.path, str_of(cases[i].path)));
        if (ok) assert_int_equal(params_get(&p, "a").p != NULL, cases[i].a != NULL);
        if (ok && cases[i].a) assert_true(str_eq(params_get(&p, "a"), str_of(cases[i].a)));
        arena_free(&a);
    }
}

static void test_values(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t time; /* 0: none */
    } times[] = {
        {"now", NOW},
        {"now-15m", NOW - UINT64_C(900000000000)},
        {"now-2d", NOW - UINT64_C(172800000000000)},
        {"2023-11-14T22:13:20Z", NOW},
        {"1700000000", NOW},
        {"1700000000.5", NOW + 500000000},
        {"1700000000000", NOW},
        {"1700000000000000000", NOW},
        {"yesterday", 0},
        {"now+1h", 0},
        {"", 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(times); i++) {
        param v = {STR("t"), str_of(times[i].text)};
        params p = {.v = {&v, 1, 1}};
        uint64_t got = 7;
        err e = {0};
        bool ok = params_time(&p, "t", NOW, &got, &e);
        if (ok != (times[i].time != 0) || (ok && got != times[i].time))
            fail_msg("%s", times[i].text);
        if (!ok) assert_int_equal(e.code, ERR_USAGE);
    }
    param v = {STR("n"), STR("12")};
    params p = {.v = {&v, 1, 1}};
    err e = {0};
    uint64_t n = 0, ns = 5;
    bool flag = false;
    assert_true(params_number(&p, "n", 12, &n, &e) && n == 12);
    assert_false(params_number(&p, "n", 11, &n, &e));
    e = (err){0};
    assert_false(params_flag(&p, "n", &flag, &e));
    v.value = STR("250ms");
    e = (err){0};
    assert_true(params_duration(&p, "n", &ns, &e) && ns == 250000000);
    assert_true(params_duration(&p, "other", &ns, &e) && ns == 250000000);
}

static void test_reals(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double v; /* below 0: rejected */
    } cases[] = {{"0.05", .05},
                 {"1", 1},
                 {"2.", 2},
                 {".5", .5},
                 {"0", 0},
                 {"", -1},
                 {".", -1},
                 {"-1", -1},
                 {"1e3", -1},
                 {"1.2.3", -1},
                 {"nan", -1},
                 {"0x1", -1},
                 {"123456789012345678901234", -1}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        param v = {STR("r"), str_of(cases[i].text)};
        params p = {.v = {&v, 1, 1}};
        double got = 7;
        err e = {0};
        bool ok = params_real(&p, "r", &got, &e);
        if (ok != (cases[i].v >= 0) || (ok && got != cases[i].v)) fail_msg("%s", cases[i].text);
        if (!ok) assert_true(e.code == ERR_USAGE && e.msg[0] == 'r' && got == 7);
    }
    param zero = {STR("start"), STR("0")};
    params p = {.v = {&zero, 1, 1}};
    err e = {0};
    uint64_t t = 7;
    assert_true(params_time(&p, "start", NOW, &t, &e) && t == 0); /* the beginning */
}

/* Written parameters parse to the same values. */
static void test_written(void **state)
{
    (void)state;
    arena a = {0};
    params p = {0}, got;
    buf b = {0};
    err e = {0};
    str query = STR("cpu{a=~\"x+ y&z=%7B#\\\\/\", b=\"\xc3\xa9\"}");
    params_write(&p, &b);
    assert_int_equal(b.n, 0);
    assert_true(params_set(&p, "query", STR("gone"), &a));
    assert_true(params_set(&p, "start", STR("now-1h"), &a));
    assert_true(params_set(&p, "query", query, &a));
    buf_putc(&b, '/');
    params_write(&p, &b);
    assert_true(params_parse(buf_view(&b), &a, &got, &e));
    assert_int_equal(got.v.n, 2);
    assert_true(str_eq(params_get(&got, "query"), query));
    assert_true(str_eq(params_get(&got, "start"), STR("now-1h")));
    buf_free(&b);
    arena_free(&a);
}

static void test_selection(void **state)
{
    (void)state;
#define TRACE "0af7651916cd43dd8448eb211c80319c"
    static const struct {
        const char *target, *fails;
    } cases[] = {
        {"/?query=cpu{a=b}&start=now-1h&end=now&trace_id=" TRACE "&span_id=b7ad6b7169203331", NULL},
        {"/", NULL},
        {"/?query=cpu{a", "selector: expected =, !=, =~ or !~ (byte 5, at query)"},
        {"/?start=soon",
         "start must be a time such as now-1h, 2026-11-15T12:00:00Z or a Unix time, "
         "not `soon`"},
        {"/?start=now&end=now-1h", "end must be after start"},
        {"/?start=0&end=0", "end must be after start"},
        {"/?end=0", "end must be after start"},
        {"/?query={trace_id=" TRACE "}&trace_id=" TRACE, NULL},
        {"/?query={trace_id=" TRACE "}&trace_id=1af7651916cd43dd8448eb211c80319c",
         "trace_id and the id in `query` differ"},
        {"/?query={trace_id=" TRACE ",trace_id=" TRACE "}",
         "selector: expected one id of a kind (byte 84, at query)"},
        {"/?query={trace_id!=12}", "selector: expected an id of 32 hex digits (byte 13, at query)"},
        {"/?query={trace_id!=" TRACE ",span_id=~\"b.*\"}", NULL},
        {"/?query={profile_id!=" TRACE "}",
         "selector: expected = and an id of 32 hex digits (byte 45, at query)"},
        {"/?trace_id=12", "expected an id of 32 hex digits (at trace_id)"},
        {"/?span_id=b7ad6b716920333x", "expected an id of 16 hex digits (at span_id)"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        arena a = {0};
        params p;
        store_selector q;
        err e = {0};
        char text[300];
        assert_true(params_parse(str_of(cases[i].target), &a, &p, &e));
        bool ok = selection_of(&p, NOW, &a, &q, &e);
        assert_int_equal(ok, !cases[i].fails);
        if (!ok) assert_string_equal(err_text(&e, text, sizeof text), cases[i].fails);
        if (!i) {
            assert_true(str_eq(q.type, STR("cpu")) && q.n_matchers == 1 && q.end == NOW);
            assert_true(q.trace_id[0] == 0x0a && q.span_id[7] == 0x31 && !q.profile_id);
        }
        arena_free(&a);
    }
    assert_true(selection_has(STR("span_id")) && !selection_has(STR("format")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_targets), cmocka_unit_test(test_values), cmocka_unit_test(test_reals),
        cmocka_unit_test(test_written), cmocka_unit_test(test_selection)};
    return cmocka_run_group_tests_name("params", tests, NULL, NULL);
}
