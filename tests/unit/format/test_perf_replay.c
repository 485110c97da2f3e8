/* Replays combinations of records: events, counters, clocks, off-CPU time, address spaces,
 * order. */
#include "perf_file.h"

/* ---- several events, counters, clocks ---- */

enum { WITH_ID = STANDARD | PERF_SAMPLE_IDENTIFIER };

static void id_sample(buf *b, uint64_t id, uint64_t time, uint64_t period, const uint64_t *counters,
                      size_t n)
{
    size_t at_rec = begin(b, REC_SAMPLE, MODE_USER);
    u64(b, id), u64(b, 0x401010), u32(b, 7), u32(b, 7), u64(b, time), u32(b, 0), u32(b, 0),
        u64(b, period);
    if (n) {
        u64(b, n / 2);
        for (size_t i = 0; i < n; i++) u64(b, counters[i]);
    }
    u64(b, 0), end(b, at_rec);
}

/* Builds a file with events 0 and 1, which have the ids 100 and 101. */
static buf file_with_ids(const attr_spec s[2], const buf *data)
{
    buf b = {0};
    size_t attrs = 2 * (ATTR + 16), ids = 104 + attrs;
    put_header(&b, 2, data->n, 0);
    uint64_t data_at = ids + 16;
    memcpy(b.p + 40, &data_at, 8);
    for (size_t i = 0; i < 2; i++) put_attr(&b, &s[i]), u64(&b, ids + 8 * i), u64(&b, 8);
    u64(&b, 100), u64(&b, 101);
    buf_str(&b, buf_view(data));
    return b;
}

static void test_events(void **state)
{
    (void)state;
    attr_spec s[2] = {
        {.type = PERF_TYPE_HARDWARE, .config = 0, .period = 5, .sample_type = WITH_ID},
        {.type = PERF_TYPE_HW_CACHE, .config = 0x10003, .period = 6, .sample_type = WITH_ID}};
    buf data = {0};
    id_sample(&data, 101, 1, 60, NULL, 0);
    id_sample(&data, 100, 2, 50, NULL, 0);
    id_sample(&data, 101, 3, 61, NULL, 0);
    id_sample(&data, 555, 4, 99, NULL, 0); /* sample of an unknown event */
    buf b = file_with_ids(s, &data);
    result r;
    read_ok(&b, &r);
    assert_int_equal(r.m.profiles.n, 2);
    assert_true(is(&r.m, r.m.profiles.v[0].sample_type.type, "cycles"));
    assert_true(is(&r.m, r.m.profiles.v[1].sample_type.type, "dTLB-load-misses"));
    assert_true(is(&r.m, r.m.profiles.v[1].sample_type.unit, "count"));
    assert_int_equal(r.m.profiles.v[0].n_samples, 1);
    assert_int_equal(r.m.profiles.v[1].n_samples, 2);
    assert_int_equal(r.m.profiles.v[1].period, 6);
    assert_int_equal(at(&r.m, 1, 1).values[0], 61);
    assert_int_equal(frame(&r.m, &(sample){.stack = at(&r.m, 0, 0).stack}, 0)->address, 0x401010);
    assert_int_equal(lost(&r.l, LOSS_EVENT), 1);
    arena_free(&r.a), buf_free(&b), buf_free(&data);
}

static void test_counters(void **state)
{
    (void)state;
    uint64_t type = WITH_ID | PERF_SAMPLE_READ;
    attr_spec s[2] = {{.type = 0,
                       .config = 0,
                       .sample_type = type,
                       .read_format = PERF_FORMAT_ID | PERF_FORMAT_GROUP},
                      {.type = 0,
                       .config = 1,
                       .sample_type = type,
                       .read_format = PERF_FORMAT_ID | PERF_FORMAT_GROUP}};
    buf data = {0};
    id_sample(&data, 100, 1, 1, (uint64_t[]){1000, 100, 7, 101}, 4);
    id_sample(&data, 100, 2, 1, (uint64_t[]){1500, 100, 7, 101}, 4); /* the second did not change */
    buf b = file_with_ids(s, &data);
    result r;
    read_ok(&b, &r);
    assert_int_equal(r.m.profiles.v[0].n_samples, 2);
    assert_int_equal(r.m.profiles.v[1].n_samples, 1);
    assert_int_equal(at(&r.m, 0, 0).values[0], 1000);
    assert_int_equal(at(&r.m, 0, 1).values[0], 500);
    assert_int_equal(at(&r.m, 1, 0).values[0], 7);
    arena_free(&r.a), buf_free(&b), buf_free(&data);
}

