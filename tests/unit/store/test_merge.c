/* Tests that merging small blocks of a series changes only their number, and that damaged blocks
 * are not merged. */
#include "../../support/numbered.h"
#include "../../support/random_model.h"
#include "../../support/store_test.h"

#include <sqlite3.h>

static under_test *begin_small(void)
{
    return begin(&(embedded_opts){.no_threads = true, .no_sync = true}, NULL);
}

static void keep(under_test *t, const model *m)
{
    err e = {0};
    assert_ok(store_put(t->s, &(store_item){.model = m, .sender = STR("test")}, &e), &e);
    compact(t);
}

static uint64_t n_blocks(under_test *t)
{
    arena a = {0};
    store_stats x;
    err e = {0};
    uint64_t n = 0;
    assert_ok(store_get_stats(store_own_reader(t->s), &a, &x, &e), &e);
    for (size_t i = 0; i < x.files.n; i++) n += x.files.v[i].n_blocks;
    arena_free(&a);
    return n;
}

/* Makes all profiles part of one series. */
static void one_series(model *m)
{
    for (size_t i = 0; i < m->resources.n; i++) {
        resource *r = &m->resources.v[i];
        *r = (resource){.first_scope = r->first_scope, .n_scopes = r->n_scopes, .present = true};
    }
    for (size_t i = 0; i < m->scopes.n; i++) {
        scope *s = &m->scopes.v[i];
        *s = (scope){.resource = s->resource,
                     .first_profile = s->first_profile,
                     .n_profiles = s->n_profiles,
                     .present = true};
    }
    for (size_t i = 0; i < m->profiles.n; i++) {
        profile *p = &m->profiles.v[i];
        p->sample_type = p->period_type = (value_type){0};
        p->has_sample_type = true;
        p->period = 0;
    }
}

/* Checks the stored profiles, in order of arrival. */
static void check_sequence(under_test *t, const digests *want)
{
    arena a = {0};
    model m;
    err e = {0};
    digests have = {0};
    store_read_result x;
    assert_ok(store_read(store_own_reader(t->s), &(store_selector){0}, NULL, &a, &m, &x, &e), &e);
    assert_u64(x.n_damaged, 0);
    digests_of(&have, &m);
    assert_int_equal(have.n, want->n);
    for (size_t i = 0; i < want->n; i++)
        if (have.v[i] != want->v[i]) fail_msg("profile %zu of %zu changed or moved", i, want->n);
    digests_free(&have);
    arena_free(&a);
}

static void merges_what_is_small(void **state)
{
    (void)state;
    enum { ITEMS = 150 };
    rng r = {rnd_seed(20261118)};
    print_message("# seed %llu\n", (unsigned long long)r.s);
    under_test *t = begin_small();
    arena a = {0};
    digests want = {0};
    for (size_t i = 0; i < ITEMS; i++) {
        model m = random_model(&r, &a, &(random_opts){.zero_first = true, .max_samples = 40});
        one_series(&m);
        for (size_t k = 0; k < m.profiles.n; k++) /* each is different */
            memcpy(m.profiles.v[k].profile_id, &(uint64_t[2]){i + 1, k + 1}, 16);
        digests_of(&want, &m);
        keep(t, &m);
        if (i % 40 == 20) check_sequence(t, &want);
        if (i % 40 == 30) reopen(t);
        arena_reset(&a);
    }
    check_sequence(t, &want);
    reopen(t);
    check_sequence(t, &want);
    print_message("# %llu blocks for %d items\n", (unsigned long long)n_blocks(t), ITEMS);
    assert_true(n_blocks(t) < ITEMS / 4);
    store_check c;
    err e = {0};
    assert_ok(store_verify(store_own_reader(t->s), NULL, NULL, &c, &e), &e);
    assert_u64(c.n_problems, 0);
    digests_free(&want);
    arena_free(&a);
    end(t);
}

static void keep_number(under_test *t, uint64_t number)
{
    arena a = {0};
    model m;
    assert_true(numbered_model(&a, number, &m));
    keep(t, &m);
    arena_free(&a);
}

/* The third of many small blocks is damaged: all others can be read, before and after they would be
 * merged. */
static void leaves_damaged_blocks_alone(void **state)
{
    (void)state;
    under_test *t = begin_small();
    for (uint64_t i = 0; i < 6; i++) keep_number(t, 3 * i); /* one service */
    char path[256];
    snprintf(path, sizeof path, "%s/" NOON_FILE, t->p.dir);
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(db, "UPDATE block SET data = zeroblob(64) WHERE id = 3", NULL, NULL, NULL),
        SQLITE_OK);
    sqlite3_close(db);
    for (uint64_t i = 6; i < 30; i++) keep_number(t, 3 * i);
    arena a = {0};
    model m;
    err e = {0};
    store_read_result x;
    assert_ok(store_read(store_own_reader(t->s), &(store_selector){0}, NULL, &a, &m, &x, &e), &e);
    assert_u64(x.n_damaged, 1);
    assert_int_equal(m.profiles.n, 29);
    assert_true(n_blocks(t) < 20); /* later ones were merged */
    arena_free(&a);
    end(t);
}

/* ---- finished files ---- */

enum { SENDERS = 10, ROUNDS = 144, SAMPLES = 16, STACKS = 6000, DEPTH = 24 };

