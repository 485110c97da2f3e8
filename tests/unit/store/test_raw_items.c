/* Tests items that do not fit the memory of compaction: they are compacted alone or stored as
 * received, and every read includes them. */
#include "../../support/numbered.h"
#include "../../support/store_test.h"

#include "wire/otlp.h"

#include <sqlite3.h>

enum { NUMBERS = 7, LARGE = 3, LARGE_SAMPLES = 20000 };

/* Builds the item with this number. Number LARGE has many samples. */
static bool model_of(arena *a, uint64_t number, model *out)
{
    builder b;
    err e = {0};
    if (number != LARGE) return numbered_model(a, number, out);
    if (!builder_init(&b, a)) return false;
    builder_resource(&b, &(resource){.present = true});
    builder_scope(&b, NULL);
    profile *p = builder_profile(&b);
    p->sample_type = (value_type){builder_string(&b, STR("cpu")), builder_string(&b, STR("ns"))};
    p->has_sample_type = true;
    p->time_unix_nano = 1 + number;
    for (uint32_t i = 0; i < LARGE_SAMPLES; i++) {
        uint32_t at = builder_location(&b, 0, i * 16, NULL, 0, NULL, 0);
        builder_sample(&b, &(sample){.stack = builder_stack(&b, &at, 1),
                                     .values = &(int64_t){1},
                                     .n_values = 1,
                                     .times = &(uint64_t){1 + number},
                                     .n_times = 1});
    }
    return builder_finish(&b, out, &e);
}

static bool decodes_in(str bytes, size_t budget)
{
    arena a = {.budget = budget};
    model m;
    bool ok =
        otlp_decode(bytes.p, bytes.n, &(otlp_decode_opts){.layout = LAYOUT_CURRENT}, &a, &m, NULL);
    arena_free(&a);
    return ok;
}

/* Returns approximately the least memory in which a number can be decoded. */
static size_t memory_of(uint64_t number)
{
    arena a = {0};
    buf b = {0};
    model m;
    err e = {0};
    assert_true(model_of(&a, number, &m) && otlp_encode(&m, NULL, &b, &e));
    size_t too_little = 0, enough = (size_t)1 << 30;
    while (enough - too_little > enough / 16) {
        size_t half = too_little + (enough - too_little) / 2;
        *(decodes_in(buf_view(&b), half) ? &enough : &too_little) = half;
    }
    arena_free(&a);
    buf_free(&b);
    return enough;
}

typedef struct put_counts {
    size_t stored, duplicates;
} put_counts;

static void on_done(void *ctx, const store_put_result *r)
{
    put_counts *t = ctx;
    t->stored += r->n_stored;
    t->duplicates += r->n_duplicates;
}

static put_counts put_all(under_test *t)
{
    put_counts got = {0};
    for (uint64_t i = 0; i < NUMBERS; i++) {
        arena a = {0};
        model m;
        err e = {0};
        assert_true(model_of(&a, i, &m));
        assert_ok(store_put(t->s, &(store_item){.model = &m, .done = on_done, .cookie = &got}, &e),
                  &e);
        assert_ok(store_commit(t->s, &e), &e);
        arena_free(&a);
    }
    return got;
}

static void put_newer(under_test *t)
{
    arena a = {0};
    model m;
    err e = {0};
    assert_true(model_of(&a, NUMBERS, &m));
    assert_ok(store_put(t->s, &(store_item){.model = &m}, &e) && store_commit(t->s, &e), &e);
    arena_free(&a);
}

/* Checks that every number is stored once, with all its samples. */
static void check_all(under_test *t, const char *when)
{
    arena a = {0};
    model m;
    err e = {0};
    store_read_result x;
    uint32_t count[NUMBERS] = {0};
    assert_ok(store_read(store_own_reader(t->s), &(store_selector){0}, NULL, &a, &m, &x, &e), &e);
    assert_false(x.partial);
    assert_u64(x.n_damaged, 0);
    for (size_t i = 0; i < m.profiles.n; i++) {
        uint64_t number = m.profiles.v[i].time_unix_nano - 1;
        assert_true(number < NUMBERS);
        assert_int_equal(m.profiles.v[i].n_samples, number == LARGE ? LARGE_SAMPLES : 40);
        count[number]++;
    }
    for (size_t i = 0; i < NUMBERS; i++)
        if (count[i] != 1) fail_msg("%s: number %zu is there %u times", when, i, count[i]);
    arena_free(&a);
}

static void check_well(under_test *t, uint64_t kept)
{
    store_check c;
    store_stats st;
    arena a = {0};
    err e = {0};
    assert_ok(store_verify(store_own_reader(t->s), NULL, NULL, &c, &e), &e);
    assert_u64(c.n_problems, 0);
    assert_u64(c.n_raw, kept);
    assert_u64(c.n_samples, LARGE_SAMPLES + 40 * (NUMBERS - 1));
    assert_ok(store_get_stats(store_own_reader(t->s), &a, &st, &e), &e);
    assert_u64(st.kept_items, kept);
    assert_u64(store_gauged(t->s).kept_items, kept);
    arena_free(&a);
}

