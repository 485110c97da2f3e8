/* Tests the list of saved selections: rules, changes, and files that are damaged at each byte. */
#include "store/saved.h"

#include "../../support/test.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct place {
    char dir[64], path[96];
} place;

static place make_place(void)
{
    place p = {.dir = "/tmp/kiln-saved-XXXXXX"};
    assert_non_null(mkdtemp(p.dir));
    snprintf(p.path, sizeof p.path, "%s/saved", p.dir);
    return p;
}

static void remove_place(const place *p)
{
    char aside[128];
    snprintf(aside, sizeof aside, "%s.corrupt", p->path);
    (void)unlink(aside);
    (void)unlink(p->path);
    assert_int_equal(rmdir(p->dir), 0); /* nothing else is left */
}

static saved *open_list(const place *p, bool damaged)
{
    err e = {0};
    bool was;
    saved *s = saved_open(p->dir, "saved", &was, &e);
    assert_ok(s != NULL, &e);
    assert_int_equal(was, damaged);
    return s;
}

static size_t count(saved *s)
{
    arena a = {0};
    saved_entries v;
    err e = {0};
    assert_ok(saved_list(s, &a, &v, &e), &e);
    arena_free(&a);
    return v.n;
}

static void test_changes(void **state)
{
    (void)state;
    place p = make_place();
    saved *s = open_list(&p, false);
    err e = {0};
    assert_ok(saved_put(s, STR("b"), STR("?1"), false, 1, &e), &e);
    assert_ok(saved_put(s, STR("a"), STR("#2"), false, 2, &e), &e);
    assert_false(saved_put(s, STR("a"), STR("?3"), false, 3, &e));
    assert_int_equal(e.code, ERR_MISMATCH);
    e = (err){0};
    assert_ok(saved_put(s, STR("a"), STR("?3"), true, 3, &e), &e);
    assert_false(saved_rename(s, STR("a"), STR("b"), 4, &e));
    assert_int_equal(e.code, ERR_MISMATCH);
    e = (err){0};
    assert_ok(saved_rename(s, STR("a"), STR("c"), 4, &e), &e);
    assert_false(saved_remove(s, STR("a"), &e));
    assert_int_equal(e.code, ERR_UNSUPPORTED);
    saved_close(s);
    s = open_list(&p, false);
    arena a = {0};
    saved_entries v;
    e = (err){0};
    assert_ok(saved_list(s, &a, &v, &e), &e);
    assert_int_equal(v.n, 2);
    assert_true(str_eq(v.v[0].name, STR("b")) && str_eq(v.v[0].link, STR("?1")));
    assert_true(str_eq(v.v[1].name, STR("c")) && str_eq(v.v[1].link, STR("?3")));
    assert_int_equal(v.v[1].changed, 4);
    arena_free(&a);
    saved_close(s);
    remove_place(&p);
}

static void test_damage(void **state)
{
    (void)state;
    place p = make_place();
    saved *s = open_list(&p, false);
    err e = {0};
    assert_ok(saved_put(s, STR("name"), STR("?link"), false, 1, &e), &e);
    saved_close(s);
    char text[256];
    FILE *f = fopen(p.path, "r");
    assert_non_null(f);
    size_t n = fread(text, 1, sizeof text, f);
    (void)fclose(f);
    for (size_t i = 0; i < 2 * n; i++) { /* a flipped bit, then a truncated file */
        f = fopen(p.path, "w");
        assert_non_null(f);
        if (i < n) text[i] ^= 1;
        (void)fwrite(text, 1, i < n ? n : i - n, f);
        (void)fclose(f);
        if (i < n) text[i] ^= 1;
        s = open_list(&p, true);
        assert_int_equal(count(s), 0);
        saved_close(s);
    }
    remove_place(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_changes),
                                       cmocka_unit_test(test_damage)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
