/* Damage to every file of a store. After a changed byte, a truncation or a missing file either
 * results are unchanged, or a log line, a counter, a partial result or `verify` reports the damage.
 * No item is returned twice. */
#include "../../support/numbered.h"
#include "../../support/store_test.h"

#include <fcntl.h>
#include <sqlite3.h>

enum { FILES = 32, DAYS = 3, EACH = 4, NUMBERS = DAYS * EACH + 6, PLACES = 64 };
#define DAY (UINT64_C(86400) * NS_PER_S)

/* ---- a store and an image of its files ---- */

typedef struct image {
    char name[FILES][64];
    buf bytes[FILES];
    size_t n;
} image;

static void take_image(image *m, const char *dir)
{
    DIR *d = opendir(dir);
    char path[512];
    m->n = 0;
    for (struct dirent *f; (f = readdir(d));) {
        if (f->d_name[0] == '.' || strcmp(f->d_name, "lock") == 0 || strstr(f->d_name, "-shm"))
            continue;
        assert_true(m->n < FILES);
        snprintf(m->name[m->n], sizeof m->name[0], "%s", f->d_name);
        snprintf(path, sizeof path, "%s/%s", dir, f->d_name);
        m->bytes[m->n] = (buf){0};
        assert_true(test_read(path, &m->bytes[m->n++]));
    }
    closedir(d);
}

/* Returns the length without the zeros at the end, because segments reserve space. */
static size_t used_of(str bytes)
{
    size_t n = bytes.n;
    while (n && !bytes.p[n - 1]) n--;
    return n;
}

static void write_file(const char *dir, const char *name, str bytes)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes.p, 1, used_of(bytes), f), used_of(bytes));
    fclose(f);
    assert_int_equal(truncate(path, (off_t)bytes.n), 0);
}

/* Writes the files of the image to the directory. */
static void put_image(const image *m, const char *dir)
{
    remove_tree(dir);
    assert_int_equal(mkdir(dir, 0700), 0);
    for (size_t i = 0; i < m->n; i++) write_file(dir, m->name[i], buf_view(&m->bytes[i]));
}

static void free_image(image *m)
{
    for (size_t i = 0; i < m->n; i++) buf_free(&m->bytes[i]);
}

static size_t file_of(const image *m, const char *name)
{
    for (size_t i = 0; i < m->n; i++)
        if (strcmp(m->name[i], name) == 0) return i;
    fail_msg("the store has no %s", name);
    return 0;
}

/* ---- reports ---- */

typedef struct seen {
    size_t n_logged;
    char last_line[256]; /* the last line */
    uint64_t n_problems, damaged, quarantined;
    bool partial, failed;
    char why[96];
    uint32_t count[NUMBERS];
    size_t n_lost;
} seen;

static void record_line(void *ctx, store_event what, const char *text)
{
    seen *x = ctx;
    if (what == STORE_REMOVED) return;
    x->n_logged++;
    snprintf(x->last_line, sizeof x->last_line, "%s", text);
}

static void read_and_verify(store_reader *r, seen *x)
{
    arena a = {0};
    model m;
    store_read_result result = {0};
    store_check c = {0};
    err e = {0};
    x->failed |= !store_read(r, &(store_selector){0}, NULL, &a, &m, &result, &e);
    for (size_t i = 0; !x->failed && i < m.profiles.n; i++)
        if (m.profiles.v[i].time_unix_nano - 1 < NUMBERS && m.profiles.v[i].n_samples == 40)
            x->count[m.profiles.v[i].time_unix_nano - 1]++;
    x->partial |= result.partial;
    snprintf(x->why, sizeof x->why, "%s", result.why);
    x->failed |= !store_verify(r, NULL, NULL, &c, &e);
    x->n_problems += c.n_problems;
    x->damaged = store_reader_damaged(r);
    arena_free(&a);
}

