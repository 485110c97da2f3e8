/* Tests that every flipped bit in the header of a segment or record is detected, and tests the time
 * range of an item, by which queries select it. */
#include "support/test.h"

#include "store/item.h"
#include "store/journal_file.h"
#include "store/journal_group.h"

static void test_segment_header(void **state)
{
    (void)state;
    journal_segment s = {.number = 7, .salt = UINT64_C(0x1122334455667788), .first_seq = 1000}, got;
    char head[JOURNAL_HEADER];
    segment_header(&s, head);
    assert_true(segment_parse(head, &got));
    assert_u64(got.number, s.number);
    assert_u64(got.salt, s.salt);
    assert_u64(got.first_seq, s.first_seq);
    for (size_t i = 0; i < 8 * sizeof head; i++) {
        head[i / 8] ^= (char)(1 << i % 8);
        if (segment_parse(head, &got)) fail_msg("bit %zu is not covered", i);
        head[i / 8] ^= (char)(1 << i % 8);
    }
}

static void test_record_header(void **state)
{
    (void)state;
    const uint64_t seq = 41, salt = UINT64_C(0x8877665544332211), n = 100, hash = 12345;
    char head[JOURNAL_RECORD] = {0};
    memcpy(head + 8, &seq, 8);
    memcpy(head + 16, &salt, 8);
    memcpy(head + 24, &n, 8);
    memcpy(head + 32, &hash, 8);
    record_seal(head);
    assert_true(record_fits(head, salt));
    assert_false(record_fits(head, salt + 1)); /* a record of an older segment in the same file */
    for (size_t i = 0; i < 8 * sizeof head; i++) {
        head[i / 8] ^= (char)(1 << i % 8);
        if (record_fits(head, salt)) fail_msg("bit %zu is not covered", i);
        head[i / 8] ^= (char)(1 << i % 8);
    }
}

/* Timestamps need not be in order: the range covers all of them. */
static void test_item_times(void **state)
{
    (void)state;
    uint64_t times[] = {30, 50, 20, 40}, first = UINT64_MAX, last = 0;
    model m = {.times = {.v = times, .n = ARRAY_LEN(times)}};
    profile p = {.n_samples = 1, .time_span = {.stride = ARRAY_LEN(times)}};
    profile_times(&m, &p, 1000, &first, &last);
    assert_u64(first, 20);
    assert_u64(last, 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_segment_header),
        cmocka_unit_test(test_record_header),
        cmocka_unit_test(test_item_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
