/* Cases that the table of test_rules.c cannot express: tables, limits, offsets, options, UCUM, the page. */
#include "check/internal.h"
#include "run.h"

#include "base/ban.h"

#define P0 "resource_profiles[0].scope_profiles[0].profiles[0]"

/* ---- cases that need more than one replacement ---- */

static void expect(const char *text, const char *rule, uint64_t count, const char *path,
                   const char *found)
{
    run x;
    start(&x, text, NULL);
    const check_finding *f = check_report_find(&x.r, rule);
    if (!f || f->count != count) {
        print_report(&x.r);
        fail_msg("%s: wanted %lu", rule, (unsigned long)count);
    }
    if (path) assert_string_equal(f->examples[0].path, path);
    if (found) assert_string_equal(f->examples[0].found, found);
    stop(&x);
}

static void test_missing_tables(void **state)
{
    (void)state;
    static const char *const tables[] = {"mapping_table", "location_table", "function_table",
                                         "link_table",    "string_table",   "attribute_table",
                                         "stack_table"};
    for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
        char text[400] = "resource_profiles{scope_profiles{profiles{}}} dictionary{", path[64];
        for (size_t k = 0; k < ARRAY_LEN(tables); k++) {
            size_t n = strlen(text);
            if (k != i)
                snprintf(text + n, sizeof text - n, " %s%s", tables[k], k == 4 ? ":\"\"" : "{}");
        }
        strncat(text, "}", sizeof text - strlen(text) - 1);
        snprintf(path, sizeof path, "dictionary.%s", tables[i]);
        expect(text, "P-01", 1, path, "no entries");
    }
    expect("resource_profiles{scope_profiles{profiles{}}}", "P-01", 7, NULL, NULL);
    expect("resource_profiles{scope_profiles{profiles{}}}", "P-12", 1, "dictionary",
           "no dictionary");
    expect("", "P-40", 1, "resource_profiles", "no resource profiles");
}

static void test_whole_message_without_samples(void **state)
{
    (void)state;
    expect("resource_profiles{scope_profiles{profiles{} profiles{}}}", "P-41", 1, "",
           "2 profiles and no sample in the whole message");
}

static void test_profile_ids_are_unique(void **state)
{
    (void)state;
    char *text = message_with(" scope_profiles{", " scope_profiles{profiles{profile_id:x\"" TRACE
                                                  "\"}} scope_profiles{");
    expect(text, "P-52", 1, "resource_profiles[0].scope_profiles[1].profiles[0].profile_id",
           TRACE ", also the id of profile 0 of the message");
    free(text);
}

/* Two entries with the same key are valid in the table (P-22), but not in one list. */
static void test_same_key_by_another_entry(void **state)
{
    (void)state;
    char *text =
        message_with(" stack_table{}", " attribute_table{key_strindex:7 value{int_value:2}}"
                                       " stack_table{}");
    char *at_list = strstr(text, "attribute_indices:[2,5]");
    assert_non_null(at_list);
    at_list[19] = '2', at_list[21] = '7';
    expect(text, "P-21", 1, P0 ".samples[1].attribute_indices[1]",
           "key \"thread.name\" again, first at [0]");
    free(text);
}

static void test_cardinality(void **state)
{
    (void)state;
    for (int shared = 0; shared < 2; shared++) {
        buf t = {0};
        buf_z(&t, "resource_profiles{scope_profiles{profiles{");
        for (int i = 1; i <= 200; i++)
            buf_printf(&t, "samples{attribute_indices:[%d] values:[1]} ", shared ? i / 2 + 1 : i);
        buf_z(&t, "}}} dictionary{string_table:\"\" string_table:\"took\" attribute_table{}");
        for (int i = 1; i <= 200; i++)
            buf_printf(&t, " attribute_table{key_strindex:1 value{int_value:%d}}", i);
        buf_z(&t, "}");
        buf_putc(&t, '\0');
        run x;
        start(&x, t.p, NULL);
        const check_finding *f = check_report_find(&x.r, "P-27");
        assert_int_equal(f != NULL, !shared);
        if (f) assert_string_equal(f->examples[0].found, "\"took\" has 200 values on 200 samples");
        stop(&x);
        buf_free(&t);
    }
}

