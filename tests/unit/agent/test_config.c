/* The agent's variables: defaults, valid and invalid values. */
#include "agent/config.h"

#include "../../support/variables.h"

#define UNWIND_MEMORY                                                                              \
    "KILN_UNWIND_MEMORY is ignored: it requires a number of bytes from 0 to 1099511627776, "       \
    "such as 64M"
#define ENABLED "SPLUNK_PROFILER_ENABLED"
#define INTERVAL "SPLUNK_PROFILER_CALL_STACK_INTERVAL"

/* S-01 to S-04: off by default; an invalid value is off, with a warning. */
static void test_wanted(void **state)
{
    (void)state;
    static const struct {
        const char *vars[6];
        bool on;
        const char *warning;
    } cases[] = {
        {{0}, false, ""},
        {{ENABLED, ""}, false, ""},
        {{ENABLED, "false"}, false, ""},
        {{ENABLED, "0"}, false, ""},
        {{ENABLED, "no"}, false, ""},
        {{ENABLED, "true"}, true, ""},
        {{ENABLED, "TRUE"}, true, ""},
        {{ENABLED, "1"}, true, ""},
        {{ENABLED, "Yes"}, true, ""},
        {{ENABLED, "maybe"},
         false,
         ENABLED " is ignored: the value must be true or false; the profiler stays off"},
        {{"KILN_PROFILE", "off"}, false, ""},
        {{"KILN_PROFILE", ""}, false, ""},
        {{"KILN_PROFILE", "cpu"}, true, ""},
        {{"KILN_PROFILE", "wall, heap"}, true, ""},
        {{"KILN_PROFILE", "cup"},
         false,
         "a word in KILN_PROFILE is ignored: valid words are cpu, wall, heap and off"},
        {{ENABLED, "false", "KILN_PROFILE", "cpu"}, true, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        variables v = {.pairs = cases[i].vars};
        assert_int_equal(agent_wanted(&(otlp_environment){get, warn, &v}), cases[i].on);
        assert_string_equal(v.warning, cases[i].warning);
    }
}

static void test_defaults(void **state)
{
    (void)state;
    static const char *const vars[] = {"KILN_PROFILE", "cpu", NULL};
    variables v = {.pairs = vars};
    arena a = {0};
    agent_config c;
    err e = {0};
    assert_ok(agent_config_read(&(otlp_environment){get, warn, &v}, &a, &c, &e), &e);
    assert_true(c.cpu && !c.wall && !c.heap);
    assert_int_equal(c.to, EXPORT_OTLP);
    assert_int_equal(c.cpu_hz, 99);
    assert_int_equal(c.source, CPU_AUTO);
    assert_u64(c.wall_ns, 1000000000);
    assert_u64(c.flush_ns, 10000000000);
    assert_u64(c.exit_ns, 2000000000);
    assert_u64(c.heap_bytes, 524288);
    assert_int_equal(c.max_frames, 128);
    assert_true(c.symbolize && c.follow_fork && !c.quiet && !c.splunk_pprof);
    assert_true(!c.file && !c.spool && !c.exclude && !c.report);
    assert_int_equal(v.warnings, 0);
    arena_free(&a);
}

/* One variable: the resulting setting and the warning.  `got` points to the setting. */
static void test_values(void **state)
{
    (void)state;
    agent_config c;
    const struct {
        const char *vars[8];
        const uint64_t *got;
        const uint32_t *got32;
        uint64_t want;
        const char *warning;
    } cases[] = {
        {{"KILN_CPU_HZ", "4000"}, NULL, &c.cpu_hz, 4000, ""},
        {{"KILN_CPU_HZ", "0"},
         NULL,
         &c.cpu_hz,
         99,
         "KILN_CPU_HZ is ignored: it requires an integer from 1 to 10000"},
        {{"KILN_CPU_HZ", "10001"},
         NULL,
         &c.cpu_hz,
         99,
         "KILN_CPU_HZ is ignored: it requires an integer from 1 to 10000"},
        {{"KILN_CPU_HZ", "99999999999999999999999"},
         NULL,
         &c.cpu_hz,
         99,
         "KILN_CPU_HZ is ignored: it requires an integer from 1 to 10000"},
        {{"KILN_FRAMES", "1024"}, NULL, &c.max_frames, 1024, ""},
        {{"KILN_FRAMES", "-1"},
         NULL,
         &c.max_frames,
         128,
         "KILN_FRAMES is ignored: it requires an integer from 1 to 1024"},
        {{NULL}, &c.unwind_bytes, NULL, 64 << 20, ""},
        {{"KILN_UNWIND_MEMORY", "0"}, &c.unwind_bytes, NULL, 0, ""},
        {{"KILN_UNWIND_MEMORY", "4096"}, &c.unwind_bytes, NULL, 4096, ""},
        {{"KILN_UNWIND_MEMORY", "3k"}, &c.unwind_bytes, NULL, 3 << 10, ""},
        {{"KILN_UNWIND_MEMORY", "512M"}, &c.unwind_bytes, NULL, 512 << 20, ""},
        {{"KILN_UNWIND_MEMORY", "1024G"}, &c.unwind_bytes, NULL, UINT64_C(1) << 40, ""},
        {{"KILN_UNWIND_MEMORY", "1025G"}, &c.unwind_bytes, NULL, 64 << 20, UNWIND_MEMORY},
        {{"KILN_UNWIND_MEMORY", "M"}, &c.unwind_bytes, NULL, 64 << 20, UNWIND_MEMORY},
        {{"KILN_UNWIND_MEMORY", "1MB"}, &c.unwind_bytes, NULL, 64 << 20, UNWIND_MEMORY},
        {{"KILN_WALL_INTERVAL", "1"}, &c.wall_ns, NULL, 1000000, ""},
        {{"KILN_FLUSH_INTERVAL", "1s"},
         &c.flush_ns,
         NULL,
         10000000000,
         "KILN_FLUSH_INTERVAL is ignored: it requires an integer from 10 to 86400000"},
        {{"KILN_EXIT_TIMEOUT", "0"}, &c.exit_ns, NULL, 0, ""},
        /* S-10: 1 s; the minimum is 10 ms */
        {{ENABLED, "true"}, &c.wall_ns, NULL, 1000000000, ""},
        {{ENABLED, "true", INTERVAL, "250"}, &c.wall_ns, NULL, 250000000, ""},
        {{ENABLED, "true", INTERVAL, "250", "KILN_WALL_INTERVAL", "5"},
         &c.wall_ns,
         NULL,
         250000000,
         ""},
        {{ENABLED, "true", "KILN_WALL_INTERVAL", "5"}, &c.wall_ns, NULL, 5000000, ""},
        {{ENABLED, "true", INTERVAL, "3"},
         &c.wall_ns,
         NULL,
         10000000,
         INTERVAL " is below 10 ms: 10 ms is used"},
        {{ENABLED, "true", INTERVAL, "fast"},
         &c.wall_ns,
         NULL,
         1000000000,
         INTERVAL " is ignored: it requires an integer from 1 to 86400000"},
        {{"KILN_PROFILE", "wall", INTERVAL, "250"}, &c.wall_ns, NULL, 1000000000, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        variables v = {.pairs = cases[i].vars};
        arena a = {0};
        err e = {0};
        assert_ok(agent_config_read(&(otlp_environment){get, warn, &v}, &a, &c, &e), &e);
        assert_u64(cases[i].got ? *cases[i].got : *cases[i].got32, cases[i].want);
        assert_string_equal(v.warning, cases[i].warning);
        arena_free(&a);
    }
}

static void test_words(void **state)
{
    (void)state;
    static const struct {
        const char *vars[8];
        agent_export to;
        cpu_source source;
        bool symbolize, fork, pprof, cpu, wall;
        const char *warning;
    } cases[] = {
        {{"KILN_EXPORT", "splunk", "KILN_SPLUNK_FORMAT", "pprof"},
         EXPORT_SPLUNK,
         CPU_AUTO,
         true,
         true,
         true,
         false,
         false,
         ""},
        {{ENABLED, "true"}, EXPORT_SPLUNK, CPU_AUTO, true, true, false, false, true, ""},
        {{ENABLED, "1", "KILN_EXPORT", "otlp", "KILN_PROFILE", "cpu"},
         EXPORT_OTLP,
         CPU_AUTO,
         true,
         true,
         false,
         true,
         true,
         ""},
        {{"KILN_CPU_SOURCE", "timer", "KILN_SYMBOLIZE", "off", "KILN_FORK", "no"},
         EXPORT_OTLP,
         CPU_TIMER,
         false,
         false,
         false,
         false,
         false,
         ""},
        {{"KILN_EXPORT", "pigeon"},
         EXPORT_OTLP,
         CPU_AUTO,
         true,
         true,
         false,
         false,
         false,
         "KILN_EXPORT is ignored: it requires one of otlp, splunk, file"},
        {{"KILN_SYMBOLIZE", "later"},
         EXPORT_OTLP,
         CPU_AUTO,
         true,
         true,
         false,
         false,
         false,
         "KILN_SYMBOLIZE is ignored: it requires on or off"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        variables v = {.pairs = cases[i].vars};
        arena a = {0};
        agent_config c;
        err e = {0};
        assert_ok(agent_config_read(&(otlp_environment){get, warn, &v}, &a, &c, &e), &e);
        assert_int_equal(c.to, cases[i].to);
        assert_int_equal(c.source, cases[i].source);
        assert_int_equal(c.symbolize, cases[i].symbolize);
        assert_int_equal(c.follow_fork, cases[i].fork);
        assert_int_equal(c.splunk_pprof, cases[i].pprof);
        assert_int_equal(c.cpu, cases[i].cpu);
        assert_int_equal(c.wall, cases[i].wall);
        assert_string_equal(v.warning, cases[i].warning);
        arena_free(&a);
    }
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const vars[] = {"KILN_PROFILE", "cpu", "KILN_EXPORT", "file", NULL},
                             *const named[] = {"KILN_EXPORT", "file", "KILN_FILE", "a.otlp", NULL};
    variables v = {.pairs = vars};
    arena a = {0}, none = {.budget = 1};
    agent_config c;
    err e = {0};
    assert_false(agent_config_read(&(otlp_environment){get, warn, &v}, &a, &c, &e));
    assert_int_equal(e.code, ERR_USAGE);
    assert_string_equal(e.msg, "KILN_EXPORT=file requires a file name: KILN_FILE=app-%p-%n.otlp");
    e = (err){0};
    v.pairs = named;
    assert_false(agent_config_read(&(otlp_environment){get, warn, &v}, &none, &c, &e));
    assert_int_equal(e.code, ERR_MEMORY);
    arena_free(&a);
    arena_free(&none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wanted),  cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_values),  cmocka_unit_test(test_words),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
