/* Tests that the work of a query grows linearly with the number of series. The work is counted, not
 * timed. */
#include "store/embedded_options.h"
#include "store/maintenance.h"

#include "../../support/test.h"
#include "model/builder.h"
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

#define NOW UINT64_C(1790000000000000000)
enum { SERIES = 60000, A_REQUEST = 1000, ALIKE = 3000 };

static char dir[] = "/tmp/kiln-series-XXXXXX";

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

static store *open_store(void)
{
    err e = {0};
    nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    store *s = embedded_open(
        dir, &(embedded_opts){.no_sync = true, .no_threads = true, .store.max_age = UINT64_MAX},
        &e);
    assert_ok(s, &e);
    return s;
}

/* Adds series i. `by_period`: all have one resource and different periods; otherwise they are
 * instances of a service. */
static void put_series(builder *b, uint32_t i, bool by_period, str type)
{
    char text[24];
    snprintf(text, sizeof text, "i%u", by_period ? 0 : i);
    keyvalue kv = {.key = STR("service.instance.id"),
                   .value = {.kind = ANY_STRING, .s = text, .n = (uint32_t)strlen(text)}};
    int64_t value = 1 + i % 7;
    function f = {.name = builder_string(b, STR("main"))};
    line l = {.function = builder_function(b, &f)};
    uint32_t at = builder_location(b, 0, 0, &l, 1, NULL, 0);
    builder_resource(b, &(resource){.present = true, .attrs = {&kv, 1}});
    builder_scope(b, NULL);
    profile *p = builder_profile(b);
    p->sample_type.type = builder_string(b, type);
    p->sample_type.unit = builder_string(b, STR("nanoseconds"));
    p->period = by_period ? (int64_t)i : 10;
    p->time_unix_nano = NOW;
    memcpy(p->profile_id, &i, sizeof i);
    p->profile_id[15] = 1;
    builder_sample(b,
                   &(sample){.stack = builder_stack(b, &at, 1), .values = &value, .n_values = 1});
}

static int64_t fill(store *s, uint32_t n, bool by_period)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < n;) {
        arena a = {0};
        builder b;
        model m;
        err e = {0};
        assert_true(builder_init(&b, &a));
        for (uint32_t end = i + A_REQUEST; i < n && i < end; i++)
            put_series(&b, i, by_period, STR("cpu")), sum += 1 + i % 7;
        assert_ok(builder_finish(&b, &m, &e), &e);
        assert_ok(store_put(s, &(store_item){.model = &m, .received = NOW}, &e), &e);
        assert_ok(store_commit(s, &e), &e);
        arena_free(&a);
    }
    return sum;
}

/* Checks sums over all series: the number of comparisons is proportional to the number of
 * series. */
static void check_sums(store *s, const store_read_opts *o, size_t n, size_t profiles, int64_t want)
{
    arena a = {0};
    model m;
    store_read_result x;
    err e = {0};
    int64_t sum = 0;
    assert_ok(store_read_sums(store_own_reader(s), &(store_selector){0}, o, &a, &m, &x, &e), &e);
    for (size_t i = 0; i < m.values.n; i++) sum += m.values.v[i];
    assert_int_equal(sum, want);
    assert_int_equal(m.profiles.n, profiles);
    assert_false(x.partial);
    if (o->by_series) assert_int_equal(x.n_series, n);
    assert_true(x.n_compared <= 2 * n);
    arena_free(&a);
}

static void check_lists(store *s, size_t n)
{
    arena a = {0};
    store_series_list l;
    store_read_result x;
    store_selector q = {0};
    err e = {0};
    assert_ok(store_list_series(store_own_reader(s), &q, NULL, &a, &l, &x, &e), &e);
    assert_int_equal(l.n, n);
    assert_true(x.n_compared <= 2 * n);
    assert_ok(store_main_type(store_own_reader(s), &q, NULL, &a, &x, &e), &e);
    assert_true(str_eq(q.type, STR("cpu/nanoseconds")));
    arena_free(&a);
}

