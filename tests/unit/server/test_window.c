#include "server/window.h"

#include "../../support/test.h"

static void add(window *w, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i <= to; i++) assert_true(window_add(w, i, (size_t)i * 10));
}

static void test_any_order(void **state)
{
    (void)state;
    window w = {0};
    assert_u64(window_through(&w, 7), 7);
    add(&w, 8, 12);
    assert_u64(window_through(&w, 12), 7);
    assert_int_equal(window_settle(&w, 9, false), 90);
    assert_u64(window_through(&w, 12), 7);
    assert_int_equal(window_settle(&w, 8, false), 80);
    assert_u64(window_through(&w, 12), 9);
    assert_int_equal(window_settle(&w, 9, false), 0); /* an item is settled only once */
    assert_int_equal(window_settle(&w, 99, false), 0);
    for (uint64_t i = 10; i <= 12; i++) (void)window_settle(&w, i, false);
    assert_u64(window_through(&w, 20), 20); /* nothing has to be done for the numbers between */
    window_free(&w);
}

/* An item that was split may be settled as failed for one half and as done for the other. */
static void test_failed_stays(void **state)
{
    (void)state;
    window w = {0};
    add(&w, 1, 3);
    (void)window_settle(&w, 1, false);
    assert_int_equal(window_settle(&w, 2, true), 20);
    assert_int_equal(window_settle(&w, 2, false), 0);
    (void)window_settle(&w, 3, false);
    assert_u64(window_through(&w, 3), 1);
    assert_true(window_add(&w, 5, 1)); /* 4 was removed */
    window_take_back(&w);
    assert_u64(window_through(&w, 4), 1);
    window_free(&w);
}

/* Memory depends on the number of open items, not of all items so far. */
static void test_long(void **state)
{
    (void)state;
    window w = {0};
    for (uint64_t i = 1; i <= 100000; i++) {
        add(&w, i, i);
        if (i > 50) assert_int_equal(window_settle(&w, i - 50, false), (i - 50) * 10);
        if (i > 50) assert_u64(window_through(&w, i), i - 50);
    }
    assert_true(w.cap <= 256);
    window_free(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_any_order),
                                       cmocka_unit_test(test_failed_stays),
                                       cmocka_unit_test(test_long)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
