/* Tests that a read of the journal works without a copy while the journal is compacted and its
 * segments are reused. */
#include "../../support/numbered.h"

#include <malloc.h>
#include <sqlite3.h>

enum { ITEMS = 400, ROUNDS = 3, PAYLOAD = 100 << 10, MOST_MEMORY = 8 << 20 };

typedef struct under_test {
    place p;
    store *s;
    char *payload;
    uint64_t next; /* next number to put */
    uint32_t count[ITEMS * (ROUNDS + 1)];
    size_t n_seen, most_memory, memory;
} under_test;

static size_t memory_now(void)
{
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

/* Puts 40 MB of items, more than two segments of the journal. */
static void put_items(under_test *t)
{
    err e = {0};
    for (size_t i = 0; i < ITEMS; i++) {
        arena a = {0};
        model m;
        assert_true(numbered_model(&a, t->next++, &m));
        m.profiles.v[0].original_payload = (str){t->payload, PAYLOAD};
        assert_ok(store_put(t->s, &(store_item){.model = &m}, &e), &e);
        if (i % 50 == 49) assert_ok(store_commit(t->s, &e), &e);
        arena_free(&a);
    }
}

static bool on_model(void *ctx, const model *m, err *e)
{
    under_test *t = ctx;
    for (size_t i = 0; i < m->profiles.n; i++) {
        uint64_t number = m->profiles.v[i].time_unix_nano - 1;
        bool whole = m->profiles.v[i].n_samples == 40 &&
                     m->profiles.v[i].original_payload.n == PAYLOAD &&
                     memcmp(m->profiles.v[i].original_payload.p, t->payload, PAYLOAD) == 0;
        if (number < ARRAY_LEN(t->count) && whole) t->count[number]++;
    }
    size_t now = memory_now();
    if (t->n_seen < 3 && now > t->memory + t->most_memory) t->most_memory = now - t->memory;
    if (t->n_seen++ != 3) return true;
    for (int i = 0; i < ROUNDS; i++) { /* reuses all segments that no reader has locked */
        if (!store_compact(t->s, e)) return false;
        put_items(t);
    }
    return true;
}

static void reads_while_it_is_compacted(void **state)
{
    (void)state;
    under_test *t = calloc(1, sizeof *t);
    err e = {0};
    t->p = place_new();
    t->payload = malloc(PAYLOAD);
    for (size_t i = 0; i < PAYLOAD; i++) t->payload[i] = (char)('a' + i % 23);
    embedded_opts o = {
        .no_threads = true, .no_sync = true, .store.compact_bytes = UINT64_C(1) << 30};
    t->s = embedded_open(t->p.dir, &o, &e);
    assert_ok(t->s != NULL, &e);
    put_items(t);
    store_reader *beside = store_open_reader(t->p.dir, NULL, &e);
    assert_ok(beside != NULL, &e);
    t->memory = memory_now();
    store_read_result x;
    assert_ok(store_read_each(beside, &(store_selector){0}, on_model, t, &x, &e), &e);
    assert_u64(x.n_damaged, 0);
    for (size_t i = 0; i < ARRAY_LEN(t->count); i++)
        if (t->count[i] > 1 || (i < ITEMS && !t->count[i])) /* later items may be visible */
            fail_msg("number %zu is there %u times", i, t->count[i]);
    if (t->most_memory > MOST_MEMORY) fail_msg("it took %zu bytes of memory", t->most_memory);
    print_message("# %zu bytes of memory for %d bytes of journal\n", t->most_memory,
                  ITEMS * PAYLOAD);

    memset(t->count, 0, sizeof t->count); /* no segment is locked any more */
    t->n_seen = 4;
    assert_ok(store_compact(t->s, &e), &e);
    assert_ok(store_read_each(beside, &(store_selector){0}, on_model, t, &x, &e), &e);
    for (size_t i = 0; i < ARRAY_LEN(t->count); i++) assert_int_equal(t->count[i], 1);
    store_close_reader(beside);
    store_close(t->s);
    DIR *d = opendir(t->p.dir);
    for (struct dirent *f; (f = readdir(d));) assert_null(strstr(f->d_name, "raw-"));
    closedir(d);
    place_free(&t->p);
    free(t->payload);
    free(t);
}

/* ---- compaction after a read took snapshots and before it locked the journal ---- */

static sqlite3_vfs *usual;
static store *to_compact;
static bool to_close;

/* Opens a file with the default VFS, but compacts the journal right before a segment is opened. */
static int open_late(sqlite3_vfs *v, sqlite3_filename name, sqlite3_file *f, int flags, int *out)
{
    (void)v;
    store *s = to_compact;
    if (s && name && strstr(name, "raw-")) {
        err e = {0};
        to_compact = NULL;
        assert_ok(store_compact(s, &e), &e);
        if (to_close) store_close(s);
    }
    return usual->xOpen(usual, name, f, flags, out);
}

/* The journal is empty, or has only segments kept for reuse and a gap. */
static void misses_nothing_compacted_meanwhile(void **state)
{
    (void)state;
    enum { LARGE = 4 << 20, MANY = 30 };
    char *payload = calloc(1, LARGE);
    for (int many = 0; many < 2; many++) {
        place p = place_new();
        err e = {0};
        embedded_opts o = {
            .no_threads = true, .no_sync = true, .store.compact_bytes = UINT64_C(1) << 30};
        store *s = embedded_open(p.dir, &o, &e);
        assert_ok(s != NULL, &e);
        size_t n = many ? MANY : 3;
        for (size_t i = 0; i < n; i++) {
            arena a = {0};
            model m;
            assert_true(numbered_model(&a, i, &m));
            if (many) m.profiles.v[0].original_payload = (str){payload, LARGE};
            assert_ok(store_put(s, &(store_item){.model = &m}, &e), &e);
            assert_ok(store_commit(s, &e), &e);
            arena_free(&a);
        }
        store_reader *beside =
            embedded_open_reader(p.dir, &(embedded_reader_opts){.vfs = "late"}, &e);
        assert_ok(beside != NULL, &e);
        to_compact = s;
        to_close = !many;
        uint32_t count[MANY] = {0};
        assert_ok(numbered_count(beside, count, n, &e), &e);
        assert_null(to_compact);
        for (size_t i = 0; i < n; i++) assert_int_equal(count[i], 1);
        store_close_reader(beside);
        if (many) store_close(s);
        place_free(&p);
    }
    free(payload);
}

int main(void)
{
    static sqlite3_vfs late;
    sqlite3_initialize();
    usual = sqlite3_vfs_find(NULL);
    late = *usual;
    late.zName = "late";
    late.xOpen = open_late;
    sqlite3_vfs_register(&late, false);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_while_it_is_compacted),
        cmocka_unit_test(misses_nothing_compacted_meanwhile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
