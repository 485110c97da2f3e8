/* Sums over time of levels and of data that is still arriving: how long levels hold, gaps, rows by
 * two labels, intervals, and until when a row is complete. Every case is checked in the journal and
 * in compacted files. */
#include "store/embedded_options.h"
#include "store/maintenance.h"

#include "../../support/test.h"
#include "model/builder.h"
#include <ftw.h>
#include <stdlib.h>
#include <string.h>

#define NOW UINT64_C(1790000000000000000)
enum { MOST = 12 };

static char dir[] = "/tmp/kiln-counts-XXXXXX";

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

/* A profile `at` seconds after NOW, with one sample of the value unless that is 0. */
typedef struct put_profile {
    const char *service, *type;
    uint64_t at, duration;
    int64_t value;
    const char *thread, *state;
    bool timed; /* the sample has a timestamp */
} put_profile;

static void put(store *s, const put_profile *x)
{
    static uint32_t id;
    arena a = {0};
    builder b;
    model m;
    err e = {0};
    assert_true(builder_init(&b, &a));
    keyvalue kv = {
        .key = STR("service.name"),
        .value = {.kind = ANY_STRING, .n = (uint32_t)strlen(x->service), .s = x->service}};
    builder_resource(&b, &(resource){.attrs = {&kv, 1}, .present = true});
    builder_scope(&b, NULL);
    profile *p = builder_profile(&b);
    p->sample_type =
        (value_type){builder_string(&b, str_of(x->type)), builder_string(&b, STR("nanoseconds"))};
    p->has_sample_type = true;
    p->time_unix_nano = NOW + x->at * NS_PER_S;
    p->duration_nano = x->duration * NS_PER_S;
    id++;
    memcpy(p->profile_id, &id, sizeof id);
    p->profile_id[15] = 1;
    uint32_t attrs[2];
    size_t n = 0;
    if (x->thread) attrs[n++] = builder_attribute_str(&b, STR("thread.name"), str_of(x->thread));
    if (x->state) attrs[n++] = builder_attribute_str(&b, STR("thread.state"), str_of(x->state));
    uint64_t time = p->time_unix_nano;
    if (x->value)
        builder_sample(&b, &(sample){.values = &x->value,
                                     .n_values = 1,
                                     .times = &time,
                                     .n_times = x->timed,
                                     .attrs = attrs,
                                     .n_attrs = (uint32_t)n});
    assert_ok(builder_finish(&b, &m, &e), &e);
    assert_ok(store_put(s, &(store_item){.model = &m, .received = NOW}, &e), &e);
    assert_ok(store_commit(s, &e), &e);
    arena_free(&a);
}

/* An expected row. */
typedef struct want_row {
    const char *label, *split;
    int64_t sum[MOST];
    int series[MOST];  /* -1 in the first: not checked */
    uint64_t complete; /* seconds after NOW; 0: not checked */
} want_row;

/* Ten-second steps from `start` to `end`, in seconds after NOW. */
typedef struct counts_case {
    const char *name, *type, *by, *split;
    uint64_t start, end, now;
    const put_profile *put;
    size_t n_put;
    const want_row *want;
    size_t n_want;
} counts_case;

static void check_row(const counts_case *c, const char *when, const store_buckets *b, size_t i)
{
    const store_row *r = &b->rows.v[i];
    const want_row *w = &c->want[i];
    if (!str_eq(r->label, str_of(w->label)) || !str_eq(r->split, str_of(w->split ? w->split : "")))
        fail_msg("%s, %s: row %zu is %.*s", c->name, when, i, STR_ARG(r->label));
    for (size_t k = 0; k < b->n; k++) {
        if (r->sum[k] != w->sum[k])
            fail_msg("%s, %s, %s: step %zu is %lld", c->name, when, w->label, k,
                     (long long)r->sum[k]);
        if (w->series[0] >= 0 && (!r->series || r->series[k] != (uint32_t)w->series[k]))
            fail_msg("%s, %s, %s: step %zu has %u series", c->name, when, w->label, k,
                     r->series ? r->series[k] : 0);
    }
    if (w->complete) assert_u64((r->complete - NOW) / NS_PER_S, w->complete);
}