static void test_clocks(void **state)
{
    (void)state;
    attr_spec s = cpu_clock;
    s.bits |= USE_CLOCKID; /* CLOCK_REALTIME */
    buf data = standard_data(), b = file_of(&s, 1, &data);
    result r;
    read_ok(&b, &r);
    assert_int_equal(r.m.profiles.v[0].time_unix_nano, 40);
    assert_int_equal(at(&r.m, 0, 1).times[0], 55);
    assert_int_equal(lost(&r.l, LOSS_TIMESTAMP), 0);
    assert_false(from_boot(&r.m, 0, &r.l));
    arena_free(&r.a), buf_free(&b);

    s.clockid = 1; /* CLOCK_MONOTONIC: 30 there was 1000 here */
    buf pipe = pipe_of(&s, 1, &data);
    size_t at_rec = begin(&pipe, REC_FEATURE, 0);
    u64(&pipe, 29), u32(&pipe, 1), u32(&pipe, 1), u64(&pipe, 1000), u64(&pipe, 30),
        end(&pipe, at_rec);
    read_ok(&pipe, &r);
    assert_int_equal(at(&r.m, 0, 0).times[0], 1010);
    assert_int_equal(r.m.profiles.v[0].time_unix_nano, 1010);
    arena_free(&r.a);

    read_opts_into(buf_view(&pipe), (read_opts){0}, 0, &r);
    assert_true(r.ok);
    assert_false(from_boot(&r.m, 0, &r.l)); /* the file has a date */
    arena_free(&r.a);

    buf_free(&pipe), buf_free(&data);
}

/* ---- off-CPU ---- */

static void switch_record(buf *b, uint32_t tid, uint16_t misc, uint64_t time)
{
    size_t at_rec = begin(b, REC_SWITCH, misc);
    trailer(b, 7, tid, time), end(b, at_rec);
}

static void test_off_cpu_records(void **state)
{
    (void)state;
    attr_spec s = cpu_clock;
    s.config = 3; /* context-switches */
    buf data = {0};
    SAMPLE(&data, 7, 7, 100, 1, CONTEXT_KERNEL, 0xffffffff81000123);
    switch_record(&data, 7, MISC_SWITCH_OUT, 101);
    switch_record(&data, 8, MISC_SWITCH_OUT | MISC_SWITCH_OUT_PREEMPT, 110);
    switch_record(&data, 8, 0, 115);
    switch_record(&data, 7, 0, 151);
    switch_record(&data, 7, MISC_SWITCH_OUT, 160); /* no end */
    buf b = file_of(&s, 1, &data);
    result r;
    read_ok(&b, &r);
    assert_int_equal(r.m.profiles.n, 2);
    const profile *p = &r.m.profiles.v[1];
    assert_true(is(&r.m, p->sample_type.type, "off_cpu") &&
                is(&r.m, p->sample_type.unit, "nanoseconds"));
    assert_int_equal(p->n_samples, 2);
    sample x = at(&r.m, 1, 0), y = at(&r.m, 1, 1);
    assert_int_equal(x.values[0], 50);
    assert_int_equal(frame(&r.m, &x, 0)->address, 0xffffffff81000123);
    assert_int_equal(y.values[0], 5);
    assert_int_equal(y.stack, 0);
    has_text(sample_attr(&r.m, &y, "thread.state"), "unscheduled");
    has_text(sample_attr(&r.m, &y, "kiln.thread.state"), "R");
    assert_int_equal(lost(&r.l, LOSS_TIME), 1);
    arena_free(&r.a), buf_free(&b), buf_free(&data);
}

/* sched:sched_switch in the layout that needs no format text. */
static void sched_switch(buf *b, uint32_t tid, uint64_t time, uint32_t prev, uint64_t state,
                         uint32_t next)
{
    size_t at_rec = begin(b, REC_SAMPLE, MODE_KERNEL);
    u64(b, 0xffffffff81000000 + tid), u32(b, 7), u32(b, tid), u64(b, time), u32(b, 0), u32(b, 0);
    u64(b, 1), u64(b, 0), u32(b, 68);
    zeros(b, 24), u32(b, prev), u32(b, 120), u64(b, state), zeros(b, 16), u32(b, next), u32(b, 120),
        zeros(b, 4);
    end(b, at_rec);
}

