/* Arenas: allocation, budget, reuse and release. */
#include "../../support/test.h"

#include "base/arena.h"

#include <string.h>

static void zero_value_works(void **state)
{
    (void)state;
    arena a = {0};
    char *p = arena_alloc(&a, 10), *q = arena_alloc(&a, 10);
    assert_non_null(p);
    assert_true(q >= p + 10);
    assert_int_equal((uintptr_t)p % ARENA_ALIGN, 0);
    assert_int_equal((uintptr_t)q % ARENA_ALIGN, 0);
    assert_u64(a.used, 32);
    assert_non_null(arena_alloc(&a, 0));
    arena_free(&a);
    assert_u64(a.used, 0);
}

static void budget_counts_what_is_handed_out(void **state)
{
    (void)state;
    arena a = {.budget = 64};
    assert_non_null(arena_alloc(&a, 48));
    assert_null(arena_alloc(&a, 17)); /* rounds to 32 */
    assert_u64(a.used, 48);
    assert_non_null(arena_alloc(&a, 16));
    assert_null(arena_alloc(&a, 1));
    assert_u64(a.peak, 64);
    arena_reset(&a);
    assert_non_null(arena_alloc(&a, 64));
    arena_free(&a);
    assert_u64(a.budget, 64); /* arena_free keeps the budget */
}

static void huge_sizes_are_refused(void **state)
{
    (void)state;
    static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 15, SIZE_MAX / 2 + 1, SIZE_MAX / 2 - 16};
    arena a = {.budget = 1 << 20};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        assert_null(arena_alloc(&a, sizes[i]));
        assert_null(arena_zero(&a, sizes[i]));
        char *p = arena_alloc(&a, 8);
        assert_null(arena_grow(&a, p, 8, sizes[i]));
    }
    assert_null(arena_array(&a, SIZE_MAX / 4, 8));
    assert_null(arena_array_zero(&a, (size_t)1 << 33, (size_t)1 << 33));
    assert_null(arena_new(&a, uint64_t, SIZE_MAX));
    assert_false(arena_reserve(&a, SIZE_MAX));
    assert_u64(a.used, ARRAY_LEN(sizes) * 16);
    arena_free(&a);
}

static void zeroed_memory_is_zero_after_reuse(void **state)
{
    (void)state;
    arena a = {0};
    for (int round = 0; round < 3; round++) {
        unsigned char *p = arena_zero(&a, 5000);
        for (size_t i = 0; i < 5000; i++) assert_int_equal(p[i], 0);
        memset(p, 0xee, 5000);
        arena_reset(&a);
    }
    arena_free(&a);
}

