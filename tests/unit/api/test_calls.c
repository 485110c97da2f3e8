/* kiln.h: callers compiled against other versions, and invalid calls.  Calls only public
 * functions. */
#include "../../support/api_made.h"

/* ---- structs of other versions ---- */

/* kiln_read_options of the first release, and of a possible later one. */
typedef struct old_options {
    size_t size;
    const char *format;
} old_options;

typedef struct new_options {
    kiln_read_options o;
    uint64_t later;
} new_options;

typedef struct old_sample {
    size_t size;
    uint32_t stack, link;
    const int64_t *values;
    size_t n_values;
    uint64_t canary;
} old_sample;

static void test_older_structs(void **state)
{
    (void)state;
    kiln_profiles *p = made();
    kiln_error e;
    kiln_bytes b;
    assert_fine(kiln_write(p, NULL, &b, &e), &e);
    old_options o = {.size = sizeof o, .format = "otlp"};
    kiln_profiles *q = kiln_read(b.p, b.n, (const kiln_read_options *)(const void *)&o, &e);
    assert_fine(q != NULL, &e);
    looks_right(q);
    kiln_profiles_free(q);

    old_sample s = {.size = offsetof(old_sample, canary), .canary = 0xfeed};
    assert_true(kiln_sample_at(p, 0, 0, (kiln_sample *)(void *)&s));
    assert_true(s.size == offsetof(old_sample, canary) && s.n_values == 2 && s.canary == 0xfeed);
    kiln_free_bytes(&b);
    kiln_profiles_free(p);
}

static void test_newer_structs(void **state)
{
    (void)state;
    kiln_profiles *p = made();
    kiln_error e;
    kiln_bytes b;
    assert_fine(kiln_write(p, NULL, &b, &e), &e);
    new_options o = {.o = {.size = sizeof o}};
    kiln_profiles *q = kiln_read(b.p, b.n, &o.o, &e);
    assert_fine(q != NULL, &e);
    kiln_profiles_free(q);
    o.later = 1;
    assert_null(kiln_read(b.p, b.n, &o.o, &e));
    char want[200];
    snprintf(want, sizeof want, "kiln_read_options has options that libkiln %s does not support",
             kiln_version());
    assert_error(&e, KILN_UNSUPPORTED, want);
    o = (new_options){.o = {.size = sizeof o, .reserved = {true}}};
    assert_null(kiln_read(b.p, b.n, &o.o, &e));
    assert_error(&e, KILN_UNSUPPORTED, want);

    struct {
        kiln_sample s;
        uint64_t later;
    } s = {.s = {.size = sizeof s}, .later = 99};
    assert_true(kiln_sample_at(p, 0, 0, &s.s));
    assert_true(s.s.size == sizeof s && s.s.n_values == 2 && s.later == 0);
    kiln_free_bytes(&b);
    kiln_profiles_free(p);
}

static void test_size_not_set(void **state)
{
    (void)state;
    kiln_profiles *p = made();
    kiln_error e;
    kiln_read_options o = {0};
    assert_null(kiln_read("x", 1, &o, &e));
    assert_error(&e, KILN_USAGE, "the size of kiln_read_options is not set");
    o.size = SIZE_MAX;
    assert_null(kiln_read("x", 1, &o, &e));
    assert_int_equal(e.code, KILN_USAGE);
    kiln_sample s = {0};
    kiln_frame f = {0};
    kiln_frames walk;
    kiln_resource r = {0};
    assert_false(kiln_sample_at(p, 0, 0, &s));
    assert_false(kiln_resource_at(p, 0, &r));
    kiln_frames_begin(p, 1, &walk);
    assert_false(kiln_frames_next(&walk, &f));
    kiln_profiles_free(p);
}

/* No field may be placed in the padding of an older struct. */
#define ENDS_WITH(type, field)                                                                     \
    assert_int_equal(sizeof(type), offsetof(type, field) + sizeof(((type *)0)->field))

static void test_no_padding_at_the_end(void **state)
{
    (void)state;
    ENDS_WITH(kiln_read_options, reserved);
    ENDS_WITH(kiln_write_options, reserved);
    ENDS_WITH(kiln_merge_options, reserved);
    ENDS_WITH(kiln_builder_options, seed);
    ENDS_WITH(kiln_check_options, seed);
    ENDS_WITH(kiln_origin, n_unknown);
    ENDS_WITH(kiln_resource, dropped_attributes);
    ENDS_WITH(kiln_scope, dropped_attributes);
    ENDS_WITH(kiln_profile, dropped_attributes);
    ENDS_WITH(kiln_sample, n_attributes);
    ENDS_WITH(kiln_frame, reserved);
    ENDS_WITH(kiln_mapping, n_attributes);
    ENDS_WITH(kiln_attribute, unit);
    ENDS_WITH(kiln_loss, count);
    ENDS_WITH(kiln_rule, reserved);
    ENDS_WITH(kiln_finding, offset);
    ENDS_WITH(kiln_example, offset);
}

/* ---- invalid calls ---- */

