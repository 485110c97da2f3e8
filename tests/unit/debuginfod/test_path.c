/* Paths of requests to debuginfod, from valid and hostile names. */
#include "debuginfod/path.h"

#include "../../support/test.h"

static void test_paths(void **state)
{
    (void)state;
    static const struct {
        const char *id, *path, *want, *why;
    } cases[] = {
        {"C0FFEE", "/usr/src/a.c", "/buildid/c0ffee/source/usr/src/a.c", NULL},
        {"00", "/a b/c++/x%41.c", "/buildid/00/source/a%20b/c%2B%2B/x%2541.c", NULL},
        {"00", "/\xc3\xa4?#;&", "/buildid/00/source/%C3%A4%3F%23%3B%26", NULL},
        {"00", "//a/./b//c/.", "/buildid/00/source/a/b/c", NULL},
        {"00", "/a/../b/x/../../c", "/buildid/00/source/c", NULL},
        {"00", "/../../a", "/buildid/00/source/a", NULL},
        {"00", "/a/.../..b", "/buildid/00/source/a/.../..b", NULL},
        {"", "/a", NULL, "a build id has 2 to 128 hex digits, in pairs"},
        {"abc", "/a", NULL, "a build id has 2 to 128 hex digits, in pairs"},
        {"0g", "/a", NULL, "a build id consists of hex digits"},
        {"..", "/a", NULL, "a build id consists of hex digits"},
        {"00", "", NULL, "the path of a source file must be absolute"},
        {"00", "a", NULL, "the path of a source file must be absolute"},
        {"00", "/", NULL, "the path names no file"},
        {"00", "/a/..", NULL, "the path names no file"},
        {"00", "/a\r\nb", NULL, "the path contains a control character"},
        {"00", "/\x7f", NULL, "the path contains a control character"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        buf b = {0};
        err e = {0};
        bool ok = debuginfod_source_path(str_of(cases[i].id), str_of(cases[i].path), &b, &e);
        assert_int_equal(ok, cases[i].want != NULL);
        if (ok)
            assert_true(str_eq(buf_view(&b), str_of(cases[i].want)));
        else
            assert_string_equal(e.msg, cases[i].why);
        buf_free(&b);
    }
}

static void test_bounds(void **state)
{
    (void)state;
    char id[DEBUGINFOD_MAX_ID + 2], path[DEBUGINFOD_MAX_PATH + 1];
    memset(id, 'a', sizeof id), memset(path, '/', sizeof path);
    path[1] = 'x';
    for (size_t more = 0; more < 2; more++) {
        buf b = {0};
        err e = {0};
        assert_int_equal(
            debuginfod_source_path((str){id, DEBUGINFOD_MAX_ID + 2 * more}, STR("/a"), &b, &e),
            !more);
        buf_free(&b);
        e = (err){0};
        assert_int_equal(
            debuginfod_source_path(STR("00"), (str){path, DEBUGINFOD_MAX_PATH + more}, &b, &e),
            !more);
        buf_free(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
