/* Growing arrays, and the hash index compared with a naive search. */
#include "../../support/test.h"

#include "base/hash.h"
#include "base/hash_long.h"
#include "base/vec.h"

#include <string.h>

static void push_gives_zeroed_slots(void **state)
{
    (void)state;
    arena a = {0};
    struct pair {
        uint32_t x;
        uint64_t y;
    };
    VEC(struct pair) v = {0};
    memset(arena_alloc(&a, 4000), 0xff, 4000);
    arena_reset(&a); /* later allocations reuse dirty memory */
    for (uint32_t i = 0; i < 10000; i++) {
        struct pair *p = vec_push(&a, &v);
        assert_non_null(p);
        assert_u64(p->x, 0);
        assert_u64(p->y, 0);
        p->x = i;
    }
    for (uint32_t i = 0; i < 10000; i++) assert_u64(v.v[i].x, i);
    assert_u64(v.n, 10000);
    arena_free(&a);
}

static void reserve_is_exact_when_doubling_does_not_fit(void **state)
{
    (void)state;
    arena a = {.budget = 4096};
    u32s v = {0};
    assert_true(vec_reserve(&a, &v, 900));
    v.n = v.cap;
    assert_true(vec_reserve(&a, &v, 100)); /* 1000 of 1024 fit, 1800 do not */
    assert_true(v.cap >= 1000 && v.cap <= 1024);
    v.n = v.cap;
    size_t cap = v.cap;
    uint32_t *was = v.v;
    assert_false(vec_reserve(&a, &v, 1000));
    assert_u64(v.cap, cap);
    assert_ptr_equal(v.v, was);
    arena_free(&a);
}

static void absurd_counts_are_refused(void **state)
{
    (void)state;
    arena a = {0};
    u64s v = {0};
    assert_false(vec_reserve(&a, &v, SIZE_MAX));
    assert_false(vec_reserve(&a, &v, SIZE_MAX / 8 + 1));
    assert_non_null(vec_push(&a, &v));
    assert_false(vec_reserve(&a, &v, SIZE_MAX));
    assert_u64(v.n, 1);
    arena_free(&a);
}

/* Interns numbers; only `bits` bits of the hash are used, so that collisions and equal hashes
 * occur. */
static uint32_t intern(hash_index *x, arena *a, u64s *keys, uint64_t key, uint64_t mask)
{
    assert_true(hash_index_room(x, a));
    uint64_t h = hash_mix(0, key) & mask;
    uint32_t i = hash_first(x, h);
    for (uint32_t at; hash_next(x, &i, h, &at); i++)
        if (keys->v[at] == key) return at;
    *vec_push(a, keys) = key;
    hash_put(x, i, h, (uint32_t)(keys->n - 1));
    return (uint32_t)(keys->n - 1);
}

static void index_agrees_with_a_search(void **state)
{
    (void)state;
    static const uint64_t masks[] = {UINT64_MAX, 0xffff00000000u, 0x300000000u, 0};
    for (size_t m = 0; m < ARRAY_LEN(masks); m++) {
        arena a = {0};
        hash_index x = {0};
        u64s keys = {0};
        size_t rounds = m < 2 ? 20000 : 600;
        uint64_t r = 1;
        for (size_t i = 0; i < rounds; i++) {
            r = hash_mix(r, i);
            uint64_t key = r % (rounds / 2);
            uint32_t got = intern(&x, &a, &keys, key, masks[m]);
            assert_u64(keys.v[got], key);
        }
        assert_u64(x.n, keys.n);
        assert_true((uint64_t)x.n * 4 <= ((uint64_t)x.mask + 1) * 3); /* load under 3/4 */
        for (size_t i = 0; i < keys.n; i++)
            assert_u64(intern(&x, &a, &keys, keys.v[i], masks[m]), i);
        arena_free(&a);
    }
}

