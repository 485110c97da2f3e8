/* Tests the embedded engine: every layout of the corpus, damage, threads, and readers that run next
 * to the writer. */
#include "../../support/numbered.h"

#include "wire/otlp.h"

#include <pthread.h>
#include <sqlite3.h>

#define NOON (UINT64_C(1789000000) * NS_PER_S)
#define DAY (UINT64_C(86400) * NS_PER_S)

static size_t n_logged;
static char last_said[512];

static void on_log(void *ctx, store_event what, const char *text)
{
    (void)ctx, (void)what;
    n_logged++;
    snprintf(last_said, sizeof last_said, "%s", text);
}

static store *open_at(const char *dir, hand_world *w, embedded_opts o)
{
    err e = {0};
    o.store.world = w ? &w->w : NULL;
    o.store.log = on_log;
    store *s = embedded_open(dir, &o, &e);
    assert_ok(s != NULL, &e);
    return s;
}

static store_reader *open_beside(const char *dir, hand_world *w)
{
    err e = {0};
    store_reader *r =
        store_open_reader(dir, &(store_reader_opts){.world = w ? &w->w : NULL, .log = on_log}, &e);
    assert_ok(r != NULL, &e);
    return r;
}

static void put_number(store *s, uint64_t number)
{
    arena a = {0};
    model m;
    err e = {0};
    assert_true(numbered_model(&a, number, &m));
    assert_ok(store_put(s, &(store_item){.model = &m}, &e), &e);
    arena_free(&a);
}

/* ---- the corpus ---- */

static void check_same(store *s, digests *want, const char *path, const char *when)
{
    arena a = {0};
    model m;
    err e = {0};
    digests have = {0};
    assert_ok(store_read(store_own_reader(s), &(store_selector){0}, NULL, &a, &m, NULL, &e), &e);
    digests_of(&have, &m);
    digests_settle(&have);
    digests_settle(want);
    if (have.n != want->n) fail_msg("%s, %s: %zu profiles of %zu", path, when, have.n, want->n);
    for (size_t i = 0; i < want->n; i++)
        if (have.v[i] != want->v[i]) fail_msg("%s, %s: a profile was changed", path, when);
    digests_free(&have);
    arena_free(&a);
}

/* Uses a store for each file, because the same recording in two layouts has the same id. */
static void keep_file(const char *path, size_t *n)
{
    buf bytes = {0};
    arena a = {0};
    model m;
    err e = {0};
    if (test_read(path, &bytes) && otlp_decode(bytes.p, bytes.n, NULL, &a, &m, &e)) {
        place p = place_new();
        digests want = {0};
        store *s = open_at(p.dir, NULL, (embedded_opts){.no_threads = true, .no_sync = true});
        assert_ok(
            store_put(s, &(store_item){.bytes = buf_view(&bytes), .sender = str_of(path)}, &e), &e);
        assert_ok(store_commit(s, &e), &e);
        digests_of(&want, &m);
        check_same(s, &want, path, "raw");
        assert_ok(store_compact(s, &e), &e);
        check_same(s, &want, path, "compacted");
        store_close(s);
        digests_free(&want);
        place_free(&p);
        ++*n;
    }
    arena_free(&a);
    buf_free(&bytes);
}

static void keep_directory(const char *dir, size_t *n)
{
    DIR *d = opendir(dir);
    for (struct dirent *f; d && (f = readdir(d));) {
        char path[1300];
        struct stat st;
        snprintf(path, sizeof path, "%s/%s", dir, f->d_name);
        bool text = strstr(f->d_name, ".json") || strstr(f->d_name, ".txtpb");
        if (f->d_name[0] != '.' && !text && stat(path, &st) == 0 && S_ISREG(st.st_mode))
            keep_file(path, n);
    }
    if (d) closedir(d);
}

