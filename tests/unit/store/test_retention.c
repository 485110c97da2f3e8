/* Tests retention by size and by age, also when the clock jumps, and the limit of the backlog. */
#include "../../support/bad_vfs.h"
#include "../../support/numbered.h"
#include "../../support/store_test.h"

#include <sqlite3.h>

#define HOUR (UINT64_C(3600) * NS_PER_S)
#define DAY (24 * HOUR)

static size_t n_lines;
static char lines[1 << 16];

static void note(void *ctx, store_event what, const char *text)
{
    (void)ctx, (void)what;
    n_lines++;
    size_t at = strlen(lines);
    snprintf(lines + at, sizeof lines - at, "%s\n", text);
}

static under_test *begin_store(embedded_opts o)
{
    n_lines = 0;
    lines[0] = 0;
    o.no_threads = o.no_sync = true;
    o.store.log = note;
    return begin(&o, NULL);
}

/* Advances both clocks. */
static void pass(under_test *t, uint64_t ns)
{
    t->world.wall += ns;
    t->world.now += ns;
}

static bool put(under_test *t, uint64_t number, err *e)
{
    arena a = {0};
    model m;
    assert_true(numbered_model(&a, number, &m));
    bool ok = store_put(t->s, &(store_item){.model = &m}, e) && store_commit(t->s, e);
    arena_free(&a);
    return ok;
}

static void put_one(under_test *t, uint64_t number)
{
    err e = {0};
    assert_ok(put(t, number, &e), &e);
}

/* Puts an item with a payload that cannot be compressed. */
static bool put_large(under_test *t, uint64_t number, size_t bytes, err *e)
{
    arena a = {0};
    model m;
    char *payload = malloc(bytes);
    uint64_t s = number + 1;
    assert_true(numbered_model(&a, number, &m));
    for (size_t i = 0; i < bytes; i++)
        payload[i] = (char)((s = s * 6364136223846793005u + 1) >> 56);
    m.profiles.v[0].original_payload = (str){payload, bytes};
    bool ok = store_put(t->s, &(store_item){.model = &m}, e) && store_commit(t->s, e);
    free(payload);
    arena_free(&a);
    return ok;
}

static void work(under_test *t)
{
    err e = {0};
    for (bool more = true; more;) assert_ok(embedded_work(t->s, &more, &e), &e);
}

enum { MOST = 4096 };

/* Returns how many of the numbers [from, to) are stored, and checks that none is stored twice. */
static size_t there(under_test *t, size_t from, size_t to)
{
    uint32_t count[MOST] = {0};
    err e = {0};
    size_t n = 0;
    assert_true(to <= MOST);
    assert_ok(numbered_count(store_own_reader(t->s), count, MOST, &e), &e);
    for (size_t i = 0; i < MOST; i++) assert_true(count[i] <= 1);
    for (size_t i = from; i < to; i++) n += count[i];
    return n;
}

static void verify(under_test *t)
{
    err e = {0};
    store_check c;
    assert_ok(store_verify(store_own_reader(t->s), NULL, NULL, &c, &e), &e);
    assert_u64(c.n_problems, 0);
}

static bool logged(const char *text) { return strstr(lines, text) != NULL; }

/* ---- by size ---- */

static void removes_by_bytes(void **state)
{
    (void)state;
    under_test *t =
        begin_store((embedded_opts){.store.max_bytes = 3 << 20, .store.compact_bytes = 16 << 10});
    err e = {0};
    for (uint64_t i = 0; i < 40; i++) {
        assert_ok(put_large(t, i, 200 << 10, &e), &e);
        compact(t);
        assert_true(store_gauged(t->s).disk_bytes < (6 << 20));
        pass(t, DAY / 8);
    }
    assert_true(store_counted(t->s).dropped_files > 0);
    size_t n = there(t, 0, 40); /* only the oldest items were removed */
    assert_true(n >= 8 && n < 20);
    assert_int_equal(there(t, 40 - n, 40), n);
    end(t);
}

/* Segments of the journal that are kept for reuse do not count against compacted data. */
static void keeps_what_fits(void **state)
{
    (void)state;
    enum { LARGE = 4 << 20, N = 8 };
    under_test *t =
        begin_store((embedded_opts){.store.max_bytes = 3 << 20, .store.max_backlog = 64 << 20});
    char *payload = calloc(1, LARGE);
    err e = {0};
    for (size_t i = 0; i < N; i++) {
        arena a = {0};
        model m;
        assert_true(numbered_model(&a, i, &m));
        m.profiles.v[0].original_payload = (str){payload, LARGE};
        assert_ok(store_put(t->s, &(store_item){.model = &m}, &e) && store_commit(t->s, &e), &e);
        arena_free(&a);
    }
    compact(t);
    assert_u64(store_counted(t->s).dropped_files, 0);
    assert_int_equal(there(t, 0, N), N);
    free(payload);
    end(t);
}

