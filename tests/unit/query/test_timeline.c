/* Queries over time: series, heat map, lanes, flame chart and spans of a known profile. */
#include "query/timeline.h"

#include "../../support/test.h"
#include "model/builder.h"
#include "query/cumulative.h"
#include "wire/carried.h"

#include <string.h>

#define SECOND UINT64_C(1000000000)
#define BEGIN (UINT64_C(1700000000) * SECOND)

typedef struct fixture {
    arena a;
    builder b;
    model m;
    frame_table table;
    view v;
    err e;
} fixture;

static void begin(fixture *x)
{
    *x = (fixture){0};
    assert_true(builder_init(&x->b, &x->a));
    builder_resource(&x->b, NULL);
    builder_scope(&x->b, NULL);
    profile *p = builder_profile(&x->b);
    p->sample_type.type = builder_string(&x->b, STR("wall"));
    p->sample_type.unit = builder_string(&x->b, STR("nanoseconds"));
}

static void finish(fixture *x, const select_opts *o)
{
    assert_true(builder_finish(&x->b, &x->m, &x->e));
    select_opts by = *o;
    by.by_sample = true;
    assert_ok(view_of(&x->m, &by, BY_FUNCTION, &x->a, &x->table, &x->v, &x->e), &x->e);
}

/* Returns the stack of these names, root first: "main;run". */
static uint32_t stack_of(fixture *x, const char *names)
{
    uint32_t frames[8];
    size_t n = 0;
    for (const char *p = names; *p;) {
        size_t len = strcspn(p, ";");
        function f = {.name = builder_string(&x->b, (str){p, len})};
        line l = {.function = builder_function(&x->b, &f)};
        frames[n++] = builder_location(&x->b, 0, 0, &l, 1, NULL, 0);
        p += len + (p[len] == ';');
    }
    for (size_t i = 0; i < n / 2; i++) {
        uint32_t t = frames[i];
        frames[i] = frames[n - 1 - i];
        frames[n - 1 - i] = t;
    }
    return builder_stack(&x->b, frames, n);
}

/* Adds an observation; `at` is in ms after BEGIN. */
static void see(fixture *x, const char *stack, const char *thread, uint64_t at, int64_t value)
{
    uint64_t time = BEGIN + at * 1000000;
    uint32_t attrs[2] = {builder_attribute_str(&x->b, STR(ATTR_THREAD_NAME), str_of(thread)),
                         builder_attribute_str(&x->b, STR(ATTR_THREAD_STATE), STR("S"))};
    uint8_t trace[16] = {1}, id[8] = {(uint8_t)(1 + at / 1000)};
    builder_sample(&x->b, &(sample){.stack = stack_of(x, stack),
                                    .link = at < 2000 ? builder_link(&x->b, trace, id) : 0,
                                    .attrs = attrs,
                                    .n_attrs = 2,
                                    .values = &value,
                                    .n_values = 1,
                                    .times = &time,
                                    .n_times = 1});
}

static void seen(fixture *x, const select_opts *o)
{
    begin(x);
    see(x, "main;run", "b", 10, 5);
    see(x, "main;run;work", "b", 20, 7);
    see(x, "main;idle", "b", 30, 1);
    see(x, "main;run", "a", 1500, 2);
    see(x, "main;run", "b", 2999, 4);
    finish(x, o);
}

static void test_range(void **state)
{
    (void)state;
    fixture x;
    seen(&x, &(select_opts){.start = BEGIN + 20000000, .end = BEGIN + 2 * SECOND});
    time_range t = view_time_range(&x.v);
    assert_u64(t.n_timed, 3);
    assert_u64(t.start, BEGIN + 20000000);
    assert_u64(t.end, BEGIN + 1500000000 + 1);
    assert_u64(x.v.sum, 7 + 1 + 2);
    arena_free(&x.a);
}

