/* Gates: syntax, units, and the comparison with the limit. */
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
    {"main<=3", "main", GATE_VALUE, 3, false, "",
     NULL}, /* rejected when the unit of the values is known */
    {"parse", NULL, 0, 0, false, NULL, "has no <"},
    {"<=4%", NULL, 0, 0, false, NULL, "has no pattern before the <"},
    {"parse<=", NULL, 0, 0, false, NULL, "has no number after the <"},
    {"parse<=4.4.4%", NULL, 0, 0, false, NULL, "has no number after the <"},
    {"parse<=-4%", NULL, 0, 0, false, NULL, "has no number after the <"},
    {"parse<=+4ms", NULL, 0, 0, false, NULL, "limits growth, which is given in %"},
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
        assert_false(g.total);
        assert_true(fabs(g.limit - cases[i].limit) < 1e-12);
    }
    gate g;
    assert_true(gate_parse(STR("total<=+5%"), &g, NULL) && g.total);
    assert_true(gate_parse(STR("^total$<=+5%"), &g, NULL) && !g.total);
}

/* Two sides of 100 and 200, sampled often enough for intervals. */
static diff sides(double per_before, double per_after)
{
    return (diff){.sum_before = 100,
                  .sum_after = 200,
                  .per_before = per_before,
                  .per_after = per_after,
                  .runs_before = 1,
                  .runs_after = 1,
                  .samples_before = 1000,
                  .samples_after = 2000,
                  .n_tests = 10,
                  .fdr = 0.05};
}

static bool passes(const char *text, gate_sums s, const diff *d, const char *unit)
{
    gate g;
    gate_result r;
    err e = {0};
    assert_ok(gate_parse(str_of(text), &g, &e), &e);
    assert_ok(gate_judge(&g, s, d, str_of(unit), &r, &e), &e);
    assert_true(!r.known || (r.low <= r.got && r.got <= r.high));
    return r.passed;
}

static void test_judge(void **state)
{
    (void)state;
    diff d = sides(1, 1);
    gate_sums s = {.before = 20, .after = 50};
    assert_true(passes("x<=25%", s, &d, "count"));
    assert_false(passes("x<25%", s, &d, "count"));
    assert_true(
        passes("x<=+150%", s, &d, "count")); /* growth of the cost; its share grew by 25 % */
    assert_false(passes("x<=+149%", s, &d, "count"));
    assert_true(passes("x<=50count", s, &d, "count"));
    assert_true(passes("x<=50 samples", s, &d, "{samples}"));
    assert_true(passes("x<=50us", s, &d, "us"));
    assert_false(passes("x<=49999ns", s, &d, "microseconds"));
    assert_true(passes("x<=50objects", s, &d, "objects"));
    assert_true(passes("x<=+0%", (gate_sums){0}, &d, "ns"));
    assert_false(passes("x<=+1000%", (gate_sums){.after = 1}, &d, "ns"));
    assert_true(passes("x<=1%", (gate_sums){0}, &d, "ns"));
}

/* With twice the requests, the cost per request does not double. */
static void test_judge_per(void **state)
{
    (void)state;
    diff d = sides(10, 20);
    gate_sums s = {.before = 20, .after = 50};
    assert_true(passes("x<=+25%", s, &d, "ns"));
    assert_false(passes("x<=+24%", s, &d, "ns"));
    assert_true(passes("x<=2.5ns", s, &d, "ns"));
    assert_false(passes("x<=2.4ns", s, &d, "ns"));
}

static const struct {
    const char *text, *unit, *want;
} bad_units[] = {
    {"x<=5ms", "bytes",
     "the gate \"x<=5ms\" is in ms, but the values are in bytes; use B, kB, MB, GB"},
    {"x<=5", "nanoseconds",
     "the gate \"x<=5\" has no unit: ns, us, ms, s, % (its share) or, with + before the number, % "
     "(its growth)"},
    {"x<=5", "count",
     "the gate \"x<=5\" has no unit: count, % (its share) or, with + before the number, % (its "
     "growth)"},
    {"x<=5parsecs", "ns",
     "the gate \"x<=5parsecs\" is in parsecs, but the values are in ns; use ns, us, ms, s"},
    {"x<=5count", "objects",
     "the gate \"x<=5count\" is in count, but the values are in objects; use objects"},
    {"x<=5ms", "", "the gate \"x<=5ms\" is in ms, but the values have no unit; use count"},
};

static void test_judge_units(void **state)
{
    (void)state;
    diff d = sides(1, 1);
    for (size_t i = 0; i < sizeof bad_units / sizeof *bad_units; i++) {
        gate g;
        gate_result r;
        err e = {0};
        assert_ok(gate_parse(str_of(bad_units[i].text), &g, &e), &e);
        assert_false(gate_judge(&g, (gate_sums){0}, &d, str_of(bad_units[i].unit), &r, &e));
        assert_int_equal(e.code, ERR_USAGE);
        assert_string_equal(e.msg, bad_units[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_judge),
        cmocka_unit_test(test_judge_per),
        cmocka_unit_test(test_judge_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
