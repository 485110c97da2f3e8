/* The list of uploaded files: its order, its bounds, equal files. */
#include "server/pyroscope_adhoc.h"

#include <stdio.h>
#include <stdlib.h>

#include "../../support/test.h"

static adhoc_files listed(adhoc *h, arena *a)
{
    err e = {0};
    adhoc_files l = {0};
    assert_ok(adhoc_list(h, a, &l, &e), &e);
    return l;
}

/* Puts a file whose bytes are its name and n zeros. */
static adhoc_file put(adhoc *h, const char *name, size_t n)
{
    err e = {0};
    char *p = calloc(1, strlen(name) + n);
    assert_non_null(p);
    memcpy(p, name, strlen(name));
    adhoc_file f = {.name = str_of(name), .bytes = {p, strlen(name) + n}, .uploaded = 7};
    assert_ok(adhoc_put(h, &f, &e), &e);
    free(p);
    return f;
}

static void test_files(void **state)
{
    (void)state;
    err e = {0};
    arena a = {0};
    adhoc_file got;
    adhoc *h = adhoc_open(&e);
    adhoc_file first = put(h, "first", 3), second = put(h, "second", 3);
    assert_ok(adhoc_get(h, str_of(first.id), &a, &got, &e), &e);
    assert_true(str_eq(got.name, STR("first")) && str_eq(got.bytes, STR("first\0\0\0")));
    adhoc_file again = put(h, "first", 3); /* it moves to the front, under the same id */
    assert_string_equal(again.id, first.id);
    adhoc_files l = listed(h, &a);
    assert_int_equal(l.n, 2);
    assert_string_equal(l.v[0].id, first.id);
    assert_string_equal(l.v[1].id, second.id);
    assert_true(str_eq(l.v[1].name, STR("second")) && l.v[1].uploaded == 7 && !l.v[1].bytes.n);
    assert_false(adhoc_get(h, STR("absent"), &a, &got, &e));
    assert_int_equal(e.code, ERR_UNSUPPORTED);
    adhoc_close(h);
    arena_free(&a);
}

static void test_newest_files(void **state)
{
    (void)state;
    err e = {0};
    arena a = {0};
    char name[16];
    adhoc *h = adhoc_open(&e);
    for (int i = 0; i < ADHOC_MAX + 3; i++) {
        snprintf(name, sizeof name, "%d", i);
        put(h, name, 1);
    }
    adhoc_files l = listed(h, &a);
    assert_int_equal(l.n, ADHOC_MAX);
    for (size_t i = 0; i < l.n; i++) {
        snprintf(name, sizeof name, "%d", ADHOC_MAX + 2 - (int)i);
        assert_true(str_eq(l.v[i].name, str_of(name)));
    }
    adhoc_close(h);
    arena_free(&a);
}

static void test_bytes(void **state)
{
    (void)state;
    enum { LARGE = 15 << 20 };
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    err e = {0};
    arena a = {0};
    adhoc *h = adhoc_open(&e);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) put(h, names[i], LARGE);
    adhoc_files l = listed(h, &a); /* the oldest is gone: five do not fit in ADHOC_BYTES */
    assert_int_equal(l.n, 4);
    assert_true(str_eq(l.v[0].name, STR("e")) && str_eq(l.v[3].name, STR("b")));
    put(h, "small", 1); /* fits beside them */
    l = (adhoc_files){0};
    l = listed(h, &a);
    assert_int_equal(l.n, 5);
    char *p = calloc(1, ADHOC_FILE + 1);
    adhoc_file f = {.name = STR("too large"), .bytes = {p, ADHOC_FILE + 1}};
    assert_false(adhoc_put(h, &f, &e));
    assert_int_equal(e.code, ERR_LIMIT);
    assert_string_equal(e.msg, "the file is larger than 16 MiB");
    free(p);
    assert_int_equal(listed(h, &a).n, 5);
    adhoc_close(h);
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_newest_files),
        cmocka_unit_test(test_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
