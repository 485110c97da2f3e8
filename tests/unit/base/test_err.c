/* Errors: the first cause is kept, the path grows outward, the text contains both. */
#include "../../support/test.h"

#include "base/err.h"

#include <errno.h>
#include <string.h>

static void first_cause_wins(void **state)
{
    (void)state;
    err e = {0};
    assert_false(err_at(&e, ERR_MALFORMED, 11, "varint %d", 7));
    assert_false(err_at(&e, ERR_LIMIT, 99, "later"));
    assert_false(err_set(&e, ERR_USAGE, "later"));
    assert_false(err_sys(&e, ENOENT, "later"));
    assert_int_equal(e.code, ERR_MALFORMED);
    assert_int_equal(e.sys, 0);
    assert_u64(e.offset, 11);
    assert_string_equal(e.msg, "varint 7");
}

static void nobody_asked(void **state)
{
    (void)state;
    assert_false(err_at(NULL, ERR_MALFORMED, 1, "x"));
    assert_false(err_set(NULL, ERR_MALFORMED, "x"));
    assert_false(err_sys(NULL, EIO, "x"));
    assert_false(err_in(NULL, "x"));
}

static void path_grows_outward(void **state)
{
    (void)state;
    err e = {0};
    err_at(&e, ERR_MALFORMED, 11, "varint runs past the end of the message");
    err_in(&e, "lines[%d]", 1);
    err_in(&e, "location_table[%d]", 12);
    assert_string_equal(e.path, "location_table[12].lines[1]");
    err_in(&e, "dictionary");
    assert_string_equal(e.path, "dictionary.location_table[12].lines[1]");

    err f = {0};
    err_set(&f, ERR_MALFORMED, "x");
    err_in(&f, "[3]");
    err_in(&f, "files"); /* an index follows its parent without a dot */
    assert_string_equal(f.path, "files[3]");
}

static void text_says_all_of_it(void **state)
{
    (void)state;
    static const struct {
        err e;
        const char *want;
    } cases[] = {
        {{.code = ERR_MALFORMED, .offset = 11, .path = "a.b[1]", .msg = "cut off"},
         "cut off (byte 11, at a.b[1])"},
        {{.code = ERR_MALFORMED, .offset = 0, .msg = "cut off"}, "cut off (byte 0)"},
        {{.code = ERR_LIMIT, .offset = NO_OFFSET, .path = "a", .msg = "too large"},
         "too large (at a)"},
        {{.code = ERR_LIMIT, .offset = NO_OFFSET, .msg = "too large"}, "too large"},
        {{.code = ERR_SYS, .sys = ENOENT, .offset = NO_OFFSET, .path = "x.otlp", .msg = "open"},
         "open: No such file or directory (at x.otlp)"},
    };
    char text[256];
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_string_equal(err_text(&cases[i].e, text, sizeof text), cases[i].want);
}

/* Long texts are truncated and never overrun; a path loses its end, not its beginning. */
static void everything_is_bounded(void **state)
{
    (void)state;
    err e = {0};
    char longer[1000];
    memset(longer, 'm', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    err_at(&e, ERR_MALFORMED, 5, "%s", longer);
    assert_u64(strlen(e.msg), sizeof e.msg - 1);
    for (int i = 0; i < 100; i++) err_in(&e, "step_%d", i);
    assert_u64(strlen(e.path), sizeof e.path - 1);
    assert_memory_equal(e.path, "step_99.step_98", 15);
    err_in(&e, "%s", longer);
    assert_u64(strlen(e.path), sizeof e.path - 1);
    for (size_t n = 1; n < 400; n++) {
        char text[400];
        memset(text, '#', sizeof text);
        err_text(&e, text, n);
        assert_true(memchr(text, '\0', n) != NULL);
        for (size_t i = n; i < sizeof text; i++) assert_int_equal(text[i], '#');
    }
}

static void codes_have_names(void **state)
{
    (void)state;
    assert_string_equal(err_code_name(ERR_OK), "ok");
    assert_string_equal(err_code_name(ERR_MALFORMED), "malformed");
    assert_string_equal(err_code_name(ERR_LIMIT), "limit");
    assert_string_equal(err_code_name(ERR_MISMATCH), "mismatch");
    assert_string_equal(err_code_name(ERR_UNSUPPORTED), "unsupported");
    assert_string_equal(err_code_name(ERR_USAGE), "usage");
    assert_string_equal(err_code_name(ERR_SYS), "system");
    assert_string_equal(err_code_name((err_code)99), "unknown");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_cause_wins),      cmocka_unit_test(nobody_asked),
        cmocka_unit_test(path_grows_outward),    cmocka_unit_test(text_says_all_of_it),
        cmocka_unit_test(everything_is_bounded), cmocka_unit_test(codes_have_names),
    };
    return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}