/* The start of a range is inclusive, its end is exclusive; both are exact to the nanosecond. */
static void test_range_ends(void **state)
{
    (void)state;
    static const struct {
        uint64_t start, end; /* ns after BEGIN */
        int64_t sum;
        uint64_t n;
    } cases[] = {
        {10000000, 30000000, 5 + 7, 2}, {10000000, 30000001, 5 + 7 + 1, 3},
        {10000001, 30000000, 7, 1},     {20000000, 20000001, 7, 1},
        {1500000000, 2999000000, 2, 1}, {1500000000, 2999000001, 2 + 4, 2},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        fixture x;
        series s;
        heat h;
        seen(&x, &(select_opts){.start = BEGIN + cases[i].start, .end = BEGIN + cases[i].end});
        assert_u64(x.v.sum, cases[i].sum);
        assert_u64(view_time_range(&x.v).n_timed, cases[i].n);
        assert_true(series_of(&x.v, 10 * SECOND, 0, &x.a, &s, &x.e));
        assert_u64(s.n, 1);
        assert_u64(s.sum[0], cases[i].sum);
        assert_u64(s.count[0], cases[i].n);
        assert_true(heat_of(&x.v, &(heat_range){.rows = 1}, &x.a, &h, &x.e));
        int64_t sum = 0;
        for (uint32_t c = 0; c < h.columns; c++) sum += h.sum[c];
        assert_u64(sum, cases[i].sum);
        arena_free(&x.a);
    }
}

/* A step of a series and a cell of a heat map begin inclusively: an observation at the border
 * belongs to the later one. */
static void test_bucket_borders(void **state)
{
    (void)state;
    fixture x;
    series s;
    heat h;
    begin(&x);
    see(&x, "main", "a", 0, 1);
    see(&x, "main", "a", 999, 2);
    see(&x, "main", "a", 1000, 4);
    see(&x, "main", "a", 2000, 8);
    finish(&x, &(select_opts){.all = true});
    assert_true(series_of(&x.v, SECOND, 0, &x.a, &s, &x.e));
    assert_u64(s.n, 3);
    assert_u64(s.sum[0], 1 + 2);
    assert_u64(s.sum[1], 4);
    assert_u64(s.sum[2], 8);
    heat_range r = {.column_ns = SECOND, .rows = 2, .start = BEGIN, .end = BEGIN + 2 * SECOND};
    assert_true(heat_of(&x.v, &r, &x.a, &h, &x.e));
    assert_int_equal(h.columns, 2);
    assert_u64(h.sum[0 * 2 + 0], 1);
    assert_u64(h.sum[0 * 2 + 1], 2);
    assert_u64(h.sum[1 * 2 + 0], 4);
    assert_u64(h.sum[1 * 2 + 1], 0);
    arena_free(&x.a);
}

static void test_series(void **state)
{
    (void)state;
    fixture x;
    series s;
    seen(&x, &(select_opts){.all = true});
    assert_true(series_of(&x.v, SECOND, 0, &x.a, &s, &x.e));
    assert_u64(s.n, 3);
    assert_u64(s.time[0], BEGIN);
    assert_u64(s.sum[0], 13);
    assert_u64(s.count[0], 3);
    assert_u64(s.sum[1], 2);
    assert_u64(s.sum[2], 4);
    assert_true(series_of(&x.v, 0, 10, &x.a, &s, &x.e));
    assert_u64(s.step, SECOND / 2); /* 2.989 s in 10 buckets: 0.2989 s, rounded up to 0.5 s */
    assert_false(series_of(&x.v, 1, 0, &x.a, &s, &x.e));
    assert_int_equal(x.e.code, ERR_USAGE);
    arena_free(&x.a);
}

