/* Tests that compaction with several threads writes the same rows as with one thread. */
#include "../../support/random_model.h"
#include "../../support/store_test.h"

#include <sqlite3.h>
#include "store/workers.h"
#include "store/day.h"

enum { ITEMS = 160 };

/* ---- rows ---- */

static void put_column_text(buf *out, sqlite3_stmt *s, int i)
{
    const void *p = sqlite3_column_blob(s, i); /* SQLite converts numbers to text */
    int n = sqlite3_column_bytes(s, i);
    buf_put(out, &n, sizeof n);
    buf_put(out, p, (size_t)n);
}

static size_t put_rows(buf *out, sqlite3 *db, const char *table)
{
    char sql[64];
    sqlite3_stmt *s;
    size_t n = 0;
    snprintf(sql, sizeof sql, "SELECT * FROM %s ORDER BY 1", table);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
    for (; sqlite3_step(s) == SQLITE_ROW; n++)
        for (int i = 0; i < sqlite3_column_count(s); i++) put_column_text(out, s, i);
    sqlite3_finalize(s);
    return n;
}

/* Appends all rows of all files of the store. */
static void put_files(buf *out, const char *dir, size_t *n_blocks)
{
    static const char *const all[] = {
        "meta WHERE key <> 'id'", "tables", "series", "local", "block", "payload", "keys", "raw"};
    day_names names;
    err e = {0};
    assert_ok(day_list(dir, &names, &e), &e);
    *n_blocks = 0;
    for (size_t i = 0; i < names.n; i++) {
        char name[DAY_NAME], path[256];
        sqlite3 *db;
        day_name_text(names.v[i], name);
        snprintf(path, sizeof path, "%s/%s", dir, name);
        buf_put(out, name, strlen(name));
        assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
        for (size_t k = 0; k < ARRAY_LEN(all); k++) {
            size_t n = put_rows(out, db, all[k]);
            if (!strcmp(all[k], "block")) *n_blocks += n;
        }
        sqlite3_close(db);
    }
    free(names.v);
}

/* ---- filling a store ---- */

/* Puts the same items each time. A slot for decoding ahead has 1/32 of the memory: larger items are
 * not decoded ahead. */
static void fill(under_test *t, uint64_t seed)
{
    rng r = {seed};
    arena a = {0};
    err e = {0};
    for (size_t i = 0; i < ITEMS; i++) {
        model m = random_model(
            &r, &a, &(random_opts){.zero_first = true, .max_samples = i % 16 ? 60 : 2000});
        if (i == ITEMS / 2) t->world.wall += UINT64_C(86400) * NS_PER_S; /* begins another file */
        t->world.wall += NS_PER_S;
        assert_ok(store_put(t->s, &(store_item){.model = &m, .sender = STR("test")}, &e), &e);
        if (i % 50 == 49) compact(t);
        arena_reset(&a);
    }
    compact(t);
    arena_free(&a);
}

static void gather(unsigned threads, uint64_t seed, buf *out, size_t *n_blocks)
{
    under_test *t = begin(&(embedded_opts){.no_threads = true,
                                           .no_sync = true,
                                           .threads = threads,
                                           .store.memory = 2 << 20,
                                           .store.compact_bytes = 64 << 10},
                          NULL);
    fill(t, seed);
    store_check c;
    err e = {0};
    assert_ok(store_verify(store_own_reader(t->s), NULL, NULL, &c, &e), &e);
    assert_u64(c.n_problems, 0);
    store_close(t->s);
    put_files(out, t->p.dir, n_blocks);
    t->s = NULL;
    end(t);
}

static void files_are_the_same(void **state)
{
    (void)state;
    uint64_t seed = rnd_seed(20261116);
    print_message("# seed %llu\n", (unsigned long long)seed);
    buf one = {0};
    size_t n_one;
    gather(1, seed, &one, &n_one);
    assert_true(n_one > 20);
    for (unsigned threads = 2; threads <= 5; threads += 3) {
        buf many = {0};
        size_t n_many;
        gather(threads, seed, &many, &n_many);
        assert_u64(n_many, n_one);
        assert_u64(many.n, one.n);
        assert_memory_equal(many.p, one.p, one.n);
        buf_free(&many);
    }
    buf_free(&one);
}

/* ---- workers ---- */

enum { JOBS = 1000, ROOM = 10 };

typedef struct counted {
    worker_job job;
    uint64_t from, sum;
} counted;

static void add_up(void *ctx)
{
    counted *c = ctx;
    c->sum = 0;
    for (uint64_t i = 0; i < 100; i++) c->sum += c->from + i;
}

static void does_every_job_once(workers *c)
{
    counted v[ROOM] = {0};
    uint64_t sum = 0;
    for (size_t i = 0; i < JOBS + ROOM; i++) {
        counted *x = &v[i % ROOM];
        if (i >= ROOM) workers_finish(c, &x->job), sum += x->sum;
        *x = (counted){.job = {.run = add_up, .ctx = x}, .from = i};
        if (i < JOBS) workers_begin(c, &x->job);
    }
    assert_u64(sum, (uint64_t)JOBS * (JOBS - 1) / 2 * 100 + JOBS * 4950);
}

static void workers_do_every_job(void **state)
{
    (void)state;
    for (unsigned n = 0; n < 4; n++) {
        workers *c = workers_open(n);
        assert_true((c != NULL) == (n > 0));
        does_every_job_once(c);
        if (c) workers_close(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_the_same),
        cmocka_unit_test(workers_do_every_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
