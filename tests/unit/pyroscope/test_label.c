/* Plain and true names of labels, and the Accept header that asks for true ones. */
#include "pyroscope/label.h"

#include "../../support/test.h"

static void test_plain(void **state)
{
    (void)state;
    static const struct {
        const char *name, *want;
        bool plain;
    } cases[] = {
        {"service_name", "service_name", true},
        {"A9_", "A9_", true},
        {"_", "_", true},
        {"__name__", "__name__", true},
        {"thread.name", "thread_name", false},
        {"k8s.pod/name-x", "k8s_pod_name_x", false},
        {"9lives", "_9lives", false},
        {"caf\303\251.x", "caf__x", false},
        {"\360\237\230\200", "_", false},
        {"\251x", "_x", false},
        {"a:b", "a_b", false},
        {"", "", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        arena a = {0};
        err e = {0};
        str got, name = str_of(cases[i].name);
        assert_int_equal(pyro_label_is_plain(name), cases[i].plain);
        assert_ok(pyro_label_plain(name, &a, &got, &e), &e);
        if (!str_eq(got, str_of(cases[i].want))) fail_msg("%s: %.*s", cases[i].name, STR_ARG(got));
        assert_true(!got.n || pyro_label_is_plain(got));
        assert_true(pyro_label_same(name, name));
        assert_true(pyro_label_same(got, name));
        arena_free(&a);
    }
}

static void test_same(void **state)
{
    (void)state;
    static const struct {
        const char *written, *key;
        bool want;
    } cases[] = {
        {"thread_name", "thread.name", true},
        {"thread.name", "thread.name", true},
        {"thread.name", "thread_name", false},
        {"thread_nam", "thread.name", false},
        {"thread_name_", "thread.name", false},
        {"thread-name", "thread.name", false},
        {"", "a", false},
        {"a", "", false},
        {"", "", true},
        {"_1", "1", true},
        {"1", "1", true},
        {"_", "1", false},
        {"x_y", "x\303\251y", true},
        {"x__y", "x\303\251y", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (pyro_label_same(str_of(cases[i].written), str_of(cases[i].key)) != cases[i].want)
            fail_msg("%s and %s: expected %d", cases[i].written, cases[i].key, cases[i].want);
}

static void test_find(void **state)
{
    (void)state;
    static const str keys[] = {STR("a-b"), STR("a.b"), STR("a_b"), STR("service.name")};
    assert_int_equal(pyro_label_find(STR("a_b"), keys, 4), 2); /* the equal one */
    assert_int_equal(pyro_label_find(STR("a_b"), keys, 2), 0); /* the first */
    assert_int_equal(pyro_label_find(STR("a.b"), keys, 4), 1);
    assert_int_equal(pyro_label_find(STR("service_name"), keys, 4), 3);
    assert_int_equal(pyro_label_find(STR("service"), keys, 4), 4);
    assert_int_equal(pyro_label_find(STR("x"), NULL, 0), 0);
}

static void test_internal(void **state)
{
    (void)state;
    static const char *const hidden[] = {"pprof.profile.comment", "kiln.document.name",
                                         "kiln.profile.name",     "kiln.time.epoch",
                                         "kiln.time.offset",      "kiln.unit",
                                         "kiln.sum.samples",      "kiln.lost.stacks",
                                         "kiln.off_cpu.kept",     "kiln."};
    static const char *const shown[] = {"kiln.wait.syscall",
                                        "kiln.wait.waker_name",
                                        "kiln.thread.state",
                                        "kiln.jfr.class",
                                        "kiln.off_cpu.bound",
                                        "thread.state",
                                        "kiln",
                                        "kilnx.y",
                                        "pprof",
                                        "__name__",
                                        ""};
    for (size_t i = 0; i < ARRAY_LEN(hidden); i++)
        if (!pyro_label_is_internal(str_of(hidden[i]))) fail_msg("%s is shown", hidden[i]);
    for (size_t i = 0; i < ARRAY_LEN(shown); i++)
        if (pyro_label_is_internal(str_of(shown[i]))) fail_msg("%s is hidden", shown[i]);
}

static void test_accept(void **state)
{
    (void)state;
    static const struct {
        const char *accept;
        bool want;
    } cases[] = {
        {"", false},
        {"*/*", false},
        {"*/*; allow-utf8-labelnames=true", true},
        {"*/*;allow-utf8-labelnames=true", true},
        {"*/*;Allow-UTF8-LabelNames = \"TRUE\"", true},
        {"*/*; allow-utf8-labelnames=false", false},
        {"*/*; allow-utf8-labelnames", false},
        {"*/*; allow-utf8-labelnames=trueish", false},
        {"text/html, application/json;q=0.9 ; allow-utf8-labelnames=true;x=y", true},
        {"allow-utf8-labelnames=true", false},
        {";;,,;=;", false},
        {"*/*;allow-utf8-labelnames=\"", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (pyro_label_utf8_accepted(str_of(cases[i].accept)) != cases[i].want)
            fail_msg("%s: expected %d", cases[i].accept, cases[i].want);
}

static void test_private(void **state)
{
    (void)state;
    assert_true(pyro_label_is_private(STR("__name__")));
    assert_true(pyro_label_is_private(STR("__profile_type__")));
    assert_false(pyro_label_is_private(STR("____")));
    assert_false(pyro_label_is_private(STR("__name")));
    assert_false(pyro_label_is_private(STR("name")));
    assert_false(pyro_label_is_private(STR("")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),  cmocka_unit_test(test_same),
        cmocka_unit_test(test_find),   cmocka_unit_test(test_internal),
        cmocka_unit_test(test_accept), cmocka_unit_test(test_private),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
