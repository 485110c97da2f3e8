#include "support/test.h"

#include "objfile/index_build.h"

static str make(arena *a, symbol *v, size_t n)
{
    err e = {0};
    str block;
    symbol_list l = {{v, n, n}};
    assert_ok(symbols_sort(&l, a, &e), &e);
    assert_ok(index_build_symbols(&l, INDEX_HAS_SYMBOLS, a, &block, &e), &e);
    return block;
}

static str name_at(const index_view *x, uint64_t address)
{
    index_frame f[2];
    size_t n = index_find(x, address, f, 2);
    assert_true(n <= 1);
    return n ? index_text_at(x, f[0].linkage_name) : STR("");
}

static void test_lookup(void **state)
{
    (void)state;
    static const struct {
        uint64_t address;
        const char *want;
    } cases[] = {
        {0, ""},         {0xfff, ""},    {0x1000, "a"},    {0x100f, "a"},
        {0x1010, ""},    {0x1020, "b"},  {0x1fffff, "b"},  {0x200000, "c"},
        {0x200007, "c"}, {0x200008, ""}, {UINT64_MAX, ""},
    };
    arena a = {0};
    err e = {0};
    symbol v[] = {
        {0x200000, 8, STR("c"), {0}}, {0x1000, 16, STR("a"), {0}}, {0x1020, 0, STR("b"), {0}}};
    index_view x;
    assert_ok(index_open(make(&a, v, 3), &x, &e), &e);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_true(str_eq(name_at(&x, cases[i].address), str_of(cases[i].want)));
    arena_free(&a);
}

/* The buckets only shorten the search: the result equals that of a walk over all rows. */
static void test_buckets(void **state)
{
    (void)state;
    arena a = {0};
    err e = {0};
    uint64_t seed = 1;
    for (unsigned round = 0; round < 50; round++) {
        enum { N = 300 };
        symbol v[N];
        for (size_t i = 0; i < N; i++) {
            seed = hash_mix(seed, i);
            v[i] = (symbol){seed >> (round + 8), (seed & 7), STR("x"), {0}};
        }
        index_view x;
        assert_ok(index_open(make(&a, v, N), &x, &e), &e);
        for (size_t i = 0; i < 4 * N; i++) {
            seed = hash_mix(seed, i);
            uint64_t at = i & 1 ? seed >> (round + 8) : x.rows[seed % x.h.n_rows].address + (i & 2);
            size_t k = 0;
            index_frame f;
            while (k < x.h.n_rows && x.rows[k].address <= at) k++;
            bool want = k && x.rows[k - 1].symbol;
            assert_u64(index_find(&x, at, &f, 1), want);
        }
        arena_reset(&a);
    }
    arena_free(&a);
}

static void test_empty(void **state)
{
    (void)state;
    arena a = {0};
    err e = {0};
    index_view x;
    index_frame f;
    assert_ok(index_open(make(&a, NULL, 0), &x, &e), &e);
    assert_u64(index_find(&x, 0, &f, 1), 0);
    assert_u64(index_find(&x, UINT64_MAX, &f, 1), 0);
    arena_free(&a);
}

/* Every changed byte is detected; with a corrected checksum the lookup still does not crash. */
static void test_damaged(void **state)
{
    (void)state;
    arena a = {0};
    err e = {0};
    symbol v[] = {{0x10, 16, STR("first"), {0}}, {0x20, 0, STR("second"), {0}}};
    str good = make(&a, v, 2);
    char *p = arena_alloc(&a, good.n);
    for (size_t i = 0; i < good.n; i++) {
        index_view x;
        memcpy(p, good.p, good.n);
        p[i] = (char)(p[i] ^ 0x41);
        assert_false(index_open((str){p, good.n}, &x, NULL));
        uint64_t sum = index_checksum((str){p, good.n});
        memcpy(p + offsetof(index_header, checksum), &sum, sizeof sum);
        if (!index_open((str){p, good.n}, &x, NULL)) continue;
        index_frame f[4];
        for (uint64_t at = 0; at < 0x40; at++)
            for (size_t n = index_find(&x, at, f, 4); n--;)
                assert_true(index_text_at(&x, f[n].linkage_name).n < good.n);
    }
    for (size_t n = 0; n < good.n; n += 8) {
        index_view x;
        assert_false(index_open((str){good.p, n}, &x, &e));
    }
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lookup),
        cmocka_unit_test(test_buckets),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
