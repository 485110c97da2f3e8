/* Selectors of PromQL: the grammar, strings, errors with their byte, patterns, limits. */
#include "pyroscope/selector.h"

#include "../../support/test.h"

/* Writes the matchers as key op <value>, separated by spaces. */
static const char *print(const pyro_selector *s, buf *b)
{
    static const char *const ops[] = {"=", "!=", "=~", "!~"};
    for (size_t i = 0; i < s->matchers.n; i++) {
        const pyro_matcher *m = &s->matchers.v[i];
        buf_printf(b, "%s%.*s%s<%.*s>", i ? " " : "", STR_ARG(m->key), ops[m->op],
                   STR_ARG(m->value));
    }
    buf_putc(b, '\0');
    return b->p;
}

static void test_selectors(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"", ""},
        {" \t\r\n", ""},
        {"{}", ""},
        {" { } ", ""},
        {"up", "__name__=<up>"},
        {"up{}", "__name__=<up>"},
        {"process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name=\"x\"}",
         "__name__=<process_cpu:cpu:nanoseconds:cpu:nanoseconds> service_name=<x>"},
        {"off_cpu:off_cpu:nanoseconds::{}", "__name__=<off_cpu:off_cpu:nanoseconds::>"},
        {":a{}", "__name__=<:a>"},
        {"{service_name=\"x\",}", "service_name=<x>"},
        {"{a=\"x\",b!=\"y\",c=~\"re\",d!~\"r.\",}", "a=<x> b!=<y> c=~<re> d!~<r.>"},
        {"{ a = \"x\" , b != \"y\" }", "a=<x> b!=<y>"},
        {"{a='x',b=`y`}", "a=<x> b=<y>"},
        {"{\"thread.name\"=\"w\"}", "thread.name=<w>"},
        {"{thread.name=\"w\", x-y=\"z\"}", "thread.name=<w> x-y=<z>"},
        {"{\"a metric\", a=\"b\"}", "__name__=<a metric> a=<b>"},
        {"{a=\"b\", \"a metric\"}", "a=<b> __name__=<a metric>"},
        {"{`a metric`}", "__name__=<a metric>"},
        {"{__name__=~\"a|b\", by=\"by\", offset=\"1\"}", "__name__=~<a|b> by=<by> offset=<1>"},
        {"{a=\"\"}", "a=<>"},
        {"{a=\"}\",b=\"#,{\"}", "a=<}> b=<#,{>"},
        {"# all\n{ # first\n a=\"x\", # second\n} # end", "a=<x>"},
        {"up # no line break", "__name__=<up>"},
        /* strings */
        {"{a=\"\\a\\b\\f\\n\\r\\t\\v\\\\\\\"\"}", "a=<\a\b\f\n\r\t\v\\\">"},
        {"{a='\\'\"', b=\"'\"}", "a=<'\"> b=<'>"},
        {"{a=\"\\x41\\101\\u00e9\\U0001F600\"}", "a=<AA\303\251\360\237\230\200>"},
        {"{a=\"\\xc3\\xa9\"}", "a=<\303\251>"},
        {"{a=`\\d\"'\n`}", "a=<\\d\"'\n>"},
        {"{a=\"\303\251\"}", "a=<\303\251>"},
        {"{a=~\"\\\\d+\"}", "a=~<\\d+>"},
        {"{\"\303\251\"=\"x\"}", "\303\251=<x>"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        arena a = {0};
        buf b = {0};
        err e = {0};
        pyro_selector s = {0};
        assert_ok(pyro_selector_add(&s, str_of(cases[i].text), &a, &e), &e);
        assert_string_equal(print(&s, &b), cases[i].want);
        pyro_selector_free(&s);
        buf_free(&b);
        arena_free(&a);
    }
}

