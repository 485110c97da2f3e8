/* Tests that keys of profiles equal those in existing stores, also for profiles that are hashed in
 * several steps. */
#include "../../support/test.h"

#include "model/builder.h"
#include "store/content.h"
#include "wire/anchor.h"
#include "wire/carried.h"

/* Returns the key of a profile without an id, whose n samples differ in value, time and stack.
 * `undated`: its clock does not count from 1970, and it is moved to `date`. */
static content_key key_of(size_t n, bool undated, time_anchor date)
{
    arena a = {0}, work = {0};
    builder b;
    model m;
    err e = {0};
    content_key key;
    assert_true(builder_init(&b, &a));
    builder_resource(&b, NULL);
    builder_scope(&b, NULL);
    builder_profile(&b)->time_unix_nano = 12345;
    uint32_t mark = builder_attribute_str(&b, STR(KILN_ATTR_TIME_EPOCH), STR("unknown"));
    builder_profile_attrs(&b, &mark, undated);
    for (size_t i = 0; i < n; i++) {
        uint32_t at = builder_location(&b, 0, 4096 + i % 10, NULL, 0, NULL, 0);
        int64_t value = (int64_t)i;
        uint64_t time = 1000 * i;
        builder_sample(&b, &(sample){.stack = builder_stack(&b, &at, 1),
                                     .values = &value,
                                     .n_values = 1,
                                     .times = &time,
                                     .n_times = 1});
    }
    assert_ok(builder_finish(&b, &m, &e), &e);
    bool moved;
    assert_ok(anchor_times(&m, &date, NULL, &a, &moved, &e), &e);
    assert_int_equal(moved, undated && (date.given || date.arrival));
    assert_ok(content_keys(&m, &work, &key, &e), &e);
    arena_free(&work);
    arena_free(&a);
    return key;
}

/* From 64 KiB on (about 1100 samples), samples are hashed in steps. The expected keys come from
 * kiln 0.1.0. */
static void stay_as_they_are(void **state)
{
    (void)state;
    static const struct {
        size_t n;
        content_key key;
    } cases[] = {
        {0, {0xf6405ddfed30c927, 0x30d0472efa0cb85c}},
        {1, {0x7b745956f351b168, 0xcb2d0e57c73482d3}},
        {1000, {0xf8e1a9f810c8fc4e, 0x64c2ee0a84b5b54a}},
        {1120, {0x2c716386ab23b4c5, 0xdfd9ba92979af57a}},
        {1150, {0x34f9098457d07418, 0xddd921edfcb743b6}},
        {2000, {0xf5d65f712ed63ba6, 0x8db6bf3eb77ec96b}},
        {5000, {0x8085d370da32f13e, 0xa6bb17de3993817d}},
        {20000, {0xb0a77f65dba7f05d, 0x8f36f1a9766812a6}},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        content_key k = key_of(cases[i].n, false, (time_anchor){0});
        if (!content_key_equal(k, cases[i].key))
            fail_msg("{%zu, {0x%016llx, 0x%016llx}},", cases[i].n, (unsigned long long)k.low,
                     (unsigned long long)k.high);
    }
}

/* A recording has the same key with any date, and without one. */
static void ignore_the_date(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 1000, 2000};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        content_key raw = key_of(sizes[i], true, (time_anchor){0});
        time_anchor dates[] = {{.given = UINT64_C(1700000000000000000)},
                               {.given = UINT64_C(1600000000000000000)},
                               {.arrival = UINT64_C(1650000000000000000)}};
        for (size_t k = 0; k < ARRAY_LEN(dates); k++)
            assert_true(content_key_equal(key_of(sizes[i], true, dates[k]), raw));
        assert_false(content_key_equal(key_of(sizes[i], false, (time_anchor){0}), raw));
        assert_false(content_key_equal(key_of(sizes[i] + 1, true, dates[0]), raw));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(stay_as_they_are),
                                       cmocka_unit_test(ignore_the_date)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