static void test_off_cpu_tracepoint(void **state)
{
    (void)state;
    attr_spec s = {.type = PERF_TYPE_TRACEPOINT,
                   .config = 316,
                   .period = 1,
                   .sample_type = STANDARD | PERF_SAMPLE_RAW};
    buf data = {0};
    size_t at_rec = begin(&data, REC_FEATURE, 0); /* EVENT_DESC: the name */
    u64(&data, 12), u32(&data, 1), u32(&data, 8), zeros(&data, 8), u32(&data, 0), u32(&data, 24);
    buf_put(&data, "sched:sched_switch\0\0\0\0\0", 24), end(&data, at_rec);
    sched_switch(&data, 7, 100, 1007, 1, 1008);    /* 7 (1007 outside its namespace) sleeps */
    sched_switch(&data, 8, 130, 1008, 0, 1007);    /* 8 is preempted, 7 continues */
    sched_switch(&data, 7, 140, 1007, 0x10, 1009); /* 7 is dead */
    sched_switch(&data, 8, 190, 1008, 2, 1009);    /* 8 runs; the start is unknown */
    buf b = pipe_of(&s, 1, &data);
    result r;
    read_ok(&b, &r);
    assert_int_equal(r.m.profiles.n, 2);
    assert_true(is(&r.m, r.m.profiles.v[0].sample_type.type, "sched:sched_switch"));
    assert_int_equal(r.m.profiles.v[1].n_samples, 2);
    sample x = at(&r.m, 1, 0), y = at(&r.m, 1, 1);
    assert_int_equal(x.values[0], 30);
    has_text(sample_attr(&r.m, &x, "thread.state"), "sleeping");
    has_text(sample_attr(&r.m, &x, "kiln.thread.state"), "S");
    assert_null(sample_attr(&r.m, &x, "kiln.off_cpu.bound"));
    assert_int_equal(frame(&r.m, &x, 0)->address, 0xffffffff81000007);
    assert_int_equal(y.values[0], 60);
    has_text(sample_attr(&r.m, &y, "kiln.off_cpu.bound"), "upper");
    arena_free(&r.a), buf_free(&b), buf_free(&data);
}

/* ---- address spaces: the tree agrees with an array of owners ---- */

enum { ADDRESSES = 64, SPACES = 4 };

static void test_spaces(void **state)
{
    (void)state;
    uint64_t seed = 42;
    print_message("# seed %llu\n", (unsigned long long)seed);
    arena a = {0};
    perf_maps m;
    assert_true(perf_maps_init(&m, &a));
    perf_space space[SPACES] = {0};
    uint32_t naive[SPACES][ADDRESSES];
    memset(naive, 0xff, sizeof naive);
    for (int step = 0; step < 20000; step++) {
        seed = hash_mix(seed, 1);
        unsigned s = seed & 3, t = seed >> 2 & 3, op = seed >> 8 & 31;
        if (op == 0 && s != t) {
            perf_space_fork(&m, &space[s], &space[t]);
            memcpy(naive[t], naive[s], sizeof naive[s]);
            assert_int_equal(space[s].version, space[t].version);
        } else if (op == 1) {
            perf_space_clear(&m, &space[s]);
            memset(naive[s], 0xff, sizeof naive[s]);
        } else {
            uint64_t start = seed >> 16 & 63, limit = start + (seed >> 24 & 15);
            if (limit > ADDRESSES) limit = ADDRESSES;
            perf_map *x = vec_push(&a, &m.maps);
            *x = (perf_map){.start = start, .limit = limit};
            uint32_t i = (uint32_t)(m.maps.n - 1);
            assert_true(perf_space_add(&m, &space[s], i));
            for (uint64_t k = start; k < limit; k++) naive[s][k] = i;
        }
        for (unsigned k = 0; k < SPACES; k++)
            for (uint64_t x = 0; x < ADDRESSES; x += 1 + (seed >> 40 & 7))
                assert_int_equal(perf_space_find(&m, &space[k], x), naive[k][x]);
    }
    for (unsigned k = 0; k < SPACES; k++) assert_true(m.nodes.v[space[k].root].height <= 9);
    arena_free(&a);
}

static void test_sort(void **state)
{
    (void)state;
    perf_entry v[1000], scratch[501];
    uint64_t seed = 7;
    for (size_t n = 0; n < 1000; n += 37) {
        for (size_t i = 0; i < n; i++) seed = hash_mix(seed, i), v[i] = (perf_entry){seed % 50, i};
        perf_sort(v, scratch, n);
        for (size_t i = 1; i < n; i++)
            assert_true(v[i - 1].time < v[i].time ||
                        (v[i - 1].time == v[i].time && v[i - 1].at < v[i].at));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_counters),
        cmocka_unit_test(test_clocks),
        cmocka_unit_test(test_off_cpu_records),
        cmocka_unit_test(test_off_cpu_tracepoint),
        cmocka_unit_test(test_spaces),
        cmocka_unit_test(test_sort),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
