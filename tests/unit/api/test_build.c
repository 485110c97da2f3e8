/* kiln.h: building a profile, and errors of the builder.  Calls only public functions. */
#include "../../support/api_made.h"

static void test_build_and_look(void **state)
{
    (void)state;
    kiln_profiles *p = made();
    looks_right(p);
    assert_int_equal(kiln_count(p, KILN_PROFILES), 1);
    assert_int_equal(kiln_count(p, KILN_STACKS), 3);
    assert_int_equal(kiln_count(p, KILN_LOCATIONS), 4);
    assert_text(kiln_string_at(p, 0), "");
    assert_text(kiln_string_at(p, UINT32_MAX), "");
    kiln_origin o = NEW(kiln_origin);
    assert_true(kiln_origin_of(p, &o));
    assert_string_equal(o.format, "");
    kiln_profiles_free(p);
}

/* ---- errors in building ---- */

static kiln_value nested[80];

static void mistake_stack(kiln_builder *b) { kiln_builder_stack(b, (uint32_t[]){0, 9}, 2); }
static void mistake_sample(kiln_builder *b)
{
    kiln_sample s = {.size = sizeof s};
    kiln_builder_sample(b, &s);
    s.stack = 5;
    kiln_builder_sample(b, &s);
}
static void mistake_pairs(kiln_builder *b)
{
    kiln_sample s = {.size = sizeof s,
                     .values = (int64_t[]){1, 2},
                     .n_values = 2,
                     .times = (uint64_t[]){1},
                     .n_times = 1};
    kiln_builder_sample(b, &s);
}
static void mistake_null(kiln_builder *b)
{
    kiln_sample s = {.size = sizeof s, .n_values = 1};
    kiln_builder_sample(b, &s);
}
static void mistake_utf8(kiln_builder *b) { kiln_builder_frame(b, z("ab\xff"), z(""), 1); }
static void mistake_kind(kiln_builder *b)
{
    kiln_value v = {.kind = 8};
    kiln_builder_attribute(b, z("k"), &v, z(""));
}
static void mistake_bool(kiln_builder *b)
{
    kiln_value v = {.kind = KILN_KIND_BOOL, .as = {.integer = 2}};
    kiln_builder_attribute(b, z("k"), &v, z(""));
}
static void mistake_depth(kiln_builder *b)
{
    for (size_t i = 0; i < 79; i++)
        nested[i] = (kiln_value){KILN_KIND_ARRAY, 1, {.array = &nested[i + 1]}};
    kiln_builder_attribute(b, z("k"), &nested[0], z(""));
}
static void mistake_no_frame(kiln_builder *b)
{
    kiln_frame f = NEW(kiln_frame);
    kiln_builder_location(b, &f, 0);
}
static void mistake_mapping(kiln_builder *b)
{
    kiln_frame f = {.size = sizeof f, .mapping = 1};
    kiln_builder_location(b, &f, 1);
}
static void mistake_attribute(kiln_builder *b)
{
    kiln_profile p = {.size = sizeof p, .attributes = (uint32_t[]){3}, .n_attributes = 1};
    kiln_builder_profile(b, &p);
}
static void mistake_size(kiln_builder *b)
{
    kiln_scope s = {0};
    kiln_builder_scope(b, &s);
}
static void mistake_member(kiln_builder *b)
{
    kiln_member m = {.key = {NULL, 3}};
    kiln_resource r = {.size = sizeof r, .attributes = &m, .n_attributes = 1};
    kiln_builder_resource(b, &r);
}

static void test_mistakes_in_building(void **state)
{
    (void)state;
    static const struct {
        void (*make)(kiln_builder *);
        kiln_code code;
        const char *want;
    } cases[] = {
        {mistake_stack, KILN_USAGE, "location 9 is out of range: this builder has 1 (at stack[1])"},
        {mistake_sample, KILN_USAGE, "stack 5 is out of range: this builder has 1 (at sample[1])"},
        {mistake_pairs, KILN_USAGE, "2 values and 1 timestamps cannot be paired (at sample[0])"},
        {mistake_null, KILN_USAGE, "values is NULL (at sample[0])"},
        {mistake_utf8, KILN_USAGE, "function is not UTF-8 (byte 2) (at location[1])"},
        {mistake_kind, KILN_USAGE, "invalid kind of value: 8 (at attribute[1])"},
        {mistake_bool, KILN_USAGE, "a bool is 2 (at attribute[1])"},
        {mistake_depth, KILN_LIMIT, "a value nests deeper than 64 (at attribute[1])"},
        {mistake_no_frame, KILN_USAGE, "a location needs at least one frame (at location[1])"},
        {mistake_mapping, KILN_USAGE,
         "mapping 1 is out of range: this builder has 1 (at location[1])"},
        {mistake_attribute, KILN_USAGE,
         "attribute 3 is out of range: this builder has 1 (at profile[0])"},
        {mistake_size, KILN_USAGE, "the size of kiln_scope is not set"},
        {mistake_member, KILN_USAGE, "a key is NULL (at resource[0])"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kiln_error e;
        kiln_builder *b = kiln_builder_new(NULL, &e);
        assert_true(kiln_builder_ok(b, &e));
        cases[i].make(b);
        assert_false(kiln_builder_ok(b, &e));
        fill(b); /* calls after an error have no effect */
        mistake_size(b);
        assert_null(kiln_builder_finish(b, &e));
        assert_error(&e, cases[i].code, cases[i].want);
    }
}

static void test_builder_given_up(void **state)
{
    (void)state;
    kiln_builder *b = kiln_builder_new(NULL, NULL);
    fill(b);
    kiln_builder_free(b);
}

static void test_builder_empty(void **state)
{
    (void)state;
    kiln_error e;
    kiln_profiles *p = kiln_builder_finish(kiln_builder_new(NULL, &e), &e);
    assert_fine(p != NULL, &e);
    assert_int_equal(kiln_count(p, KILN_PROFILES), 0);
    kiln_profiles_free(p);
    /* The missing parents of a sample are created. */
    kiln_builder *b = kiln_builder_new(NULL, &e);
    kiln_sample s = {.size = sizeof s, .times = (uint64_t[]){5}, .n_times = 1};
    assert_true(kiln_builder_sample(b, &s));
    p = kiln_builder_finish(b, &e);
    assert_fine(p != NULL, &e);
    assert_int_equal(kiln_count(p, KILN_RESOURCES), 1);
    assert_true(kiln_sample_at(p, 0, 0, &s));
    kiln_profiles_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_build_and_look),
        cmocka_unit_test(test_mistakes_in_building),
        cmocka_unit_test(test_builder_given_up),
        cmocka_unit_test(test_builder_empty),
    };
    return cmocka_run_group_tests_name("build", tests, NULL, NULL);
}