static void test_heat(void **state)
{
    (void)state;
    fixture x;
    heat h;
    seen(&x, &(select_opts){.all = true});
    assert_true(heat_of(&x.v, &(heat_range){.rows = 100}, &x.a, &h, &x.e)); /* rows of 10 ms */
    assert_u64(h.start, BEGIN);
    assert_int_equal(h.columns, 3);
    assert_u64(h.sum[0 * 100 + 1], 5);
    assert_u64(h.sum[0 * 100 + 2], 7);
    assert_u64(h.sum[1 * 100 + 50], 2);
    assert_u64(h.sum[2 * 100 + 99], 4);
    assert_u64(h.max, 7);
    assert_u64(h.count[0 * 100 + 1], 1);
    heat_range fine = {.column_ns = SECOND / 100, .rows = 2, .start = BEGIN + SECOND / 50};
    fine.end = fine.start + 2 * fine.column_ns; /* 20 to 40 ms, in rows of 5 ms */
    assert_true(heat_of(&x.v, &fine, &x.a, &h, &x.e));
    assert_int_equal(h.columns, 2);
    assert_u64(h.row_ns, SECOND / 200);
    assert_u64(h.sum[0], 7);
    assert_u64(h.sum[1], 0);
    assert_u64(h.sum[2], 1);
    fine.rows = HEAT_MAX_ROWS + 1;
    assert_false(heat_of(&x.v, &fine, &x.a, &h, &x.e));
    assert_int_equal(x.e.code, ERR_USAGE);
    arena_free(&x.a);
}

static void test_lanes_and_chart(void **state)
{
    (void)state;
    fixture x;
    thread_lanes l;
    chart c;
    seen(&x, &(select_opts){.all = true});
    assert_true(thread_lanes_of(&x.v, &x.a, &l, &x.e));
    assert_int_equal(l.v.n, 2);
    assert_false(l.intervals);
    assert_true(str_eq(l.v.v[0].thread.name, STR("a")));
    assert_int_equal(l.v.v[1].n, 4);
    assert_u64(l.v.v[1].sum, 17);
    assert_true(str_eq(l.threads.states.v[l.events.v[0].state], STR("S")));
    assert_true(chart_of(&x.v, &l, 10000000, &x.a, &c, &x.e)); /* a moment lasts 10 ms */
    static const struct {
        const char *name;
        uint32_t lane, depth;
        uint64_t start, end; /* ms */
        int64_t value;
    } want[] = {
        {"main", 0, 0, 1500, 1510, 2}, {"run", 0, 1, 1500, 1510, 2}, {"main", 1, 0, 10, 40, 13},
        {"run", 1, 1, 10, 30, 12},     {"work", 1, 2, 20, 30, 7},    {"idle", 1, 1, 30, 40, 1},
        {"main", 1, 0, 2999, 3009, 4}, {"run", 1, 1, 2999, 3009, 4},
    };
    assert_int_equal(c.v.n, ARRAY_LEN(want));
    assert_int_equal(c.max_depth, 3);
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        const chart_box *b = &c.v.v[i];
        assert_true(str_eq(frame_label(&x.table, b->frame), str_of(want[i].name)));
        assert_int_equal(b->lane, want[i].lane);
        assert_int_equal(b->depth, want[i].depth);
        assert_u64(b->start, BEGIN + want[i].start * 1000000);
        assert_u64(b->end, BEGIN + want[i].end * 1000000);
        assert_u64(b->value, want[i].value);
    }
    assert_true(chart_of(&x.v, &l, 0, &x.a, &c, &x.e)); /* the usual distance */
    arena_free(&x.a);
}

/* Waits of one thread without a pause: at any step it is one thread, and the sum is that of the
 * waits. The second wait covers many steps. */
