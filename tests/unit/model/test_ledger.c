/* The ledger: one entry per concept, stage and outcome; counts add up and the first example
 * stays. */
#include "../../support/test.h"

#include "model/ledger.h"

#include <string.h>

static void counts_and_first_example(void **state)
{
    (void)state;
    ledger l = {0};
    assert_false(ledger_lost(&l));
    ledger_add(&l, STAGE_READ, LOSS_COMMENTS, "pprof.profile.comment", "profiles[0]", STR("first"));
    ledger_add(&l, STAGE_READ, LOSS_COMMENTS, "pprof.profile.comment", "profiles[1]",
               STR("second"));
    assert_u64(l.n, 1);
    assert_u64(l.v[0].count, 2);
    assert_string_equal(l.v[0].path, "profiles[0]");
    assert_string_equal(l.v[0].value, "first");
    assert_string_equal(l.v[0].carried_as, "pprof.profile.comment");
    assert_false(ledger_lost(&l)); /* everything was carried */
    ledger_add(&l, STAGE_READ, LOSS_COMMENTS, NULL, "profiles[2]", (str){0});
    ledger_add(&l, STAGE_WRITE, LOSS_COMMENTS, NULL, NULL, (str){0});
    assert_u64(l.n, 3);
    assert_string_equal(l.v[2].path, "");
    assert_true(ledger_lost(&l));
}

static void nothing_is_nothing(void **state)
{
    (void)state;
    ledger l = {0};
    ledger_add_n(&l, STAGE_MERGE, LOSS_TIME, NULL, 0, "x", STR("y"));
    assert_u64(l.n, 0);
    ledger_add(NULL, STAGE_MERGE, LOSS_TIME, NULL, "x", STR("y"));
    ledger_merge(&l, NULL);
    assert_false(ledger_lost(NULL));
}

static void every_key_has_a_slot(void **state)
{
    (void)state;
    ledger l = {0};
    for (int round = 1; round <= 2; round++) {
        for (int c = 0; c < LOSS_CONCEPT_COUNT; c++)
            for (int s = STAGE_READ; s <= STAGE_INGEST; s++)
                for (int carried = 0; carried < 2; carried++)
                    ledger_add_n(&l, (loss_stage)s, (loss_concept)c, carried ? "key" : NULL, 3, "p",
                                 STR("v"));
        assert_u64(l.n, LOSS_CONCEPT_COUNT * 8);
    }
    for (size_t i = 0; i < l.n; i++) assert_u64(l.v[i].count, 6);
}

static void merge_adds_up(void **state)
{
    (void)state;
    ledger a = {0}, b = {0};
    ledger_add_n(&a, STAGE_READ, LOSS_UNKNOWN_FIELD, NULL, 4, "a", (str){0});
    ledger_add_n(&b, STAGE_READ, LOSS_UNKNOWN_FIELD, NULL, 5, "b", STR("900"));
    ledger_add(&b, STAGE_WRITE, LOSS_STRING_REFERENCE, NULL, "c", STR("text"));
    ledger_merge(&a, &b);
    assert_u64(a.n, 2);
    assert_u64(a.v[0].count, 9);
    assert_string_equal(a.v[0].path, "a");
    assert_string_equal(a.v[1].value, "text");
}

static void long_examples_are_cut(void **state)
{
    (void)state;
    ledger l = {0};
    char text[500];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    ledger_add(&l, STAGE_READ, LOSS_LABEL, NULL, text, str_of(text));
    assert_u64(strlen(l.v[0].path), sizeof l.v[0].path - 1);
    assert_u64(strlen(l.v[0].value), sizeof l.v[0].value - 1);
}

static void concepts_have_names(void **state)
{
    (void)state;
    assert_string_equal(loss_name(LOSS_UNKNOWN_FIELD), "unknown_field");
    assert_string_equal(loss_what(LOSS_TRUNCATED), "input ended early");
    assert_string_equal(loss_stage_name(STAGE_INGEST), "ingest");
    for (int a = 0; a < LOSS_CONCEPT_COUNT; a++)
        for (int b = 0; b < a; b++)
            assert_string_not_equal(loss_name((loss_concept)a), loss_name((loss_concept)b));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_and_first_example), cmocka_unit_test(nothing_is_nothing),
        cmocka_unit_test(every_key_has_a_slot),     cmocka_unit_test(merge_adds_up),
        cmocka_unit_test(long_examples_are_cut),    cmocka_unit_test(concepts_have_names),
    };
    return cmocka_run_group_tests_name("ledger", tests, NULL, NULL);
}