/* A sender that is faster than compaction is rejected at the limit, and old data stays. */
static void burst_keeps_history(void **state)
{
    (void)state;
    enum { HISTORY = 100, BOUND = 1 << 20 };
    under_test *t = begin_store((embedded_opts){
        .store.max_bytes = 1 << 20, .store.max_backlog = BOUND, .store.compact_bytes = 64 << 10});
    for (uint64_t i = 0; i < HISTORY; i++) put_one(t, i);
    compact(t);
    pass(t, DAY);
    size_t n = HISTORY;
    err e = {0};
    while (n < MOST && put(t, n, &e)) n++;
    assert_int_equal(e.code, ERR_LIMIT);
    assert_non_null(strstr(e.msg, "wait for compaction"));
    store_gauges g = store_gauged(t->s);
    assert_true(g.raw_bytes <= BOUND && g.raw_bytes > BOUND * 9 / 10);
    assert_u64(g.backlog_limit_bytes, BOUND);
    assert_u64(g.rejecting_backlog, 1);
    assert_u64(store_counted(t->s).rejected_backlog, 1);
    assert_true(logged("new data is rejected"));
    pass(t, 5 * NS_PER_S);
    assert_u64(store_gauged(t->s).raw_oldest_seconds, 5);
    /* after one run most of the backlog remains, and its raw bytes would not fit in addition to the
     * old data */
    bool more;
    assert_ok(embedded_work(t->s, &more, &(err){0}), &e);
    assert_true(more && store_gauged(t->s).raw_bytes > BOUND * 8 / 10);
    assert_int_equal(there(t, 0, n), n);
    assert_u64(store_counted(t->s).dropped_files, 0);
    work(t);
    compact(t);
    assert_int_equal(there(t, 0, n), n);
    assert_u64(store_counted(t->s).dropped_files, 0);
    put_one(t, n); /* accepted again */
    pass(t, 20 * NS_PER_S);
    work(t);
    assert_true(logged("accepted again; 1 items were rejected"));
    assert_u64(store_gauged(t->s).rejecting_backlog, 0);
    end(t);
}

/* One line is logged per minute, independent of the number of rejected items. */
static void logs_once_a_minute(void **state)
{
    (void)state;
    under_test *t = begin_store((embedded_opts){.store.max_backlog = 64 << 10});
    err e = {0};
    uint64_t n = 0;
    while (put(t, n, &e)) n++;
    for (size_t i = 0; i < 99; i++) assert_false(put(t, n, &(err){0}));
    assert_u64(store_counted(t->s).rejected_backlog, 100);
    assert_int_equal(n_lines, 1);
    pass(t, 61 * NS_PER_S);
    assert_false(put(t, n, &(err){0}));
    assert_int_equal(n_lines, 2);
    end(t);
}

/* An item larger than the limit is accepted while the backlog is empty: otherwise it would never
 * be. */
static void accepts_a_large_item_alone(void **state)
{
    (void)state;
    under_test *t = begin_store((embedded_opts){.store.max_backlog = 64 << 10});
    err e = {0};
    assert_ok(put_large(t, 0, 1 << 20, &e), &e);
    assert_false(put(t, 1, &e));
    compact(t);
    put_one(t, 1);
    assert_int_equal(there(t, 0, 2), 2);
    end(t);
}

/* Small groups are padded, so the limit applies to the size of segments, not of records. */
static void bounds_the_journal_on_disk(void **state)
{
    (void)state;
    enum { BOUND = 256 << 10, SLACK = 6 * (256 << 10) };
    under_test *t = begin_store((embedded_opts){.store.max_backlog = BOUND});
    t->o.no_sync = false; /* groups are padded when they are synced */
    reopen(t);
    err e = {0};
    for (uint64_t i = 0; i < 3000 && put(t, i, &e); i++) continue;
    assert_int_equal(e.code, ERR_LIMIT);
    assert_true(store_gauged(t->s).disk_bytes < BOUND + SLACK + (256 << 10));
    end(t);
}

/* The store is full of data that is too young to be removed: new data is rejected until some is old
 * enough. */
