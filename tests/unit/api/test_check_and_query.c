/* kiln.h: findings of the rules, and queries.  Calls only public functions. */
#include "../../support/api_made.h"

/* ---- checking ---- */

static void test_check_finds(void **state)
{
    (void)state;
    static const char json[] =
        "{\"dictionary\":{\"stringTable\":[\"\",\"cpu\"]},\"resourceProfiles\":[{\"scopeProfiles\":"
        "[{"
        "\"profiles\":[{\"sampleType\":{\"typeStrindex\":1},\"samples\":[{\"stackIndex\":7,"
        "\"values\":[5]},{\"stackIndex\":8,\"values\":[5]}]}]}]}]}";
    kiln_error e;
    kiln_report *r = kiln_check(json, sizeof json - 1, NULL, &e);
    assert_fine(r != NULL, &e);
    assert_true(kiln_report_count(r, KILN_SEVERITY_ERROR) >= 2);
    kiln_finding f = NEW(kiln_finding);
    kiln_example x = NEW(kiln_example);
    bool found = false;
    for (size_t i = 0; kiln_finding_at(r, i, &f); i++) {
        assert_true(f.count >= f.n_examples && f.n_examples > 0);
        for (size_t k = 0; k < f.n_examples; k++) assert_true(kiln_example_at(r, i, k, &x));
        assert_false(kiln_example_at(r, i, f.n_examples, &x));
        if (strcmp(f.rule, "P-06") != 0) continue;
        found = true;
        assert_int_equal(f.severity, KILN_SEVERITY_ERROR);
        assert_int_equal(f.count, 2);
        assert_string_equal(
            f.path, "resource_profiles[0].scope_profiles[0].profiles[0].samples[0].stack_index");
        assert_non_null(strstr(f.found, "7"));
        assert_true(f.expected[0] && f.title[0] && f.fix[0]);
        assert_true(kiln_example_at(r, i, 1, &x));
        assert_non_null(strstr(x.found, "8"));
    }
    assert_true(found);
    assert_non_null(kiln_report_note(r, 0)); /* rules about bytes cannot be checked in JSON */
    kiln_report_free(r);
}

static void test_check_options(void **state)
{
    (void)state;
    kiln_error e;
    static const char bytes[] = "\x12\x03\x2a\x01\x41"; /* string_table[0] is not "" */
    const char *only[] = {"P-03"}, *wrong[] = {"P-999"};
    kiln_check_options o = {.size = sizeof o, .only = only, .n_only = 1};
    kiln_report *r = kiln_check(bytes, sizeof bytes - 1, &o, &e);
    assert_fine(r != NULL, &e);
    kiln_finding f = NEW(kiln_finding);
    assert_true(kiln_finding_at(r, 0, &f));
    assert_string_equal(f.rule, "P-03");
    assert_false(kiln_finding_at(r, 1, &f));
    kiln_report_free(r);
    o = (kiln_check_options){.size = sizeof o, .ignore = only, .n_ignore = 1};
    r = kiln_check(bytes, sizeof bytes - 1, &o, &e);
    for (size_t i = 0; kiln_finding_at(r, i, &f); i++) assert_string_not_equal(f.rule, "P-03");
    kiln_report_free(r);
    o = (kiln_check_options){.size = sizeof o, .only = wrong, .n_only = 1};
    assert_null(kiln_check(bytes, sizeof bytes - 1, &o, &e));
    assert_error(&e, KILN_USAGE, "unknown rule: P-999");
    o = (kiln_check_options){.size = sizeof o, .n_only = 1};
    assert_null(kiln_check(bytes, sizeof bytes - 1, &o, &e));
    assert_error(&e, KILN_USAGE, "a list of rules is NULL");
    assert_null(kiln_check("", 0, NULL, &e));
    assert_error(&e, KILN_MALFORMED, "the input is empty");
}

/* Bytes that are not protobuf give a report; offsets count from the start of the input. */
static void test_check_wire(void **state)
{
    (void)state;
    kiln_error e;
    kiln_report *r = kiln_check("\x12\x09\x2a", 3, NULL, &e);
    assert_fine(r != NULL, &e);
    kiln_finding f = NEW(kiln_finding);
    assert_true(kiln_finding_at(r, 0, &f));
    assert_string_equal(f.rule, "WIRE");
    uint64_t alone = f.offset;
    kiln_report_free(r);
    static const char framed[] = "\0\0\0\x02\x12\x00\0\0\0\x03\x12\x09\x2a";
    r = kiln_check(framed, sizeof framed - 1, NULL, &e);
    assert_fine(r != NULL, &e);
    bool found = false;
    for (size_t i = 0; kiln_finding_at(r, i, &f); i++)
        if (strcmp(f.rule, "WIRE") == 0) {
            found = true;
            assert_int_equal(f.payload, 1);
            if (alone != KILN_NO_OFFSET) assert_int_equal(f.offset, alone + 10);
        }
    assert_true(found);
    kiln_report_free(r);
}

