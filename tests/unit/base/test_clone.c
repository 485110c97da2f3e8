/* Names with suffixes of compilers and linkers. */
#include "../../support/test.h"

#include "base/clone.h"

static const struct {
    const char *name, *want;
} cases[] = {
    {"", ""},
    {"f", "f"},
    {"f.constprop.0", "f"},
    {"f.part.2.cold", "f"},
    {"f.llvm.123456", "f"},
    {"inner.0", "inner"},
    {"ns::f(int) [clone .constprop.0]", "ns::f(int)"},
    {"read@@GLIBC_2.2.5", "read"},
    {"memcpy@plt", "memcpy@plt"}, /* another function than memcpy */
    {"main.main", "main.main"},
    {"main.main.func1.2", "main.main.func1.2"},
    {"runtime.mallocgc", "runtime.mallocgc"},
    {".plt", ".plt"},
    {"@plt", "@plt"},
    {"f.", "f."},
    {"ns::g<(char)46>.cold", "ns::g<(char)46>"},
};

static void test_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        str got = name_without_clones(str_of(cases[i].name));
        if (!str_eq(got, str_of(cases[i].want))) fail_msg("%s: %.*s", cases[i].name, STR_ARG(got));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