/* Puts a small request: 16 samples of a service, with their dictionary. */
static void put_few(under_test *t, rng *r, uint64_t service, uint64_t round)
{
    arena a = {0};
    builder b;
    model m;
    err e = {0};
    char name[32];
    assert_true(builder_init(&b, &a));
    int n = snprintf(name, sizeof name, "service-%llu", (unsigned long long)service);
    keyvalue kv = {.key = STR("service.name"),
                   .value = {.kind = ANY_STRING, .n = (uint32_t)n, .s = name}};
    builder_resource(&b, &(resource){.attrs = {&kv, 1}, .present = true});
    builder_scope(&b, NULL);
    profile *p = builder_profile(&b);
    p->sample_type = (value_type){builder_string(&b, STR("cpu")), builder_string(&b, STR("ns"))};
    p->has_sample_type = true;
    p->time_unix_nano = t->world.wall;
    memcpy(p->profile_id, &(uint64_t[2]){rnd(r) | 1, service << 32 | round}, 16);
    for (uint64_t i = 0; i < SAMPLES; i++) {
        uint64_t u = rnd(r) % STACKS,
                 stack = u * (rnd(r) % STACKS) / STACKS; /* some are frequent */
        uint32_t frames[DEPTH];
        for (uint32_t k = 0; k < DEPTH; k++)
            frames[k] =
                builder_location(&b, 0, 64 * (k * 1000 + (stack >> k) % 900), NULL, 0, NULL, 0);
        uint64_t at = t->world.wall + i * 600 * NS_PER_S / SAMPLES + rnd(r) % NS_PER_S;
        builder_sample(&b, &(sample){.stack = builder_stack(&b, frames, DEPTH),
                                     .values = &(int64_t){1},
                                     .n_values = 1,
                                     .times = &at,
                                     .n_times = 1});
    }
    assert_ok(builder_finish(&b, &m, &e), &e);
    assert_ok(store_put(t->s, &(store_item){.model = &m, .sender = STR("test")}, &e), &e);
    arena_free(&a);
}

static uint64_t bytes_of(under_test *t, const char *file, uint64_t *n_samples)
{
    arena a = {0};
    store_stats x;
    err e = {0};
    uint64_t n = 0;
    reopen(t); /* moves SQLite's log into the file */
    assert_ok(store_get_stats(store_own_reader(t->s), &a, &x, &e), &e);
    for (size_t i = 0; i < x.files.n; i++)
        if (str_eq(x.files.v[i].name, str_of(file)))
            n = x.files.v[i].bytes, *n_samples = x.files.v[i].n_samples;
    arena_free(&a);
    return n;
}

/* The file of a day of small requests, compacted every ten minutes, shrinks once the next file
 * begins. */
static void finished_file_is_smaller(void **state)
{
    (void)state;
    rng r = {20261119}, first = r;
    under_test *t = begin_small();
    t->world.wall = NOON / (86400 * NS_PER_S) * (86400 * NS_PER_S);
    digests before = {0}, after = {0};
    arena a = {0};
    model m;
    err e = {0};
    store_read_result x;
    uint64_t n_samples = 0;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        for (uint64_t i = 0; i < SENDERS; i++) put_few(t, &r, i, round);
        compact(t);
        t->world.wall += 599 * NS_PER_S;
    }
    uint64_t open_bytes = bytes_of(t, NOON_FILE, &n_samples);
    assert_ok(store_read(store_own_reader(t->s), &(store_selector){0}, NULL, &a, &m, &x, &e), &e);
    digests_of(&before, &m);
    arena_reset(&a);
    for (uint64_t i = 0; i < SENDERS; i++) put_few(t, &r, i, ROUNDS);
    compact(t);
    t->world.wall += 600 * NS_PER_S;
    /* the next day; the reader has rows of the run before the last */
    put_few(t, &r, 0, ROUNDS + 1);
    compact(t);
    assert_ok(store_read(store_own_reader(t->s), &(store_selector){.end = t->world.wall}, NULL, &a,
                         &m, &x, &e),
              &e);
    digests_of(&after, &m);
    digests_settle(&before);
    digests_settle(&after);
    assert_int_equal(after.n, before.n + SENDERS);
    for (size_t i = 0, k = 0; i < before.n; i++, k++) { /* both are sorted */
        while (k < after.n && after.v[k] != before.v[i]) k++;
        assert_true(k < after.n);
    }
    uint64_t bytes = bytes_of(t, NOON_FILE, &n_samples);
    print_message("# %.2f bytes a sample, %.2f while it was open\n",
                  (double)bytes / (double)n_samples, (double)open_bytes / (double)n_samples);
    assert_u64(n_samples, (ROUNDS + 1) * SENDERS * SAMPLES);
    assert_true(bytes <= 12 * n_samples);
    put_few(t, &first, 0, 0); /* the first request again: its key is found in its block */
    store_check c;
    compact(t);
    arena_reset(&a);
    assert_ok(store_read(store_own_reader(t->s), &(store_selector){0}, NULL, &a, &m, &x, &e), &e);
    assert_int_equal(m.profiles.n, after.n + 1);
    assert_ok(store_verify(store_own_reader(t->s), NULL, NULL, &c, &e), &e);
    assert_u64(c.n_problems, 0);
    digests_free(&before);
    digests_free(&after);
    arena_free(&a);
    end(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merges_what_is_small),
        cmocka_unit_test(leaves_damaged_blocks_alone),
        cmocka_unit_test(finished_file_is_smaller),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
