/* Byte counts of an OTLP message by part. */
#include "wire/share.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <string.h>

static const share *named(const shares *s, const char *name, const char *within)
{
    for (size_t i = 0; i < s->n; i++)
        if (!strcmp(s->v[i].name, name) && !s->v[i].within == !within) return &s->v[i];
    return NULL;
}

/* resource_profiles { scope_profiles { profiles { samples { stack_index: 1 values: 7 } } } }
 * dictionary { string_table: "" string_table: "abc" stack_table {} } */
static const char bytes[] = "\x0a\x0b\x12\x09\x12\x07\x12\x05\x08\x01\x22\x01\x07"
                            "\x12\x09\x2a\x00\x2a\x03"
                            "abc"
                            "\x3a\x00";

static void test_adds_up(void **state)
{
    (void)state;
    shares s = {0};
    err e = {0};
    str in = {bytes, sizeof bytes - 1};
    assert_true(shares_add(&s, in, LAYOUT_CURRENT, &e));
    uint64_t sum = 0;
    for (size_t i = 0; i < s.n; i++) sum += s.v[i].within ? 0 : s.v[i].bytes;
    assert_int_equal(sum, in.n);
    assert_int_equal(s.bytes, in.n);
    assert_int_equal(named(&s, "string_table", NULL)->bytes, 7);
    assert_int_equal(named(&s, "string_table", NULL)->count, 2);
    assert_int_equal(named(&s, "samples", NULL)->bytes, 7);
    assert_int_equal(named(&s, "values", "samples")->bytes, 3);
    assert_int_equal(named(&s, "stack_index", "samples")->bytes, 2);
    assert_int_equal(named(&s, "", NULL)->count, 4);
    shares_sort(&s);
    for (size_t i = 1; i < s.n; i++) assert_true(s.v[i - 1].bytes >= s.v[i].bytes);
}

static void test_unknown_and_broken(void **state)
{
    (void)state;
    shares s = {0};
    err e = {0};
    assert_true(shares_add(&s, STR("\xca\x3e\x02hi"), LAYOUT_CURRENT, &e)); /* field 1001 */
    assert_int_equal(named(&s, "unknown", NULL)->bytes, 5);
    assert_false(shares_add(&s, STR("\x0a\x7fhi"), LAYOUT_CURRENT, &e));
    assert_int_equal(e.code, ERR_MALFORMED);
    e = (err){0};
    assert_false(shares_add(&s, STR(""), LAYOUT_UNKNOWN, &e));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_adds_up),
                                       cmocka_unit_test(test_unknown_and_broken)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
