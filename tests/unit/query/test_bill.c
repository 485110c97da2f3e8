/* The bill of spans, and traces, of a known timeline. */
#include "query/bill.h"

#include "../../support/test.h"
#include "model/builder.h"
#include "query/traces.h"
#include "wire/carried.h"

#include <string.h>

#define MS UINT64_C(1000000)
#define BEGIN (UINT64_C(1700000000) * 1000 * MS)

typedef struct fixture {
    arena a;
    builder b;
    model m;
    err e;
} fixture;

/* An observation: start or time, and length, in ms. */
typedef struct seen {
    bool cpu;
    uint8_t trace, span; /* 0: none */
    const char *thread;
    uint64_t at, ms;
    const char *state, *syscall;
    int64_t tid; /* 0: not known */
} seen;

static void add(fixture *x, const seen *s)
{
    uint64_t time = BEGIN + s->at * MS;
    int64_t value = (int64_t)(s->ms * MS);
    uint8_t trace[16] = {s->trace}, id[8] = {s->span};
    uint32_t attrs[4] = {builder_attribute_str(&x->b, STR(ATTR_THREAD_NAME), str_of(s->thread))};
    uint32_t n = 1;
    if (s->state)
        attrs[n++] = builder_attribute_str(&x->b, STR(ATTR_THREAD_STATE), str_of(s->state));
    if (s->syscall)
        attrs[n++] = builder_attribute_str(&x->b, STR(KILN_ATTR_WAIT_SYSCALL), str_of(s->syscall));
    if (s->tid) attrs[n++] = builder_attribute_int(&x->b, STR(ATTR_THREAD_ID), s->tid);
    builder_sample(&x->b, &(sample){.link = s->trace ? builder_link(&x->b, trace, id) : 0,
                                    .attrs = attrs,
                                    .n_attrs = n,
                                    .values = &value,
                                    .n_values = 1,
                                    .times = &time,
                                    .n_times = 1});
}

static void make(fixture *x, const seen *v, size_t n)
{
    *x = (fixture){0};
    assert_true(builder_init(&x->b, &x->a));
    builder_resource(&x->b, NULL);
    builder_scope(&x->b, NULL);
    for (int cpu = 0; cpu < 2; cpu++) {
        profile *p = builder_profile(&x->b);
        p->sample_type.type = builder_string(&x->b, cpu ? STR("cpu") : STR("off_cpu"));
        p->sample_type.unit = builder_string(&x->b, STR("nanoseconds"));
        if (cpu) p->period = (int64_t)(30 * MS), p->period_type = p->sample_type;
        for (size_t i = 0; i < n; i++)
            if (v[i].cpu == cpu) add(x, &v[i]);
    }
    assert_true(builder_finish(&x->b, &x->m, &x->e));
}

/* Span 1 computes, waits for a lock, is ready, has a child, sleeps, and has a gap of 5 ms. */
static const seen story[] = {
    {true, 1, 1, "a", 110, 10, NULL, NULL, 0},
    {false, 1, 1, "a", 110, 30, "sleeping", "futex", 0},
    {false, 1, 1, "a", 140, 7, "unscheduled", NULL, 0},
    {true, 1, 2, "a", 160, 13, NULL, NULL, 0}, /* the child */
    {false, 1, 2, "a", 160, 20, "sleeping", "read", 0},
    {false, 1, 1, "a", 185, 15, "sleeping", "clock_nanosleep", 0},
    {true, 1, 1, "a", 205, 5, NULL, NULL, 0},
    {true, 1, 1, "b", 150, 25, NULL, NULL, 0}, /* the same span on another thread */
    {true, 2, 1, "a", 300, 10, NULL, NULL, 0}, /* another trace */
    {true, 0, 0, "a", 320, 10, NULL, NULL, 0},
};

static int64_t part(const bill *b, uint32_t of, bill_kind k, const char *syscall)
{
    for (size_t i = 0; i < b->parts.n; i++) {
        const bill_reason *r = &b->reasons.v[b->parts.v[i].reason];
        if (b->parts.v[i].span == of && r->kind == k && str_eq(r->syscall, str_of(syscall)))
            return b->parts.v[i].sum;
    }
    return 0;
}