static void keeps_every_layout(void **state)
{
    (void)state;
    static const char *const layouts[] = {"v1_3", "v1_4", "v1_5", "v1_6",
                                          "v1_7", "v1_8", "v1_9", "v1_10"};
    size_t n = 0;
    char dir[1024];
    for (size_t i = 0; i < ARRAY_LEN(layouts); i++) {
        size_t before = n;
        snprintf(dir, sizeof dir, "%s/tests/vectors/%s", test_source_root(), layouts[i]);
        keep_directory(dir, &n);
        if (n == before) fail_msg("no message of layout %s", layouts[i]);
    }
    const char *corpus = getenv("KILN_CORPUS");
    snprintf(dir, sizeof dir, "%s/otlp", corpus ? corpus : "../shared/corpus");
    keep_directory(dir, &n);
    print_message("# %zu files\n", n);
}

static size_t n_files(store *s)
{
    arena a = {0};
    store_stats x;
    err e = {0};
    assert_ok(store_get_stats(store_own_reader(s), &a, &x, &e), &e);
    size_t n = x.files.n;
    arena_free(&a);
    return n;
}

/* ---- damage ---- */

static void scribble(const char *dir, const char *name, long at, size_t n)
{
    char path[256], *junk = malloc(n);
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    memset(junk, 0x5a, n);
    fseek(f, at, at < 0 ? SEEK_END : SEEK_SET);
    fwrite(junk, 1, n, f);
    fclose(f);
    free(junk);
}

/* Reads and checks that the result reports damage. */
static void count_beside_damage(store_reader *r, uint32_t *count, uint64_t n)
{
    uint64_t damaged = 0;
    err e = {0};
    assert_ok(numbered_read(r, count, n, &damaged, &e), &e);
    assert_true(damaged > 0);
}

/* A file that is no longer a database is set aside. The other day can be read, and new data is
 * accepted. */
static void sets_damaged_files_aside(void **state)
{
    (void)state;
    place p = place_new();
    hand_world w;
    err e = {0};
    hand_world_init(&w, NOON);
    store *s = open_at(p.dir, &w, (embedded_opts){.no_threads = true});
    put_number(s, 0);
    assert_ok(store_compact(s, &e), &e);
    w.wall += DAY;
    put_number(s, 1);
    assert_ok(store_compact(s, &e), &e);
    store_close(s);
    scribble(p.dir, "2026-09-10.0.db", 0, 4096);
    n_logged = 0;
    s = open_at(p.dir, &w, (embedded_opts){.no_threads = true});
    assert_true(n_logged > 0);
    assert_non_null(strstr(last_said, "set aside"));
    assert_u64(store_counted(s).quarantined, 1);
    uint32_t count[3] = {0};
    put_number(s, 2);
    assert_ok(store_compact(s, &e), &e);
    count_beside_damage(store_own_reader(s), count, 3);
    assert_int_equal(count[0], 0);
    assert_int_equal(count[1], 1);
    assert_int_equal(count[2], 1);
    assert_int_equal(n_files(s), 2); /* one of them is *.corrupt */
    store_close(s);
    place_free(&p);
}

/* A file is damaged again under the same name: the one that was set aside first is not
 * overwritten. */
static void sets_aside_again(void **state)
{
    (void)state;
    place p = place_new();
    hand_world w;
    err e = {0};
    hand_world_init(&w, NOON);
    for (uint32_t i = 0; i < 3; i++) {
        store *s = open_at(p.dir, &w, (embedded_opts){.no_threads = true});
        assert_u64(store_counted(s).quarantined, i > 0);
        put_number(s, i);
        assert_ok(store_compact(s, &e), &e);
        assert_int_equal(n_files(s), i + 1); /* all but one are *.corrupt */
        store_close(s);
        scribble(p.dir, "2026-09-10.0.db", 0, 4096);
    }
    place_free(&p);
}

static void count_beside_maybe(store_reader *r, uint32_t *count, bool damaged)
{
    err e = {0};
    if (damaged)
        count_beside_damage(r, count, 3);
    else
        assert_ok(numbered_count(r, count, 3, &e), &e);
}