static void rejects_when_full_of_young(void **state)
{
    (void)state;
    under_test *t =
        begin_store((embedded_opts){.store.max_bytes = 4 << 20, .store.max_backlog = 1 << 20});
    err e = {0};
    uint64_t n = 0;
    for (; n < 100 && put_large(t, n, 200 << 10, &e); n++) {
        compact(t);
        pass(t, 60 * NS_PER_S);
    }
    assert_int_equal(e.code, ERR_LIMIT);
    assert_non_null(strstr(e.msg, "min-age"));
    assert_true(n > 15 && n < 30);
    store_gauges g = store_gauged(t->s);
    assert_u64(g.rejecting_young, 1);
    assert_u64(g.rejecting_backlog, 0);
    assert_u64(store_counted(t->s).rejected_young, 1);
    assert_true(g.disk_bytes < (4 << 20) + 3 * (1 << 20));
    assert_int_equal(there(t, 0, n), n);
    pass(t, HOUR);
    work(t);
    assert_u64(store_gauged(t->s).rejecting_young, 0);
    assert_true(store_counted(t->s).dropped_files > 0);
    put_one(t, n);
    size_t left = there(t, 0, n + 1);
    assert_true(left > n / 2);
    assert_int_equal(there(t, n + 1 - left, n + 1), left); /* the oldest was removed */
    end(t);
}

/* ---- by age ---- */

static void removes_old_days(void **state)
{
    (void)state;
    under_test *t = begin_store((embedded_opts){.store.max_age = 2 * DAY});
    for (uint64_t i = 0; i < 6; i++) {
        put_one(t, i);
        compact(t);
        pass(t, DAY);
        compact(t);
    }
    assert_int_equal(there(t, 0, 6), 3); /* age is counted from the newest data */
    assert_int_equal(there(t, 3, 6), 3);
    assert_u64(store_counted(t->s).dropped_samples, 3 * 40);
    pass(t, 30 * DAY);
    put_one(t, 6);
    t->o.store.drop_at_once = true; /* compacted items are not read from the journal again */
    reopen(t);
    compact(t);
    assert_int_equal(there(t, 0, 6), 0);
    reopen(t);
    assert_int_equal(there(t, 0, 7), 1);
    end(t);
}

/* A store that receives nothing keeps its data. */
static void counts_age_from_the_newest(void **state)
{
    (void)state;
    under_test *t = begin_store((embedded_opts){.store.max_age = HOUR});
    put_one(t, 0);
    compact(t);
    for (size_t i = 0; i < 50; i++) {
        pass(t, HOUR);
        work(t);
    }
    assert_int_equal(there(t, 0, 1), 1);
    assert_u64(store_counted(t->s).clock_jumps, 0);
    put_one(t, 1);
    compact(t);
    assert_true(there(t, 0, 2) == 1 && there(t, 1, 2) == 1);
    end(t);
}

/* Inside a day, and inside blocks: data older than the maximum age plus an hour is removed, data
 * younger than the maximum age stays. */
static void keeps_age_to_the_hour(void **state)
{
    (void)state;
    enum { MINUTES = 10, N = 12 * 60 / MINUTES };
    under_test *t = begin_store((embedded_opts){.store.max_age = 2 * HOUR});
    t->world.wall = NOON / DAY * DAY; /* all on one day */
    reopen(t);
    for (uint64_t i = 0; i < N; i++) {
        put_one(t, i);
        compact(t);
        size_t keep = 120 / MINUTES, most = 180 / MINUTES;
        size_t oldest = i > keep ? i - keep : 0, gone = i > most ? i - most : 0;
        assert_int_equal(there(t, oldest, i + 1), i + 1 - oldest);
        assert_int_equal(there(t, 0, gone), 0);
        pass(t, MINUTES * 60 * NS_PER_S);
        if (i % 20 == 7) reopen(t);
    }
    verify(t);
    arena a = {0};
    store_stats x;
    err e = {0};
    assert_ok(store_get_stats(store_own_reader(t->s), &a, &x, &e), &e);
    assert_int_equal(x.files.n, 1);
    assert_u64(x.n_samples, 40 * there(t, 0, N));
    assert_u64(x.n_profiles, there(t, 0, N));
    arena_free(&a);
    end(t);
}

