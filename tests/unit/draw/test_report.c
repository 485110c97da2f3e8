/* The report: its contents, and that names never become markup. */
#include "../../support/test.h"

#include "draw/report.h"

#include <string.h>

static bool has(const buf *b, const char *text)
{
    return memmem(b->p, b->n, text, strlen(text)) != NULL;
}

static void test_layout(void **state)
{
    (void)state;
    buf b = {0};
    report_write(&(report){.css = STR("body{}"),
                           .js = STR("run()"),
                           .profile = {STR("a.otlp"), STR("QUJD")},
                           .base = {STR("b.otlp"), STR("REVG")}},
                 &b);
    static const char *const in_order[] = {
        "<!doctype html>\n" REPORT_MARK "1",
        "<title>a.otlp - kiln</title>",
        "default-src 'none'",
        "body{}",
        REPORT_DATA "profile\" data-name=\"a.otlp\">QUJD" REPORT_END,
        REPORT_DATA "base\" data-name=\"b.otlp\">REVG" REPORT_END,
        "<script>\nrun()\n</script>",
    };
    size_t at = 0;
    for (size_t i = 0; i < ARRAY_LEN(in_order); i++) {
        const char *p = memmem(b.p + at, b.n - at, in_order[i], strlen(in_order[i]));
        if (!p) fail_msg("missing, or in another order: %s", in_order[i]);
        at = (size_t)(p - b.p) + strlen(in_order[i]);
    }
    buf_free(&b);
}

static void test_escapes(void **state)
{
    (void)state;
    static const struct {
        str name;
        const char *wanted;
    } cases[] = {
        {STR("<script>alert(1)</script>"), "&lt;script&gt;alert(1)&lt;/script&gt;"},
        {STR("a\" onload=\"x"), "a&quot; onload=&quot;x"},
        {STR("a & b"), "a &amp; b"},
        {STR("bad \xff\xfe utf"), "bad \xef\xbf\xbd\xef\xbf\xbd utf"},
        {STR("nul \0 and \n"), "nul \xef\xbf\xbd and \xef\xbf\xbd"},
        {STR("na\xc3\xafve"), "na\xc3\xafve"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        buf b = {0};
        char wanted[256];
        report_write(&(report){.profile = {cases[i].name, STR("QUJD")}}, &b);
        snprintf(wanted, sizeof wanted, "data-name=\"%s\">QUJD", cases[i].wanted);
        if (!has(&b, wanted)) fail_msg("not escaped as expected: %s", cases[i].wanted);
        snprintf(wanted, sizeof wanted, "<title>%s - kiln", cases[i].wanted);
        assert_true(has(&b, wanted));
        assert_false(has(&b, "alert(1)</script>"));
        buf_free(&b);
    }
}

static void test_no_base(void **state)
{
    (void)state;
    buf b = {0};
    report_write(&(report){.profile = {STR(""), STR("QUJD")}}, &b);
    assert_false(has(&b, "data-role=\"base\""));
    assert_true(has(&b, "<title>profile - kiln"));
    buf_free(&b);
}

static void test_limit(void **state)
{
    (void)state;
    buf b = {.limit = 100};
    report_write(&(report){.profile = {STR("a"), STR("QUJD")}}, &b);
    assert_true(b.failed);
    buf_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layout),
        cmocka_unit_test(test_escapes),
        cmocka_unit_test(test_no_base),
        cmocka_unit_test(test_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
