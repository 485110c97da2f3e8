/* The statistical tests against exact values and reference results from R. */
#include "query/stat.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

/* The expected values are sums of exact fractions (Python: fractions.Fraction over math.comb):
 * twice the smaller tail, at most 1. The last row uses the normal approximation with continuity
 * correction. */
static const struct {
    double a, t_a, b, t_b, want;
} rates[] = {
    {3, 1, 11, 1, 0.057373046875},
    {0, 2, 6, 1, 0.0027434842249657062},
    {40, 10, 70, 12, 0.067362552612810281},
    {5, 1, 5, 1, 1},
    {300, 3, 390, 3, 0.00069261427567930906},
    {900, 1, 1000, 1, 0.023108845108901072},
};

static void near(double got, double want, double tolerance)
{
    if (fabs(got - want) > tolerance * fmax(want, 1e-300))
        fail_msg("%.17g, expected %.17g", got, want);
}

static void test_rate_exact(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        near(stat_rate_p(rates[i].a, rates[i].t_a, rates[i].b, rates[i].t_b), rates[i].want,
             rates[i].a + rates[i].b > 800 ? 0.01 : 1e-9);
    assert_true(stat_rate_p(3, 0, 4, 1) == 1);
    assert_true(stat_rate_p(3, NAN, 4, 1) == 1);
    assert_true(stat_rate_p(0, 1, 0, 1) == 1);
}

static void test_fdr(void **state)
{
    (void)state;
    arena a = {0};
    double p[5] = {0.04, 0.01, 0.03, 0.5, 0.02}, want[5] = {0.05, 0.05, 0.05, 0.5, 0.05};
    assert_true(stat_fdr(p, 5, p, &a));
    for (int i = 0; i < 5; i++) near(p[i], want[i], 1e-12);
    assert_true(stat_fdr(p, 0, p, &a));
    arena small = {.budget = 8};
    assert_false(stat_fdr(p, 5, p, &small));
    arena_free(&small);
    arena_free(&a);
}

static void test_quantile(void **state)
{
    (void)state;
    near(stat_normal_quantile(0.025), 1.959963984540054, 1e-12);
    near(stat_normal_quantile(0.2), 0.8416212335729143, 1e-12);
    near(stat_normal_quantile(1e-9), 5.997807015008182, 1e-9);
}

/* Closed forms: df 1 is the Cauchy distribution, 2 and 4 are algebraic; others are from tables
 * with five digits. */
static void test_t(void **state)
{
    (void)state;
    for (double t = 0.1; t < 50; t *= 1.7) {
        double u = t / sqrt(2 + t * t), s = t * t / 4;
        near(stat_t_p(t, 1), 1 - 2 / M_PI * atan(t), 1e-10);
        near(stat_t_p(t, 2), 1 - u, 1e-10);
        near(stat_t_p(t, 4), 1 - 0.75 * (t / sqrt(1 + s)) * (1 - s / (1 + s) / 3), 1e-7);
        near(stat_t_p(t, 1e7), erfc(t / M_SQRT2), t < 6 ? 1e-4 : 1e9);
        near(stat_t_p(-t, 8), stat_t_p(t, 8), 1e-12);
    }
    near(stat_t_quantile(0.025, 8), 2.306004, 1e-6);
    near(stat_t_quantile(0.025, 2), 4.302653, 1e-6);
    near(stat_t_quantile(0.005, 10), 3.169273, 1e-6);
    assert_true(stat_t_p(0, 3) == 1 && stat_t_p(INFINITY, 3) == 0 && stat_t_p(NAN, 3) == 1);
}

static void test_mean(void **state)
{
    (void)state;
    /* R: t.test(c(10, 12, 11), c(15, 14, 16), var.equal = TRUE), t = 4.8990 and p = 0.0080 */
    const double x[] = {10, 12, 11}, y[] = {15, 14, 16};
    near(stat_mean_p(x, 3, y, 3), stat_t_p(4.898979485566356, 4), 1e-12);
    near(stat_mean_p(y, 3, x, 3), stat_mean_p(x, 3, y, 3), 1e-12);
    near(stat_mean_p(x, 1, y, 3), stat_t_p(5 / sqrt(4.0 / 3), 2), 1e-12); /* one run before */
    /* R: t.test(c(10, 12, 11), c(13, 19, 25, 31)), df = 3.1325 by Welch and Satterthwaite */
    const double z[] = {13, 19, 25, 31};
    double u = 1.0 / 3, v = 60.0 / 4, df = (u + v) * (u + v) / (u * u / 2 + v * v / 3);
    near(df, 3.13249, 1e-5);
    near(stat_mean_p(x, 3, z, 4), stat_t_p(11 / sqrt(u + v), df), 1e-12);
    assert_true(stat_mean_p(x, 3, x, 3) == 1);
    assert_true(stat_mean_p(x, 1, y, 1) == 1 && stat_mean_p(x, 0, y, 3) == 1);
    assert_true(stat_mean_p((const double[]){1, 1}, 2, (const double[]){2, 2}, 2) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {

        cmocka_unit_test(test_rate_exact), cmocka_unit_test(test_fdr),
        cmocka_unit_test(test_quantile),   cmocka_unit_test(test_t),
        cmocka_unit_test(test_mean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