/* A reader whose manifest is older than a removal finds no damage. */
static void trims_beside_a_reader(void **state)
{
    (void)state;
    under_test *t =
        begin_store((embedded_opts){.store.max_age = 2 * HOUR, .store.drop_at_once = true});
    t->world.wall = NOON / DAY * DAY;
    reopen(t);
    err e = {0};
    store_reader_opts o = {.world = t->o.store.world, .log = t->o.store.log};
    store_reader *r = store_open_reader(t->p.dir, &o, &e);
    for (uint64_t i = 0; i < 20; i++) {
        put_one(t, i);
        compact(t);
        uint32_t count[20] = {0};
        if (!r) r = store_open_reader(t->p.dir, &o, &e);
        assert_ok(r != NULL, &e);
        assert_ok(numbered_count(r, count, 20, &e), &e);
        assert_int_equal(count[i], 1);
        pass(t, HOUR / 2);
    }
    assert_true(store_counted(t->s).dropped_samples > 0);
    assert_u64(store_counted(t->s).quarantined, 0);
    assert_u64(store_counted(t->s).damaged, 0);
    verify(t);
    store_close_reader(r);
    reopen(t); /* the next start finds no damage either */
    assert_u64(store_counted(t->s).damaged, 0);
    assert_u64(store_counted(t->s).quarantined, 0);
    verify(t);
    end(t);
}

/* Removes old data of a file with six hours on a disk that fails at one call. Returns false when
 * the call was not reached. */
static bool trim_with_a_fault(bad_kind kind, long after)
{
    enum { N = 12 };
    under_test *t = begin_store((embedded_opts){.store.max_age = UINT64_MAX, .vfs = "bad"});
    t->world.wall = NOON / DAY * DAY;
    for (uint64_t i = 0; i < N; i++) {
        put_one(t, i);
        compact(t);
        pass(t, HOUR / 2);
    }
    t->o.store.max_age = 2 * HOUR;
    t->o.store.drop_at_once = true;
    t->o.no_sync = false;
    reopen(t);
    *bad_now = (bad_plan){.kind = kind, .after = after};
    err e = {0};
    bool ok = store_compact(t->s, &e);
    bool hit = bad_now->n_failed > 0;
    store_close(t->s);
    *bad_now = (bad_plan){0};
    assert_true(ok || (hit && e.msg[0]));
    t->s = NULL;
    reopen(t);
    assert_int_equal(there(t, N - 5, N), 5);
    compact(t);
    assert_int_equal(there(t, N - 5, N), 5);
    assert_int_equal(there(t, 0, N - 7), 0);
    verify(t);
    end(t);
    return hit;
}

static void trims_on_a_broken_disk(void **state)
{
    (void)state;
    static const bad_kind kinds[] = {BAD_FULL, BAD_EIO, BAD_SYNC};
    bad_vfs_register(false);
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        long after = 0;
        while (trim_with_a_fault(kinds[k], after)) after += 1 + after / 2;
        assert_true(after > 0);
    }
}

/* ---- clock jumps ---- */

static void fill_week(under_test *t)
{
    for (uint64_t i = 0; i < 56; i++) { /* eight per day */
        put_one(t, i);
        compact(t);
        pass(t, 3 * HOUR);
    }
    assert_int_equal(there(t, 0, 56), 56);
}

static void starts_with_a_clock_ahead(void **state)
{
    (void)state;
    under_test *t = begin_store((embedded_opts){.store.max_age = 7 * DAY});
    fill_week(t);
    t->world.wall += 30 * DAY;
    reopen(t);
    assert_true(logged("the clock is ahead of the newest data"));
    assert_u64(store_counted(t->s).clock_jumps, 1);
    assert_u64(store_gauged(t->s).retention_paused_seconds, 86400);
    put_one(t, 56); /* arrives a month later according to the clock */
    compact(t);
    assert_int_equal(there(t, 0, 57), 57);
    pass(t, 20 * HOUR);
    work(t);
    reopen(t); /* a restart neither ends the pause nor counts as a jump */
    assert_u64(store_gauged(t->s).retention_paused_seconds, 4 * 3600);
    assert_u64(store_counted(t->s).clock_jumps, 0);
    put_one(t, 57);
    compact(t);
    assert_int_equal(there(t, 0, 58), 58);
    pass(t, 5 * HOUR); /* the pause is over: a quarter is removed, and another one a day later */
    work(t);
    assert_u64(store_gauged(t->s).retention_paused_seconds, 0);
    assert_u64(store_gauged(t->s).retention_held, 1);
    assert_true(logged("a quarter"));
    size_t left = there(t, 0, 58);
    assert_true(left < 58 && left >= 58 - 58 / 4 - 1);
    work(t);
    compact(t);
    assert_int_equal(there(t, 0, 58), left);
    pass(t, DAY);
    work(t);
    assert_true(there(t, 0, 58) < left);
    t->o.store.drop_at_once = true; /* removes at once */
    reopen(t);
    compact(t);
    assert_int_equal(there(t, 0, 58), 2);
    assert_u64(store_gauged(t->s).retention_held, 0);
    verify(t);
    end(t);
}