static seen open_and_read(const char *dir, bool read_only)
{
    seen x = {0};
    err e = {0};
    hand_world w;
    hand_world_init(&w, NOON + DAYS * DAY);
    if (read_only) {
        store_reader *r = store_open_reader(
            dir, &(store_reader_opts){.world = &w.w, .log = record_line, .ctx = &x}, &e);
        x.failed = !r;
        if (r) read_and_verify(r, &x);
        store_close_reader(r);
    } else {
        store *s =
            embedded_open(dir,
                          &(embedded_opts){.store = {.world = &w.w, .log = record_line, .ctx = &x},
                                           .no_threads = true,
                                           .no_sync = true},
                          &e);
        x.failed = !s;
        if (s)
            read_and_verify(store_own_reader(s), &x), x.quarantined = store_counted(s).quarantined;
        store_close(s);
    }
    for (size_t i = 0; i < NUMBERS; i++) x.n_lost += !x.count[i];
    return x;
}

static bool reports(const seen *x)
{
    return x->n_logged || x->n_problems || x->damaged || x->quarantined || x->partial || x->failed;
}

static void check_once(const seen *x, const char *what)
{
    for (size_t i = 0; i < NUMBERS; i++)
        if (x->count[i] > 1) fail_msg("%s: number %zu is there %u times", what, i, x->count[i]);
}

static void check_reported(const char *dir, bool read_only, const char *what)
{
    seen x = open_and_read(dir, read_only);
    check_once(&x, what);
    if (x.n_lost && !reports(&x)) fail_msg("%s: %zu items are gone, unreported", what, x.n_lost);
}

/* ---- the store ---- */

static store *open_at(const place *p, hand_world *w)
{
    err e = {0};
    store *s = embedded_open(
        p->dir, &(embedded_opts){.no_threads = true, .no_sync = true, .store.world = &w->w}, &e);
    assert_ok(s != NULL, &e);
    return s;
}

static void put_number(store *s, uint64_t number)
{
    arena a = {0};
    model m;
    err e = {0};
    assert_true(numbered_model(&a, number, &m));
    assert_ok(store_put(s, &(store_item){.model = &m}, &e), &e);
    assert_ok(store_commit(s, &e), &e);
    arena_free(&a);
}

/* Creates a store with three day files and three segments of the journal with two items each. */
static place make_store(image *m)
{
    place p = place_new();
    hand_world w;
    err e = {0};
    uint64_t number = 0;
    hand_world_init(&w, NOON);
    for (int day = 0; day < DAYS; day++, w.wall += DAY) {
        store *s = open_at(&p, &w);
        for (int i = 0; i < EACH; i++) put_number(s, number++);
        assert_ok(store_compact(s, &e), &e);
        store_close(s);
    }
    for (int i = 0; i < 3; i++) {
        store *s = open_at(&p, &w); /* each open begins a segment */
        put_number(s, number++);
        put_number(s, number++);
        store_close(s);
    }
    take_image(m, p.dir);
    return p;
}

static void whole_store_reports_nothing(void **state)
{
    (void)state;
    image m;
    place p = make_store(&m);
    for (int i = 0; i < 3; i++) {
        seen x = open_and_read(p.dir, i == 0);
        if (reports(&x)) fail_msg("%s %s", x.last_line, x.why);
        assert_int_equal(x.n_lost, 0);
        check_once(&x, "whole");
    }
    free_image(&m);
    place_free(&p);
}

/* Changes every 64th byte of every file; alternates between a reader and the writer. */
static void flipped_bytes(void **state)
{
    (void)state;
    image m;
    place p = make_store(&m);
    for (size_t i = 0; i < m.n; i++) {
        size_t used = used_of(buf_view(&m.bytes[i]));
        for (size_t k = 0; k < PLACES && used; k++) {
            size_t at = used * k / PLACES;
            char what[128];
            snprintf(what, sizeof what, "%s, byte %zu", m.name[i], at);
            m.bytes[i].p[at] = (char)(m.bytes[i].p[at] ^ 0x10);
            put_image(&m, p.dir);
            m.bytes[i].p[at] = (char)(m.bytes[i].p[at] ^ 0x10);
            check_reported(p.dir, k % 2, what);
        }
    }
    free_image(&m);
    place_free(&p);
}

/* ---- single cases ---- */