/* The newest file records up to which number the journal was compacted. Without it, and without the
 * catalog, the writer and readers still read the rest of the journal. */
static void serves_the_journal_alone(void **state)
{
    (void)state;
    for (int how = 0; how < 4; how++) {
        place p = place_new();
        hand_world w;
        err e = {0};
        hand_world_init(&w, NOON);
        store *s = open_at(p.dir, &w, (embedded_opts){.no_threads = true});
        put_number(s, 0);
        assert_ok(store_compact(s, &e), &e);
        store_close(s); /* removes the journal */
        s = open_at(p.dir, &w, (embedded_opts){.no_threads = true});
        put_number(s, 1);
        assert_ok(store_commit(s, &e), &e);
        store_close(s);
        if (how & 1) scribble(p.dir, "2026-09-10.0.db", 0, 4096);
        if (how & 2) scribble(p.dir, "catalog.db", 0, 4096);
        uint32_t count[3] = {0};
        store_reader *before = open_beside(p.dir, &w);
        count_beside_maybe(before, count, how & 1);
        assert_int_equal(count[0], !(how & 1));
        assert_int_equal(count[1], 1);
        store_close_reader(before);
        s = open_at(p.dir, &w, (embedded_opts){.no_threads = true});
        store_reader *beside = open_beside(p.dir, &w);
        put_number(s, 2);
        assert_ok(store_commit(s, &e), &e);
        store_reader *readers[] = {store_own_reader(s), beside};
        for (size_t i = 0; i < ARRAY_LEN(readers); i++) {
            memset(count, 0, sizeof count);
            count_beside_maybe(readers[i], count, how & 1);
            assert_int_equal(count[0], !(how & 1));
            assert_int_equal(count[1], 1);
            assert_int_equal(count[2], 1);
        }
        assert_ok(store_compact(s, &e), &e);
        memset(count, 0, sizeof count);
        count_beside_maybe(beside, count, how & 1);
        assert_int_equal(count[1] + count[2], 2);
        store_close_reader(beside);
        store_close(s);
        place_free(&p);
    }
}

/* The newest file gets damaged while the store is open: a reader skips it and reads the rest of the
 * journal. */
static void serves_beside_a_damaged_file(void **state)
{
    (void)state;
    place p = place_new();
    hand_world w;
    err e = {0};
    hand_world_init(&w, NOON);
    store *s = open_at(p.dir, &w, (embedded_opts){.no_threads = true});
    put_number(s, 0);
    assert_ok(store_compact(s, &e), &e);
    store_close(s); /* removes the journal */
    s = open_at(p.dir, &w, (embedded_opts){.no_threads = true});
    put_number(s, 1);
    assert_ok(store_commit(s, &e), &e);
    char path[256];
    snprintf(path, sizeof path, "%s/2026-09-10.0.db", p.dir);
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(db, "UPDATE tables SET data = zeroblob(length(data))", NULL, NULL, NULL),
        SQLITE_OK);
    sqlite3_close(db);
    store_reader *beside = open_beside(p.dir, &w);
    uint32_t count[2] = {0};
    n_logged = 0;
    count_beside_damage(beside, count, 2);
    assert_int_equal(count[0], 0);
    assert_int_equal(count[1], 1);
    assert_int_equal(n_logged, 1);
    store_close_reader(beside);
    store_close(s);
    place_free(&p);
}

