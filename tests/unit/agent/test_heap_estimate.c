/* The estimates of the heap profile: compared with libm, and unbiased over many draws. */
#include "agent/heap/estimate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

/* ---- comparison with libm ---- */

static void weights_are_libms(void **state)
{
    (void)state;
    static const uint64_t intervals[] = {2, 3, 100, 16384, 524288, ESTIMATE_INTERVAL_MAX};
    for (size_t k = 0; k < ARRAY_LEN(intervals); k++)
        for (uint64_t size = 1; size < UINT64_C(1) << 40; size += size / 7 + 1) {
            double weight = 1 / -expm1(-(double)size / (double)intervals[k]);
            estimate e = estimate_of(size, intervals[k]);
            double objects = (double)e.objects / 65536, space = (double)e.space / 64;
            assert_true(fabs(objects - weight) <= 0.5 / 65536 + weight * 1e-12);
            assert_true(fabs(space - weight * (double)size) <=
                        0.5 / 64 + weight * (double)size * 1e-12);
        }
}

static void distances_are_libms(void **state)
{
    (void)state;
    /* The generator is known (splitmix64): computes the same numbers with libm's log. */
    uint64_t random = 42, mirror = 42;
    for (int i = 0; i < 100000; i++) {
        mirror += 0x9e3779b97f4a7c15u;
        uint64_t z = mirror;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        z ^= z >> 31;
        double want = -log((double)((z >> 11) + 1) / 9007199254740992.0) * 524288;
        double got = (double)estimate_distance(524288, &random);
        assert_true(got >= want - 1e-3 && got < want + 1 + 1e-3);
    }
}

static void every_block_of_a_small_interval(void **state)
{
    (void)state;
    uint64_t random = 7;
    for (uint64_t interval = 0; interval < 2; interval++) {
        assert_int_equal(estimate_distance(interval, &random), 1);
        for (uint64_t size = 1; size < 1 << 20; size *= 3) {
            estimate e = estimate_of(size, interval);
            assert_int_equal(e.objects, 1 << ESTIMATE_OBJECT_BITS);
            assert_int_equal(e.space, size << ESTIMATE_SPACE_BITS);
        }
    }
}

/* ---- many draws ---- */

static void distances_have_the_mean_and_the_tail(void **state)
{
    (void)state;
    enum { N = 400000 };
    uint64_t random = 1;
    double sum = 0, squares = 0;
    int beyond = 0;
    for (int i = 0; i < N; i++) {
        double d = (double)estimate_distance(1000, &random);
        assert_true(d >= 1);
        sum += d;
        squares += d * d;
        beyond += d > 3000;
    }
    /* Exponential, rounded up: mean 1000.5, standard deviation 1000, exp(-3) of them above 3000. */
    double mean = sum / N, error = 1000 / sqrt(N);
    assert_true(fabs(mean - 1000.5) < 4 * error);
    assert_true(fabs(sqrt(squares / N - mean * mean) - 1000) < 8 * error);
    double share = exp(-3);
    assert_true(fabs((double)beyond / N - share) < 4 * sqrt(share * (1 - share) / N));
}

/* One run: samples blocks of these sizes in turn, as the library does. */
static void run(const uint64_t *sizes, size_t n, int blocks, uint64_t interval, uint64_t seed,
                double *objects, double *space)
{
    uint64_t left = estimate_distance(interval, &seed);
    int64_t o = 0, s = 0;
    for (int i = 0; i < blocks; i++) {
        uint64_t size = sizes[(size_t)i % n];
        if (size < left) {
            left -= size;
            continue;
        }
        left = estimate_distance(interval, &seed);
        estimate e = estimate_of(size, interval);
        o += e.objects;
        s += e.space;
    }
    *objects = (double)estimate_round(o, ESTIMATE_OBJECT_BITS);
    *space = (double)estimate_round(s, ESTIMATE_SPACE_BITS);
}

/* The mean over seeds equals the true value within its standard error; the variance of one block's
 * estimate is x^2 (1 - p) / p. */
static void estimates_have_no_bias(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint64_t sizes[4];
        size_t n;
        uint64_t interval;
    } cases[] = {{"tiny", {8, 16, 24}, 3, 4096},
                 {"mixed", {16, 300, 5000, 70000}, 4, 4096},
                 {"as large as the interval", {4096}, 1, 4096},
                 {"larger", {40960, 100000}, 2, 4096},
                 {"one byte", {1}, 1, 64},
                 {"an interval of two", {1, 2, 3}, 3, 2}};
    enum { BLOCKS = 6000, SEEDS = 400 };
    for (size_t k = 0; k < ARRAY_LEN(cases); k++) {
        double want_objects = BLOCKS, want_space = 0, var_objects = 0, var_space = 0;
        for (int i = 0; i < BLOCKS; i++) {
            double size = (double)cases[k].sizes[(size_t)i % cases[k].n];
            double p = -expm1(-size / (double)cases[k].interval);
            want_space += size;
            var_objects += (1 - p) / p;
            var_space += size * size * (1 - p) / p;
        }
        double objects = 0, space = 0;
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            double o, s;
            run(cases[k].sizes, cases[k].n, BLOCKS, cases[k].interval, seed * 0x123456789abcdef, &o,
                &s);
            objects += o / SEEDS;
            space += s / SEEDS;
        }
        double so = sqrt(var_objects / SEEDS) + 0.05, ss = sqrt(var_space / SEEDS) + 0.05;
        if (fabs(objects - want_objects) > 3.5 * so || fabs(space - want_space) > 3.5 * ss)
            fail_msg("%s: %g objects for %g (+- %g), %g bytes for %g (+- %g)", cases[k].name,
                     objects, want_objects, so, space, want_space, ss);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_are_libms),
        cmocka_unit_test(distances_are_libms),
        cmocka_unit_test(every_block_of_a_small_interval),
        cmocka_unit_test(distances_have_the_mean_and_the_tail),
        cmocka_unit_test(estimates_have_no_bias),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