static void run_sql(const place *p, const char *name, const char *sql)
{
    char path[256];
    sqlite3 *db;
    snprintf(path, sizeof path, "%s/%s", p->dir, name);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

/* Checks that the result, the log, the counter and verify all report the damage. */
static void check_all_report(const place *p, const char *what)
{
    seen x = open_and_read(p->dir, false);
    check_once(&x, what);
    if (!x.partial || !x.n_logged || !(x.damaged + x.quarantined) || !x.n_problems || !x.n_lost)
        fail_msg("%s: partial %d (%s), %zu lines (%s), %llu damaged, %llu problems, %zu lost", what,
                 x.partial, x.why, x.n_logged, x.last_line, (unsigned long long)x.damaged,
                 (unsigned long long)x.n_problems, x.n_lost);
    /* The damage is still reported after a restart. */
    seen again = open_and_read(p->dir, true);
    if (!again.partial || !again.n_problems) fail_msg("%s: forgotten after a restart", what);
}

static void flipped_block(void **state)
{
    (void)state;
    image m;
    place p = make_store(&m);
    run_sql(&p, "2026-09-10.0.db", "UPDATE block SET data = zeroblob(length(data))");
    check_all_report(&p, "flipped block");
    free_image(&m);
    place_free(&p);
}

static void cut_or_missing_day_file(void **state)
{
    (void)state;
    image m;
    place p = make_store(&m);
    size_t f = file_of(&m, "2026-09-11.0.db");
    char path[256];
    snprintf(path, sizeof path, "%s/%s", p.dir, m.name[f]);
    assert_int_equal(truncate(path, (off_t)m.bytes[f].n / 2), 0);
    check_all_report(&p, "cut in half");
    put_image(&m, p.dir);
    assert_int_equal(truncate(path, 0), 0);
    check_all_report(&p, "cut to nothing");
    put_image(&m, p.dir);
    assert_int_equal(unlink(path), 0);
    check_all_report(&p, "removed");
    put_image(&m, p.dir);
    write_file(p.dir, m.name[f], buf_view(&m.bytes[file_of(&m, "2026-09-10.0.db")]));
    check_all_report(&p, "the file of another day");
    free_image(&m);
    place_free(&p);
}

/* A damaged header loses nothing, because the manifest has a copy of every header. */
static void flipped_headers(void **state)
{
    (void)state;
    image m;
    place p = make_store(&m);
    size_t n = 0;
    for (size_t i = 0; i < m.n; i++) {
        if (strncmp(m.name[i], "raw-", 4) != 0) continue;
        n++;
        m.bytes[i].p[20] ^= 1;
        put_image(&m, p.dir);
        m.bytes[i].p[20] ^= 1;
        seen before = open_and_read(p.dir, true), x = open_and_read(p.dir, false);
        assert_int_equal(before.n_lost + x.n_lost, 0);
        assert_true(before.n_problems > 0);
        assert_true(x.n_logged > 0 && x.damaged > 0);
        check_once(&x, m.name[i]);
        seen after = open_and_read(p.dir, true); /* the header was repaired */
        assert_u64(after.n_problems, 0);
        assert_int_equal(after.n_lost, 0);
    }
    assert_int_equal(n, 3);
    free_image(&m);
    place_free(&p);
}

static void missing_segments(void **state)
{
    (void)state;
    image m;
    place p = make_store(&m);
    for (size_t i = 0; i < m.n; i++) {
        char path[256];
        if (strncmp(m.name[i], "raw-", 4) != 0) continue;
        put_image(&m, p.dir);
        snprintf(path, sizeof path, "%s/%s", p.dir, m.name[i]);
        assert_int_equal(unlink(path), 0);
        check_all_report(&p, m.name[i]);
    }
    free_image(&m);
    place_free(&p);
}

/* A missing catalog or manifest loses nothing, because other files have the same data. A missing
 * manifest is reported. */
static void missing_catalogue_or_manifest(void **state)
{
    (void)state;
    static const char *const names[] = {"catalog.db", "manifest"};
    image m;
    place p = make_store(&m);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char path[256];
        put_image(&m, p.dir);
        snprintf(path, sizeof path, "%s/%s", p.dir, names[i]);
        assert_int_equal(unlink(path), 0);
        seen before = open_and_read(p.dir, true), x = open_and_read(p.dir, false);
        assert_int_equal(before.n_lost + x.n_lost, 0);
        if (i == 1) assert_true(before.n_problems > 0 && x.n_logged > 0 && x.damaged > 0);
    }
    free_image(&m);
    place_free(&p);
}

