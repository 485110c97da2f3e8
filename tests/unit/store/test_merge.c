/* Small blocks of a series become one: nothing changes but their number, and what is damaged stays alone. */
#include "../../support/numbered.h"
#include "../../support/random_model.h"
#include "../../support/store_test.h"

#include <sqlite3.h>

static under_test *begin_small(void)
{
    return begin(&(store_opts){.no_threads = true, .no_sync = true}, NULL);
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
    assert_ok(store_get_stats(t->s, &a, &x, &e), &e);
    for (size_t i = 0; i < x.files.n; i++) n += x.files.v[i].n_blocks;
    arena_free(&a);
    return n;
}

/* All profiles become part of one series. */
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

/* What is there, in the order in which it came. */
static void check_sequence(under_test *t, const digests *want)
{
    arena a = {0};
    model m;
    err e = {0};
    digests have = {0};
    store_answer x;
    assert_ok(store_read(t->s, &(store_selector){0}, NULL, &a, &m, &x, &e), &e);
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
        for (size_t k = 0; k < m.profiles.n; k++) /* each is another one */
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
    assert_ok(store_verify(t->s, NULL, NULL, &c, &e), &e);
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

/* The third of many small blocks is damaged: all others are served, before and after they would have been merged. */
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
    store_answer x;
    assert_ok(store_read(t->s, &(store_selector){0}, NULL, &a, &m, &x, &e), &e);
    assert_u64(x.n_damaged, 1);
    assert_int_equal(m.profiles.n, 29);
    assert_true(n_blocks(t) < 20); /* what came after it was merged */
    arena_free(&a);
    end(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merges_what_is_small),
        cmocka_unit_test(leaves_damaged_blocks_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
