#include "support/test.h"

#include "symbol/cache.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[256];

static int begin(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/kiln-cache-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    char cmd[300];
    snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
    return system(cmd);
}

static bool holds(symbol_cache *c, const char *key, str want)
{
    file_bytes f;
    if (!cache_get(c, key, &f)) return false;
    bool same = str_eq(f.bytes, want);
    file_release(&f);
    return same;
}

static void test_put_get(void **state)
{
    (void)state;
    symbol_cache c;
    char deep[300];
    snprintf(deep, sizeof deep, "%s/a/b", dir); /* created when needed */
    cache_open(&c, deep, 0);
    assert_false(holds(&c, "k", STR("x")));
    cache_put(&c, "k", STR("hello"));
    assert_true(holds(&c, "k", STR("hello")));
    cache_put(&c, "k", STR("other"));
    assert_true(holds(&c, "k", STR("other")));
    assert_u64(c.written, 2);
    cache_close(&c);
    cache_open(&c, "", 0); /* no cache */
    cache_put(&c, "k", STR("hello"));
    assert_false(holds(&c, "k", STR("hello")));
    cache_close(&c);
    cache_open(&c, "/proc/no such place", 0); /* not writable: still no error */
    cache_put(&c, "k", STR("hello"));
    assert_u64(c.failed, 1);
    cache_close(&c);
}

static void age(const char *key, time_t s)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s.ksym", dir, key);
    struct timespec t[2] = {{s, 0}, {s, 0}};
    assert_int_equal(utimensat(AT_FDCWD, path, t, 0), 0);
}

/* The most recently used entries stay. */
static void test_evict(void **state)
{
    (void)state;
    symbol_cache c;
    cache_open(&c, dir, 30);
    cache_put(&c, "a", STR("0123456789"));
    cache_put(&c, "b", STR("0123456789"));
    cache_put(&c, "c", STR("0123456789"));
    assert_u64(c.evicted, 0);
    age("a", 1000), age("b", 2000), age("c", 3000);
    assert_true(
        holds(&c, "a", STR("0123456789"))); /* reading makes it the most recently used entry */
    cache_put(&c, "d", STR("0123456789"));
    assert_u64(c.evicted, 1);
    assert_false(holds(&c, "b", STR("0123456789")));
    assert_true(holds(&c, "a", STR("0123456789")));
    assert_true(holds(&c, "d", STR("0123456789")));
    cache_put(&c, "huge", STR("0123456789012345678901234567890123456789")); /* would evict all */
    assert_false(holds(&c, "huge", STR("")));
    assert_true(holds(&c, "d", STR("0123456789")));
    cache_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_put_get, begin, end),
        cmocka_unit_test_setup_teardown(test_evict, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