static void test_errors(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t at;
        const char *want;
    } cases[] = {
        {"{", 1, "unexpected end of input inside braces"},
        {"{a", 2, "unexpected end of input inside braces"},
        {"{a=", 3, "unexpected end of input inside braces"},
        {"{a=\"x\"", 6, "unexpected end of input inside braces"},
        {"{a=\"x\",", 7, "unexpected end of input inside braces"},
        {"{a!", 2, "unexpected character inside braces: '!'"},
        {"{a!x}", 3, "unexpected character after '!' inside braces: 'x'"},
        {"{a==\"x\"}", 3, "unexpected character inside braces: '='"},
        {"{a>\"x\"}", 2, "unexpected character inside braces: '>'"},
        {"{a=x}", 3, "unexpected identifier \"x\" in label matching, expected string"},
        {"{a=1}", 3, "unexpected character inside braces: '1'"},
        {"{a}", 2,
         "unexpected \"}\" in label matching after \"a\", expected label matching operator"},
        {"{a,b=\"x\"}", 2,
         "unexpected \",\" in label matching after \"a\", expected label matching operator"},
        {"{,}", 1, "unexpected \",\" in label matching, expected identifier or \"}\""},
        {"{a=\"x\",,}", 7, "unexpected \",\" in label matching, expected identifier or \"}\""},
        {"{a=\"x\" b=\"y\"}", 7, "unexpected character inside braces: 'b'"},
        {"{1a=\"x\"}", 1, "unexpected character inside braces: '1'"},
        {"{\303\251=\"x\"}", 1, "unexpected character inside braces: '\303\251'"},
        {"{\"\"=\"x\"}", 1, "a label name must not be empty"},
        {"{a=\"x}", 3, "unterminated quoted string"},
        {"{a=\"x\n\"}", 3, "unterminated quoted string"},
        {"{a=\"x\\\"}", 3, "unterminated quoted string"},
        {"{a=`x}", 3, "unterminated raw string"},
        {"{a=\"\\q\"}", 5, "unknown escape sequence in quoted string"},
        {"{a=\"\\'\"}", 5, "unknown escape sequence in quoted string"},
        {"{a=\"\\x4\"}", 7, "unknown escape sequence in quoted string"},
        {"{a=\"\\u00g0\"}", 8, "unknown escape sequence in quoted string"},
        {"{a=\"\\18\"}", 6, "unknown escape sequence in quoted string"},
        {"{a=\"\\400\"}", 8, "escape sequence is an invalid Unicode code point"},
        {"{a=\"\\ud800\"}", 10, "escape sequence is an invalid Unicode code point"},
        {"{a=\"\\U00110000\"}", 14, "escape sequence is an invalid Unicode code point"},
        {"{a=\"\\UFFFFFFFF\"}", 14, "escape sequence is an invalid Unicode code point"},
        {"{a=\"\\xff\"}", 4, "the string is not UTF-8 after its escapes"},
        {"\377", 0, "the selector is not UTF-8"},
        {"{a=\"\300\257\"}", 4, "the selector is not UTF-8"},
        {"up{\"down\"}", 3, "metric name must not be set twice: \"down\""},
        {"{\"up\",\"down\"}", 6, "metric name must not be set twice: \"down\""},
        {"1", 0, "unexpected \"1\", expected a selector such as {a=\"b\"}"},
        {"up[5m]", 2, "unexpected \"[5m]\", expected a selector such as {a=\"b\"}"},
        {"sum(up)", 3, "unexpected \"(up)\", expected a selector such as {a=\"b\"}"},
        {"{}{}", 2, "unexpected \"{}\", expected a selector such as {a=\"b\"}"},
        {"up down", 3, "unexpected \"down\", expected a selector such as {a=\"b\"}"},
        {"{a=\"x\"} or {b=\"y\"}", 8,
         "unexpected \"or {b=\"y\"}\", expected a selector such as {a=\"b\"}"},
        {"}", 0, "unexpected \"}\", expected a selector such as {a=\"b\"}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        arena a = {0};
        err e = {0};
        pyro_selector s = {0};
        if (pyro_selector_add(&s, str_of(cases[i].text), &a, &e))
            fail_msg("%s is accepted", cases[i].text);
        assert_string_equal(e.msg, cases[i].want);
        assert_u64(e.offset, cases[i].at);
        assert_int_equal(e.code, ERR_MALFORMED);
        pyro_selector_free(&s);
        arena_free(&a);
    }
}

static void test_nul_bytes(void **state)
{
    (void)state;
    static const str texts[] = {STR("\0"), STR("{\0}"), STR("{a\0=\"x\"}"), STR("{a=\0\"x\"}")};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        arena a = {0};
        err e = {0};
        pyro_selector s = {0};
        assert_false(pyro_selector_add(&s, texts[i], &a, &e));
        assert_int_equal(e.code, ERR_MALFORMED);
        arena_free(&a);
    }
}

static bool accepts(const char *text, const char *value)
{
    arena a = {0};
    err e = {0};
    pyro_selector s = {0};
    bool yes = false;
    assert_ok(pyro_selector_add(&s, str_of(text), &a, &e), &e);
    assert_int_equal(s.matchers.n, 1);
    assert_ok(pyro_matcher_accepts(&s.matchers.v[0], str_of(value), &yes, &e), &e);
    pyro_selector_free(&s);
    arena_free(&a);
    return yes;
}

