/* Pieces of a model: together they equal the model, in order, and each respects the size limit. */
#include "../../support/random_model.h"
#include "../../support/store_models.h"

#include "model/pieces.h"

typedef struct pieces {
    const model *whole;
    digests got; /* digests of all profiles, in order */
    size_t n, max_bytes;
    bool same; /* the model itself was passed */
} pieces;

static size_t bytes_of(const model *m)
{
    size_t n = m->sample_attrs.n * 4 + m->values.n * 8 + m->times.n * 8 + m->dict.frames.n * 4;
    for (size_t i = 0; i < m->profiles.n; i++) {
        const profile *p = &m->profiles.v[i];
        n += p->n_samples * (p->link ? 8 : 4) + p->original_payload.n;
    }
    return n;
}

static bool take(void *ctx, const model *m, err *e)
{
    (void)e;
    pieces *x = ctx;
    x->n++;
    x->same |= m == x->whole;
    assert_true(m->checked && m->profiles.n);
    if (m->profiles.n > 1 && m != x->whole) assert_true(bytes_of(m) <= x->max_bytes);
    for (size_t i = 0; i < m->profiles.n; i++) assert_true(m->profiles.v[i].scope < m->scopes.n);
    digests_of(&x->got, m);
    return true;
}

static pieces cut_into(const model *m, size_t max_bytes)
{
    pieces x = {.whole = m, .max_bytes = max_bytes};
    arena a = {0};
    err e = {0};
    assert_ok(model_pieces(m, max_bytes, &a, take, &x, &e), &e);
    return x;
}

static void are_the_model(void **state)
{
    (void)state;
    size_t several = 0;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        rng r = {rnd_seed(seed)};
        arena a = {0};
        model m = random_model(&r, &a, &(random_opts){.zero_first = true, .max_samples = 40});
        m.checked = true;
        digests want = {0};
        digests_of(&want, &m);
        size_t limits[] = {1, 200, 1000, 5000, SIZE_MAX};
        for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
            pieces x = cut_into(&m, limits[i]);
            assert_int_equal(x.got.n, want.n);
            assert_true(!want.n || !memcmp(x.got.v, want.v, want.n * sizeof *want.v));
            if (limits[i] == SIZE_MAX) assert_true(x.n == (want.n > 0) && x.same == (want.n > 0));
            several += x.n > 1 && x.n < want.n;
            digests_free(&x.got);
        }
        digests_free(&want);
        arena_free(&a);
    }
    assert_true(several > 20); /* otherwise the limits above do not suit the model */
}

static bool refuse(void *ctx, const model *m, err *e)
{
    (void)m;
    ++*(size_t *)ctx;
    return err_set(e, ERR_LIMIT, "no more");
}

static void stop_at_an_error(void **state)
{
    (void)state;
    size_t n = 0;
    for (uint64_t seed = 1; !n; seed++) {
        rng r = {seed};
        arena a = {0};
        err e = {0};
        model m = random_model(&r, &a, &(random_opts){.zero_first = true, .max_samples = 40});
        m.checked = true;
        if (m.profiles.n > 1) {
            assert_false(model_pieces(&m, 1, &a, refuse, &n, &e));
            assert_string_equal(e.msg, "no more");
            assert_int_equal(n, 1);
        }
        arena_free(&a);
    }
}

static void respect_the_budget(void **state)
{
    (void)state;
    rng r = {7};
    arena a = {0}, small = {.budget = 1};
    err e = {0};
    size_t n = 0;
    model m = random_model(&r, &a, &(random_opts){.zero_first = true, .max_samples = 40});
    m.checked = true;
    assert_false(model_pieces(&m, 1, &small, refuse, &n, &e));
    assert_int_equal(e.code, ERR_MEMORY);
    assert_int_equal(n, 0);
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(are_the_model),
        cmocka_unit_test(stop_at_an_error),
        cmocka_unit_test(respect_the_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
