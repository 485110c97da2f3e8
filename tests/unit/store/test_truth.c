/* Compares the store with a reference model: random puts, duplicates, failing writes and syncs,
 * compactions, removals by retention and restarts. An acknowledged profile is stored once. A
 * profile is acknowledged as a duplicate only when it is stored, or was until retention removed it.
 * A refused profile can be put again and is stored then. */
#include "../../support/bad_vfs.h"
#include "../../support/numbered.h"
#include "../../support/random_model.h"

#include "store/keys.h"

enum { NUMBERS = 48, STEPS = 400, ROUNDS = 4, PUTS = 6 };

typedef struct truth {
    bool there[NUMBERS]; /* stored: acknowledged and not removed */
    bool known[NUMBERS]; /* acknowledged once */
    uint64_t n_stored, n_repeats, n_refused, n_late, n_removed, n_restarts;
} truth;

typedef struct waiting {
    struct run *r;
    uint64_t number;
} waiting;

typedef struct run {
    truth t;
    rng rng;
    place p;
    hand_world world;
    embedded_opts o;
    store *s;
    waiting waits[64]; /* items of the current group */
    size_t n_waits;
    uint64_t dropped; /* files that retention had removed at the last check */
    /* puts duplicates of the next refused group and another item before it is forgotten */
    bool put_late;
} run;

static void on_done(void *ctx, const store_put_result *r)
{
    waiting *w = ctx;
    truth *t = &w->r->t;
    uint64_t i = w->number;
    if (r->refused) {
        t->n_refused++;
        return;
    }
    assert_int_equal(r->n_stored + r->n_duplicates, 1);
    if (r->n_duplicates) {
        if (!t->known[i])
            fail_msg("number %llu was never stored and counts as a duplicate",
                     (unsigned long long)i);
        t->n_repeats++;
        return;
    }
    if (t->there[i]) fail_msg("number %llu is stored twice", (unsigned long long)i);
    t->there[i] = t->known[i] = true;
    t->n_stored++;
}

static void put(run *r, uint64_t number)
{
    arena a = {0};
    model m;
    err e = {0};
    if (r->n_waits == ARRAY_LEN(r->waits)) return;
    waiting *w = &r->waits[r->n_waits++];
    *w = (waiting){r, number};
    assert_true(numbered_model(&a, number, &m));
    store_item i = {.model = &m, .done = on_done, .cookie = w};
    if (!store_put(r->s, &i, &e)) r->n_waits--;
    arena_free(&a);
}

/* Called at failpoints; here the group could not be written and its keys are not removed yet. */
static void at_point(void *ctx, const char *point)
{
    run *r = ctx;
    if (strcmp(point, "refused") != 0 || !r->put_late) return;
    r->put_late = false;
    size_t n = r->n_waits;
    for (size_t i = 0; i < n && i < 2; i++) put(r, r->waits[i].number);
    put(r, below(&r->rng, NUMBERS));
    r->t.n_late += n > 0;
}

static void plan_fault(run *r)
{
    static const bad_kind kinds[] = {BAD_NONE, BAD_NONE, BAD_NONE, BAD_SYNC,
                                     BAD_FULL, BAD_EIO,  BAD_SHORT};
    *bad_now = (bad_plan){.kind = kinds[below(&r->rng, ARRAY_LEN(kinds))],
                          .after = (long)below(&r->rng, 3),
                          .for_good = below(&r->rng, 2)};
    r->put_late = below(&r->rng, 2);
}

static void put_some(run *r)
{
    r->n_waits = 0;
    for (uint64_t n = 1 + below(&r->rng, PUTS); n > 0; n--) put(r, below(&r->rng, NUMBERS));
    plan_fault(r);
    while (!store_commit(r->s, NULL) && r->n_waits) { /* late puts form a group of their own */
        *bad_now = (bad_plan){0};
        if (store_commit(r->s, NULL)) break;
    }
    *bad_now = (bad_plan){0};
    r->world.now += 2 * NS_PER_S; /* a refusal lasts a second */
}

/* Checks that exactly the numbers of the reference are stored, except those that retention
 * removed. */
