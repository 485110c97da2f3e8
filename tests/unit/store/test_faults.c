/* Tests a disk that is full or broken at any call: acknowledged items are stored exactly once, and
 * refused items can be retried. */
#include "../../support/bad_vfs.h"
#include "../../support/numbered.h"
#include "store/manifest.h"

enum { NUMBERS = 24 };

typedef struct attempt {
    bool acknowledged[NUMBERS];
    size_t n_done, n_refused, n_logged;
    uint64_t number; /* number of the item being put */
} attempt;

typedef struct cookie {
    attempt *t;
    uint64_t number;
} cookie;

static void on_done(void *ctx, const store_put_result *r)
{
    cookie *c = ctx;
    c->t->n_done++;
    if (r->refused) {
        assert_true(r->refused->msg[0] != 0);
        c->t->n_refused++;
    } else {
        assert_int_equal(r->n_stored + r->n_duplicates, 1);
        c->t->acknowledged[c->number] = true;
    }
}

static void on_log(void *ctx, store_event what, const char *text)
{
    assert_true(text[0] != 0);
    ((attempt *)ctx)->n_logged += what != STORE_REMOVED;
}

/* Puts the items that are not acknowledged, in groups of three, with compactions in between. */
static void put_all(attempt *t, store *s, hand_world *w)
{
    cookie cookies[NUMBERS];
    for (uint64_t i = 0; i < NUMBERS; i++) {
        arena a = {0};
        model m;
        err e = {0};
        bool more;
        if (t->acknowledged[i]) continue;
        cookies[i] = (cookie){t, i};
        assert_true(numbered_model(&a, i, &m));
        if (!store_put(s, &(store_item){.model = &m, .done = on_done, .cookie = &cookies[i]}, &e))
            assert_true(e.msg[0] != 0);
        if (i % 3 == 2) (void)store_commit(s, NULL);
        w->now += 2 * NS_PER_S;
        if (i % 8 == 7 && !store_compact(s, &e)) assert_true(e.msg[0] != 0);
        if (!embedded_work(s, &more, &e)) assert_true(e.msg[0] != 0);
        arena_free(&a);
    }
    (void)store_commit(s, NULL);
}

static void check(const place *p, const attempt *t, bool all, const char *when, bad_kind kind,
                  long after)
{
    uint32_t count[NUMBERS] = {0};
    err e = {0};
    store *s = embedded_open(p->dir, &(embedded_opts){.no_threads = true, .vfs = "bad"}, &e);
    assert_ok(s != NULL, &e);
    assert_ok(numbered_count(store_own_reader(s), count, NUMBERS, &e), &e);
    for (size_t i = 0; i < NUMBERS; i++) {
        if (count[i] > 1)
            fail_msg("%s: number %zu is there %u times (kind %d after %ld)", when, i, count[i],
                     kind, after);
        if ((all || t->acknowledged[i]) && !count[i])
            fail_msg("%s: number %zu is lost (kind %d after %ld)", when, i, kind, after);
    }
    store_check c;
    assert_ok(store_verify(store_own_reader(s), NULL, NULL, &c, &e), &e);
    assert_u64(c.n_problems, 0);
    store_close(s);
}

/* Runs with one fault. Returns false when the fault was not reached. */
static bool one_fault(bad_kind kind, long after, bool for_good)
{
    place p = place_new();
    attempt t = {0};
    hand_world w;
    hand_world_init(&w, UINT64_C(1789000000) * NS_PER_S);
    err e = {0};
    embedded_opts o = {.no_threads = true,
                       .vfs = "bad",
                       .store.world = &w.w,
                       .store.log = on_log,
                       .store.ctx = &t};
    *bad_now = (bad_plan){.kind = kind, .after = after, .for_good = for_good};
    store *s = embedded_open(p.dir, &o, &e);
    if (s) put_all(&t, s, &w);
    store_close(s);
    bool hit = bad_now->n_failed > 0;
    *bad_now = (bad_plan){0};
    check(&p, &t, false, "after the fault", kind, after);

    e = (err){0};
    s = embedded_open(p.dir, &o, &e);
    assert_ok(s != NULL, &e);
    put_all(&t, s, &w);
    for (size_t i = 0; i < NUMBERS; i++) assert_true(t.acknowledged[i]);
    store_close(s);
    check(&p, &t, true, "after a retry", kind, after);
    place_free(&p);
    return hit;
}

