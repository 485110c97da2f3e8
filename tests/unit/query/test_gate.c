#include "../../support/test.h"

#include "query/gate.h"
#include <math.h>

static const struct {
    const char *text, *pattern;
    gate_kind kind;
    double limit;
    bool strict;
    const char *unit, *fails;
} cases[] = {
    {"parse<=4%", "parse", GATE_SHARE, 0.04, false, "", NULL},
    {" json::parse < 12.5 %", "json::parse", GATE_SHARE, 0.125, true, "", NULL},
    {"vector<int>::push<=+4%", "vector<int>::push", GATE_GROWTH, 0.04, false, "", NULL},
    {"^main$<=200ms", "^main$", GATE_VALUE, 200, false, "ms", NULL},
    {"main<=3", "main", GATE_VALUE, 3, false, "", NULL},
    {"parse", NULL, 0, 0, false, NULL, "has no <"},
    {"<=4%", NULL, 0, 0, false, NULL, "has no pattern before the <"},
    {"parse<=", NULL, 0, 0, false, NULL, "has no number behind the <"},
    {"parse<=4.4.4%", NULL, 0, 0, false, NULL, "has no number behind the <"},
    {"parse<=+4ms", NULL, 0, 0, false, NULL, "limits growth, which is given in %"},
    {"parse<=4parsecs", NULL, 0, 0, false, NULL, "has a unit that is not known"},
};

static void test_parse(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gate g;
        err e = {0};
        bool ok = gate_parse(str_of(cases[i].text), &g, &e);
        if (cases[i].fails) {
            assert_false(ok);
            assert_int_equal(e.code, ERR_USAGE);
            if (!strstr(e.msg, cases[i].fails)) fail_msg("%s: %s", cases[i].text, e.msg);
            continue;
        }
        assert_ok(ok, &e);
        assert_true(str_eq(g.pattern, str_of(cases[i].pattern)));
        assert_true(str_eq(g.unit, str_of(cases[i].unit)));
        assert_int_equal(g.kind, cases[i].kind);
        assert_int_equal(g.strict, cases[i].strict);
        assert_true(fabs(g.limit - cases[i].limit) < 1e-12);
    }
}

static bool passes(const char *text, gate_sums s, const char *unit)
{
    gate g;
    gate_result r;
    err e = {0};
    assert_ok(gate_parse(str_of(text), &g, &e), &e);
    assert_ok(gate_judge(&g, s, str_of(unit), 1000, 1000, &r, &e), &e);
    assert_true(r.margin >= 0 && r.smallest > 0);
    return r.passed;
}

static void test_judge(void **state)
{
    (void)state;
    gate_sums s = {.before = 20, .before_all = 100, .after = 50, .after_all = 200};
    assert_true(passes("x<=25%", s, "count"));
    assert_false(passes("x<25%", s, "count"));
    assert_true(passes("x<=+25%", s, "count"));
    assert_false(passes("x<=+24%", s, "count"));
    assert_true(passes("x<=50", s, "count"));
    assert_true(passes("x<=50us", s, "us"));
    assert_false(passes("x<=49999ns", s, "microseconds"));
    assert_true(passes("x<=+0%", (gate_sums){0, 10, 0, 10}, "ns"));
    assert_false(passes("x<=+1000%", (gate_sums){0, 10, 1, 10}, "ns"));
    assert_true(passes("x<=1%", (gate_sums){0}, "ns"));
}

static void test_judge_units(void **state)
{
    (void)state;
    gate g;
    gate_result r;
    err e = {0};
    assert_ok(gate_parse(STR("x<=5ms"), &g, &e), &e);
    assert_false(gate_judge(&g, (gate_sums){0}, STR("bytes"), 0, 0, &r, &e));
    assert_string_equal(e.msg, "the gate \"x<=5ms\" is in ms, the values are in bytes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_judge),
        cmocka_unit_test(test_judge_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