/* The newest file gets damaged and no query finds that: compaction continues. */
static void compacts_beside_a_damaged_file(void **state)
{
    (void)state;
    place p = place_new();
    hand_world w;
    err e = {0};
    char path[256];
    hand_world_init(&w, NOON);
    store *s = open_at(p.dir, &w, (embedded_opts){.no_threads = true});
    put_number(s, 0);
    assert_ok(store_compact(s, &e), &e);
    store_close(s);
    s = open_at(p.dir, &w, (embedded_opts){.no_threads = true});
    put_number(s, 1);
    snprintf(path, sizeof path, "%s/2026-09-10.0.db", p.dir);
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(db, "UPDATE tables SET data = zeroblob(length(data))", NULL, NULL, NULL),
        SQLITE_OK);
    sqlite3_close(db);
    assert_ok(store_compact(s, &e), &e);
    assert_u64(store_gauged(s).raw_items, 0);
    assert_u64(store_counted(s).quarantined, 1);
    uint32_t count[2] = {0};
    count_beside_damage(store_own_reader(s), count, 2);
    assert_int_equal(count[0], 0);
    assert_int_equal(count[1], 1);
    store_close(s);
    place_free(&p);
}

static void on_problem(void *ctx, const char *text)
{
    assert_true(text[0] != 0);
    ++*(size_t *)ctx;
}

/* Changes bytes of a file: verify reports the change, or the byte is unused. Nothing crashes. */
static void finds_changed_bytes(void **state)
{
    (void)state;
    place p = place_new();
    hand_world w;
    err e = {0};
    hand_world_init(&w, NOON);
    store *s = open_at(p.dir, &w, (embedded_opts){.no_threads = true});
    for (uint64_t i = 0; i < 400; i++) put_number(s, i);
    assert_ok(store_compact(s, &e), &e);
    store_close(s);
    char path[256];
    snprintf(path, sizeof path, "%s/2026-09-10.0.db", p.dir);
    buf whole = {0};
    assert_true(test_read(path, &whole));
    size_t found = 0, tried = 0;
    for (size_t at = 0; at < whole.n; at += 211) {
        FILE *f = fopen(path, "wb");
        char was = whole.p[at];
        whole.p[at] = (char)(was ^ 0x10);
        fwrite(whole.p, 1, whole.n, f);
        fclose(f);
        whole.p[at] = was;
        err why = {0};
        store_check c = {0};
        size_t problems = 0;
        store_reader *r = store_open_reader(p.dir, &(store_reader_opts){.world = &w.w}, &why);
        if (r && store_verify(r, on_problem, &problems, &c, &why)) found += c.n_problems > 0;
        if (!r || why.code) found++;
        uint32_t count[400] = {0};
        if (r) (void)!numbered_count(r, count, 400, &why);
        for (size_t i = 0; i < 400; i++) assert_true(count[i] <= 1);
        store_close_reader(r);
        tried++;
    }
    print_message("# %zu of %zu changes were found\n", found, tried);
    assert_true(found * 2 > tried); /* the others are in unused pages and bytes */
    buf_free(&whole);
    place_free(&p);
}

/* ---- threads ---- */

typedef struct putter {
    store *s;
    uint64_t from;
    size_t n_done;
} putter;

static void on_done(void *cookie, const store_put_result *r)
{
    if (!r->refused) __atomic_add_fetch((size_t *)cookie, 1, __ATOMIC_RELAXED);
}

enum { EACH = 150, PUTTERS = 4 };

static void *put_many(void *ctx)
{
    putter *p = ctx;
    for (uint64_t i = 0; i < EACH; i++) {
        arena a = {0};
        model m;
        err e = {0};
        if (!numbered_model(&a, p->from + i, &m) ||
            !store_put(p->s, &(store_item){.model = &m, .done = on_done, .cookie = &p->n_done}, &e))
            abort();
        arena_free(&a);
    }
    return NULL;
}

/* Several threads put while compaction runs and a reader reads: it sees each number at most once at
 * any time, and all at the end. */
