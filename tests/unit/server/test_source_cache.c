/* The cache of source files: what it finds, forgets and drops. */
#include "server/source_cache.h"

#include "../../support/test.h"

static void put(source_cache *c, const char *key, unsigned status, size_t n, uint64_t until)
{
    buf text = {0};
    assert_true(buf_reserve(&text, n));
    text.n = n;
    source_cache_put(c, str_of(key), status, &text, until);
    assert_null(text.p);
}

static size_t size_of(source_cache *c, const char *key, uint64_t now)
{
    const source_entry *x = source_cache_find(c, str_of(key), now);
    return x ? x->text.n : 0;
}

static void test_entries(void **state)
{
    (void)state;
    source_cache c = {0};
    assert_null(source_cache_find(&c, STR("a"), 0));
    put(&c, "a", 200, 3, UINT64_MAX);
    put(&c, "b", 404, 5, 100);
    assert_int_equal(size_of(&c, "a", 1000), 3);
    assert_int_equal(size_of(&c, "b", 99), 5);
    assert_int_equal(source_cache_find(&c, STR("b"), 99)->status, 404);
    assert_null(source_cache_find(&c, STR("b"), 100));
    assert_int_equal(c.n, 1);
    put(&c, "a", 200, 7, UINT64_MAX);
    assert_int_equal(size_of(&c, "a", 0), 7);
    assert_int_equal(c.n, 1);
    source_cache_clear(&c);
    assert_true(!c.first && !c.n && !c.bytes);
}

static void test_bounds(void **state)
{
    (void)state;
    source_cache c = {0};
    char key[16];
    for (unsigned i = 0; i < 2 * SOURCE_CACHE_ENTRIES; i++) {
        snprintf(key, sizeof key, "%u", i);
        put(&c, key, 404, 1, UINT64_MAX);
        assert_int_equal(size_of(&c, "0", 0), 1); /* used all the time */
        assert_true(c.n <= SOURCE_CACHE_ENTRIES);
    }
    assert_null(source_cache_find(&c, STR("1"), 0));
    put(&c, "big", 200, SOURCE_CACHE_BYTES / 2 + 1, UINT64_MAX);
    put(&c, "bigger", 200, SOURCE_CACHE_BYTES / 2 + 1, UINT64_MAX);
    assert_null(source_cache_find(&c, STR("big"), 0));
    assert_true(c.bytes <= SOURCE_CACHE_BYTES);
    put(&c, "huge", 200, SOURCE_CACHE_BYTES + 1, UINT64_MAX);
    assert_true(!c.n && !c.bytes);
    source_cache_clear(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entries),
        cmocka_unit_test(test_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
