/* Tests following: the consumer gets every acknowledged item in order, across restarts and
 * compaction, and lost items are counted. */
#include "../../support/numbered.h"
#include "../../support/store_test.h"

#include <dirent.h>

#define MIB ((size_t)1 << 20)

static const embedded_opts without_sync = {.no_threads = true, .no_sync = true};

typedef struct seen {
    uint64_t v[256];
    size_t n, room; /* room: number of items that it accepts */
} seen;

static bool on_item(void *ctx, const store_follow_item *i)
{
    seen *s = ctx;
    assert_true(i->bytes.n > 0);
    assert_int_equal(i->n_profiles, 1);
    assert_true(str_eq(i->recognised, STR("otlp")));
    if (s->n == s->room) return false;
    s->v[s->n++] = i->number;
    return true;
}

/* Puts n items. `large`: records of 1 MiB, so that a segment has few of them. */
static void put(under_test *t, uint64_t from, uint64_t n, bool large)
{
    err e = {0};
    char *filler = calloc(1, MIB);
    for (uint64_t i = from; i < from + n; i++) {
        arena a = {0};
        model m;
        assert_true(numbered_model(&a, i, &m));
        store_item item = {
            .model = &m, .recognised = STR("otlp"), .sender = {filler, large ? MIB : 0}};
        assert_ok(store_put(t->s, &item, &e), &e);
        assert_ok(store_commit(t->s, &e), &e);
        arena_free(&a);
    }
    free(filler);
}

static uint64_t follow(under_test *t, uint64_t max_bytes)
{
    err e = {0};
    uint64_t through = UINT64_MAX;
    assert_ok(store_follow(t->s, max_bytes, &through, &e), &e);
    return through;
}

static uint64_t read_some(under_test *t, uint64_t *through, size_t room, seen *out)
{
    err e = {0};
    uint64_t lost = 0;
    *out = (seen){.room = room};
    assert_ok(store_follow_read(t->s, through, on_item, out, &lost, &e), &e);
    for (size_t i = 1; i < out->n; i++) assert_true(out->v[i] > out->v[i - 1]);
    return lost;
}

static void followed(under_test *t, uint64_t through)
{
    err e = {0};
    assert_ok(store_followed(t->s, through, &e), &e);
}

static size_t count_segments(const under_test *t)
{
    DIR *d = opendir(t->p.dir);
    size_t n = 0;
    for (struct dirent *f; (f = readdir(d));) n += strncmp(f->d_name, "raw-", 4) == 0;
    closedir(d);
    return n;
}

static void test_continues_after_a_restart(void **state)
{
    (void)state;
    under_test *t = begin(&without_sync, NULL);
    seen s;
    put(t, 0, 2, false); /* before following began */
    uint64_t through = follow(t, UINT64_MAX);
    assert_u64(through, 2);
    put(t, 2, 5, false);
    assert_u64(store_lag_of(t->s).items, 5);
    assert_u64(read_some(t, &through, 3, &s), 0);
    assert_int_equal(s.n, 3);
    assert_u64(s.v[0], 3);
    assert_u64(through, 5);
    followed(t, 4); /* 5 was read but not yet delivered */
    compact(t);
    reopen(t);
    compact(t);
    through = follow(t, UINT64_MAX);
    assert_u64(through, 4);
    assert_u64(read_some(t, &through, 99, &s), 0);
    assert_int_equal(s.n, 3);
    assert_u64(s.v[0], 5);
    assert_u64(read_some(t, &through, 99, &s), 0);
    assert_int_equal(s.n, 0);
    followed(t, through);
    assert_u64(store_lag_of(t->s).items, 0);
    end(t);
}

/* Items are read one at a time across segments, with compaction in between: each is delivered
 * once. */
static void test_one_at_a_time(void **state)
{
    (void)state;
    under_test *t = begin(&without_sync, NULL);
    uint64_t through = follow(t, UINT64_MAX);
    put(t, 0, 20, true);
    for (uint64_t i = 1; i <= 20; i++) {
        seen s;
        assert_u64(read_some(t, &through, 1, &s), 0);
        assert_int_equal(s.n, 1);
        assert_u64(s.v[0], i);
        if (i == 17) followed(t, 12), compact(t);
    }
    end(t);
}

static void test_compaction_keeps_what_is_needed(void **state)
{
    (void)state;
    under_test *t = begin(&without_sync, NULL);
    seen s;
    uint64_t through = follow(t, UINT64_MAX);
    put(t, 0, 90, true);
    size_t all = count_segments(t);
    assert_true(all > 5);
    compact(t);
    assert_int_equal(count_segments(t), all);
    assert_true(store_lag_of(t->s).bytes > 60 * MIB);
    reopen(t); /* as any command that writes the store does */
    compact(t);
    through = follow(t, UINT64_MAX);
    assert_u64(read_some(t, &through, 256, &s), 0);
    assert_int_equal(s.n, 90);
    followed(t, through);
    put(t, 90, 1, false);
    compact(t);
    assert_u64(store_lag_of(t->s).bytes, 0);
    assert_true(count_segments(t) < all); /* a few are kept for reuse */
    end(t);
}

static void test_bound_is_counted(void **state)
{
    (void)state;
    under_test *t = begin(&without_sync, NULL);
    seen s;
    uint64_t through = follow(t, 33 * MIB);
    put(t, 0, 150, true);
    compact(t);
    assert_true(store_lag_of(t->s).bytes <= 33 * MIB);
    /* segments kept for reuse can be read until they are reused */
    uint64_t lost = read_some(t, &through, 256, &s);
    assert_true(lost > 30 && s.n > 30);
    assert_u64(lost + s.n, 150);
    assert_u64(through, 150);
    assert_u64(read_some(t, &through, 256, &s), 0); /* lost items are counted only once */
    end(t);
}

static void test_unfollow(void **state)
{
    (void)state;
    under_test *t = begin(&without_sync, NULL);
    assert_u64(follow(t, UINT64_MAX), 0);
    put(t, 0, 5, false);
    store_unfollow(t->s);
    assert_u64(store_lag_of(t->s).items, 0);
    compact(t);
    reopen(t);
    assert_int_equal(count_segments(t), 0); /* the journal was released with the compaction */
    assert_u64(follow(t, UINT64_MAX), 5);   /* starts after item 5 */
    end(t);
}

/* A torn position is detected: everything in the journal is delivered again. */
static void test_torn(void **state)
{
    (void)state;
    under_test *t = begin(&without_sync, NULL);
    char path[4200];
    follow(t, UINT64_MAX);
    put(t, 0, 5, false);
    followed(t, 3);
    snprintf(path, sizeof path, "%s/followed", t->p.dir);
    FILE *f = fopen(path, "r+");
    assert_non_null(f);
    assert_int_equal(fputs("00000000000000000005", f) >= 0, 1);
    fclose(f);
    reopen(t);
    seen s;
    uint64_t through = follow(t, UINT64_MAX);
    assert_u64(through, 0);
    assert_u64(read_some(t, &through, 99, &s), 0);
    assert_int_equal(s.n, 5);
    end(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_continues_after_a_restart),
        cmocka_unit_test(test_one_at_a_time),
        cmocka_unit_test(test_compaction_keeps_what_is_needed),
        cmocka_unit_test(test_bound_is_counted),
        cmocka_unit_test(test_unfollow),
        cmocka_unit_test(test_torn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