static void index_at_the_budget(void **state)
{
    (void)state;
    arena a = {.budget = 1024};
    hash_index x = {0};
    uint32_t n = 0;
    while (hash_index_room(&x, &a)) {
        uint64_t h = hash_mix(0, n);
        uint32_t i = hash_first(&x, h), at;
        while (hash_next(&x, &i, h, &at)) i++;
        hash_put(&x, i, h, n++);
    }
    assert_true(n >= 12 && n <= 96); /* the index filled its memory, and lookups still work */
    uint64_t h = hash_mix(0, 3);
    uint32_t i = hash_first(&x, h), at = 0;
    assert_true(hash_next(&x, &i, h, &at));
    assert_u64(at, 3);
    arena_free(&a);
}

/* An index hashes with the seed of its arena; so does an index in a scratch arena. */
static void index_has_the_seed_of_its_arena(void **state)
{
    (void)state;
    arena a = {.budget = 1 << 20, .seed = 42}, other = {.seed = 7};
    hash_index x = {0};
    for (uint32_t n = 0; n < 100; n++) {
        assert_true(hash_index_room(&x, n < 50 ? &a : &other));
        assert_u64(x.seed, 42);
        uint64_t h = hash_mix(x.seed, n);
        uint32_t i = hash_first(&x, h), at;
        while (hash_next(&x, &i, h, &at)) i++;
        hash_put(&x, i, h, n);
    }
    arena b = arena_beside(&a);
    assert_u64(b.seed, 42);
    assert_u64(b.budget, 1 << 20);
    assert_u64(b.used, 0);
    arena_free(&a), arena_free(&other);
    assert_u64(a.seed, 42); /* arena_reset keeps the seed */
}

static void hash_long_is_the_same_number(void **state)
{
    (void)state;
    char bytes[5000];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (char)hash_mix(i, 7);
    assert_u64(hash_long(NULL, 0), XXH3_64bits("", 0));
    for (size_t n = 0; n < sizeof bytes; n += 1 + n / 7)
        assert_u64(hash_long(bytes + n % 5, n - n % 5), XXH3_64bits(bytes + n % 5, n - n % 5));
}

static void hash_takes_null_for_nothing(void **state)
{
    (void)state;
    assert_u64(hash_bytes(NULL, 0, 7), hash_bytes("x", 0, 7));
    assert_true(hash_bytes("a", 1, 0) != hash_bytes("a", 1, 1));
}

static void str_compares(void **state)
{
    (void)state;
    assert_true(str_eq((str){NULL, 0}, STR("")));
    assert_true(str_eq(str_of(NULL), STR("")));
    assert_false(str_eq(STR("a"), STR("ab")));
    assert_true(str_cmp(STR("a"), STR("ab")) < 0);
    assert_true(str_cmp(STR("b"), STR("ab")) > 0);
    assert_true(str_cmp((str){NULL, 0}, STR("")) == 0);
    assert_true(str_cmp(STR("\xff"), STR("a")) > 0); /* bytes, not chars */
    assert_true(str_starts(STR("abc"), STR("ab")) && !str_starts(STR("a"), STR("ab")));
    assert_true(str_ends(STR("abc"), STR("bc")) && !str_ends(STR("c"), STR("bc")));
    assert_true(str_starts(STR("x"), (str){NULL, 0}) && str_ends(STR("x"), (str){NULL, 0}));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(push_gives_zeroed_slots),
        cmocka_unit_test(reserve_is_exact_when_doubling_does_not_fit),
        cmocka_unit_test(absurd_counts_are_refused),
        cmocka_unit_test(index_agrees_with_a_search),
        cmocka_unit_test(index_at_the_budget),
        cmocka_unit_test(index_has_the_seed_of_its_arena),
        cmocka_unit_test(hash_takes_null_for_nothing),
        cmocka_unit_test(hash_long_is_the_same_number),
        cmocka_unit_test(str_compares),
    };
    return cmocka_run_group_tests_name("vec and hash", tests, NULL, NULL);
}
