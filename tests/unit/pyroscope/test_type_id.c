/* Ids of profile types, and the ids that series of OTLP get. */
#include "pyroscope/type_id.h"

#include "../../support/test.h"

static void test_parse(void **state)
{
    (void)state;
    pyro_type t;
    err e = {0};
    arena a = {0};
    str id = STR("process_cpu:cpu:nanoseconds:cpu:nanoseconds"), again;
    assert_ok(pyro_type_parse(id, &t, &e), &e);
    assert_true(str_eq(t.name, STR("process_cpu")));
    assert_true(str_eq(t.type, STR("cpu")));
    assert_true(str_eq(t.unit, STR("nanoseconds")));
    assert_true(str_eq(t.period_type, STR("cpu")));
    assert_true(str_eq(t.period_unit, STR("nanoseconds")));
    assert_ok(pyro_type_format(&t, &a, &again, &e), &e);
    assert_true(str_eq(again, id));
    pyro_type delta;
    assert_ok(pyro_type_parse(STR("process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta"), &delta, &e),
              &e);
    assert_true(pyro_type_eq(&t, &delta));
    assert_ok(pyro_type_parse(STR("off_cpu:off_cpu:nanoseconds::"), &t, &e), &e);
    assert_int_equal(t.period_type.n + t.period_unit.n, 0);
    assert_true(str_eq(t.unit, STR("nanoseconds")));
    assert_false(pyro_type_eq(&t, &delta));
    arena_free(&a);
}

static void test_bad(void **state)
{
    (void)state;
    static const struct {
        const char *id, *got;
    } cases[] = {
        {"", "got(1)"}, {"cpu", "got(1)"}, {"a:b:c:d", "got(4)"}, {"a:b:c:d:e:f:g", "got(7)"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        pyro_type t;
        err e = {0};
        assert_false(pyro_type_parse(str_of(cases[i].id), &t, &e));
        assert_int_equal(e.code, ERR_USAGE);
        assert_non_null(strstr(e.msg, cases[i].got));
    }
    static char big[PYRO_TYPE_BYTES + 1];
    memset(big, 'a', sizeof big);
    memcpy(big, "::::", 4);
    pyro_type t;
    err e = {0};
    assert_ok(pyro_type_parse((str){big, PYRO_TYPE_BYTES}, &t, &e), &e);
    assert_false(pyro_type_parse((str){big, sizeof big}, &t, &e));
}

static void test_labels(void **state)
{
    (void)state;
    static const struct {
        const char *key, *want;
    } cases[] = {{"__profile_type__", "a:b:c:d:e"},
                 {"__name__", "a"},
                 {"__type__", "b"},
                 {"__unit__", "c"},
                 {"__period_type__", "d"},
                 {"__period_unit__", "e"},
                 {"__delta__", NULL},
                 {"name", NULL},
                 {"", NULL}};
    pyro_type t;
    err e = {0};
    arena a = {0};
    assert_ok(pyro_type_parse(STR("a:b:c:d:e"), &t, &e), &e);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        bool is;
        str value;
        assert_ok(pyro_type_label(&t, str_of(cases[i].key), &a, &is, &value, &e), &e);
        assert_int_equal(is, cases[i].want != NULL);
        assert_true(str_eq(value, str_of(cases[i].want)));
    }
    arena_free(&a);
}

#define OF(t, u) .type = STR(t), .unit = STR(u)
#define PERIOD(t, u, n) .period_type = STR(t), .period_unit = STR(u), .period = (n)
#define CPU OF("cpu", "nanoseconds")
#define SAMPLES OF("samples", "count")
#define CPU_PERIOD PERIOD("cpu", "nanoseconds", 10000000)

static void test_derived(void **state)
{
    (void)state;
    static const struct {
        pyro_source from;
        const char *want;
        int64_t scale;
    } cases[] = {
        {{CPU, CPU_PERIOD}, "process_cpu:cpu:nanoseconds:cpu:nanoseconds", 1},
        {{CPU}, "process_cpu:cpu:nanoseconds:cpu:nanoseconds", 1},
        {{CPU, PERIOD("samples", "count", 1)}, "process_cpu:cpu:nanoseconds:samples:count", 1},
        {{CPU, PERIOD("space", "bytes", 0)}, "process_cpu:cpu:nanoseconds:cpu:nanoseconds", 1},
        {{CPU, PERIOD("wall", "nanoseconds", 9)},
         "process_cpu:cpu:nanoseconds:wall:nanoseconds",
         1},
        /* samples of CPU time */
        {{SAMPLES, CPU_PERIOD}, "process_cpu:cpu:nanoseconds:cpu:nanoseconds", 10000000},
        {{SAMPLES, CPU_PERIOD, .has_cpu_time = true},
         "process_cpu:samples:count:cpu:nanoseconds",
         1},
        {{SAMPLES}, "process_cpu:samples:count:cpu:nanoseconds", 1},
        {{SAMPLES, PERIOD("cpu", "nanoseconds", -1)},
         "process_cpu:samples:count:cpu:nanoseconds",
         1},
        {{SAMPLES, PERIOD("wall", "nanoseconds", 9)}, "wall:samples:count:wall:nanoseconds", 1},
        {{OF("alloc_size", "bytes"), CPU_PERIOD},
         "process_cpu:alloc_size:bytes:cpu:nanoseconds",
         1},
        {{OF("exception", "count"), CPU_PERIOD}, "process_cpu:exception:count:cpu:nanoseconds", 1},
        /* others */
        {{OF("wall", "nanoseconds")}, "wall:wall:nanoseconds:wall:nanoseconds", 1},
        {{OF("wall", "nanoseconds"), CPU_PERIOD}, "wall:wall:nanoseconds:cpu:nanoseconds", 1},
        {{OF("off_cpu", "nanoseconds")}, "off_cpu:off_cpu:nanoseconds:off_cpu:nanoseconds", 1},
        {{OF("alloc_space", "bytes"), PERIOD("space", "bytes", 524288)},
         "memory:alloc_space:bytes:space:bytes",
         1},
        {{OF("inuse_objects", "count")}, "memory:inuse_objects:count:space:bytes", 1},
        {{OF("goroutine", "count")}, "goroutine:goroutine:count:goroutine:count", 1},
        {{OF("contentions", "count")}, "block:contentions:count:contentions:count", 1},
        {{OF("delay", "nanoseconds"), .scope = STR("runtime/mutex")},
         "mutex:delay:nanoseconds:contentions:count",
         1},
        {{OF("delay", "nanoseconds"), .name = STR("mutex")},
         "mutex:delay:nanoseconds:contentions:count",
         1},
        {{OF("cycles", "count")}, "cycles:cycles:count:cycles:count", 1},
        {{OF("", "")}, "process_cpu::::", 1},
        {{OF("std::mutex", "count")}, "std__mutex:std__mutex:count:std__mutex:count", 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        arena a = {0};
        err e = {0};
        pyro_type t, back;
        int64_t scale;
        str id;
        assert_ok(pyro_type_of(&cases[i].from, &a, &t, &scale, &e), &e);
        assert_ok(pyro_type_format(&t, &a, &id, &e), &e);
        if (!str_eq(id, str_of(cases[i].want)))
            fail_msg("case %zu: %.*s, expected %s", i, STR_ARG(id), cases[i].want);
        assert_u64(scale, cases[i].scale);
        assert_ok(pyro_type_parse(id, &back, &e), &e);
        assert_true(pyro_type_eq(&t, &back));
        arena_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_derived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