static void check_case(const counts_case *c, const char *when, store *s)
{
    arena a = {0};
    err e = {0};
    store_buckets b;
    store_read_result x;
    store_selector q = {.type = str_of(c->type),
                        .start = NOW + c->start * NS_PER_S,
                        .end = NOW + c->end * NS_PER_S};
    store_counts_opts o = {.step = 10 * NS_PER_S,
                           .by = str_of(c->by),
                           .split = str_of(c->split ? c->split : ""),
                           .hold = true,
                           .now = NOW + c->now * NS_PER_S};
    assert_ok(store_counts(store_own_reader(s), &q, NULL, &o, &a, &b, &x, &e), &e);
    assert_int_equal(b.rows.n, c->n_want);
    for (size_t i = 0; i < c->n_want; i++) check_row(c, when, &b, i);
    arena_free(&a);
}

static void run(const counts_case *c)
{
    err e = {0};
    store *s = open_store();
    for (size_t i = 0; i < c->n_put; i++) put(s, &c->put[i]);
    check_case(c, "journal", s);
    assert_ok(store_compact(s, &e), &e);
    check_case(c, "files", s);
    store_close(s);
}

#define CASE(...)                                                                                  \
    run(&(counts_case){__VA_ARGS__, .put = in, .n_put = ARRAY_LEN(in), .want = out,                \
                       .n_want = ARRAY_LEN(out)})

/* Two processes report every 20 s, and one of them stops. */
static void test_levels_hold(void **state)
{
    (void)state;
    static const put_profile in[] = {
        {.service = "a", .type = "inuse_space", .at = 5, .value = 3},
        {.service = "b", .type = "inuse_space", .at = 12, .value = 10},
        {.service = "a", .type = "inuse_space", .at = 25, .value = 4},
        {.service = "b", .type = "inuse_space", .at = 32, .value = 20},
        {.service = "b", .type = "inuse_space", .at = 52, .value = 30},
        {.service = "b", .type = "inuse_space", .at = 72, .value = 0}, /* empty: a level of 0 */
        {.service = "b", .type = "inuse_space", .at = 92, .value = 50},
        {.service = "b", .type = "inuse_space", .at = 112, .value = 60},
    };
    static const want_row out[] = {
        /* the newest is at 25, three intervals of 20 s end at 85 */
        {"a", NULL, {3, 3, 4, 4, 4, 4, 4, 4, 4, 0, 0, 0}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0}, 0},
        {"b",
         NULL,
         {0, 10, 10, 20, 20, 30, 30, 0, 0, 50, 50, 60},
         {0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
         0}};
    CASE("hold", "inuse_space", "service.name", .start = 0, .end = 120, .now = 120);
}

/* A range that begins between two reports knows the level before it, and the level of a series
 * that reported once holds for three times its duration. */
static void test_levels_before_the_range(void **state)
{
    (void)state;
    static const put_profile in[] = {
        {.service = "a", .type = "inuse_space", .at = 1000, .value = 3},
        {.service = "a", .type = "inuse_space", .at = 1060, .value = 5},
        {.service = "a", .type = "inuse_space", .at = 1120, .value = 7},
        {.service = "once", .type = "inuse_space", .at = 1080, .duration = 10, .value = 9},
        {.service = "gone", .type = "inuse_space", .at = 10, .value = 100},
    };
    static const want_row out[] = {
        {"a", NULL, {5, 5, 7, 7}, {1, 1, 1, 1}, 0},
        {"once", NULL, {9, 9, 0, 0}, {1, 1, 0, 0}, 0},
    };
    CASE("before", "inuse_space", "service.name", .start = 1100, .end = 1140, .now = 1140);
}

/* Rates are not held. A row is complete until the oldest of its senders' newest batches, and a
 * sender that has ended does not count. */
