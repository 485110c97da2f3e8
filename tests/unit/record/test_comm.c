/* Names of threads as a filter. */
#include "record/comm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static int matches(const char *pattern, const char *thread)
{
    char name[64] = "";
    strcpy(name, thread);
    return record_comm_matches(record_comm_parse(pattern), name);
}

static void names_are_equal(void **state)
{
    (void)state;
    assert_true(matches("work", "work"));
    assert_false(matches("work", "worker"));
    assert_false(matches("worker", "work"));
    assert_false(matches("", "work"));
}

static void a_star_stands_for_the_rest(void **state)
{
    (void)state;
    assert_true(matches("work*", "work"));
    assert_true(matches("work*", "worker"));
    assert_false(matches("work*", "wor"));
    assert_true(matches("*", "worker"));
    assert_false(matches("a*b", "axb")); /* only at the end */
}

static void the_kernel_keeps_15_bytes(void **state)
{
    (void)state;
    assert_true(matches("123456789012345", "123456789012345"));
    assert_true(matches("1234567890123456789", "123456789012345"));
    assert_true(matches("1234567890123456789*", "123456789012345"));
    assert_false(matches("1234567890123456789", "12345678901234"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(names_are_equal),
                                       cmocka_unit_test(a_star_stands_for_the_rest),
                                       cmocka_unit_test(the_kernel_keeps_15_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
