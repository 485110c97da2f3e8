/* Targets as browsers, scripts and attackers write them. */
#include "server/params.h"

#include "../../support/test.h"

#define NOW UINT64_C(1700000000000000000)

static void test_targets(void **state)
{
    (void)state;
    static const struct {
        const char *target, *path, *a; /* path NULL: refused */
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_targets),
                                       cmocka_unit_test(test_values)};
    return cmocka_run_group_tests_name("params", tests, NULL, NULL);
}
