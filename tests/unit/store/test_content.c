/* Keys of profiles: those of stores that are there, also of profiles that are hashed in several steps. */
#include "../../support/test.h"

#include "model/builder.h"
#include "store/content.h"

/* A profile without an id; its samples differ in value, time and stack. */
static content_key key_of_samples(size_t n)
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
    assert_ok(content_keys(&m, &work, &key, &e), &e);
    arena_free(&work);
    arena_free(&a);
    return key;
}

/* From 64 KiB on, which are about 1100 samples, samples are hashed step by step.  The keys are those of 0.1.0. */
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
        content_key k = key_of_samples(cases[i].n);
        if (!content_key_equal(k, cases[i].key))
            fail_msg("{%zu, {0x%016llx, 0x%016llx}},", cases[i].n, (unsigned long long)k.low,
                     (unsigned long long)k.high);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(stay_as_they_are)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
