#include "query/stat.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

/* The wanted values are sums of exact fractions (Python: fractions.Fraction over math.comb): twice the
 * smaller tail, at most 1.  The last rows of each table are where the normal limit takes over. */
static const struct {
    stat_counts c;
    double want;
} shares[] = {
    {{1, 10, 5, 10}, 0.14086687306501547},
    {{0, 20, 9, 20}, 0.0012285012285012285},
    {{3, 100, 12, 90}, 0.0162146153911767},
    {{50, 1000, 80, 1000}, 0.0083084483777569329},
    {{9, 10, 2, 12}, 0.0019052155275065491},
    {{200, 400, 260, 410}, 0.00015222425963666952},
    {{30, 5000, 31, 4000}, 0.38047174877820394},
    {{0, 7, 1, 1}, 0.25},
    {{700, 5000, 850, 5100}, 0.0002220616530130223},
    {{2000, 9000, 2210, 9000}, 0.00023264035261759259},
};

static const struct {
    uint64_t a;
    double t_a;
    uint64_t b;
    double t_b;
    double want;
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
        fail_msg("%.17g, wanted %.17g", got, want);
}

static void test_share_exact(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        stat_counts c = shares[i].c;
        near(stat_share_p(c), shares[i].want, c.a + c.b > 800 ? 0.1 : 1e-9);
        /* Neither the order of the runs nor looking at the unmarked ones changes the answer. */
        stat_counts swapped = {c.b, c.n_b, c.a, c.n_a};
        near(stat_share_p(swapped), shares[i].want, c.a + c.b > 800 ? 0.1 : 1e-9);
    }
}

static void test_share_degenerate(void **state)
{
    (void)state;
    assert_true(stat_share_p((stat_counts){0}) == 1);
    assert_true(stat_share_p((stat_counts){0, 0, 5, 10}) == 1);
    assert_true(stat_share_p((stat_counts){11, 10, 5, 10}) == 1);
    assert_true(stat_share_p((stat_counts){10, 10, 10, 10}) == 1);
    assert_true(stat_share_p((stat_counts){0, 1000000, 0, 1000000}) == 1);
    double p = stat_share_p((stat_counts){0, UINT64_MAX / 4, UINT64_MAX / 4, UINT64_MAX / 4});
    assert_true(p >= 0 && p < 1e-100);
}

static void test_rate_exact(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        near(stat_rate_p(rates[i].a, rates[i].t_a, rates[i].b, rates[i].t_b), rates[i].want,
             rates[i].a + rates[i].b > 800 ? 0.1 : 1e-9);
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

/* At the detectable growth a test of the stated level finds it about four times in five. */
static void test_detectable(void **state)
{
    (void)state;
    double share = 0.1, delta = stat_detectable(share, 10000, 10000, 0.05);
    assert_true(delta > 0.010 && delta < 0.014);
    assert_true(stat_detectable(share, 40000, 40000, 0.05) < 0.52 * delta);
    assert_true(stat_detectable(share, 0, 10, 0.05) == 1);
    assert_true(stat_detectable(0, 10, 10, 0.05) <= 1);
    uint64_t rng = 42;
    int found = 0;
    for (int run = 0; run < 400; run++) {
        uint64_t n[2] = {0, 0};
        for (int side = 0; side < 2; side++)
            for (int i = 0; i < 10000; i++) {
                rng = rng * 6364136223846793005u + 1442695040888963407u;
                n[side] += (double)(rng >> 11) * 0x1p-53 < share + side * delta;
            }
        found += stat_share_p((stat_counts){n[0], 10000, n[1], 10000}) <= 0.05;
    }
    assert_in_range(found, 296, 344); /* 320, three deviations each way */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_share_exact), cmocka_unit_test(test_share_degenerate),
        cmocka_unit_test(test_rate_exact),  cmocka_unit_test(test_fdr),
        cmocka_unit_test(test_quantile),    cmocka_unit_test(test_detectable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