static void test_waits(void **state)
{
    (void)state;
    static const uint64_t steps[] = {1, 7, 10, 100, 333, 1000, 5000, 60000}; /* ms */
    fixture x;
    begin(&x);
    builder_profile(&x.b)->sample_type =
        (value_type){builder_string(&x.b, STR("off_cpu")), builder_string(&x.b, STR("ns"))};
    see(&x, "main;read", "a", 15, 12000000);
    see(&x, "main;read", "a", 27, 3000000000);
    see(&x, "main;poll", "a", 3027, 1000000);
    see(&x, "main;poll", "a", 3028, 0);
    finish(&x, &(select_opts){.sample_type = STR("off_cpu"), .all = true});
    time_range t = view_time_range(&x.v);
    assert_u64(t.end, BEGIN + 3028000000 + 1);
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        series s;
        heat h;
        int64_t sum = 0;
        uint64_t n = 0;
        assert_true(series_of(&x.v, steps[i] * 1000000, 0, &x.a, &s, &x.e));
        for (size_t k = 0; k < s.n; k++) {
            if (s.sum[k] < 0 || s.sum[k] > (int64_t)steps[i] * 1000000)
                fail_msg("%llu ms, step %zu: %lld", (unsigned long long)steps[i], k,
                         (long long)s.sum[k]);
            sum += s.sum[k], n += s.count[k];
        }
        assert_u64(sum, 3013000000);
        assert_u64(n, 4);
        heat_range r = {.column_ns = steps[i] * 1000000, .rows = 3}; /* rows of unequal length */
        assert_true(heat_of(&x.v, &r, &x.a, &h, &x.e));
        sum = 0;
        for (size_t k = 0; k < (size_t)h.columns * h.rows; k++) sum += h.sum[k];
        assert_u64(sum, 3013000000);
        assert_true(h.max <= (int64_t)steps[i] * 1000000 / 3 * 101 / 100);
    }
    arena_free(&x.a);
}

/* The part of a wait outside of the selected range does not count. */
static void test_waits_at_the_end(void **state)
{
    (void)state;
    fixture x;
    series s;
    begin(&x);
    builder_profile(&x.b)->sample_type =
        (value_type){builder_string(&x.b, STR("off_cpu")), builder_string(&x.b, STR("ms"))};
    see(&x, "main;read", "a", 500, 3000);
    finish(&x, &(select_opts){.sample_type = STR("off_cpu"),
                              .all = true,
                              .start = BEGIN,
                              .end = BEGIN + 2 * SECOND});
    assert_true(series_of(&x.v, SECOND, 0, &x.a, &s, &x.e));
    assert_u64(s.n, 2);
    assert_u64(s.sum[0], 500);
    assert_u64(s.sum[1], 1000);
    arena_free(&x.a);
}

/* Sparse samples of CPU time last for their period, not until the next one. */
static void test_chart_of_sparse_cpu(void **state)
{
    (void)state;
    static const uint64_t at[] = {0, 10, 22, 1000, 2000, 3000, 4000, 4020}, /* ms */
        want[][2] = {{0, 32}, {1000, 1010}, {2000, 2010}, {3000, 3010}, {4000, 4030}};
    fixture x;
    thread_lanes l;
    chart c;
    begin(&x);
    profile *p = builder_profile(&x.b);
    p->sample_type = p->period_type =
        (value_type){builder_string(&x.b, STR("cpu")), builder_string(&x.b, STR("nanoseconds"))};
    p->period = 10000000;
    for (size_t i = 0; i < ARRAY_LEN(at); i++) see(&x, "main", "a", at[i], p->period);
    finish(&x, &(select_opts){.sample_type = STR("cpu"), .all = true});
    assert_true(thread_lanes_of(&x.v, &x.a, &l, &x.e));
    assert_true(chart_of(&x.v, &l, 0, &x.a, &c, &x.e));
    assert_int_equal(c.v.n, ARRAY_LEN(want));
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        assert_u64(c.v.v[i].start, BEGIN + want[i][0] * 1000000);
        assert_u64(c.v.v[i].end, BEGIN + want[i][1] * 1000000);
    }
    arena_free(&x.a);
}