static void test_complete(void **state)
{
    (void)state;
    static const put_profile in[] = {
        {.service = "a", .type = "cpu", .at = 300, .duration = 10, .value = 1, .thread = "x"},
        {.service = "a", .type = "cpu", .at = 310, .duration = 10, .value = 2, .thread = "x"},
        {.service = "b", .type = "cpu", .at = 305, .duration = 10, .value = 4, .thread = "x"},
        {.service = "ended", .type = "cpu", .at = 300, .duration = 5, .value = 8, .thread = "y"},
    };
    static const want_row out[] = {{"x", NULL, {5, 2, 0, 0}, {-1}, 315},
                                   {"y", NULL, {8, 0, 0, 0}, {-1}, 330}};
    static const want_row services[] = {{"a", NULL, {1, 2, 0, 0}, {-1}, 320},
                                        {"b", NULL, {4, 0, 0, 0}, {-1}, 315},
                                        {"ended", NULL, {8, 0, 0, 0}, {-1}, 330}};
    CASE("threads", "cpu", "thread.name", .start = 300, .end = 340, .now = 330);
    run(&(counts_case){.name = "services",
                       .type = "cpu",
                       .by = "service.name",
                       .start = 300,
                       .end = 340,
                       .now = 330,
                       .put = in,
                       .n_put = ARRAY_LEN(in),
                       .want = services,
                       .n_want = ARRAY_LEN(services)});
}

static void test_two_labels(void **state)
{
    (void)state;
    static const put_profile in[] = {
        {.service = "a", .type = "wall", .at = 0, .value = 1, .thread = "x", .state = "running"},
        {.service = "a", .type = "wall", .at = 1, .value = 2, .thread = "x", .state = "waiting"},
        {.service = "a", .type = "wall", .at = 2, .value = 4, .thread = "y", .state = "running"},
        {.service = "b", .type = "wall", .at = 12, .value = 8, .thread = "x", .state = "running"},
        {.service = "b", .type = "wall", .at = 12, .value = 16, .state = "running"},
        {.service = "b", .type = "wall", .at = 13, .value = 32, .thread = "x"},
    };
    static const want_row out[] = {
        {"", "running", {0, 16}, {-1}, 0}, {"x", "", {0, 32}, {-1}, 0},
        {"x", "running", {1, 8}, {-1}, 0}, {"x", "waiting", {2, 0}, {-1}, 0},
        {"y", "running", {4, 0}, {-1}, 0},
    };
    CASE("two labels", "wall", "thread.name", "thread.state", .start = 0, .end = 20, .now = 900);
}

#define SECONDS(n) ((n)*INT64_C(1000000000))

/* A wait counts in each step that it covers, also when it begins before the range or ends after it:
 * a thread is never more than one thread. */
static void test_waits(void **state)
{
    (void)state;
    static const put_profile in[] = {
        {.service = "a",
         .type = "off_cpu",
         .at = 985,
         .value = SECONDS(20),
         .thread = "x",
         .timed = 1},
        {.service = "a",
         .type = "off_cpu",
         .at = 1005,
         .value = SECONDS(30),
         .thread = "x",
         .timed = 1},
        {.service = "a",
         .type = "off_cpu",
         .at = 1035,
         .value = SECONDS(60),
         .thread = "x",
         .timed = 1},
        {.service = "a",
         .type = "off_cpu",
         .at = 1012,
         .value = SECONDS(3),
         .thread = "y",
         .timed = 1},
        {.service = "a",
         .type = "off_cpu",
         .at = 950,
         .value = SECONDS(50),
         .thread = "z",
         .timed = 1},
        {.service = "a",
         .type = "off_cpu",
         .at = 990,
         .value = SECONDS(7),
         .thread = "z"}, /* no time */
    };
    static const want_row out[] = {
        {"x",
         NULL,
         {SECONDS(10), SECONDS(10), SECONDS(10), SECONDS(10), SECONDS(10), SECONDS(10)},
         {-1},
         0},
        {"y", NULL, {0, SECONDS(3)}, {-1}, 0},
    };
    CASE("waits", "off_cpu", "thread.name", .start = 1000, .end = 1060, .now = 2000);
    CASE("waits", "off_cpu/nanoseconds", "thread.name", .start = 1000, .end = 1060, .now = 2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_levels_hold), cmocka_unit_test(test_levels_before_the_range),
        cmocka_unit_test(test_complete),    cmocka_unit_test(test_two_labels),
        cmocka_unit_test(test_waits),
    };
    if (!mkdtemp(dir)) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return failed;
}