/* An item that does not fit together with others fits alone. */
static void large_one_is_compacted_alone(void **state)
{
    (void)state;
    size_t large = memory_of(LARGE), small = memory_of(0);
    print_message("# decoded: %zu and %zu bytes\n", large, small);
    assert_true(small < large / 2);
    under_test *t = begin(&(embedded_opts){.no_threads = true, .store.memory = large / 2}, NULL);
    put_all(t);
    compact(t);
    assert_u64(store_gauged(t->s).raw_items, 0);
    assert_u64(store_counted(t->s).undecodable, 0);
    assert_u64(store_counted(t->s).compaction_failed, 0);
    check_all(t, "compacted");
    check_well(t, 0);
    end(t);
}

/* An item that does not fit at all is stored as received. Reads, duplicate detection and verify
 * work, and the item is removed with its file. */
static void larger_one_is_stored_as_received(void **state)
{
    (void)state;
    size_t large = memory_of(LARGE), memory = large / 16;
    assert_true(memory_of(0) < memory);
    under_test *t = begin(&(embedded_opts){.no_threads = true, .store.memory = memory}, NULL);
    put_all(t);
    check_all(t, "in the journal");
    compact(t);
    assert_u64(store_gauged(t->s).raw_items, 0);
    assert_u64(store_counted(t->s).undecodable, 1);
    check_all(t, "compacted");
    check_well(t, 1);
    reopen(t);
    check_all(t, "opened again");
    check_well(t, 1);
    put_counts again = put_all(t);
    assert_int_equal(again.stored, 0);
    assert_int_equal(again.duplicates, NUMBERS);
    check_all(t, "put again");

    t->world.wall += UINT64_C(30) * 86400 * NS_PER_S;
    t->o.store.drop_at_once = true;
    reopen(t);
    put_newer(t);
    compact(t);
    assert_u64(store_gauged(t->s).kept_items, 0);
    end(t);
}

/* A query with less memory than the item needs is marked as partial. */
static void small_query_is_partial(void **state)
{
    (void)state;
    size_t large = memory_of(LARGE);
    under_test *t = begin(&(embedded_opts){.no_threads = true, .store.memory = large / 16}, NULL);
    put_all(t);
    compact(t);
    arena a = {.budget = large / 2};
    model m;
    err e = {0};
    store_read_result x;
    assert_ok(store_read_sums(store_own_reader(t->s), &(store_selector){.type = STR("cpu")}, NULL,
                              &a, &m, &x, &e),
              &e);
    assert_true(x.partial);
    assert_non_null(strstr(x.why, "did not fit the memory"));
    assert_int_equal(x.n_samples, 40 * (NUMBERS - 1));
    arena_free(&a);
    end(t);
}

/* verify reports an item that cannot be decoded, with the reason. */
static char problem[512];

static void on_problem(void *ctx, const char *text)
{
    (void)ctx;
    snprintf(problem, sizeof problem, "%s", text);
}

static void unreadable_one_is_a_problem(void **state)
{
    (void)state;
    under_test *t =
        begin(&(embedded_opts){.no_threads = true, .store.memory = memory_of(LARGE) / 16}, NULL);
    put_all(t);
    compact(t);
    arena a = {0};
    store_stats st;
    store_check c;
    err e = {0};
    assert_ok(store_get_stats(store_own_reader(t->s), &a, &st, &e), &e);
    for (size_t i = 0; i < st.files.n; i++) { /* one part of the day has the item */
        char path[256];
        sqlite3 *db;
        snprintf(path, sizeof path, "%s/%.*s", t->p.dir, STR_ARG(st.files.v[i].name));
        assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, "UPDATE raw SET data = zeroblob(64)", NULL, NULL, NULL),
                         SQLITE_OK);
        sqlite3_close(db);
    }
    arena_free(&a);
    assert_ok(store_verify(store_own_reader(t->s), on_problem, NULL, &c, &e), &e);
    assert_u64(c.n_problems, 1);
    assert_non_null(strstr(problem, "stored as received cannot be read"));
    uint32_t count[NUMBERS] = {0};
    uint64_t damaged;
    assert_ok(numbered_read(store_own_reader(t->s), count, NUMBERS, &damaged, &e), &e);
    assert_u64(damaged, 1);
    for (size_t i = 0; i < NUMBERS; i++) assert_int_equal(count[i], i != LARGE);
    end(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_one_is_compacted_alone),
        cmocka_unit_test(larger_one_is_stored_as_received),
        cmocka_unit_test(small_query_is_partial),
        cmocka_unit_test(unreadable_one_is_a_problem),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
