/* The default type, and the number of observations of a profile. */
#include "../../support/test.h"

#include "model/builder.h"
#include "query/default_type.h"
#include "query/observed.h"

enum { MAX_TYPES = 4 };

static const struct {
    const char *types[MAX_TYPES]; /* in file order; a leading '0': all values are zero */
    bool apart;                   /* each profile has its own scope */
    uint32_t fallback;
} files[] = {
    {{"alloc_space", "cpu"}, false, 0}, /* one scope: the order of the file decides */
    {{"0alloc_space", "wall", "cpu"}, false, 2},
    {{"samples", "wall", "cpu"}, true, 2},
    {{"off_cpu", "cpu-clock"}, true, 1},
    {{"alloc_space", "inuse_objects", "inuse_space"}, true, 2},
    {{"wall", "0cpu"}, true, 0},
    {{"b", "a"}, true, 0},
    {{"0b", "0a"}, false, 0},
    {{"0a", "b"}, false, 1},
};

static void put_sample(builder *b, int64_t value, const uint64_t *times, uint32_t n_times)
{
    function fn = {.name = builder_string(b, STR("f"))};
    line l = {.function = builder_function(b, &fn)};
    uint32_t at = builder_location(b, 0, 1, &l, 1, NULL, 0);
    builder_sample(b, &(sample){.stack = builder_stack(b, &at, 1),
                                .values = &value,
                                .n_values = 1,
                                .times = times,
                                .n_times = n_times});
}

static profile *put_profile(builder *b, const char *type, const char *unit)
{
    profile *p = builder_profile(b);
    p->sample_type = (value_type){builder_string(b, str_of(type)), builder_string(b, str_of(unit))};
    p->has_sample_type = true;
    return p;
}

static void test_default_type(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        arena a = {0};
        builder b;
        model m;
        err e = {0};
        bool none[MAX_TYPES] = {false}, first[MAX_TYPES] = {true};
        assert_true(builder_init(&b, &a));
        builder_resource(&b, NULL);
        size_t n = 0;
        for (; n < MAX_TYPES && files[i].types[n]; n++) {
            bool zero = files[i].types[n][0] == '0';
            if (!n || files[i].apart) builder_scope(&b, NULL);
            put_profile(&b, files[i].types[n] + zero, "count");
            put_sample(&b, zero ? 0 : 5, NULL, 0);
        }
        assert_ok(builder_finish(&b, &m, &e), &e);
        if (default_profile(&m, none) != files[i].fallback)
            fail_msg("case %zu: the default is %u", i, default_profile(&m, none));
        assert_int_not_equal(default_profile(&m, first),
                             0); /* a profile that is not selected is never the default */
        for (size_t k = 0; k < n; k++) none[k] = true;
        assert_int_equal(default_profile(&m, none), n);
        arena_free(&a);
    }
}

static const struct {
    const char *type, *unit, *period_type;
    int64_t period;
    int64_t values[2];
    uint32_t n_times;
    uint64_t want;
} profiles[] = {
    {"cpu", "nanoseconds", "cpu", 10000000, {30000000, 10000000}, 0, 4},
    {"cpu", "nanoseconds", "cpu", 10000000, {30000000, 14000000}, 0, 4}, /* rounded */
    {"cpu", "nanoseconds", "cpu", 1, {30000000, 10000000}, 0, 2},        /* a placeholder */
    {"cpu", "nanoseconds", "wall", 10000000, {30000000, 10000000}, 0, 2},
    {"cpu", "nanoseconds", "cpu", 10000000, {30000000, 10000000}, 1, 2}, /* single observations */
    {"samples", "count", "", 0, {5, 6}, 0, 11},
    {"wall", "samples", "", 0, {5, 6}, 0, 11},
    {"contentions", "count", "contentions", 1, {5, 6}, 0, 2},
    {"inuse_space", "bytes", "inuse_space", 512, {5000, 600}, 0, 2},
};

static void test_observed(void **state)
{
    (void)state;
    static const uint64_t time = 7;
    for (size_t i = 0; i < ARRAY_LEN(profiles); i++) {
        arena a = {0};
        builder b;
        model m;
        err e = {0};
        assert_true(builder_init(&b, &a));
        builder_resource(&b, NULL), builder_scope(&b, NULL);
        profile *p = put_profile(&b, profiles[i].type, profiles[i].unit);
        p->period_type =
            (value_type){builder_string(&b, str_of(profiles[i].period_type)), p->sample_type.unit};
        p->period = profiles[i].period;
        for (size_t k = 0; k < 2; k++)
            put_sample(&b, profiles[i].values[k], profiles[i].n_times ? &time : NULL,
                       profiles[i].n_times);
        assert_ok(builder_finish(&b, &m, &e), &e);
        observed o = {0};
        p = &m.profiles.v[0];
        for (size_t k = 0; k < p->n_samples; k++) {
            sample s = sample_at(&m, p, k);
            observed_add(&o, &s);
        }
        if (observed_total(&o, &m.dict, p) != profiles[i].want)
            fail_msg("case %zu: %llu", i, (unsigned long long)observed_total(&o, &m.dict, p));
        arena_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_default_type),
        cmocka_unit_test(test_observed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
