/* Tests that errors for clients contain no local file names and no command-line hints. */
#include "server/client_err.h"

#include "../../support/test.h"
#include <errno.h>

static void test_texts(void **state)
{
    (void)state;
    static const struct {
        err e;
        const char *text;
    } cases[] = {
        {{.code = ERR_MALFORMED, .offset = NO_OFFSET, .msg = "/srv/k/a.db: table 3 is damaged"},
         "a.db: table 3 is damaged"},
        {{.code = ERR_LIMIT, .offset = NO_OFFSET, .msg = "/srv/k: compaction was faster"},
         "the store: compaction was faster"},
        {{.code = ERR_LIMIT,
          .offset = NO_OFFSET,
          .msg = "/srv/k/a of /srv/k and /srv/k/b",
          .path = "/srv/k/a"},
         "a of the store and b (at a)"},
        {{.code = ERR_LIMIT, .offset = NO_OFFSET, .msg = "too large", .hint = "--max-bytes"},
         "too large"},
        {{.code = ERR_USAGE, .offset = 3, .msg = "no such label"}, "no such label (byte 3)"},
        {{.code = ERR_SYS, .sys = ENOSPC, .offset = NO_OFFSET, .msg = "/srv/k/try: disk full"},
         "the store cannot be read or written at the moment"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        err out;
        char text[400];
        client_err(&cases[i].e, "/srv/k", &out);
        assert_string_equal(err_text(&out, text, sizeof text), cases[i].text);
        assert_int_equal(out.code, cases[i].e.code);
    }
}

/* The directory may have a short relative name, which words contain. */
static void test_relative(void **state)
{
    (void)state;
    err e = {.code = ERR_LIMIT,
             .offset = NO_OFFSET,
             .msg = "st/a.db is damaged, last-st is not in st: request less"},
        out;
    char text[400];
    client_err(&e, "st", &out);
    assert_string_equal(err_text(&out, text, sizeof text),
                        "a.db is damaged, last-st is not in the store: request less");
}

static void test_hint(void **state)
{
    (void)state;
    err e = {0};
    char text[200];
    err_set(&e, ERR_LIMIT, "too large");
    assert_false(err_hint(&e, "--max-bytes"));
    assert_string_equal(err_text(&e, text, sizeof text), "too large (--max-bytes)");
    assert_string_equal(err_text_plain(&e, text, sizeof text), "too large");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts), cmocka_unit_test(test_relative), cmocka_unit_test(test_hint)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