/* Reads half of the series by a list of them. */
static void check_half(store *s, size_t n)
{
    arena a = {0};
    store_series_list l;
    store_read_result x;
    model m;
    err e = {0};
    const store_read_opts o = {.by_series = true, .by_reading = true};
    assert_ok(store_list_series(store_own_reader(s), &(store_selector){0}, NULL, &a, &l, &x, &e),
              &e);
    l.n /= 2;
    assert_ok(
        store_read_sums(store_own_reader(s), &(store_selector){.series = &l}, &o, &a, &m, &x, &e),
        &e);
    assert_int_equal(x.n_series, n / 2);
    assert_true(x.n_compared <= 2 * n);
    arena_free(&a);
}

static void check_all(store *s, size_t n, int64_t sum)
{
    check_half(s, n);
    check_sums(s, &(store_read_opts){.by_series = true}, n, n, sum);
    check_sums(s, &(store_read_opts){.by_series = true, .by_reading = true}, n, 1, sum);
    check_sums(s, &(store_read_opts){0}, n, 1, sum);
    check_lists(s, n);
}

static void test_resources(void **state)
{
    (void)state;
    err e = {0};
    store *s = open_store();
    int64_t sum = fill(s, SERIES, false);
    check_all(s, SERIES, sum);
    assert_ok(store_compact(s, &e), &e);
    check_all(s, SERIES, sum);
    fill(s, A_REQUEST, false); /* series that were sent before */
    check_all(s, SERIES, sum);
    store_close(s);
}

/* Series that differ only in their period are not compared with each other. */
static void test_periods(void **state)
{
    (void)state;
    err e = {0};
    store *s = open_store();
    int64_t sum = fill(s, ALIKE, true);
    check_all(s, ALIKE, sum);
    assert_ok(store_compact(s, &e), &e);
    check_all(s, ALIKE, sum);
    store_close(s);
}

static void check_main_type(store *s, uint64_t start, const char *want, uint64_t blocks)
{
    arena a = {0};
    store_read_result x;
    store_selector q = {.start = start};
    err e = {0};
    assert_ok(store_main_type(store_own_reader(s), &q, NULL, &a, &x, &e), &e);
    assert_true(str_eq(q.type, str_of(want)));
    assert_int_equal(x.n_blocks, blocks);
    arena_free(&a);
}

static void put_cycles(store *s, uint32_t from, uint32_t n)
{
    arena a = {0};
    builder b;
    model m;
    err e = {0};
    assert_true(builder_init(&b, &a));
    for (uint32_t i = from; i < from + n; i++) put_series(&b, i, false, STR("cycles"));
    assert_ok(builder_finish(&b, &m, &e), &e);
    assert_ok(store_put(s, &(store_item){.model = &m, .received = NOW}, &e), &e);
    assert_ok(store_commit(s, &e), &e);
    arena_free(&a);
}

/* With one type in all files, one block decides. With a second type of the same rank
 * (query/default_type.h) in the journal or in a file, the counts decide. */
static void test_main_type(void **state)
{
    (void)state;
    enum { OTHER = ALIKE / 2 };
    err e = {0};
    store *s = open_store();
    fill(s, ALIKE, false);
    assert_ok(store_compact(s, &e), &e);
    check_main_type(s, 0, "cpu/nanoseconds", 1);
    check_main_type(s, NOW + 3600 * NS_PER_S, "", 0); /* nothing is selected: the type is not set */
    put_cycles(s, ALIKE, OTHER);
    check_main_type(s, 0, "cpu/nanoseconds", ALIKE);
    put_cycles(s, ALIKE + OTHER, ALIKE);
    check_main_type(s, 0, "cycles/nanoseconds", ALIKE);
    assert_ok(store_compact(s, &e), &e);
    check_main_type(s, 0, "cycles/nanoseconds", ALIKE + OTHER + ALIKE);
    store_close(s);
}

static int make_dir(void **state)
{
    (void)state;
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    (void)state;
    return nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_resources),
                                       cmocka_unit_test(test_periods),
                                       cmocka_unit_test(test_main_type)};
    return cmocka_run_group_tests_name("many_series", tests, make_dir, remove_dir);
}
