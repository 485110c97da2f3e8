/* Facts of profiles: counts, distinct stacks, depth, sums and the hottest leaf. */
#include "query/facts.h"

#include "model/builder.h"
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <string.h>

typedef struct fixture {
    arena a;
    builder b;
    model m;
    profile_facts *f;
    err e;
} fixture;

static void begin(fixture *x)
{
    *x = (fixture){0};
    assert_true(builder_init(&x->b, &x->a));
    builder_resource(&x->b, NULL);
    builder_scope(&x->b, NULL);
    builder_profile(&x->b);
}

static void finish(fixture *x)
{
    assert_true(builder_finish(&x->b, &x->m, &x->e));
    assert_true(facts_of(&x->m, &x->a, &x->f, &x->e));
}

static uint32_t location_named(fixture *x, const char *name, uint64_t address)
{
    function f = {.name = builder_string(&x->b, str_of(name))};
    line l = {.function = builder_function(&x->b, &f)};
    return builder_location(&x->b, 0, address, &l, 1, NULL, 0);
}

static void add(fixture *x, uint32_t leaf, uint32_t root, int64_t value)
{
    uint32_t frames[2] = {leaf, root};
    uint32_t stack = builder_stack(&x->b, frames, root ? 2 : 1);
    builder_sample(&x->b, &(sample){.stack = stack, .values = &value, .n_values = 1});
}

static bool top_is(const profile_facts *f, const char *name, int64_t self)
{
    return f->has_top && str_eq(f->top_function, str_of(name)) && f->top_self == self;
}

static void test_counts(void **state)
{
    (void)state;
    fixture x;
    begin(&x);
    uint32_t a = location_named(&x, "a", 1), main_ = location_named(&x, "main", 2);
    uint32_t frames[2] = {a, main_}, stack = builder_stack(&x.b, frames, 2);
    int64_t values[3] = {5, 6, -1};
    uint64_t times[2] = {10, 20};
    uint8_t trace[16] = {1}, span_id[8] = {1};
    uint32_t link = builder_link(&x.b, trace, span_id);
    builder_sample(&x.b, &(sample){.stack = stack, .link = link, .values = values, .n_values = 3});
    builder_sample(&x.b, &(sample){.stack = stack, .times = times, .n_times = 2});
    builder_sample(
        &x.b, &(sample){.stack = 0, .values = values, .n_values = 2, .times = times, .n_times = 2});
    finish(&x);
    assert_int_equal(x.f->samples, 3);
    assert_int_equal(x.f->observations, 3 + 2 + 2);
    assert_int_equal(x.f->timestamps, 4);
    assert_int_equal(x.f->links, 1);
    assert_int_equal(x.f->total, 10 + 2 + 11);
    assert_int_equal(x.f->distinct_stacks, 2);
    assert_int_equal(x.f->max_depth, 2);
    assert_true(top_is(x.f, "a", 12));
    arena_free(&x.a);
}

static void test_top_joins_by_name(void **state)
{
    (void)state;
    fixture x;
    begin(&x);
    uint32_t main_ = location_named(&x, "main", 9);
    add(&x, location_named(&x, "f", 1), main_, 30); /* the same name at two addresses */
    add(&x, location_named(&x, "f", 2), main_, 30);
    add(&x, location_named(&x, "g", 3), main_, 50);
    finish(&x);
    assert_true(top_is(x.f, "f", 60));
    arena_free(&x.a);
}

static void test_top_ties_by_bytes(void **state)
{
    (void)state;
    fixture x;
    begin(&x);
    add(&x, location_named(&x, "b", 1), 0, 7);
    add(&x, location_named(&x, "a", 2), 0, 7);
    add(&x, location_named(&x, "aa", 3), 0, 7);
    finish(&x);
    assert_true(top_is(x.f, "a", 7));
    arena_free(&x.a);
}

static void test_top_inlined_address_and_nothing(void **state)
{
    (void)state;
    fixture x;
    begin(&x);
    function inner = {.name = builder_string(&x.b, STR("inner"))};
    function outer = {.name = builder_string(&x.b, STR("outer"))};
    line lines[2] = {{.function = builder_function(&x.b, &inner)},
                     {.function = builder_function(&x.b, &outer)}};
    add(&x, builder_location(&x.b, 0, 1, lines, 2, NULL, 0), 0, 5);
    builder_profile(&x.b);
    add(&x, builder_location(&x.b, 0, 0x42ed43, NULL, 0, NULL, 0), 0, 5);
    builder_profile(&x.b);
    builder_sample(&x.b, &(sample){.stack = 0, .values = (int64_t[]){4}, .n_values = 1});
    builder_profile(&x.b);
    finish(&x);
    assert_true(top_is(&x.f[0], "inner", 5));
    assert_true(top_is(&x.f[1], "0x42ed43", 5));
    assert_true(top_is(&x.f[2], "?", 4));
    assert_false(x.f[3].has_top);
    assert_int_equal(x.f[3].samples, 0);
    arena_free(&x.a);
}

static void test_saturates(void **state)
{
    (void)state;
    fixture x;
    begin(&x);
    uint32_t f = location_named(&x, "f", 1);
    add(&x, f, 0, INT64_MAX);
    add(&x, f, location_named(&x, "main", 2), 1);
    finish(&x);
    assert_int_equal(x.f->total, INT64_MAX);
    assert_true(x.f->saturated);
    arena_free(&x.a);
}

static void test_memory_sweep(void **state)
{
    (void)state;
    fixture x;
    begin(&x);
    for (uint64_t i = 0; i < 50; i++)
        add(&x, builder_location(&x.b, 0, i + 1, NULL, 0, NULL, 0), 0, (int64_t)i);
    finish(&x);
    bool done = false;
    for (size_t budget = 64; budget < 32 * 1024; budget += 64) {
        arena a = {.budget = budget};
        profile_facts *f = NULL;
        err e = {0};
        done = facts_of(&x.m, &a, &f, &e);
        assert_true(done ? top_is(f, "0x32", 49) : err_exhausted(&e));
        arena_free(&a);
    }
    assert_true(done);
    arena_free(&x.a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_top_joins_by_name),
        cmocka_unit_test(test_top_ties_by_bytes),
        cmocka_unit_test(test_top_inlined_address_and_nothing),
        cmocka_unit_test(test_saturates),
        cmocka_unit_test(test_memory_sweep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