static void check(run *r, const char *when)
{
    uint32_t count[NUMBERS] = {0};
    err e = {0};
    assert_ok(numbered_count(store_own_reader(r->s), count, NUMBERS, &e), &e);
    uint64_t dropped = store_counted(r->s).dropped_files;
    bool removed = dropped > r->dropped;
    r->dropped = dropped;
    for (size_t i = 0; i < NUMBERS; i++) {
        if (count[i] > 1) fail_msg("%s: number %zu is there %u times", when, i, count[i]);
        if (count[i] && !r->t.there[i])
            fail_msg("%s: number %zu was not acknowledged and is there", when, i);
        if (!count[i] && r->t.there[i] && !removed) fail_msg("%s: number %zu is lost", when, i);
        r->t.n_removed += r->t.there[i] && !count[i];
        r->t.there[i] = count[i] > 0;
    }
}

static void restart(run *r)
{
    err e = {0};
    check(r, "before a restart");
    store_close(r->s);
    r->s = embedded_open(r->p.dir, &r->o, &e);
    assert_ok(r->s != NULL, &e);
    r->t.n_restarts++;
    r->dropped = 0;
    check(r, "after a restart"); /* counters begin at 0: nothing may be missing */
}

static void step(run *r)
{
    err e = {0};
    bool more;
    switch (below(&r->rng, 12)) {
    case 0: /* with or without a fault */
        plan_fault(r);
        (void)!store_compact(r->s, &e);
        *bad_now = (bad_plan){0};
        r->world.now += 2 * NS_PER_S;
        break;
    case 1: (void)!embedded_work(r->s, &more, &e); break;
    case 2: restart(r); break;
    case 3: r->world.wall += below(&r->rng, 36) * 3600 * NS_PER_S; break;
    default: put_some(r); break;
    }
    if (below(&r->rng, 8) == 0) check(r, "between");
}

static void store_agrees_with_the_truth(void **state)
{
    (void)state;
    truth all = {0};
    bad_vfs_register(false);
    uint64_t seed = rnd_seed(11);
    for (uint64_t round = 0; round < ROUNDS; round++) {
        run r = {.rng = {seed + round}, .p = place_new()};
        err e = {0};
        print_message("# KILN_SEED=%llu\n", (unsigned long long)r.rng.s);
        hand_world_init(&r.world, UINT64_C(1789000000) * NS_PER_S);
        r.o = (embedded_opts){.no_threads = true,
                              .vfs = "bad",
                              .store.world = &r.world.w,
                              .at = at_point,
                              .store.ctx = &r};
        r.s = embedded_open(r.p.dir, &r.o, &e);
        assert_ok(r.s != NULL, &e);
        for (int i = 0; i < STEPS; i++) step(&r);
        restart(&r);
        store_close(r.s);
        place_free(&r.p);
        all.n_stored += r.t.n_stored, all.n_repeats += r.t.n_repeats,
            all.n_refused += r.t.n_refused;
        all.n_late += r.t.n_late, all.n_removed += r.t.n_removed, all.n_restarts += r.t.n_restarts;
    }
    print_message("# %llu stored, %llu duplicates, %llu refused (%llu times with late ones), %llu "
                  "removed, %llu restarts\n",
                  (unsigned long long)all.n_stored, (unsigned long long)all.n_repeats,
                  (unsigned long long)all.n_refused, (unsigned long long)all.n_late,
                  (unsigned long long)all.n_removed, (unsigned long long)all.n_restarts);
    assert_true(all.n_stored > NUMBERS && all.n_repeats > NUMBERS && all.n_refused > NUMBERS &&
                all.n_late > 10);
}

/* ---- keys ---- */

enum { KEYS = 1400 };

static content_key key_of(uint32_t i) { return (content_key){i % 7 ? i : 0, i % 5 ? i : 0}; }

/* Adds and removes keys that collide; in any order, the table has the same keys as a plain list. */
static void keys_agree_with_a_list(void **state)
{
    (void)state;
    for (uint64_t round = 0; round < 8; round++) {
        rng r = {rnd_seed(23) + round};
        keys k = {.seed = rnd(&r)};
        bool has[KEYS] = {0};
        for (int i = 0; i < 20000; i++) {
            uint32_t n = 1 + (uint32_t)below(&r, KEYS - 1);
            if (n % 35 == 0) continue; /* the key 0 is stored as another one */
            has[n] = below(&r, 2);
            if (has[n])
                assert_true(keys_add(&k, key_of(n)));
            else
                keys_remove(&k, key_of(n));
            if (i % 500) continue;
            for (uint32_t j = 1; j < KEYS; j++)
                if (j % 35 && keys_has(&k, key_of(j)) != has[j])
                    fail_msg("key %u: the table has it: %d", j, !has[j]);
        }
        keys_free(&k);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_agree_with_a_list),
        cmocka_unit_test(store_agrees_with_the_truth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