static void test_bytes_that_do_not_parse(void **state)
{
    (void)state;
    static const struct {
        const char *name, *bytes;
        size_t n;
        const char *path, *found;
        uint64_t offset;
    } broken[] = {
        {"cut off", "\x0a\x05\x12", 3, "", "field 1 needs 5 bytes, 1 are left", 0},
        {"inside", "\x12\x04\x2a\x09xy", 6, "dictionary", "field 5 needs 9 bytes, 2 are left", 2},
        {"group", "\x0b\x0c", 2, "", "field 1 has wire type 3, which proto3 never uses", 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
        arena a = {0};
        check_report r;
        err e = {0};
        assert_true(check_bytes(broken[i].bytes, broken[i].n, NULL, &a, &r, &e));
        const check_finding *f = check_report_find(&r, "WIRE");
        assert_non_null(f);
        assert_string_equal(f->examples[0].path, broken[i].path);
        assert_string_equal(f->examples[0].found, broken[i].found);
        assert_int_equal(f->examples[0].offset, broken[i].offset);
        assert_int_equal(r.n_notes, 1);
        assert_true(r.errors > 0);
        arena_free(&a);
    }
}

/* Two broken messages: the walk continues after the first. */
static void test_wire_goes_on(void **state)
{
    (void)state;
    expect("dictionary{mapping_table{!\"08\"} mapping_table{} mapping_table{!\"1005080580\"}}",
           "WIRE", 2, "dictionary.mapping_table[0]", "varint runs past the end of the message");
}

static void test_deep_values(void **state)
{
    (void)state;
    buf inner = {0};
    for (int i = 0; i < 70; i++) { /* AnyValue{array_value{values: ...}} */
        buf list = {0}, next = {0};
        pb_put_bytes(&list, 1, buf_view(&inner));
        pb_put_bytes(&next, 5, buf_view(&list));
        buf_free(&list);
        buf_free(&inner);
        inner = next;
    }
    buf attr = {0}, dictionary = {0}, all = {0};
    pb_put_bytes(&attr, 2, buf_view(&inner));
    pb_put_bytes(&dictionary, 6, buf_view(&attr));
    pb_put_bytes(&all, 2, buf_view(&dictionary));
    arena a = {0};
    check_report r;
    err e = {0};
    assert_true(check_bytes(all.p, all.n, NULL, &a, &r, &e));
    const check_finding *f = check_report_find(&r, "WIRE");
    assert_non_null(f);
    assert_string_equal(f->examples[0].found, "values nest deeper than 64");
    arena_free(&a);
    buf_free(&inner), buf_free(&attr), buf_free(&dictionary), buf_free(&all);
}

/* ---- offsets ---- */

static void test_offsets_are_exact(void **state)
{
    (void)state;
    run x;
    char *text = message_with("location_indices:[2,1]", "location_indices:[2,0x55]");
    start(&x, text, NULL);
    const check_finding *f = check_report_find(&x.r, "P-06");
    assert_non_null(f);
    assert_int_equal((unsigned char)x.bytes.p[f->examples[0].offset], 0x55);
    stop(&x);
    free(text);
    text = message_with("timestamps_unix_nano:[1999]", "timestamps_unix_nano:[0x1122334455667788]");
    start(&x, text, NULL);
    f = check_report_find(&x.r, "P-67");
    assert_non_null(f);
    assert_memory_equal(x.bytes.p + f->examples[0].offset, "\x88\x77\x66\x55\x44\x33\x22\x11", 8);
    stop(&x);
    free(text);
    text = message_with("string_table:\"work\"", "string_table:\"abc\\xff\"");
    start(&x, text, NULL);
    f = check_report_find(&x.r, "P-20");
    assert_non_null(f);
    assert_int_equal((unsigned char)x.bytes.p[f->examples[0].offset], 0xff);
    stop(&x);
    free(text);
}

/* Entries are counted across the pieces of a split dictionary: entry 3 is in the second piece. */
static void test_offset_in_second_piece(void **state)
{
    (void)state;
    run x;
    start(&x,
          "dictionary{function_table{} function_table{name_strindex:1} string_table:\"\"}"
          "dictionary{function_table{name_strindex:2} function_table{start_line:-7}"
          " string_table:\"a\" string_table:\"b\"}",
          NULL);
    const check_finding *f = check_report_find(&x.r, "P-74");
    assert_non_null(f);
    assert_string_equal(f->examples[0].path, "dictionary.function_table[3].start_line");
    assert_int_equal(x.bytes.p[f->examples[0].offset], 0x20); /* field 4, varint */
    stop(&x);
}

/* ---- options and limits ---- */

static void test_options(void **state)
{
    (void)state;
    run x;
    char *text = message_with("stack_index:1 ", "stack_index:9 "); /* P-06 error, P-10 warning */
    str only[] = {STR("p-10")}, ignore[] = {STR("P-06")}, wrong[] = {STR("P-99")};
    start(&x, text, &(check_opts){.only = only, .n_only = 1});
    assert_int_equal(x.r.n_findings, 1);
    assert_string_equal(x.r.findings[0].rule->id, "P-10");
    assert_int_equal(x.r.errors, 0);
    stop(&x);
    start(&x, text, &(check_opts){.ignore = ignore, .n_ignore = 1});
    assert_null(check_report_find(&x.r, "P-06"));
    assert_non_null(check_report_find(&x.r, "P-10"));
    stop(&x);
    start(&x, text, &(check_opts){.min_severity = CHECK_ERROR});
    assert_non_null(check_report_find(&x.r, "P-06"));
    assert_null(check_report_find(&x.r, "P-10"));
    stop(&x);
    err e = {0};
    arena a = {0};
    check_report r;
    assert_false(check_bytes("", 0, &(check_opts){.only = wrong, .n_only = 1}, &a, &r, &e));
    assert_int_equal(e.code, ERR_USAGE);
    assert_string_equal(e.msg, "unknown rule: P-99");
    arena_free(&a);
    free(text);
}

/* A report on a hundred thousand violations has five examples and needs a few kilobytes. */
static void test_bounded(void **state)
{
    (void)state;
    buf profile_b = {0}, sample_b = {0}, scope_b = {0}, resource_b = {0}, all = {0};
    pb_put_uint(&sample_b, 1, 77);
    pb_put_uint(&sample_b, 4, 1);
    for (int i = 0; i < 100000; i++) pb_put_bytes(&profile_b, 2, buf_view(&sample_b));
    pb_put_bytes(&scope_b, 2, buf_view(&profile_b));
    pb_put_bytes(&resource_b, 2, buf_view(&scope_b));
    pb_put_bytes(&all, 1, buf_view(&resource_b));
    arena a = {0};
    check_report r;
    err e = {0};
    assert_true(check_bytes(all.p, all.n, NULL, &a, &r, &e));
    const check_finding *f = check_report_find(&r, "P-06");
    assert_non_null(f);
    assert_int_equal(f->count, 100000);
    assert_int_equal(f->n_examples, CHECK_EXAMPLES);
    assert_string_equal(f->examples[4].path, P0 ".samples[4].stack_index");
    assert_true(a.used < 32 * 1024);
    arena_free(&a);
    assert_true(check_bytes(all.p, all.n, &(check_opts){.max_examples = 2}, &a, &r, &e));
    assert_int_equal(check_report_find(&r, "P-06")->n_examples, 2);
    arena_free(&a);
    buf_free(&profile_b), buf_free(&sample_b), buf_free(&scope_b), buf_free(&resource_b);
    buf_free(&all);
}

/* Every budget up to the needed one fails with ERR_MEMORY. */
static void test_out_of_memory(void **state)
{
    (void)state;
    char *text = message_with("stack_index:1 ", "stack_index:9 ");
    buf b = message_bytes(text);
    bool done = false;
    for (size_t budget = 64; budget < 256 * 1024; budget += 1024) {
        arena a = {.budget = budget};
        check_report r;
        err e = {0};
        bool ok = check_bytes(b.p, b.n, NULL, &a, &r, &e);
        assert_true(ok ? check_report_find(&r, "P-06") != NULL : err_exhausted(&e));
        assert_false(done && !ok);
        done |= ok;
        arena_free(&a);
    }
    assert_true(done);
    buf_free(&b);
    free(text);
}

/* ---- check_model: a model without its bytes ---- */

static void test_model_alone(void **state)
{
    (void)state;
    model m = {0};
    arena a = {0};
    check_report r;
    err e = {0};
    assert_true(check_model(&m, NULL, &a, &r, &e));
    assert_int_equal(check_report_find(&r, "P-01")->count, 7);
    assert_int_equal(r.n_notes, 1);
    assert_non_null(strstr(r.notes[0], "P-20"));
    arena_free(&a);
}

/* ---- UCUM ---- */

static void test_ucum(void **state)
{
    (void)state;
    static const char *const good[] = {
        "1",     "By",   "KiBy", "MBy",      "ns",     "us",     "ms",      "s",        "min",
        "h",     "d",    "%",    "{sample}", "By/s",   "1/s",    "/s",      "m/s2",     "m.s-2",
        "10*6",  "10^3", "kW.h", "Cel",      "[degF]", "[in_i]", "mm[Hg]",  "{a}/{b}",  "bit",
        "Kibit", "Hz",   "GHz",  "J/(kg.K)", "100",    "2.m",    "By{rss}", "{cycles}", "kat",
        "m2",    "m+2",  "(m)",  "((m/s))",  "Ohm",    "a",      "wk",      "dB"};
    static const char *const bad[] = {
        "bytes",    "byte",  "count",  "nanoseconds", "seconds", "sec", "KB",    "MiB",   "By/",
        "/",        ".s",    "s.",     "{sample",     "sample}", "m s", "By//s", "()",    "(m",
        "m)",       "items", "ms/req", "µs",          "{a{b}}",  "-1",  "foo",   "10**6", "[]",
        "Ks{\x01}", "kmin",  "calls",  "objects",     "Bytes",   "by"};
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        if (!ucum_ok(str_of(good[i]))) fail_msg("refuses %s", good[i]);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (ucum_ok(str_of(bad[i]))) fail_msg("takes %s", bad[i]);
    assert_false(ucum_ok(STR("")));
    assert_string_equal(ucum_for(STR("bytes")), "By");
    assert_null(ucum_for(STR("foo")));
}

/* ---- docs/check.md lists the rules of the table ---- */

static void test_docs(void **state)
{
    (void)state;
    const char *root = getenv("KILN_SRC");
    char path[512];
    snprintf(path, sizeof path, "%s/docs/check.md", root ? root : ".");
    FILE *f = fopen(path, "rb");
    if (!f) fail_msg("no %s: set KILN_SRC to the source root", path);
    buf b = {0};
    char chunk[4096];
    for (size_t k; (k = fread(chunk, 1, sizeof chunk, f)) > 0;) buf_put(&b, chunk, k);
    fclose(f);
    buf_putc(&b, '\0');
    size_t n;
    const check_rule *rules = check_rules(&n);
    for (size_t i = 0; i < n; i++) {
        char row[320], where[CHECK_KINDS_MAX];
        snprintf(row, sizeof row, "| %s | %s | %s | %s | %s |", rules[i].id,
                 rules[i].unseen ? "-" : check_severity_name(rules[i].severity), rules[i].level,
                 check_kinds_text(rules[i].kinds, where, sizeof where), rules[i].title);
        if (!strstr(b.p, row)) fail_msg("docs/check.md has no row: %s", row);
    }
    buf_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_missing_tables),
        cmocka_unit_test(test_whole_message_without_samples),
        cmocka_unit_test(test_profile_ids_are_unique),
        cmocka_unit_test(test_same_key_by_another_entry),
        cmocka_unit_test(test_cardinality),
        cmocka_unit_test(test_bytes_that_do_not_parse),
        cmocka_unit_test(test_wire_goes_on),
        cmocka_unit_test(test_deep_values),
        cmocka_unit_test(test_offsets_are_exact),
        cmocka_unit_test(test_offset_in_second_piece),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_bounded),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_model_alone),
        cmocka_unit_test(test_ucum),
        cmocka_unit_test(test_docs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
