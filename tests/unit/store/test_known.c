/* Tests known.h: entries are found by content, independent of the item's numbers, and evicted
 * entries are found again. */
#include "../../support/digest.h"
#include "../../support/random_model.h"
#include "../../support/test.h"

#include "store/known.h"

typedef struct file {
    arena a, item;
    builder b;
    known k;
} file;

static file *file_new(void)
{
    file *f = calloc(1, sizeof *f);
    assert_true(builder_init(&f->b, &f->a));
    f->k.seed = 12345;
    return f;
}

static void file_free(file *f)
{
    known_free(&f->k);
    arena_free(&f->a);
    arena_free(&f->item);
    free(f);
}

static void begin(file *f, const model *m)
{
    arena_reset(&f->item);
    assert_true(known_begin(&f->k, &f->b, m, known_hash(f->k.seed, m, &f->item), &f->item));
}

/* Adds random models twice: stacks are unchanged, and the second time nothing is new. */
static void stacks_keep_their_content(void **state)
{
    (void)state;
    rng r = {rnd_seed(20261117)};
    file *f = file_new();
    arena a = {0};
    for (size_t i = 0; i < 60; i++) {
        model m = random_model(&r, &a, &(random_opts){.zero_first = i & 1, .max_samples = 5});
        size_t after_first = 0;
        for (int round = 0; round < 2; round++) {
            begin(f, &m);
            for (uint32_t s = 0; s < dict_n_stacks(&m.dict); s++) {
                uint32_t at = known_stack(&f->k, s);
                assert_false(f->b.failed);
                assert_u64(digest_stack(&f->b.m.dict, at), digest_stack(&m.dict, s));
            }
            if (round) assert_u64(f->b.m.dict.stacks.n, after_first);
            after_first = f->b.m.dict.stacks.n;
        }
        arena_reset(&a);
    }
    arena_free(&a);
    file_free(f);
}

/* Builds n stacks of two locations each, in order or backwards. */
static model stacks_of(arena *a, uint32_t n, bool backwards)
{
    builder b;
    model m;
    err e = {0};
    assert_true(builder_init(&b, a));
    for (uint32_t i = 0; i < n; i++) {
        uint32_t x = backwards ? n - 1 - i : i, l[2];
        for (uint32_t k = 0; k < 2; k++)
            l[k] = builder_location(&b, 0, k ? x / 512 + 1000 : x % 512 + 1, NULL, 0, NULL, 0);
        (void)builder_stack(&b, l, 2);
    }
    assert_ok(builder_finish(&b, &m, &e), &e);
    return m;
}

/* When more entries come than fit the table, it is cleared, and the numbers stay the same. */
static void forgets_and_finds_again(void **state)
{
    (void)state;
    enum { N = 230000 };
    file *f = file_new();
    arena a = {0};
    model m[2] = {stacks_of(&a, N, false), stacks_of(&a, N, true)};
    for (size_t i = 0; i < 2; i++) {
        begin(f, &m[i]);
        for (uint32_t s = 1; s <= N; s++)
            assert_int_equal(known_stack(&f->k, s), i ? N + 1 - s : s);
    }
    assert_int_equal(dict_n_stacks(&f->b.m.dict), N + 1);
    assert_true((f->k.stacks.mask + 1) * sizeof *f->k.stacks.v <= 4 << 20);
    arena_free(&a);
    file_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stacks_keep_their_content),
        cmocka_unit_test(forgets_and_finds_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
