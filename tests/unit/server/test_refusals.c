/* Tests that each sender is logged once a minute, and a limited number of senders. */
#include "server/refusals.h"

#include "../../support/test.h"

static void test_once(void **state)
{
    (void)state;
    refusals r = {0};
    uint64_t suppressed = 9, now = 5 * NS_PER_S;
    assert_true(refusals_note(&r, "a", now, &suppressed) && suppressed == 0);
    assert_false(refusals_note(&r, "a", now + 1, &suppressed));
    assert_false(refusals_note(&r, "a", now + REFUSALS_NS - 1, &suppressed));
    assert_true(refusals_note(&r, "b", now + 2, &suppressed) && suppressed == 2);
    assert_true(refusals_note(&r, "a", now + REFUSALS_NS, &suppressed) && suppressed == 0);
}

static void test_many(void **state)
{
    (void)state;
    refusals r = {0};
    uint64_t suppressed = 0, logged = 0;
    char name[32];
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "sender %d", i);
        logged += refusals_note(&r, name, 1, &suppressed);
    }
    assert_int_equal(logged, REFUSALS_SENDERS);
    assert_true(refusals_note(&r, "x", 1 + REFUSALS_NS, &suppressed));
    assert_int_equal(suppressed, 1000 - REFUSALS_SENDERS);
}

/* Long names with the same beginning count as one sender. */
static void test_long(void **state)
{
    (void)state;
    refusals r = {0};
    uint64_t suppressed;
    char name[200];
    memset(name, 'a', sizeof name);
    name[199] = 0;
    assert_true(refusals_note(&r, name, 1, &suppressed));
    assert_false(refusals_note(&r, name, 1, &suppressed));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_once), cmocka_unit_test(test_many),
                                       cmocka_unit_test(test_long)};
    return cmocka_run_group_tests_name("refusals", tests, NULL, NULL);
}
