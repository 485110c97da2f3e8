/* Each sender once a minute, and only so many senders. */
#include "server/refusals.h"

#include "../../support/test.h"

static void test_once(void **state)
{
    (void)state;
    refusals r = {0};
    uint64_t unsaid = 9, now = 5 * NS_PER_S;
    assert_true(refusals_note(&r, "a", now, &unsaid) && unsaid == 0);
    assert_false(refusals_note(&r, "a", now + 1, &unsaid));
    assert_false(refusals_note(&r, "a", now + REFUSALS_NS - 1, &unsaid));
    assert_true(refusals_note(&r, "b", now + 2, &unsaid) && unsaid == 2);
    assert_true(refusals_note(&r, "a", now + REFUSALS_NS, &unsaid) && unsaid == 0);
}

static void test_many(void **state)
{
    (void)state;
    refusals r = {0};
    uint64_t unsaid = 0, said = 0;
    char name[32];
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "sender %d", i);
        said += refusals_note(&r, name, 1, &unsaid);
    }
    assert_int_equal(said, REFUSALS_SENDERS);
    assert_true(refusals_note(&r, "x", 1 + REFUSALS_NS, &unsaid));
    assert_int_equal(unsaid, 1000 - REFUSALS_SENDERS);
}

/* Names longer than we keep are one sender by their beginning. */
static void test_long(void **state)
{
    (void)state;
    refusals r = {0};
    uint64_t unsaid;
    char name[200];
    memset(name, 'a', sizeof name);
    name[199] = 0;
    assert_true(refusals_note(&r, name, 1, &unsaid));
    assert_false(refusals_note(&r, name, 1, &unsaid));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_once), cmocka_unit_test(test_many),
                                       cmocka_unit_test(test_long)};
    return cmocka_run_group_tests_name("refusals", tests, NULL, NULL);
}