static void run_kind(bad_kind kind)
{
    long last = 0;
    for (int good = 0; good < 2; good++) {
        long after = 0;
        while (one_fault(kind, after, good))
            after += 1 + after / 4; /* tests every call at first, then fewer */
        last = after;
    }
    assert_true(last > 3); /* the fault was reached */
}

static void disk_full(void **state) { (void)state, run_kind(BAD_FULL); }
static void write_error(void **state) { (void)state, run_kind(BAD_EIO); }
static void short_write(void **state) { (void)state, run_kind(BAD_SHORT); }
static void sync_error(void **state) { (void)state, run_kind(BAD_SYNC); }
static void open_error(void **state) { (void)state, run_kind(BAD_OPEN); }

/* A store that was never compacted loses no data when opening it fails. */
static void opened_again(void **state)
{
    (void)state;
    static const bad_kind kinds[] = {BAD_FULL, BAD_EIO, BAD_SYNC, BAD_OPEN};
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        place p = place_new();
        attempt t = {0};
        err e = {0};
        hand_world w;
        hand_world_init(&w, UINT64_C(1789000000) * NS_PER_S);
        embedded_opts o = {.no_threads = true,
                           .vfs = "bad",
                           .store.world = &w.w,
                           .store.log = on_log,
                           .store.ctx = &t};
        store *s = embedded_open(p.dir, &o, &e);
        assert_ok(s != NULL, &e);
        for (uint64_t i = 0; i < NUMBERS; i++) {
            arena a = {0};
            model m;
            cookie c = {&t, i};
            assert_true(numbered_model(&a, i, &m));
            assert_ok(store_put(s, &(store_item){.model = &m, .done = on_done, .cookie = &c}, &e),
                      &e);
            assert_ok(store_commit(s, &e), &e);
            arena_free(&a);
        }
        store_close(s);
        bool hit = true, refused = false;
        for (long after = 0; hit; after++) {
            *bad_now = (bad_plan){.kind = kinds[k], .after = after};
            e = (err){0};
            s = embedded_open(p.dir, &o, &e);
            refused |= !s;
            store_close(s);
            hit = bad_now->n_failed > 0;
            *bad_now = (bad_plan){0};
            check(&p, &t, true, "after a fault while the store was opened", kinds[k], after);
        }
        assert_true(refused || (kinds[k] != BAD_SYNC && kinds[k] != BAD_OPEN));
        place_free(&p);
    }
}

/* On a full disk store_takes is false before the first put. The store accepts data again once there
 * is space. */
static void opened_while_full(void **state)
{
    (void)state;
    place p = place_new();
    attempt t = {0};
    hand_world w;
    hand_world_init(&w, UINT64_C(1789000000) * NS_PER_S);
    err e = {0};
    bool more;
    embedded_opts o = {.no_threads = true,
                       .vfs = "bad",
                       .store.world = &w.w,
                       .store.log = on_log,
                       .store.ctx = &t};
    store *s = embedded_open(p.dir, &o, &e);
    assert_ok(s != NULL, &e);
    put_all(&t, s, &w);
    store_close(s);
    *bad_now = (bad_plan){.kind = BAD_FULL, .for_good = true};
    s = embedded_open(p.dir, &o, &e);
    assert_ok(s != NULL, &e);
    assert_false(store_takes(s));
    *bad_now = (bad_plan){0};
    w.now += 2 * NS_PER_S;
    assert_ok(embedded_work(s, &more, &e), &e);
    assert_true(store_takes(s));
    store_close(s);
    place_free(&p);
}