static void test_null(void **state)
{
    (void)state;
    kiln_error e;
    kiln_bytes b;
    assert_null(kiln_read(NULL, 5, NULL, &e));
    assert_error(&e, KILN_USAGE, "bytes is NULL");
    assert_null(kiln_read(NULL, 5, NULL, NULL));
    assert_null(kiln_read_file(NULL, NULL, &e));
    assert_error(&e, KILN_USAGE, "path is NULL");
    assert_null(kiln_check(NULL, 5, NULL, &e));
    assert_error(&e, KILN_USAGE, "bytes is NULL");
    assert_false(kiln_write(NULL, NULL, &b, &e));
    assert_error(&e, KILN_USAGE, "profiles is NULL");
    assert_false(kiln_write_file(NULL, "x", NULL, &e));
    assert_false(kiln_convert("", 0, NULL, NULL, NULL, &e));
    assert_error(&e, KILN_USAGE, "out is NULL");
    assert_null(kiln_builder_finish(NULL, &e));
    assert_error(&e, KILN_USAGE, "builder is NULL");
    assert_false(kiln_builder_ok(NULL, NULL));
    assert_false(kiln_builder_sample(NULL, NULL));
    assert_int_equal(kiln_builder_frame(NULL, z("f"), z("f"), 1), 0);
    assert_null(kiln_merge(NULL, 1, NULL, &e));

    kiln_sample s = NEW(kiln_sample);
    kiln_frame f = NEW(kiln_frame);
    kiln_attribute a = NEW(kiln_attribute);
    kiln_origin o = NEW(kiln_origin);
    kiln_frames walk;
    kiln_link l;
    size_t n = 1;
    assert_int_equal(kiln_count(NULL, KILN_STACKS), 0);
    assert_false(kiln_sample_at(NULL, 0, 0, &s));
    assert_false(kiln_attribute_at(NULL, 0, &a));
    assert_false(kiln_attribute_find(NULL, NULL, 0, z("k"), &a));
    assert_false(kiln_link_at(NULL, 1, &l));
    assert_false(kiln_origin_of(NULL, &o));
    assert_null(kiln_stack_locations(NULL, 0, &n));
    assert_int_equal(n, 0);
    assert_int_equal(kiln_sample_total(NULL), 0);
    assert_text(kiln_string_at(NULL, 0), "");
    kiln_frames_begin(NULL, 0, &walk);
    assert_false(kiln_frames_next(&walk, &f));
    kiln_frames_begin(NULL, 0, NULL);
    assert_false(kiln_frames_next(NULL, NULL));
    assert_false(kiln_loss_at(NULL, 0, NULL));
    assert_false(kiln_finding_at(NULL, 0, NULL));
    assert_false(kiln_example_at(NULL, 0, 0, NULL));
    assert_null(kiln_report_note(NULL, 0));
    assert_int_equal(kiln_report_count(NULL, KILN_SEVERITY_ERROR), 0);
    kiln_profiles_free(NULL);
    kiln_builder_free(NULL);
    kiln_ledger_free(NULL);
    kiln_report_free(NULL);
    kiln_free_bytes(NULL);

    kiln_profiles *p = made();
    assert_false(kiln_write(p, NULL, NULL, &e));
    assert_false(kiln_write_file(p, NULL, NULL, &e));
    assert_false(kiln_sample_at(p, 0, 0, NULL));
    assert_false(kiln_profile_at(p, 0, NULL));
    kiln_profiles_free(p);
}

static void test_unknown_names(void **state)
{
    (void)state;
    kiln_profiles *p = made();
    kiln_error e;
    kiln_bytes b;
    kiln_read_options r = {.size = sizeof r, .format = "pdf"};
    assert_null(kiln_read("x", 1, &r, &e));
    assert_error(&e, KILN_USAGE, "unknown format pdf");
    r = (kiln_read_options){.size = sizeof r, .layout = "0.1"};
    assert_null(kiln_read("x", 1, &r, &e));
    assert_error(&e, KILN_USAGE, "unknown layout 0.1");
    kiln_write_options w = {.size = sizeof w, .format = "pdf"};
    assert_false(kiln_write(p, &w, &b, &e));
    assert_error(&e, KILN_USAGE, "unknown format pdf");
    w = (kiln_write_options){.size = sizeof w, .compression = "lz4"};
    assert_false(kiln_write(p, &w, &b, &e));
    assert_error(&e, KILN_USAGE, "unknown compression lz4");
    assert_true(!b.p && !b.memory);
    bool found = false;
    for (size_t i = 0; kiln_format_name(i); i++)
        found |= strcmp(kiln_format_name(i), "otlp-json") == 0;
    assert_true(found);
    kiln_profiles_free(p);
}

static void test_errors_have_a_place(void **state)
{
    (void)state;
    kiln_error e;
    /* dictionary (field 2) of 3 bytes with a string that claims 9. */
    assert_null(kiln_read("\x12\x03\x2a\x09\x41", 5, NULL, &e));
    assert_int_equal(e.code, KILN_MALFORMED);
    assert_true(e.offset < 5);
    assert_true(e.path[0] != '\0');
    char text[600], tiny[4];
    kiln_error_text(&e, text, sizeof text);
    assert_non_null(strstr(text, "(byte "));
    assert_int_equal(strlen(kiln_error_text(&e, tiny, sizeof tiny)), 3);
    kiln_error_text(&e, NULL, 0);
    assert_string_equal(kiln_code_name(KILN_LIMIT), "limit");
    assert_string_equal(kiln_code_name((kiln_code)99), "unknown");
    /* A success clears an earlier error. */
    kiln_profiles *p = made(), *q = NULL;
    q = kiln_merge((const kiln_profiles *const[]){p}, 1, NULL, &e);
    assert_fine(q != NULL, &e);
    kiln_profiles_free(p);
    kiln_profiles_free(q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_older_structs),
        cmocka_unit_test(test_newer_structs),
        cmocka_unit_test(test_size_not_set),
        cmocka_unit_test(test_no_padding_at_the_end),
        cmocka_unit_test(test_null),
        cmocka_unit_test(test_unknown_names),
        cmocka_unit_test(test_errors_have_a_place),
    };
    return cmocka_run_group_tests_name("calls", tests, NULL, NULL);
}