static void make_bill(fixture *x, bill *b)
{
    uint64_t start, end;
    make(x, story, ARRAY_LEN(story));
    assert_true(bill_init(b, NULL, &x->a, &x->e) && bill_add(b, &x->m, &x->e));
    assert_true(bill_range(b, &start, &end));
    assert_u64(start, BEGIN + 100 * MS);
    assert_u64(end, BEGIN + 300 * MS);
    assert_true(bill_add_others(b, &x->m, &x->e) && bill_close(b, &x->e));
    assert_u64(b->period, 30 * MS);
    assert_true(b->off_cpu);
}

static void test_parts(void **state)
{
    (void)state;
    fixture x;
    bill b;
    make_bill(&x, &b);
    assert_int_equal(b.v.n, 4); /* longest first */
    assert_u64(b.v.v[0].wall, 105 * MS);
    assert_u64(b.v.v[0].first, BEGIN + 100 * MS);
    assert_u64(b.v.v[0].last, BEGIN + 205 * MS);
    assert_u64(part(&b, 0, BILL_ON_CPU, ""), 15 * MS);
    assert_u64(part(&b, 0, BILL_BLOCKED, "futex"), 30 * MS);
    assert_u64(part(&b, 0, BILL_BLOCKED, "clock_nanosleep"), 15 * MS);
    assert_u64(part(&b, 0, BILL_RUNNABLE, ""), 7 * MS);
    assert_u64(part(&b, 0, BILL_OTHER_SPAN, ""), 33 * MS);
    assert_u64(part(&b, 0, BILL_UNACCOUNTED, ""), 5 * MS);
    assert_u64(b.v.v[1].wall, 33 * MS); /* the child */
    assert_u64(b.v.v[2].wall, 25 * MS); /* thread b: not in the time of thread a */
    assert_u64(part(&b, 2, BILL_OTHER_SPAN, ""), 0);
    arena_free(&x.a);
}

static void test_parts_are_the_whole(void **state)
{
    (void)state;
    fixture x;
    bill b;
    int64_t sums[4] = {0};
    make_bill(&x, &b);
    for (size_t i = 0; i < b.parts.n; i++) {
        sums[b.parts.v[i].span] += b.parts.v[i].sum;
        assert_true(!i || b.parts.v[i].span >= b.parts.v[i - 1].span);
    }
    for (size_t i = 0; i < b.v.n; i++) assert_u64(sums[i], b.v.v[i].wall);
    arena_free(&x.a);
}

/* CPU time before the first wait is in the value of a later observation. */
static void test_parts_longer_than_the_extent(void **state)
{
    (void)state;
    static const seen v[] = {{false, 1, 1, "a", 100, 50, "sleeping", "futex", 0},
                             {true, 1, 1, "a", 155, 12, NULL, NULL, 0}};
    fixture x;
    bill b;
    make(&x, v, ARRAY_LEN(v));
    assert_true(bill_init(&b, NULL, &x.a, &x.e) && bill_add(&b, &x.m, &x.e));
    assert_true(bill_close(&b, &x.e));
    assert_u64(b.v.v[0].wall, 62 * MS);
    assert_u64(part(&b, 0, BILL_UNACCOUNTED, ""), 0);
    arena_free(&x.a);
}

/* A value of more than a period has CPU time before an earlier wait, or after the observation. */
static void test_long_values(void **state)
{
    (void)state;
    static const seen v[] = {{true, 1, 1, "a", 100, 70, NULL, NULL, 0},
                             {false, 1, 1, "a", 110, 90, "sleeping", "futex", 0}};
    fixture x;
    bill b;
    make(&x, v, ARRAY_LEN(v));
    assert_true(bill_init(&b, NULL, &x.a, &x.e) && bill_add(&b, &x.m, &x.e));
    assert_true(bill_close(&b, &x.e));
    assert_u64(b.v.v[0].first, BEGIN + 70 * MS);
    assert_u64(b.v.v[0].last, BEGIN + 200 * MS);
    assert_u64(b.v.v[0].wall, 160 * MS);
    arena_free(&x.a);
}