static void meets_jumps_while_it_runs(void **state)
{
    (void)state;
    under_test *t = begin_store((embedded_opts){.store.max_age = 7 * DAY});
    fill_week(t);
    work(t);
    t->world.wall += 30 * DAY;
    work(t);
    put_one(t, 56);
    compact(t);
    assert_true(logged("the clock jumped forward"));
    assert_u64(store_counted(t->s).clock_jumps, 1);
    /* the clock is corrected; items that arrived before are from the future */
    t->world.wall -= 30 * DAY;
    pass(t, 60 * NS_PER_S);
    put_one(t, 57);
    compact(t);
    assert_true(logged("the clock jumped back"));
    assert_u64(store_counted(t->s).clock_jumps, 2);
    pass(t, DAY + HOUR);
    put_one(t, 58);
    compact(t);
    assert_u64(store_gauged(t->s).retention_paused_seconds, 0);
    size_t left = there(t, 0, 59); /* a day of data is old */
    assert_true(left >= 59 - 9 && left < 59);
    assert_int_equal(there(t, 56, 59), 3);
    end(t);
}

/* A full store whose clock jumps: young data stays young. */
static void jump_makes_nothing_old(void **state)
{
    (void)state;
    under_test *t =
        begin_store((embedded_opts){.store.max_bytes = 4 << 20, .store.max_backlog = 1 << 20});
    err e = {0};
    uint64_t n = 0;
    for (; n < 100 && put_large(t, n, 200 << 10, &e); n++) compact(t);
    t->world.wall += 30 * DAY;
    work(t);
    assert_false(put(t, n, &e));
    compact(t);
    assert_int_equal(there(t, 0, n), n);
    assert_u64(store_counted(t->s).dropped_files, 0);
    end(t);
}

/* Data from the future is removed by size like any other, in order of arrival. */
static void future_data_goes_too(void **state)
{
    (void)state;
    under_test *t = begin_store((embedded_opts){.store.max_bytes = 3 << 20});
    err e = {0};
    t->world.wall += 30 * DAY;
    reopen(t);
    for (uint64_t i = 0; i < 10; i++) {
        assert_ok(put_large(t, i, 200 << 10, &e), &e);
        compact(t);
    }
    t->world.wall -= 30 * DAY;
    for (uint64_t i = 10; i < 40; i++) {
        assert_ok(put_large(t, i, 200 << 10, &e), &e);
        compact(t);
        pass(t, HOUR);
    }
    assert_int_equal(there(t, 0, 10), 0);
    size_t left = there(t, 10, 40);
    assert_int_equal(there(t, 40 - left, 40), left);
    end(t);
}

/* The measured compression ratio of compaction is saved. */
static void remembers_the_ratio(void **state)
{
    (void)state;
    under_test *t = begin_store((embedded_opts){0});
    err e = {0};
    for (uint64_t i = 0; i < 40; i++) assert_ok(put_large(t, i, 1 << 20, &e), &e);
    compact(t);
    store_close(t->s);
    t->s = NULL;
    char path[300];
    snprintf(path, sizeof path, "%s/catalog.db", t->p.dir);
    sqlite3 *db;
    sqlite3_stmt *s;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_prepare_v2(db, "SELECT value FROM meta WHERE key = 'shrink'", -1, &s, NULL);
    assert_int_equal(sqlite3_step(s), SQLITE_ROW);
    assert_true(sqlite3_column_int64(s, 0) > 700); /* per thousand: the data did not shrink */
    sqlite3_finalize(s);
    sqlite3_close(db);
    end(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(removes_by_bytes),           cmocka_unit_test(keeps_what_fits),
        cmocka_unit_test(burst_keeps_history),        cmocka_unit_test(logs_once_a_minute),
        cmocka_unit_test(accepts_a_large_item_alone), cmocka_unit_test(bounds_the_journal_on_disk),
        cmocka_unit_test(rejects_when_full_of_young), cmocka_unit_test(removes_old_days),
        cmocka_unit_test(counts_age_from_the_newest), cmocka_unit_test(keeps_age_to_the_hour),
        cmocka_unit_test(trims_beside_a_reader),      cmocka_unit_test(trims_on_a_broken_disk),
        cmocka_unit_test(starts_with_a_clock_ahead),  cmocka_unit_test(meets_jumps_while_it_runs),
        cmocka_unit_test(jump_makes_nothing_old),     cmocka_unit_test(future_data_goes_too),
        cmocka_unit_test(remembers_the_ratio),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