static void reads_beside_the_writer(void **state)
{
    (void)state;
    place p = place_new();
    store *s = open_at(p.dir, NULL, (embedded_opts){.store.compact_bytes = 64 << 10});
    putter v[PUTTERS];
    pthread_t t[PUTTERS];
    err e = {0};
    store_reader *beside = open_beside(p.dir, NULL);
    for (size_t i = 0; i < PUTTERS; i++) {
        v[i] = (putter){.s = s, .from = i * EACH};
        assert_int_equal(pthread_create(&t[i], NULL, put_many, &v[i]), 0);
    }
    uint64_t last = 0;
    for (int round = 0; round < 60; round++) {
        uint32_t count[PUTTERS * EACH] = {0};
        uint64_t n = 0;
        store_reader *r = round & 1 ? store_own_reader(s) : beside;
        assert_ok(numbered_count(r, count, PUTTERS * EACH, &e), &e);
        for (size_t i = 0; i < PUTTERS * EACH; i++) {
            if (count[i] > 1)
                fail_msg("number %zu is there %u times while it is written", i, count[i]);
            n += count[i];
        }
        if (n < last)
            fail_msg("there were %llu, now %llu", (unsigned long long)last, (unsigned long long)n);
        last = n;
    }
    for (size_t i = 0; i < PUTTERS; i++) pthread_join(t[i], NULL);
    assert_ok(store_commit(s, &e), &e);
    for (size_t i = 0; i < PUTTERS; i++) assert_int_equal(v[i].n_done, EACH);
    assert_ok(store_compact(s, &e), &e);
    uint32_t count[PUTTERS * EACH] = {0};
    assert_ok(numbered_count(beside, count, PUTTERS * EACH, &e), &e);
    for (size_t i = 0; i < PUTTERS * EACH; i++) assert_int_equal(count[i], 1);
    assert_null(store_open(p.dir, NULL, &e)); /* a second writer is rejected */
    assert_int_equal(e.code, ERR_MISMATCH);
    store_close_reader(beside);
    store_close(s);
    place_free(&p);
}

/* While an item is decoded, other threads may read counters and wait for commits. */
typedef struct beside {
    store *s;
    size_t n_prepared;
} beside;

static void on_point(void *ctx, const char *point)
{
    beside *b = ctx;
    err e = {0};
    if (strcmp(point, "prepared") != 0) return;
    b->n_prepared++;
    (void)store_counted(b->s);
    assert_ok(store_commit(b->s, &e), &e);
}

static void decodes_outside_the_lock(void **state)
{
    (void)state;
    place p = place_new();
    beside b = {0};
    err e = {0};
    b.s = embedded_open(p.dir, &(embedded_opts){.no_sync = true, .at = on_point, .store.ctx = &b},
                        &e);
    assert_ok(b.s != NULL, &e);
    for (uint64_t i = 0; i < 5; i++) put_number(b.s, i);
    assert_ok(store_commit(b.s, &e), &e);
    assert_int_equal(b.n_prepared, 5);
    uint32_t count[5] = {0};
    assert_ok(numbered_count(store_own_reader(b.s), count, 5, &e), &e);
    for (size_t i = 0; i < 5; i++) assert_int_equal(count[i], 1);
    store_close(b.s);
    place_free(&p);
}

/* A full queue refuses items, and accepts them again after it was written. */
static void refuses_under_pressure(void **state)
{
    (void)state;
    place p = place_new();
    err e = {0};
    store *s = open_at(p.dir, NULL, (embedded_opts){.no_threads = true, .store.max_queue = 20000});
    size_t n = 0;
    for (;; n++) {
        arena a = {0};
        model m;
        assert_true(numbered_model(&a, n, &m));
        bool ok = store_put(s, &(store_item){.model = &m}, &e);
        arena_free(&a);
        if (!ok) break;
    }
    assert_int_equal(e.code, ERR_BUSY);
    assert_true(n > 3);
    e = (err){0};
    assert_ok(store_commit(s, &e), &e);
    put_number(s, n);
    assert_u64(store_counted(s).refused_full, 1);
    store_close(s);
    place_free(&p);
}

/* ---- large items in the caller's memory ---- */

enum { LENT_PAGE = 4096, LENT_SIZE = 300 << 10 };

