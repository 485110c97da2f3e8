#include "cli/run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void test_adds_up(void **state)
{
    (void)state;
    arena a = {0};
    run_report r = {0};
    err e = {0};
    assert_true(
        run_report_add(&r,
                       STR("{\"schema\":1,\"pid\":7,\"program\":\"app\",\"cpu_source\":\"perf\","
                           "\"new\":{\"a\":[1,{}]},"
                           "\"capture\":{\"cpu_samples\":10,\"ring_full\":2,\"unheard_of\":[3]},"
                           "\"export\":{\"items_accepted\":4,\"items_refused\":1},\"heap\":null,"
                           "\"own_cpu_ns\":5,\"own_peak_kb\":100,\"advice\":[\"one\",\"two\"]}"),
                       &a, &e));
    assert_true(run_report_add(
        &r,
        STR("{\"own_peak_kb\":70,\"own_cpu_ns\":6,\"cpu_source\":\"timer\",\"advice\":[\"two\"],"
            "\"heap\":{\"samples\":9,\"live_lost\":1},\"capture\":{\"cpu_samples\":32}}"),
        &a, &e));
    assert_int_equal(r.n, 2);
    assert_int_equal(r.capture.cpu_samples, 42);
    assert_int_equal(r.capture.ring_full, 2);
    assert_int_equal(r.sent.items_accepted, 4);
    assert_int_equal(r.heap_samples, 9);
    assert_int_equal(r.own_cpu_ns, 11);
    assert_int_equal(r.peak_kb, 100);
    assert_true(r.perf && r.timer);
    assert_int_equal(r.advice.n, 2);
    assert_true(str_eq(r.advice.v[1], STR("two")));

    run_loss v[RUN_LOSSES];
    assert_int_equal(run_losses(&r, v), 3);
    assert_string_equal(v[0].what, "CPU samples lost: the ring was full");
    assert_int_equal(v[0].n, 2);
    assert_string_equal(v[2].name, "items_lost");
    arena_free(&a);
}

static void test_broken(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "",
        "[]",
        "{",
        "{\"capture\":{\"cpu_samples\":\"many\"}}",
        "{\"capture\":{\"cpu_samples\":1}",
        "{\"advice\":[\"a\"",
        "{\"own_cpu_ns\":-1}",
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        arena a = {0};
        run_report r = {0};
        err e = {0};
        assert_false(run_report_add(&r, str_of(cases[i]), &a, &e));
        assert_int_equal(r.n, 0);
        assert_int_not_equal(e.code, ERR_OK);
        arena_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_adds_up),
        cmocka_unit_test(test_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
