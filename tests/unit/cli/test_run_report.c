/* Losses and CPU time in the summary of `kiln run`. */
#include "support/test.h"

#include "cli/run.h"

/* Every loss has a name, a number and a text; counters that are 0 are omitted. */
static void test_losses(void **state)
{
    (void)state;
    run_loss v[RUN_LOSSES];
    run r = {0};
    assert_int_equal(run_losses(&r, v), 0);
    r.all.capture.ring_full = 5;
    r.all.capture.broken = 2;
    r.all.capture.cpu_samples = 100; /* not a loss */
    r.all.failed = 1, r.parts_lost = 2;
    r.sent.items_rejected = 3;
    size_t n = run_losses(&r, v);
    assert_int_equal(n, 4);
    assert_string_equal(v[0].name, "ring_full");
    assert_u64(v[0].n, 5);
    assert_string_equal(v[0].what, "CPU observations lost: the ring was full");
    assert_string_equal(v[1].name, "broken");
    assert_string_equal(v[2].name, "parts_lost");
    assert_u64(v[2].n, 3);
    assert_string_equal(v[3].name, "items_lost");
    for (size_t i = 0; i < n; i++) assert_non_null(v[i].what);
}

static void test_account(void **state)
{
    (void)state;
    run r = {0};
    r.end.cpu_ns = 1500;
    r.all.sampled = 1400, r.all.startup = 30, r.all.unsampled = 20;
    run_account a = run_account_of(&r);
    assert_u64(a.used, 1500);
    assert_u64(a.unseen, 50);
    assert_u64(a.beyond, 0);
    r.all.sampled = 1600; /* includes a daemon that its parent did not wait for */
    a = run_account_of(&r);
    assert_u64(a.unseen, 0);
    assert_u64(a.beyond, 150);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_losses),
        cmocka_unit_test(test_account),
    };
    return cmocka_run_group_tests_name("run_report", tests, NULL, NULL);
}