static void test_spans(void **state)
{
    (void)state;
    fixture x;
    span_rows s;
    seen(&x, &(select_opts){.all = true});
    assert_true(spans_of(&x.m, NULL, &x.a, &s, &x.e));
    assert_int_equal(s.v.n, 2);
    assert_u64(s.v.v[0].sum, 13);
    assert_u64(s.v.v[0].n_samples, 3);
    assert_u64(s.v.v[0].first, BEGIN + 10000000);
    assert_u64(s.v.v[0].last, BEGIN + 30000000);
    assert_u64(s.v.v[0].start, BEGIN + 10000000 - 5); /* wall: the value is the time before */
    assert_u64(s.v.v[0].end, BEGIN + 30000000);
    assert_int_equal(s.v.v[0].link.span_id[0], 1);
    assert_true(str_eq(s.threads.v.v[s.v.v[0].thread].name, STR("b")));
    assert_true(str_eq(s.types.v[s.v.v[0].type].type, STR("wall")));
    assert_u64(s.v.v[1].sum, 2);
    assert_true(str_eq(s.threads.v.v[s.v.v[1].thread].name, STR("a")));
    arena_free(&x.a);
}

static void test_without_time(void **state)
{
    (void)state;
    fixture x;
    series s;
    heat h;
    thread_lanes l;
    begin(&x);
    int64_t value = 3;
    builder_sample(&x.b, &(sample){.stack = stack_of(&x, "main"), .values = &value, .n_values = 1});
    finish(&x, &(select_opts){.all = true});
    assert_u64(view_time_range(&x.v).n_timed, 0);
    assert_u64(view_time_range(&x.v).n_untimed, 1);
    assert_true(series_of(&x.v, SECOND, 0, &x.a, &s, &x.e));
    assert_u64(s.step, 0);
    assert_u64(s.n, 1);
    assert_u64(s.sum[0], 3);
    assert_true(heat_of(&x.v, &(heat_range){0}, &x.a, &h, &x.e));
    assert_int_equal(h.columns, 0);
    assert_true(thread_lanes_of(&x.v, &x.a, &l, &x.e));
    assert_int_equal(l.v.n, 0);
    arena_free(&x.a);
}

/* Three cumulative profiles of one process, not in order of time, and one of another start. */
static void add_cumulative(fixture *x)
{
    static const struct {
        uint64_t start, duration;
        int64_t value;
    } profiles[] = {{10, 5, 3}, {10, 20, 11}, {10, 10, 7}, {99, 1, 100}};
    for (size_t i = 0; i < ARRAY_LEN(profiles); i++) {
        profile *p = builder_profile(&x->b);
        p->sample_type.type = builder_string(&x->b, STR("cpu"));
        p->time_unix_nano = profiles[i].start * SECOND;
        p->duration_nano = profiles[i].duration * SECOND;
        uint32_t attr =
            builder_attribute_str(&x->b, STR(KILN_ATTR_AGGREGATION_TEMPORALITY), STR("cumulative"));
        builder_profile_attrs(&x->b, &attr, 1);
        builder_sample(
            &x->b,
            &(sample){.stack = stack_of(x, "main"), .values = &profiles[i].value, .n_values = 1});
    }
}

static void test_cumulative(void **state)
{
    (void)state;
    fixture x;
    begin(&x);
    add_cumulative(&x);
    finish(&x, &(select_opts){.sample_type = STR("cpu"), .all = true});
    const model *m = &x.m;
    cumulative c;
    assert_true(cumulative_find(&m, 1, &x.a, &c, &x.e));
    assert_int_equal(c.n, 4);
    static const uint32_t order[] = {1, 3, 2, 4}; /* by start, then by duration */
    static const bool replaced[] = {true, true, false, false};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(c.v[i].profile, order[i]);
        assert_int_equal(c.v[i].replaced, replaced[i]);
    }
    assert_int_equal(c.v[2].before, 1);
    assert_int_equal(c.v[3].before, -1);
    series s;
    assert_true(series_of(&x.v, 0, 0, &x.a, &s, &x.e));
    static const int64_t sums[] = {3, 4, 4, 100};
    assert_int_equal(s.n, 4);
    for (size_t i = 0; i < 4; i++) assert_u64(s.sum[i], sums[i]);
    arena_free(&x.a);
}