/* An item with a number and a payload, in memory that the store may write to. */
typedef struct lent {
    char *memory;
    str bytes;
    embedded_room room;
} lent;

static lent lend_number(uint64_t number, size_t size, size_t at, digests *want)
{
    arena a = {0};
    model m;
    err e = {0};
    buf b = {0};
    lent x = {.memory = aligned_alloc(LENT_PAGE, LENT_SIZE), .room.before = at};
    assert_true(numbered_model(&a, number, &m));
    m.profiles.v[0].original_payload_format = STR("test");
    m.profiles.v[0].original_payload = (str){arena_zero(&a, size), size};
    digests_of(want, &m);
    assert_ok(otlp_encode(&m, NULL, &b, &e), &e);
    assert_true(at + b.n <= LENT_SIZE);
    memset(x.memory, 0xaa, LENT_SIZE);
    memcpy(x.memory + at, b.p, b.n);
    x.bytes = (str){x.memory + at, b.n};
    x.room.after = LENT_SIZE - at - b.n;
    buf_free(&b);
    arena_free(&a);
    return x;
}

/* Large and small items alternate, with just enough memory before them, more than enough, and none;
 * with and without O_DIRECT. */
static void writes_lent_memory(void **state)
{
    (void)state;
    static const struct {
        size_t size, at;
    } cases[] = {{70000, LENT_PAGE + 5},
                 {100, LENT_PAGE},
                 {200000, LENT_PAGE},
                 {100, 9},
                 {66000, 100},
                 {80000, 400},
                 {150000, 3 * LENT_PAGE - 1},
                 {100, 8},
                 {100, 8},
                 {131000, LENT_PAGE + 300},
                 {90000, 0}};
    for (int synced = 0; synced < 2; synced++) {
        place p = place_new();
        digests want = {0};
        lent v[ARRAY_LEN(cases)];
        err e = {0};
        embedded_opts o = {.no_threads = true, .no_sync = !synced};
        store *s = open_at(p.dir, NULL, o);
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
            v[i] = lend_number(i, cases[i].size, cases[i].at, &want);
            store_item item = {.bytes = v[i].bytes, .room = &v[i].room, .sender = STR("lender")};
            assert_ok(store_put(s, &item, &e), &e);
            if (i % 4 == 3) assert_ok(store_commit(s, &e), &e);
        }
        assert_ok(store_commit(s, &e), &e);
        assert_int_not_equal(v[0].memory[0], (char)0xaa); /* the record was built in place ... */
        assert_int_equal(v[1].memory[0], (char)0xaa);     /* ... and a small one was copied */
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) free(v[i].memory);
        check_same(s, &want, "lent", "raw");
        uint64_t raw_bytes = store_gauged(s).raw_bytes; /* what compaction will subtract */
        store_close(s);
        s = open_at(p.dir, NULL, o);
        assert_u64(store_gauged(s).raw_bytes, raw_bytes);
        check_same(s, &want, "lent", "opened again");
        store_check checked = {0};
        assert_ok(store_verify(store_own_reader(s), NULL, NULL, &checked, &e), &e);
        assert_u64(checked.n_problems, 0);
        assert_ok(store_compact(s, &e), &e);
        check_same(s, &want, "lent", "compacted");
        store_close(s);
        digests_free(&want);
        place_free(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_every_layout),
        cmocka_unit_test(sets_damaged_files_aside),
        cmocka_unit_test(sets_aside_again),
        cmocka_unit_test(serves_beside_a_damaged_file),
        cmocka_unit_test(compacts_beside_a_damaged_file),
        cmocka_unit_test(serves_the_journal_alone),
        cmocka_unit_test(finds_changed_bytes),
        cmocka_unit_test(reads_beside_the_writer),
        cmocka_unit_test(refuses_under_pressure),
        cmocka_unit_test(decodes_outside_the_lock),
        cmocka_unit_test(writes_lent_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