/* While the disk is broken, new data is refused at once, and queries work. */
static void queries_while_full(void **state)
{
    (void)state;
    place p = place_new();
    attempt t = {0};
    hand_world w;
    hand_world_init(&w, UINT64_C(1789000000) * NS_PER_S);
    err e = {0};
    embedded_opts o = {.no_threads = true,
                       .vfs = "bad",
                       .store.world = &w.w,
                       .store.log = on_log,
                       .store.ctx = &t};
    store *s = embedded_open(p.dir, &o, &e);
    assert_ok(s != NULL, &e);
    put_all(&t, s, &w);
    assert_true(store_takes(s));
    size_t done = t.n_done;
    *bad_now = (bad_plan){.kind = BAD_FULL, .for_good = true};
    arena a = {0};
    model m;
    cookie c = {&t, 0};
    assert_true(numbered_model(&a, 1000, &m));
    assert_ok(store_put(s, &(store_item){.model = &m, .done = on_done, .cookie = &c}, &e), &e);
    assert_false(store_commit(s, &e));
    assert_int_equal(e.code, ERR_SYS);
    assert_int_equal(t.n_done, done + 1);
    assert_int_equal(t.n_refused, 1);
    e = (err){0};
    assert_false(store_put(s, &(store_item){.model = &m, .done = on_done, .cookie = &c}, &e));
    assert_int_equal(e.code, ERR_SYS);
    uint32_t count[NUMBERS] = {0};
    e = (err){0};
    assert_ok(numbered_count(store_own_reader(s), count, NUMBERS, &e), &e);
    for (size_t i = 0; i < NUMBERS; i++) assert_int_equal(count[i], 1);
    bool more;
    assert_false(store_takes(s));
    w.now += 2 * NS_PER_S;
    (void)!embedded_work(s, &more, &e); /* tests the disk, which is still broken */
    assert_false(store_takes(s));
    *bad_now = (bad_plan){0};
    assert_ok(embedded_work(s, &more, &e), &e); /* too early to test the disk again */
    assert_false(store_takes(s));
    w.now += 2 * NS_PER_S;
    assert_ok(embedded_work(s, &more, &e), &e); /* tests the disk without a put */
    assert_true(store_takes(s));
    assert_ok(store_put(s, &(store_item){.model = &m, .done = on_done, .cookie = &c}, &e), &e);
    assert_ok(store_commit(s, &e), &e);
    store_close(s);
    arena_free(&a);
    place_free(&p);
}

/* A refused group is not stored after a restart, even if it was written and only the sync failed.
 * Otherwise a retry would count as a duplicate of data that may not be on disk. */
static void refused_leaves_nothing(void **state)
{
    (void)state;
    place p = place_new();
    attempt t = {0};
    err e = {0};
    embedded_opts o = {.no_threads = true, .vfs = "bad", .store.log = on_log, .store.ctx = &t};
    store *s = embedded_open(p.dir, &o, &e);
    assert_ok(s != NULL, &e);
    arena a = {0};
    model m;
    cookie c[] = {{&t, 0}, {&t, 1}};
    for (size_t i = 0; i < 2; i++) {
        assert_true(numbered_model(&a, i, &m));
        assert_ok(store_put(s, &(store_item){.model = &m, .done = on_done, .cookie = &c[i]}, &e),
                  &e);
        if (i) *bad_now = (bad_plan){.kind = BAD_SYNC};
        assert_int_equal(store_commit(s, &e), !i);
    }
    assert_int_equal(bad_now->n_failed, 1);
    *bad_now = (bad_plan){0};
    store_close(s);
    uint32_t count[2] = {0};
    e = (err){0};
    s = embedded_open(p.dir, &o, &e);
    assert_ok(s != NULL, &e);
    assert_ok(numbered_count(store_own_reader(s), count, 2, &e), &e);
    assert_int_equal(count[0], 1);
    assert_int_equal(count[1], 0);
    store_close(s);
    arena_free(&a);
    place_free(&p);
}

/* A manifest that may not be on disk does not replace the previous one. */
static void manifest_needs_its_sync(void **state)
{
    (void)state;
    place p = place_new();
    manifest m = {0}, previous = {0};
    err e = {0};
    sqlite3_vfs *vfs = sqlite3_vfs_find("bad");
    assert_non_null(vfs);
    assert_ok(manifest_save(&m, vfs, p.dir, true, &e), &e);
    assert_true(manifest_put_segment(&m, &(manifest_segment){.number = 1}));
    *bad_now = (bad_plan){.kind = BAD_SYNC};
    bool saved = manifest_save(&m, vfs, p.dir, true, &e);
    long n_failed = bad_now->n_failed;
    *bad_now = (bad_plan){0};
    assert_false(saved);
    assert_int_equal(n_failed, 1);
    e = (err){0};
    assert_ok(manifest_load(&previous, p.dir, &e), &e);
    assert_int_equal(previous.n_segments, 0);
    manifest_free(&m);
    manifest_free(&previous);
    place_free(&p);
}

/* ---- a commit that fails and takes effect ---- */

enum { BEFORE = 3 };