/* Within one model and across two: only the newest profile of a series keeps samples and
 * attributes. */
static void test_empty_replaced(void **state)
{
    (void)state;
    fixture x, y;
    begin(&x), begin(&y);
    add_cumulative(&x), add_cumulative(&y);
    y.b.m.profiles.v[2].duration_nano = 30 * SECOND; /* newer than all of x with its start */
    finish(&x, &(select_opts){.sample_type = STR("wall")});
    finish(&y, &(select_opts){.sample_type = STR("wall")});
    model *both[] = {&x.m, &y.m};
    assert_true(cumulative_empty_replaced(both, 1, &x.a, &x.e));
    static const bool alone[] = {false, true, false, true};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(x.m.profiles.v[i + 1].n_samples, alone[i]);
        assert_int_equal(x.m.profiles.v[i + 1].attrs.n, alone[i]);
    }
    assert_int_equal(y.m.profiles.v[1].n_samples, 1);
    assert_true(cumulative_empty_replaced(both, 2, &x.a, &x.e));
    for (size_t i = 0; i < 3; i++) assert_int_equal(x.m.profiles.v[i + 1].n_samples, 0);
    static const bool joined[] = {false, true, false, true};
    for (size_t i = 0; i < 4; i++) assert_int_equal(y.m.profiles.v[i + 1].n_samples, joined[i]);
    /* Of two equal profiles, the one in the later input counts. */
    assert_int_equal(x.m.profiles.v[4].n_samples, 0);
    arena_free(&x.a), arena_free(&y.a);
}

/* Of the levels of one resource and type, only the newest keeps its samples. */
static void test_levels(void **state)
{
    (void)state;
    fixture x;
    begin(&x);
    static const struct {
        const char *type;
        uint64_t start, duration;
        int64_t value;
        bool stays;
    } looks[] = {{"inuse_space", 10, 5, 3, false},  {"inuse_space", 20, 5, 5, true},
                 {"inuse_space", 15, 5, 7, false},  {"inuse_space", 15, 10, 9, true},
                 {"inuse_objects", 10, 5, 1, true}, {"alloc_space", 10, 5, 2, true}};
    size_t first = x.b.m.profiles.n;
    for (size_t i = 0; i < ARRAY_LEN(looks); i++) {
        profile *p = builder_profile(&x.b);
        p->sample_type.type = builder_string(&x.b, str_of(looks[i].type));
        p->time_unix_nano = looks[i].start * SECOND;
        p->duration_nano = looks[i].duration * SECOND;
        builder_sample(
            &x.b,
            &(sample){.stack = stack_of(&x, "main"), .values = &looks[i].value, .n_values = 1});
    }
    finish(&x, &(select_opts){.sample_type = STR("alloc_space")});
    assert_true(levels_keep_newest(&x.m, &x.a, &x.e));
    for (size_t i = 0; i < ARRAY_LEN(looks); i++)
        assert_int_equal(x.m.profiles.v[first + i].n_samples, looks[i].stays);
    arena_free(&x.a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_range),
        cmocka_unit_test(test_range_ends),
        cmocka_unit_test(test_bucket_borders),
        cmocka_unit_test(test_series),
        cmocka_unit_test(test_heat),
        cmocka_unit_test(test_lanes_and_chart),
        cmocka_unit_test(test_waits),
        cmocka_unit_test(test_waits_at_the_end),
        cmocka_unit_test(test_chart_of_sparse_cpu),
        cmocka_unit_test(test_spans),
        cmocka_unit_test(test_without_time),
        cmocka_unit_test(test_cumulative),
        cmocka_unit_test(test_empty_replaced),
        cmocka_unit_test(test_levels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
