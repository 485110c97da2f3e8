/* Names of thread states in both directions. */
#include "../../support/test.h"

#include "wire/thread_state.h"

static void test_words(void **state)
{
    (void)state;
    static const struct {
        const char *ours, *word;
        bool detail;
    } cases[] = {{"RUNNING", "running", false},
                 {"SLEEPING", "sleeping", false},
                 {"DISK_SLEEP", "sleeping", true},
                 {"STOPPED", "STOPPED", false},
                 {"STATE_RUNNABLE", "STATE_RUNNABLE", false},
                 {"", "", false}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        str ours = str_of(cases[i].ours), word = thread_state_word(ours);
        assert_true(str_eq(word, str_of(cases[i].word)));
        assert_int_equal(thread_state_has_detail(ours), cases[i].detail);
        assert_true(str_eq(thread_state_ours(word, cases[i].detail ? ours : (str){0}), ours));
    }
    /* The state letter of another recorder is not a Kiln state. */
    assert_true(str_eq(thread_state_ours(STR("sleeping"), STR("S")), STR("SLEEPING")));
    assert_true(str_eq(thread_state_ours(STR("running"), STR("DISK_SLEEP")), STR("RUNNING")));
    assert_true(str_eq(thread_state_ours(STR("unscheduled"), STR("R")), STR("unscheduled")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_words)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