static void test_rules(void **state)
{
    (void)state;
    kiln_rule r = NEW(kiln_rule);
    size_t n = 0;
    for (; kiln_rule_at(n, &r); n++) assert_true(r.id[0] && r.title[0] && r.expected[0]);
    assert_true(n > 30);
    assert_string_equal(kiln_severity_name(KILN_SEVERITY_WARNING), "warning");
    kiln_profiles *p = made();
    kiln_error e;
    kiln_bytes b;
    assert_fine(kiln_write(p, NULL, &b, &e), &e);
    kiln_report *rep = kiln_check(b.p, b.n, NULL, &e);
    assert_fine(rep != NULL, &e);
    kiln_report_free(rep);
    kiln_free_bytes(&b);
    kiln_profiles_free(p);
}

/* ---- queries ---- */

static void test_query(void **state)
{
    (void)state;
    static const char folded[] = "main;run;work 3\nmain;run 2\nmain;idle 1\n";
    kiln_error e;
    kiln_read_options r = NEW(kiln_read_options);
    r.format = "folded";
    kiln_profiles *p = kiln_read(folded, sizeof folded - 1, &r, &e);
    assert_fine(p != NULL, &e);
    kiln_query_options o = NEW(kiln_query_options);
    o.hide = "^idle$";
    kiln_answer *a = kiln_query_top(p, &o, &e);
    assert_fine(a != NULL, &e);
    kiln_answer_facts f = NEW(kiln_answer_facts);
    assert_true(kiln_answer_facts_of(a, &f));
    assert_int_equal(f.n_rows, 3);
    assert_int_equal(f.total, 6);
    assert_text(f.sample_type, "samples");
    assert_string_equal(f.unmatched, "");
    kiln_row row = NEW(kiln_row);
    assert_true(kiln_row_at(a, 1, &row));
    assert_text(row.label, "run");
    assert_int_equal(row.self, 2);
    assert_int_equal(row.total, 5);
    assert_false(kiln_row_at(a, 3, &row));
    kiln_answer_free(a);

    static const struct {
        const char *label;
        int64_t self, total;
        uint32_t depth;
        size_t parent;
    } nodes[] = {{"", 0, 6, 0, 0},
                 {"main", 0, 6, 1, 0},
                 {"run", 2, 5, 2, 1},
                 {"work", 3, 3, 3, 2},
                 {"idle", 1, 1, 2, 1}};
    a = kiln_query_tree(p, NULL, &e);
    assert_fine(a != NULL, &e);
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
        assert_true(kiln_row_at(a, i, &row));
        assert_text(row.label, nodes[i].label);
        assert_int_equal(row.self, nodes[i].self);
        assert_int_equal(row.total, nodes[i].total);
        assert_int_equal(row.depth, nodes[i].depth);
        assert_int_equal(row.parent, nodes[i].parent);
    }
    assert_false(kiln_row_at(a, 5, &row));
    kiln_answer_free(a);

    o.sample_type = "heap";
    assert_null(kiln_query_top(p, &o, &e));
    assert_error(&e, KILN_USAGE, "no sample type `heap`; available: samples/count");
    assert_null(kiln_query_tree(NULL, NULL, &e));
    assert_error(&e, KILN_USAGE, "profiles is NULL");
    o.granularity = 99;
    assert_null(kiln_query_top(p, &o, &e));
    assert_int_equal(e.code, KILN_USAGE);
    assert_false(kiln_row_at(NULL, 0, &row));
    assert_false(kiln_answer_facts_of(NULL, &f));
    kiln_answer_free(NULL);
    kiln_profiles_free(p);
}

/* The start of the time range is inclusive, the end is exclusive. */
static void test_query_range(void **state)
{
    (void)state;
    static const uint64_t times[] = {100, 200, 300};
    static const int64_t values[] = {1, 20, 300};
    static const struct {
        uint64_t start, end;
        int64_t want;
    } cases[] = {{0, 0, 321},    {100, 300, 21}, {100, 301, 321}, {101, 300, 20},
                 {200, 201, 20}, {0, 200, 1},    {300, 0, 300}};
    kiln_error e;
    kiln_builder *b = kiln_builder_new(NULL, &e);
    uint32_t location = kiln_builder_frame(b, kiln_str_of("work"), kiln_str_of(""), 0);
    kiln_sample s = NEW(kiln_sample);
    s.stack = kiln_builder_stack(b, &location, 1);
    s.values = values, s.times = times;
    s.n_values = s.n_times = 3;
    assert_true(kiln_builder_sample(b, &s));
    kiln_profiles *p = kiln_builder_finish(b, &e);
    assert_fine(p != NULL, &e);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kiln_query_options o = NEW(kiln_query_options);
        o.start = cases[i].start, o.end = cases[i].end;
        kiln_answer *a = kiln_query_top(p, &o, &e);
        assert_fine(a != NULL, &e);
        kiln_answer_facts f = NEW(kiln_answer_facts);
        assert_true(kiln_answer_facts_of(a, &f));
        assert_int_equal(f.selected, cases[i].want);
        kiln_answer_free(a);
    }
    kiln_profiles_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_check_finds), cmocka_unit_test(test_check_options),
        cmocka_unit_test(test_check_wire),  cmocka_unit_test(test_rules),
        cmocka_unit_test(test_query),       cmocka_unit_test(test_query_range),
    };
    return cmocka_run_group_tests_name("check_and_query", tests, NULL, NULL);
}