static void test_matching(void **state)
{
    (void)state;
    static const struct {
        const char *text, *value;
        bool want;
    } cases[] = {
        {"{a=\"x\"}", "x", true},
        {"{a=\"x\"}", "xx", false},
        {"{a=\"\"}", "", true},
        {"{a!=\"\"}", "", false},
        {"{a!=\"x\"}", "", true},
        {"{a!=\"x\"}", "x", false},
        {"{a=~\"x\"}", "xx", false},
        {"{a=~\"x|xy\"}", "xy", true},
        {"{a=~\"x|xy\"}", "axy", false},
        {"{a=~\"^x$\"}", "x", true},
        {"{a=~\".*\"}", "", true},
        {"{a=~\".+\"}", "", false},
        {"{a!~\".+\"}", "", true},
        {"{a!~\"x.*\"}", "xy", false},
        {"{a=~\"(?i)X\"}", "x", true},
        {"{a=~\"\"}", "", true},
        {"{a=~\"\"}", "x", false},
        {"{a=~`a\\.b`}", "a.b", true},
        {"{a=~`a\\.b`}", "aXb", false},
        {"{a=~\"[[:alpha:]]+\"}", "ab", true},
        {"{a=~\"(?P<n>x)y\"}", "xy", true},
        {"{a=~\"\303\251.\"}", "\303\251\303\251", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (accepts(cases[i].text, cases[i].value) != cases[i].want)
            fail_msg("%s on <%s>: expected %d", cases[i].text, cases[i].value, cases[i].want);
}

static void test_patterns(void **state)
{
    (void)state;
    arena a = {0};
    err e = {0};
    pyro_selector s = {0};
    assert_false(pyro_selector_add(&s, STR("{b=\"x\", a=~\"a(\"}"), &a, &e));
    assert_int_equal(e.code, ERR_USAGE);
    assert_u64(e.offset, 11);
    assert_string_equal(e.msg, "regexp: `a(` is not a regular expression: missing closing "
                               "parenthesis (at character 2)");
    pyro_selector_free(&s);
    e = (err){0};
    assert_ok(pyro_selector_add(&s, STR("{a=~\"(x*)*[yz]\"}"), &a, &e), &e);
    bool yes;
    static char many[4096];
    memset(many, 'x', sizeof many);
    assert_false(pyro_matcher_accepts(&s.matchers.v[0], (str){many, sizeof many}, &yes, &e));
    assert_int_equal(e.code, ERR_LIMIT);
    pyro_selector_free(&s);
    arena_free(&a);
}

/* Several selectors of a request share the limit of matchers. */
static void test_limits(void **state)
{
    (void)state;
    arena a = {0};
    err e = {0};
    pyro_selector s = {0};
    for (int i = 0; i < PYRO_MATCHERS_MAX / 2; i++)
        assert_ok(pyro_selector_add(&s, STR("{a=\"x\",b=\"y\"}"), &a, &e), &e);
    assert_int_equal(s.matchers.n, PYRO_MATCHERS_MAX);
    assert_false(pyro_selector_add(&s, STR("{c=\"z\"}"), &a, &e));
    assert_int_equal(e.code, ERR_LIMIT);
    pyro_selector_free(&s);
    static char big[PYRO_SELECTOR_BYTES + 1];
    memset(big, ' ', sizeof big);
    e = (err){0};
    assert_ok(pyro_selector_add(&s, (str){big, sizeof big - 1}, &a, &e), &e);
    assert_false(pyro_selector_add(&s, (str){big, sizeof big}, &a, &e));
    assert_int_equal(e.code, ERR_LIMIT);
    arena_free(&a);
}

static void test_memory(void **state)
{
    (void)state;
    bool done = false;
    for (size_t budget = 16; budget < 256 * 1024 && !done; budget += 64) {
        arena a = {.budget = budget};
        err e = {0};
        pyro_selector s = {0};
        done = pyro_selector_add(&s, STR("up{a=\"\\n\",b=~\"x.*\",c!~\"y|z\"}"), &a, &e);
        assert_true(done ? s.matchers.n == 4 : e.code == ERR_MEMORY);
        pyro_selector_free(&s);
        arena_free(&a);
    }
    assert_true(done);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_selectors), cmocka_unit_test(test_errors),
        cmocka_unit_test(test_nul_bytes), cmocka_unit_test(test_matching),
        cmocka_unit_test(test_patterns),  cmocka_unit_test(test_limits),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