static void put_some(attempt *t, store *s, uint64_t from, uint64_t to)
{
    static cookie cookies[NUMBERS];
    err e = {0};
    for (uint64_t i = from; i < to; i++) {
        arena a = {0};
        model m;
        cookies[i] = (cookie){t, i};
        assert_true(numbered_model(&a, i, &m));
        assert_ok(
            store_put(s, &(store_item){.model = &m, .done = on_done, .cookie = &cookies[i]}, &e),
            &e);
        arena_free(&a);
    }
    assert_ok(store_commit(s, &e), &e);
}

static uint64_t bytes_of(store *s)
{
    arena a = {0};
    store_stats st;
    err e = {0};
    assert_ok(store_get_stats(store_own_reader(s), &a, &st, &e), &e);
    uint64_t n = st.files.n ? st.files.v[0].bytes : 0;
    arena_free(&a);
    return n;
}

/* Copies the files while the store is open, as a crash of the machine would leave them. */
static void copy_place(const place *from, place *to)
{
    DIR *d = opendir(from->dir);
    assert_non_null(d);
    for (struct dirent *f; (f = readdir(d));) {
        char old[400], new[400];
        if (f->d_name[0] == '.') continue;
        snprintf(old, sizeof old, "%s/%s", from->dir, f->d_name);
        snprintf(new, sizeof new, "%s/%s", to->dir, f->d_name);
        assert_true(bad_copy(old, new));
    }
    closedir(d);
}

static void assert_once(store *s, const char *when, long after)
{
    uint32_t count[NUMBERS] = {0};
    err e = {0};
    assert_ok(numbered_count(store_own_reader(s), count, NUMBERS, &e), &e);
    for (size_t i = 0; i < NUMBERS; i++)
        if (count[i] != 1)
            fail_msg("%s: number %zu is there %u times (after %ld)", when, i, count[i], after);
}

/* The sync after a commit fails, so SQLite reports a failure, but the bytes are written and
 * recovery of the file applies them. By then the file is so large that new items go to another
 * part. */
static bool failed_commit(long after)
{
    place p = place_new(), crashed = place_new();
    attempt t = {0};
    hand_world w;
    hand_world_init(&w, UINT64_C(1789000000) * NS_PER_S);
    err e = {0};
    embedded_opts o = {.no_threads = true,
                       .vfs = "bad",
                       .store.world = &w.w,
                       .store.log = on_log,
                       .store.ctx = &t};
    store *s = embedded_open(p.dir, &o, &e);
    assert_ok(s != NULL, &e);
    put_some(&t, s, 0, BEFORE);
    assert_ok(store_compact(s, &e), &e);
    store_retain(s, 0, 8 * (bytes_of(s) + 2048)); /* a file may hardly be larger than this one */
    put_some(&t, s, BEFORE, NUMBERS);
    *bad_now = (bad_plan){.kind = BAD_SYNC, .after = after};
    bool ok = store_compact(s, &e), hit = bad_now->n_failed > 0;
    assert_true(ok || hit); /* a manifest that cannot be written does not fail a compaction */
    *bad_now = (bad_plan){0};
    e = (err){0};
    assert_ok(store_compact(s, &e), &e);
    assert_once(s, "after a retry", after);
    copy_place(&p, &crashed);
    store_close(s);
    s = embedded_open(crashed.dir, &o, &e);
    assert_ok(s != NULL, &e);
    assert_once(s, "after a crash", after);
    store_close(s);
    s = embedded_open(p.dir, &o, &e);
    assert_ok(s != NULL, &e);
    assert_once(s, "opened again", after);
    store_close(s);
    place_free(&crashed);
    place_free(&p);
    return hit;
}

static void failed_commit_counts_once(void **state)
{
    (void)state;
    long after = 0;
    while (failed_commit(after)) after++;
    assert_true(after > 0);
}

int main(void)
{
    bad_vfs_register(false);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(disk_full),
        cmocka_unit_test(write_error),
        cmocka_unit_test(short_write),
        cmocka_unit_test(sync_error),
        cmocka_unit_test(open_error),
        cmocka_unit_test(queries_while_full),
        cmocka_unit_test(opened_while_full),
        cmocka_unit_test(refused_leaves_nothing),
        cmocka_unit_test(opened_again),
        cmocka_unit_test(failed_commit_counts_once),
        cmocka_unit_test(manifest_needs_its_sync),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