/* The name of a thread can change, or be missing. */
static void test_names(void **state)
{
    (void)state;
    static const seen v[] = {{true, 1, 1, "", 110, 10, NULL, NULL, 7},
                             {true, 1, 1, "b", 120, 10, NULL, NULL, 7},
                             {true, 1, 2, "c", 130, 10, NULL, NULL, 7},
                             {true, 1, 1, "d", 140, 10, NULL, NULL, 7},
                             {true, 1, 1, "b", 140, 10, NULL, NULL, 8}};
    fixture x;
    bill b;
    make(&x, v, ARRAY_LEN(v));
    assert_true(bill_init(&b, NULL, &x.a, &x.e) && bill_add(&b, &x.m, &x.e));
    assert_true(bill_add_others(&b, &x.m, &x.e) && bill_close(&b, &x.e));
    assert_int_equal(b.v.n, 3);
    assert_u64(b.v.v[0].wall, 40 * MS);
    assert_u64(part(&b, 0, BILL_OTHER_SPAN, ""), 10 * MS);
    assert_true(str_eq(b.threads.v.v[b.v.v[0].thread].name, STR("b")));
    arena_free(&x.a);
}

static void test_other_types(void **state)
{
    (void)state;
    fixture x;
    bill b;
    uint64_t start, end;
    make(&x, story, ARRAY_LEN(story));
    uint32_t wall = x.m.profiles.v[0].sample_type.unit;
    for (size_t i = 0; i < x.m.profiles.n; i++) x.m.profiles.v[i].sample_type.type = wall;
    assert_true(bill_init(&b, NULL, &x.a, &x.e) && bill_add(&b, &x.m, &x.e));
    assert_false(bill_range(&b, &start, &end));
    assert_true(bill_add_others(&b, &x.m, &x.e) && bill_close(&b, &x.e));
    assert_int_equal(b.v.n, 0);
    assert_false(b.off_cpu);
    arena_free(&x.a);
}

static void test_little_memory(void **state)
{
    (void)state;
    fixture x;
    size_t failed = 0;
    bool ok = false;
    make(&x, story, ARRAY_LEN(story));
    for (size_t budget = 64; !ok && budget < 64 * 1024; budget += 64) {
        arena a = {.budget = budget};
        err e = {0};
        bill b;
        trace_rows t;
        ok = bill_init(&b, NULL, &a, &e) && bill_add(&b, &x.m, &e) &&
             bill_add_others(&b, &x.m, &e) && bill_close(&b, &e) &&
             traces_of(&x.m, 0, TRACES_BY_TIME, NULL, &a, &t, &e);
        assert_true(ok || e.code);
        failed += !ok;
        arena_free(&a);
    }
    assert_true(ok && failed > 3);
    arena_free(&x.a);
}

static void test_traces(void **state)
{
    (void)state;
    fixture x;
    trace_rows t;
    make(&x, story, ARRAY_LEN(story));
    assert_true(traces_of(&x.m, 0, TRACES_BY_DURATION, NULL, &x.a, &t, &x.e));
    assert_int_equal(t.v.n, 2);
    assert_int_equal(t.v.v[0].trace_id[0], 1);
    assert_u64(t.v.v[0].n_spans, 2);
    assert_u64(t.v.v[0].n_samples, 8);
    assert_u64(t.v.v[0].first, BEGIN + 100 * MS);
    assert_u64(t.v.v[0].last, BEGIN + 205 * MS);
    assert_int_equal(t.v.v[0].services.n, 1);
    assert_u64(t.v.v[1].last - t.v.v[1].first, 10 * MS);
    assert_true(traces_of(&x.m, 0, TRACES_BY_TIME, NULL, &x.a, &t, &x.e));
    assert_int_equal(t.v.v[0].trace_id[0], 2);
    assert_true(traces_of(&x.m, 105 * MS, TRACES_BY_SAMPLES, NULL, &x.a, &t, &x.e));
    assert_int_equal(t.v.n, 1);
    assert_true(traces_of(&x.m, 105 * MS + 1, TRACES_BY_SAMPLES, NULL, &x.a, &t, &x.e));
    assert_int_equal(t.v.n, 0);
    arena_free(&x.a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_parts_are_the_whole),
        cmocka_unit_test(test_parts_longer_than_the_extent),
        cmocka_unit_test(test_long_values),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_other_types),
        cmocka_unit_test(test_little_memory),
        cmocka_unit_test(test_traces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