/* Queries work without names, and the damage is reported. */
static void damaged_names(void **state)
{
    (void)state;
    image m;
    place p = make_store(&m);
    char junk[8192];
    memset(junk, 0x5a, sizeof junk);
    write_file(p.dir, "names.db", (str){junk, sizeof junk});
    seen x = {0};
    err e = {0};
    arena a = {0};
    model sums;
    store_reader *r =
        store_open_reader(p.dir, &(store_reader_opts){.log = record_line, .ctx = &x}, &e);
    assert_ok(r != NULL, &e);
    assert_ok(store_read_sums(r, &(store_selector){0}, &(store_read_opts){.names = true}, &a, &sums,
                              NULL, &e),
              &e);
    read_and_verify(r, &x);
    assert_true(x.n_logged && x.n_problems && x.damaged);
    store_close_reader(r);
    arena_free(&a);
    free_image(&m);
    place_free(&p);
}

/* A writer that was killed leaves its commits in the write-ahead log. */
static void cut_write_ahead_log(void **state)
{
    (void)state;
    image m;
    place p = place_new();
    hand_world w;
    err e = {0};
    hand_world_init(&w, NOON);
    store *s = open_at(&p, &w);
    for (uint64_t i = 0; i < NUMBERS; i++) put_number(s, i);
    assert_ok(store_compact(s, &e), &e);
    take_image(&m, p.dir);
    store_close(s);
    size_t f = file_of(&m, NOON_FILE "-wal");
    for (size_t k = 0; k < 4; k++) {
        char path[256];
        put_image(&m, p.dir);
        snprintf(path, sizeof path, "%s/%s", p.dir, m.name[f]);
        assert_int_equal(truncate(path, (off_t)(m.bytes[f].n * k / 4)), 0);
        check_reported(p.dir, k % 2, "a cut write-ahead log");
    }
    free_image(&m);
    place_free(&p);
}

/* The items of a file that a newer kiln wrote are not read again from released segments of the
 * journal. */
static void newer_format(void **state)
{
    (void)state;
    image m;
    place p = place_new();
    hand_world w;
    err e = {0};
    hand_world_init(&w, NOON + DAYS * DAY);
    store *s = open_at(&p, &w);
    for (uint64_t i = 0; i < NUMBERS - 2; i++) put_number(s, i);
    assert_ok(store_compact(s, &e), &e);
    take_image(&m, p.dir); /* as if the process was killed: the segment still exists */
    store_close(s);
    put_image(&m, p.dir);
    run_sql(&p, "2026-09-13.0.db", "UPDATE meta SET value = 2 WHERE key = 'format'");
    for (int read_only = 0; read_only < 2; read_only++) {
        seen x = open_and_read(p.dir, read_only);
        assert_int_equal(x.n_lost, NUMBERS);
        assert_true(x.partial && x.n_logged && x.n_problems);
    }
    s = open_at(&p, &w);
    put_number(s, NUMBERS - 2);
    put_number(s, NUMBERS - 1);
    assert_ok(store_compact(s, &e), &e); /* writes another part */
    store_close(s);
    run_sql(&p, "2026-09-13.0.db", "UPDATE meta SET value = 1 WHERE key = 'format'");
    for (int read_only = 0; read_only < 2; read_only++) {
        seen x = open_and_read(p.dir, read_only);
        check_once(&x, "read by the newer kiln");
        assert_int_equal(x.n_lost, 0);
        assert_false(x.partial);
    }
    free_image(&m);
    place_free(&p);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_store_reports_nothing),
        cmocka_unit_test(flipped_block),
        cmocka_unit_test(cut_or_missing_day_file),
        cmocka_unit_test(flipped_headers),
        cmocka_unit_test(missing_segments),
        cmocka_unit_test(missing_catalogue_or_manifest),
        cmocka_unit_test(damaged_names),
        cmocka_unit_test(cut_write_ahead_log),
        cmocka_unit_test(newer_format),
        cmocka_unit_test(flipped_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