/* Growing keeps the bytes, whether in place, by realloc or by a copy. */
static void grow_keeps_bytes(void **state)
{
    (void)state;
    static const struct {
        size_t from, to;
        bool other_between; /* another piece is allocated in between */
    } cases[] = {
        {16, 32, false},        {16, 32, true},        {1, 15, false},
        {100, 5000, false},     {100, 5000, true},     {100, 200000, false},
        {70000, 140000, false}, {70000, 140000, true}, {200000, 3000000, false},
        {65536, 65537, false},  {0, 40, false},        {0, 40, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        arena a = {0};
        assert_non_null(arena_alloc(&a, 24));
        unsigned char *p = arena_alloc(&a, cases[i].from);
        for (size_t k = 0; k < cases[i].from; k++) p[k] = (unsigned char)(k * 7);
        if (cases[i].other_between) memset(arena_alloc(&a, 64), 0xff, 64);
        p = arena_grow(&a, p, cases[i].from, cases[i].to);
        assert_non_null(p);
        memset(p + cases[i].from, 0xaa, cases[i].to - cases[i].from);
        for (size_t k = 0; k < cases[i].from; k++) assert_int_equal(p[k], (unsigned char)(k * 7));
        arena_free(&a);
    }
}

static void grow_in_place_charges_the_difference(void **state)
{
    (void)state;
    arena a = {.budget = 1 << 20};
    char *small = arena_alloc(&a, 16), *p = arena_grow(&a, small, 16, 64);
    assert_ptr_equal(p, small);
    assert_u64(a.used, 64);
    assert_ptr_equal(arena_grow(&a, p, 64, 60), p); /* a smaller size: nothing to do */
    assert_u64(a.used, 64);
    char *large = arena_alloc(&a, 100000);
    large = arena_grow(&a, large, 100000, 200000); /* it has its own block, which realloc grows */
    assert_non_null(large);
    assert_u64(a.used, 64 + 200000);
    assert_null(arena_grow(&a, large, 200000, 2 << 20)); /* over the budget: unchanged */
    assert_u64(a.used, 64 + 200000);
    assert_ptr_equal(arena_grow(&a, NULL, 0, 16) != NULL, true);
    arena_free(&a);
}

static void trim_gives_the_tail_back(void **state)
{
    (void)state;
    arena a = {0};
    char *p = arena_alloc(&a, 1000);
    size_t full = a.used;
    arena_trim(&a, p, 1000, 100);
    assert_u64(a.used, full - 896);
    char *q = arena_alloc(&a, 16);
    assert_ptr_equal(q, p + 112); /* the next piece begins there */
    arena_trim(&a, p, 100, 0);    /* not the newest piece: nothing happens */
    assert_u64(a.used, 112 + 16);
    arena_trim(&a, q, 16, 16);
    assert_u64(a.used, 112 + 16);
    arena_free(&a);
}

static void same_shape_again_needs_no_malloc(void **state)
{
    (void)state;
    arena a = {0};
    size_t first = 0;
    for (int round = 0; round < 5; round++) {
        arena_reserve(&a, 300000);
        for (int i = 0; i < 1000; i++) assert_non_null(arena_alloc(&a, 200));
        char *grows = arena_alloc(&a, 70000);
        for (size_t n = 70000; n < 4000000; n *= 2) grows = arena_grow(&a, grows, n, n * 2);
        assert_non_null(arena_alloc(&a, 1 << 20));
        if (round == 0) first = a.n_mallocs;
        assert_u64(a.n_mallocs, first);
        arena_reset(&a);
    }
    arena_free(&a);
    assert_u64(a.n_mallocs, 0);
}

static void reserve_makes_one_block(void **state)
{
    (void)state;
    arena a = {0};
    assert_true(arena_reserve(&a, 100000));
    assert_u64(a.used, 0); /* a hint: nothing was allocated */
    size_t before = a.n_mallocs;
    for (int i = 0; i < 100; i++) assert_non_null(arena_alloc(&a, 992));
    assert_u64(a.n_mallocs, before);
    assert_true(arena_reserve(&a, 8)); /* there is already enough room */
    assert_u64(a.n_mallocs, before);
    arena_free(&a);
}

/* A scratch arena (arena_beside) counts in the budget of its parent while it lives. */
static void beside_shares_the_budget(void **state)
{
    (void)state;
    arena a = {.budget = 1024};
    assert_non_null(arena_alloc(&a, 512));
    arena one = arena_beside(&a), two = arena_beside(&one);
    assert_non_null(arena_alloc(&one, 256));
    assert_non_null(arena_alloc(&two, 128));
    assert_null(arena_alloc(&two, 256));
    assert_null(arena_alloc(&a, 256));
    assert_non_null(arena_alloc(&a, 128));
    arena_free(&two);
    arena_reset(&one);
    assert_non_null(arena_alloc(&a, 256));
    assert_null(arena_alloc(&one, 256));
    arena_free(&one);
    arena_free(&a);
    assert_non_null(arena_alloc(&a, 1024)); /* the scratch arena is freed and no longer counts */
    arena_free(&a);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(zero_value_works),
        cmocka_unit_test(budget_counts_what_is_handed_out),
        cmocka_unit_test(huge_sizes_are_refused),
        cmocka_unit_test(zeroed_memory_is_zero_after_reuse),
        cmocka_unit_test(grow_keeps_bytes),
        cmocka_unit_test(grow_in_place_charges_the_difference),
        cmocka_unit_test(trim_gives_the_tail_back),
        cmocka_unit_test(same_shape_again_needs_no_malloc),
        cmocka_unit_test(reserve_makes_one_block),
        cmocka_unit_test(beside_shares_the_budget),
    };
    return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
