/* Tests the drafts: the draft's example byte by byte, detection among OTLP files, equal models from
 * every variant, errors with their offset, memory limits and truncation. */
#include "format/dialects.h"
#include "format/events.h"
#include "../../support/digest.h"
#include "dialect_example.h"

#include "wire/carried.h"

static void hex_of(str s, char **out)
{
    *out = malloc(s.n * 2 + 1);
    for (size_t i = 0; i < s.n; i++) snprintf(*out + 2 * i, 3, "%02x", (unsigned char)s.p[i]);
    (*out)[s.n * 2] = '\0';
}

static buf written(const format *f, const model *m, ledger *l)
{
    buf b = {0};
    err e = {0};
    assert_ok(f->write(f, m, &(write_opts){.ledger = l}, &b, &e), &e);
    return b;
}

static bool reads(const format *f, str in, arena *a, model *m, ledger *l, err *e)
{
    layout_verdict v = {0};
    return f->read(f, in, &(read_opts){.ledger = l}, a, m, &v, e);
}

static model read_ok(const format *f, str in, arena *a, ledger *l)
{
    model m = {0};
    err e = {0};
    assert_ok(reads(f, in, a, &m, l, &e), &e);
    assert_true(m.checked);
    return m;
}

/* ---- the draft's example ---- */

static const struct {
    const char *name;
    const format *format;
    const char *type, *unit, *want;
    unsigned with;
} drafts[] = {
    {"A", &format_arrays, "", "", example_a, EXAMPLE_ID | EXAMPLE_URL},
    {"B", &format_otep239, "cpu", "samples", example_b, EXAMPLE_ID | EXAMPLE_URL | EXAMPLE_START},
    {"C", &format_events, "", "", example_c, EXAMPLE_ID | EXAMPLE_URL | EXAMPLE_START},
    {"C by name", &format_events, "samples", "", example_c, EXAMPLE_START},
    {"D", &format_otlp, "", "", example_d, EXAMPLE_ID | EXAMPLE_URL | EXAMPLE_START},
};

static void same_two_samples(const model *m)
{
    size_t n = 0;
    for (size_t i = 0; i < m->profiles.n; i++)
        for (size_t k = 0; k < m->profiles.v[i].n_samples; k++, n++) {
            sample s = sample_at(m, &m->profiles.v[i], k);
            span f = dict_stack(&m->dict, s.stack);
            static const char *const names[] = {"foo", "bar", "baz"};
            assert_int_equal(f.n, n == 0 ? 3 : 2);
            for (uint32_t q = 0; q < f.n; q++) { /* leaf first */
                const location *l = &m->dict.locations.v[m->dict.frames.v[f.at + q]];
                uint32_t fn = m->dict.lines.v[l->lines.at].function;
                str name = m->dict.strings.v[m->dict.functions.v[fn].name];
                assert_true(str_eq(name, str_of(names[f.n - 1 - q])));
            }
            assert_int_equal(s.n_values, 1);
            assert_int_equal(s.values[0], n == 0 ? 100 : 200);
            assert_int_equal(s.n_times, n == 0);
            if (n == 0) assert_u64(s.times[0], EXAMPLE_TIME);
            assert_int_equal(s.link != 0, n == 0);
            if (s.link) assert_int_equal(m->dict.links.v[s.link].span_id[7], 0x99);
            assert_int_equal(s.n_attrs, 1);
            const attribute *t = &m->dict.attributes.v[s.attrs[0]];
            assert_true(str_eq(m->dict.strings.v[t->key], STR("region")));
            assert_true(str_eq(any_str(&t->value), STR("us")));
        }
    assert_int_equal(n, 2);
}

static void test_the_drafts_example(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(drafts); i++) {
        arena a = {0};
        model m = example_model(&a, drafts[i].with, drafts[i].type, drafts[i].unit), back;
        buf b = written(drafts[i].format, &m, NULL);
        char *got;
        hex_of(buf_view(&b), &got);
        if (strcmp(got, drafts[i].want) != 0)
            fail_msg("%s: got\n%s\nwant\n%s", drafts[i].name, got, drafts[i].want);
        back = read_ok(drafts[i].format, buf_view(&b), &a, NULL);
        same_two_samples(&back);
        const profile *p = &back.profiles.v[0];
        if (drafts[i].with & EXAMPLE_START) {
            assert_u64(p->time_unix_nano, EXAMPLE_BEGIN);
            assert_u64(p->duration_nano, EXAMPLE_LENGTH);
        }
        free(got);
        buf_free(&b);
        arena_free(&a);
    }
}

static void test_yaml_of_the_draft(void **state)
{
    (void)state;
    arena a = {0};
    model m = example_model(&a, EXAMPLE_ID | EXAMPLE_URL, "", "");
    buf b = {0}, want = test_vector("dialects/a-draft.yaml");
    err e = {0};
    assert_ok(arrays_yaml(&m, &b, &e), &e);
    if (!str_eq(buf_view(&b), buf_view(&want))) fail_msg("prints\n%.*s", STR_ARG(buf_view(&b)));
    buf_free(&b);
    buf_free(&want);
    arena_free(&a);
}

/* ---- detection ---- */

static const struct {
    const char *file;
    dialect dialect;
    const format *format;
} vectors[] = {
    {"a-draft", DIALECT_A, &format_arrays},
    {"a-basic", DIALECT_A, &format_arrays},
    {"a1-basic", DIALECT_A1, &format_arrays},
    {"a2-basic", DIALECT_A2, &format_arrays},
    {"a0-arrays", DIALECT_A0, &format_arrays},
    {"a0-normalized", DIALECT_A0, &format_normalized},
    {"a0-denormalized", DIALECT_A0, &format_denormalized},
    {"bench-arrays", DIALECT_BENCH, &format_arrays},
    {"bench-normalized", DIALECT_BENCH, &format_normalized},
    {"bench-denormalized", DIALECT_BENCH, &format_denormalized},
    {"b-draft", DIALECT_NONE, &format_otlp}, /* layout 1.3 */
    {"c-draft", DIALECT_C, &format_events},
    {"c-basic", DIALECT_C, &format_events},
    {"c_box-basic", DIALECT_C_BOX, &format_events},
};

static buf vector(size_t i)
{
    char name[64];
    snprintf(name, sizeof name, "dialects/%s.bin", vectors[i].file);
    return test_vector(name);
}

static void test_detects(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(vectors); i++) {
        buf b = vector(i);
        dialect d = dialect_detect(buf_view(&b));
        const format *f = format_detect(buf_view(&b));
        if (d != vectors[i].dialect || f != vectors[i].format)
            fail_msg("%s: dialect %s, format %s", vectors[i].file, dialect_name(d),
                     f ? f->name : "none");
        buf_free(&b);
    }
}

/* OTLP is never detected as a draft. */
static void test_otlp_is_not_a_draft(void **state)
{
    (void)state;
    static const char *const layouts[] = {"v1_3", "v1_4", "v1_5", "v1_6",
                                          "v1_7", "v1_8", "v1_9", "v1_10"};
    static const char *const cases[] = {"basic",    "multi",   "nulls",
                                        "anyvalue", "payload", "minimal"};
    static const char *const odd[] = {"v1_10-descending",     "v1_9-descending",
                                      "v1_7-descending",      "v1_10-collector-nulls",
                                      "v1_9-zeros",           "v1_10-unpacked",
                                      "v1_9-unpacked",        "v1_8-unpacked",
                                      "v1_5-unpacked",        "v1_3-unpacked",
                                      "v1_10-chunks",         "v1_6-chunks",
                                      "v1_10-unknown",        "v1_10-split-dictionary",
                                      "v1_10-split-resource", "v1_3-split-container",
                                      "v1_9-unknown",         "v1_10-split-oneof",
                                      "v1_7-split-dictionary"};
    char name[80];
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(layouts) * ARRAY_LEN(cases) + ARRAY_LEN(odd); i++) {
        size_t k = i - ARRAY_LEN(layouts) * ARRAY_LEN(cases);
        if (i < ARRAY_LEN(layouts) * ARRAY_LEN(cases))
            snprintf(name, sizeof name, "%s/%s.bin", layouts[i / ARRAY_LEN(cases)],
                     cases[i % ARRAY_LEN(cases)]);
        else
            snprintf(name, sizeof name, "ambiguous/%s.bin", odd[k]);
        buf b = test_vector(name);
        dialect d = dialect_detect(buf_view(&b));
        const format *f = b.n ? format_detect(buf_view(&b)) : &format_otlp;
        if (d != DIALECT_NONE || f != &format_otlp)
            fail_msg("%s: dialect %s, format %s", name, dialect_name(d), f ? f->name : "none");
        n++;
        buf_free(&b);
    }
    assert_true(n > 60);
}

/* ---- all variants give the same model ---- */

static digest_rows rows_of(const format *f, const char *file, arena *a)
{
    char name[64];
    snprintf(name, sizeof name, "dialects/%s.bin", file);
    buf b = test_vector(name);
    model m = read_ok(f, buf_view(&b), a, NULL);
    digest_rows r = digest_model(&m, true);
    buf_free(&b);
    return r;
}

static void same_rows(const digest_rows *x, const digest_rows *y, const char *what)
{
    if (x->n != y->n) fail_msg("%s: %zu rows, expected %zu", what, y->n, x->n);
    for (size_t i = 0; i < x->n; i++)
        if (memcmp(&x->v[i], &y->v[i], sizeof x->v[i]) != 0)
            fail_msg("%s: row %zu differs", what, i);
}

/* A malformed file of the draft is still detected: by its bytes when every field exists in the
 * schema, otherwise by its name. OTLP with such a name is still OTLP. */
static void test_broken_arrays(void **state)
{
    (void)state;
    buf a = test_vector("dialects/a-basic.bin"), b = test_vector("v1_3/basic.bin");
    char *at = memmem(a.p, a.n, "\x52\x03\x00\x01\x00", 5); /* stacktrace_indices */
    assert_non_null(at);
    for (char bad = 9; bad >= 0; bad = (char)(bad - 9)) { /* an invalid index, then 0 */
        at[4] = bad;
        assert_ptr_equal(format_detect_named(buf_view(&a), STR("x")), &format_arrays);
    }
    for (size_t n = 3; n < a.n; n++)
        assert_ptr_equal(format_detect_named((str){a.p, n}, STR("x.arrays")), &format_arrays);
    assert_ptr_equal(format_detect_named(buf_view(&b), STR("x.arrays")), &format_otlp);
    assert_int_equal(dialect_nearest(buf_view(&a), DIALECTS_A), DIALECT_A);
    assert_false(dialect_is_broken(buf_view(&b), DIALECTS_A, true));
    assert_false(dialect_is_broken(STR("main;a 1\n"), DIALECTS_A, true));
    buf_free(&a);
    buf_free(&b);
}

static void test_variants_agree(void **state)
{
    (void)state;
    static const struct {
        const char *like, *file;
    } pairs[] = {{"a-basic", "a1-basic"},
                 {"a-basic", "a2-basic"},
                 {"a0-arrays", "bench-arrays"},
                 {"a0-normalized", "bench-normalized"},
                 {"a0-denormalized", "bench-denormalized"}};
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        arena a = {0};
        digest_rows x = rows_of(&format_arrays, pairs[i].like, &a),
                    y = rows_of(&format_normalized, pairs[i].file, &a);
        same_rows(&x, &y, pairs[i].file);
        free(x.v);
        free(y.v);
        arena_free(&a);
    }
}

static const any *profile_attr(const model *m, size_t profile_i, const char *key)
{
    span s = m->profiles.v[profile_i].attrs;
    for (uint32_t i = 0; i < s.n; i++) {
        const attribute *t = &m->dict.attributes.v[m->dict.attr_refs.v[s.at + i]];
        if (str_eq(m->dict.strings.v[t->key], str_of(key))) return &t->value;
    }
    return NULL;
}

static void test_reads_a(void **state)
{
    (void)state;
    arena a = {0};
    ledger l = {0};
    buf b = test_vector("dialects/a-basic.bin");
    model m = read_ok(&format_arrays, buf_view(&b), &a, &l);
    assert_int_equal(m.profiles.n, 2);
    const profile *p = &m.profiles.v[0];
    assert_int_equal(p->n_samples, 3);
    assert_int_equal(p->period, 10000000);
    assert_u64(p->time_unix_nano, UINT64_C(1700000000000000000));
    assert_u64(p->duration_nano, UINT64_C(10000000000));
    assert_int_equal(p->dropped_attributes_count, 3);
    assert_true(str_eq(p->original_payload_format, STR("jfr")));
    assert_true(
        str_eq(any_str(profile_attr(&m, 0, KILN_ATTR_AGGREGATION_TEMPORALITY)), STR("delta")));
    assert_true(
        str_eq(any_str(profile_attr(&m, 1, KILN_ATTR_AGGREGATION_TEMPORALITY)), STR("cumulative")));
    assert_true(str_eq(any_str(profile_attr(&m, 0, KILN_ATTR_TIMESTAMP_UNIT)), STR("us")));
    assert_null(profile_attr(&m, 1, KILN_ATTR_TIMESTAMP_UNIT));
    sample s = sample_at(&m, p, 1);
    assert_u64(s.times[0], UINT64_C(1700000001500000000));
    assert_int_equal(s.n_attrs, 3);
    span f = dict_stack(&m.dict, s.stack);
    assert_int_equal(f.n, 3);
    const location *leaf = &m.dict.locations.v[m.dict.frames.v[f.at]];
    assert_int_equal(leaf->address, 0x20010);
    assert_int_equal(leaf->attrs.n, 3);
    const location *root = &m.dict.locations.v[m.dict.frames.v[f.at + 2]];
    assert_int_equal(root->address, 0x1100);
    assert_int_equal(m.dict.mappings.v[root->mapping].memory_start, 0x1000); /* index 0, by range */
    assert_int_equal(m.dict.mappings.v[root->mapping].attrs.n,
                     6); /* thread.id, build id, 4 flags */
    assert_int_equal(sample_at(&m, p, 2).values[0], -5);
    assert_int_equal(sample_at(&m, p, 2).n_times, 0);
    assert_false(ledger_lost(&l));
    buf_free(&b);
    arena_free(&a);
}

static void test_reads_c(void **state)
{
    (void)state;
    static const struct {
        const char *type, *unit;
        size_t n;
        int64_t v[2];
        uint64_t t[2];
    } want[] = {
        {"cpu_sample",
         "ms",
         2,
         {10, 25},
         {UINT64_C(1257894000010500000), UINT64_C(1257894000010800000)}},
        {"thread_state",
         "ns",
         2,
         {50000500, 1000000500},
         {UINT64_C(1257894000015800000), UINT64_C(1257894000014800000)}},
        {"allocations", "By", 2, {4800, 76800}, {0}},
        {"allocations", "1", 2, {100, 300}, {0}},
        {"switches", "", 1, {7}, {0}},
        {"io", "By", 1, {9}, {UINT64_C(1257894000000001000)}},
    };
    arena a = {0};
    ledger l = {0};
    buf b = test_vector("dialects/c-basic.bin");
    model m = read_ok(&format_events, buf_view(&b), &a, &l);
    assert_int_equal(m.profiles.n, ARRAY_LEN(want));
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        const profile *p = &m.profiles.v[i];
        assert_true(str_eq(dict_str(&m.dict, p->sample_type.type), str_of(want[i].type)));
        assert_true(str_eq(dict_str(&m.dict, p->sample_type.unit), str_of(want[i].unit)));
        assert_int_equal(p->n_samples, want[i].n);
        assert_u64(p->time_unix_nano, UINT64_C(1257894000000000000));
        assert_u64(p->duration_nano, UINT64_C(10000000000));
        assert_non_null(profile_attr(&m, i, PPROF_ATTR_COMMENT));
        for (size_t k = 0; k < want[i].n; k++) {
            sample s = sample_at(&m, p, k);
            assert_int_equal(s.values[0], want[i].v[k]);
            assert_int_equal(s.n_times, want[i].t[k] != 0);
            if (s.n_times) assert_u64(s.times[0], want[i].t[k]);
        }
    }
    assert_int_equal(profile_attr(&m, 0, KILN_ATTR_EVENT_DEFAULT)->i, 10);
    assert_true(profile_attr(&m, 1, KILN_ATTR_EVENT_INTERVAL)->i);
    assert_int_equal(profile_attr(&m, 5, KILN_ATTR_EVENT_CLOCK)->n, 4);
    sample s = sample_at(&m, &m.profiles.v[5], 0);
    const attribute *d = &m.dict.attributes.v[s.attrs[0]];
    assert_true(str_eq(m.dict.strings.v[d->key], STR(KILN_ATTR_EVENT_DURATION)));
    assert_int_equal(d->value.i, 2000); /* 48 ticks of 24 MHz */
    assert_false(ledger_lost(&l));
    buf_free(&b);
    arena_free(&a);
}

/* ---- the proposal's own examples, including their errors ---- */

#define CLOCK_EPOCH UINT64_C(1257894000000000000)

static const char example_1[] =
    "event_types: [\n    { # index 0\n name_string_index: 1 # cpu_sample\n"
    " unit_string_index: 2 # ms\n default_value:     10 # each\n }\n]\n"
    "strings: [ \"\", \"cpu_sample\", # index 1\n \"ms\" ]\n"
    "events: [ { event_type_index: 0 stack_index: 1 count: 2 }\n"
    " { event_type_index: 0 stack_index: 2 count: 1 }, ]\n# omitted\n";
static const char example_3[] =
    "event_types: [\n { # index 0\n name_string_index: 1 unit_string_index: 2 default_value: 10\n"
    "   clock_id:          0\n } \n { # index 1\n name_string_index: 2 clock_id: 0 }\n]\n"
    "clocks: [ { frequency :      1_000_000_000   # 1 Ghz\n"
    "   time_unix_nanos: 1_257_894_000_000_000_000 } ]\n"
    "attributes: [ { key_index: 4  value: {int_value: 1} }, { key_index: 4, value: {int_value: 2} "
    "}\n"
    " { key_index: 5, value: {key_index: 6} }, # index 3\n { key_index: 5, value: {key_index: 7} } "
    "]\n"
    "strings: [ \"\", \"cpu_sample\", \"thread_state\", \"ms\", \"thread.id\", \"thread.state\",\n"
    " \"mutex\", \"sleep\", ]\n"
    "events: [ { stack_index: 1 time: 10_500_000 attributes: [0] }\n"
    " { stack_index: 2 time: 300_000 attributes: [1] },\n { stack_index: 1 time: 9_200_000 "
    "attributes: [0] },\n"
    " { event_type_index: 1 stack_index: 1 time: 300_000_000 duration: 50_000_500 attributes: [0, "
    "2] },\n"
    " { event_type_index: 1 stack_index: 1 time: 5_000_000 duration: 1_000_000_500 attributes: [1, "
    "3] },\n"
    "]\n";

static void test_proposal_examples(void **state)
{
    (void)state;
    arena a = {0};
    ledger l = {0};
    assert_ptr_equal(format_detect(str_of(example_1)), &format_events_text);
    model m = read_ok(&format_events_text, str_of(example_1), &a, &l);
    assert_int_equal(m.profiles.n, 1);
    assert_int_equal(sample_at(&m, &m.profiles.v[0], 0).values[0], 20);
    assert_int_equal(sample_at(&m, &m.profiles.v[0], 1).values[0], 10);
    assert_int_equal(l.v[0].concept, LOSS_INDEX_REPAIRED); /* no stacks "for brevity" */

    m = read_ok(&format_events_text, str_of(example_3), &a, NULL);
    static const uint64_t times[] = {10500000, 10800000, 20000000, 320000000, 325000000};
    static const int64_t values[] = {10, 10, 10, 50000500, 1000000500};
    assert_int_equal(m.profiles.n, 2);
    assert_true(str_eq(dict_str(&m.dict, m.profiles.v[0].sample_type.unit), STR("thread_state")));
    assert_true(str_eq(dict_str(&m.dict, m.profiles.v[1].sample_type.unit), STR("ns")));
    for (size_t i = 0; i < 5; i++) {
        sample s = sample_at(&m, &m.profiles.v[i >= 3], i >= 3 ? i - 3 : i);
        assert_u64(s.times[0], CLOCK_EPOCH + times[i]);
        assert_int_equal(s.values[0], values[i]);
    }
    sample s = sample_at(&m, &m.profiles.v[1], 1);
    assert_int_equal(s.n_attrs, 2);
    assert_true(str_eq(any_str(&m.dict.attributes.v[s.attrs[1]].value), STR("sleep")));
    arena_free(&a);
}

/* ---- errors ---- */

static const struct {
    const format *format;
    const char *name, *hex, *says;
} errors[] = {
    {&format_arrays, "cut", "0a05120312", "field 1 needs 5 bytes, 3 are left (byte 0)"},
    {&format_arrays, "stack index too large", "0a12 1210 120e 6a00 3a00 7208 52020005 6a020102",
     "index 5 is outside stacktraces, which has 1 entries (byte 15, at "
     "resource_profiles[0].scope_profiles[0].profiles[0].profile_types[0].stacktrace_indices)"},
    {&format_arrays, "id", "0a08 1206 1204 0a020102",
     "profile_id has 2 bytes, expected 16 (byte 6, at "
     "resource_profiles[0].scope_profiles[0].profiles[0])"},
    {&format_events, "type index too large", "0a020809 1a00 5a00",
     "index 9 is outside event_types, which has 1 entries (byte 2, at events[0].event_type_index)"},
    {&format_events, "string", "1a02 0807 5a00",
     "index 7 is outside string_table, which has 1 entries (byte 2, at "
     "event_types[0].name_string_index)"},
};

static str unhex(const char *hex, arena *a)
{
    char *p = arena_alloc(a, strlen(hex));
    size_t n = 0;
    for (; *hex; hex++) {
        if (*hex == ' ') continue;
        unsigned v = 0;
        sscanf(hex, "%2x", &v);
        p[n++] = (char)v;
        hex++;
    }
    return (str){p, n};
}

static void test_errors(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
        arena a = {0};
        model m;
        err e = {0};
        char text[400];
        assert_false(reads(errors[i].format, unhex(errors[i].hex, &a), &a, &m, NULL, &e));
        err_text(&e, text, sizeof text);
        if (strcmp(text, errors[i].says) != 0) fail_msg("%s: says `%s`", errors[i].name, text);
        arena_free(&a);
    }
}

static const struct {
    const char *text, *says;
} text_errors[] = {
    {"events: [\n { what: 1 } ]", "line 2: Event has no field `what` (byte 13, at events[0])"},
    {"strings: [ \"a ]", "line 1: the string has no closing quote (byte 11, at strings[0])"},
    {"events: { time: x }", "line 1: time requires a number, not `x` (byte 16, at events.time)"},
    {"clocks: { frequency: -1 }",
     "line 1: -1 is out of range for frequency (byte 21, at clocks.frequency)"},
    {"event_types: [ { clock_id: 0 }", "line 1: event_types has no ] (byte 30)"},
    {"event_types: [ { clock_id: 0 } ]",
     "index 0 is outside clocks, which has 0 entries (at event_types[0].clock_index)"},
    {"strings: \"\\q\"", "line 1: unknown escape (byte 10, at strings)"},
};

static void test_text_errors(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(text_errors); i++) {
        arena a = {0};
        model m;
        err e = {0};
        char text[400];
        assert_false(reads(&format_events_text, str_of(text_errors[i].text), &a, &m, NULL, &e));
        err_text(&e, text, sizeof text);
        if (strcmp(text, text_errors[i].says) != 0)
            fail_msg("`%s` says `%s`", text_errors[i].text, text);
        arena_free(&a);
    }
}

/* ---- a short list, or a clock that does not advance, rejects only its own type ---- */

static void test_keeps_what_is_whole(void **state)
{
    (void)state;
    arena a = {0};
    ledger l = {0};
    /* type 0: stacks [0,0], values [1]: rejected; type 1: stacks [0], values [7] */
    str in = unhex("0a19 1217 1215 6a00 3a00 7207 52020000 6a0101 7206 520100 6a0107", &a);
    model m = read_ok(&format_arrays, in, &a, &l);
    assert_int_equal(m.profiles.n, 1);
    assert_int_equal(sample_at(&m, &m.profiles.v[0], 0).values[0], 7);
    assert_int_equal(l.v[0].concept, LOSS_PROFILE_REFUSED);
    l = (ledger){0};
    str text = STR("event_types: [{name_string_index: 1 clock_index: 0}, {name_string_index: 2}]\n"
                   "clocks: [{}] strings: [\"\", \"a\", \"b\"] events: [{value: 1}, "
                   "{event_type_index: 1 sum: 2}]");
    m = read_ok(&format_events_text, text, &a, &l);
    assert_int_equal(m.profiles.n, 1);
    assert_true(str_eq(dict_str(&m.dict, m.profiles.v[0].sample_type.type), STR("b")));
    assert_int_equal(l.v[0].concept, LOSS_PROFILE_REFUSED);
    arena_free(&a);
}

/* ---- a pprof file is dialect B without its container ---- */

static void test_reads_bare_b(void **state)
{
    (void)state;
    arena a = {0};
    buf boxed = test_vector("dialects/b-draft.bin");
    /* the container's Profile is its last field, after 0a d301 .. 42 9c01 */
    str bare = {boxed.p + 52, 156};
    assert_int_equal(dialect_detect(bare), DIALECT_B_BARE);
    assert_ptr_equal(format_detect(bare), &format_otep239);
    model m = read_ok(&format_otep239, bare, &a, NULL);
    same_two_samples(&m);
    err e = {0};
    char text[300];
    model n;
    assert_false(reads(&format_otep239, (str){bare.p, bare.n - 1}, &a, &n, NULL, &e));
    err_text(&e, text, sizeof text);
    assert_string_equal(text, "field 18 needs 28 bytes, 27 are left (byte 125)");
    buf_free(&boxed);
    arena_free(&a);
}

/* ---- every prefix, every budget ---- */

static void test_truncation(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(vectors); i++) {
        buf b = vector(i);
        for (size_t n = 0; n < b.n; n++) {
            arena a = {0};
            model m;
            err e = {0};
            /* an exact copy, so that a sanitizer detects a read past the end */
            char *copy = malloc(n ? n : 1);
            memcpy(copy, b.p, n);
            bool ok = reads(vectors[i].format, (str){copy, n}, &a, &m, NULL, &e);
            if (!ok) assert_true(e.code == ERR_MALFORMED || e.code == ERR_UNSUPPORTED);
            if (!ok) assert_true(e.offset <= n || e.offset == NO_OFFSET);
            free(copy);
            arena_free(&a);
        }
        buf_free(&b);
    }
    for (size_t n = 0; n < sizeof example_3 - 1; n++) {
        arena a = {0};
        model m;
        err e = {0};
        bool ok = reads(&format_events_text, (str){example_3, n}, &a, &m, NULL, &e);
        assert_true(ok || e.code == ERR_MALFORMED);
        arena_free(&a);
    }
}

static void test_budgets(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(vectors); i++) {
        buf b = vector(i);
        bool done = false;
        for (size_t budget = 1; budget < 64 * 1024 && !done; budget += 97) {
            arena a = {.budget = budget};
            model m;
            err e = {0};
            done = reads(vectors[i].format, buf_view(&b), &a, &m, NULL, &e);
            if (!done) assert_int_equal(e.code, ERR_MEMORY);
            arena_free(&a);
        }
        assert_true(done);
        buf_free(&b);
    }
    arena a = {0};
    model m = example_model(&a, 7, "", "");
    static const format *const all[] = {&format_arrays,  &format_normalized, &format_denormalized,
                                        &format_otep239, &format_events,     &format_events_text};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        for (size_t limit = 1; limit < 150; limit += 7) {
            buf b = {.limit = limit};
            err e = {0};
            assert_false(all[i]->write(all[i], &m, &(write_opts){0}, &b, &e));
            assert_int_equal(e.code, ERR_MEMORY);
            buf_free(&b);
        }
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_drafts_example),
        cmocka_unit_test(test_yaml_of_the_draft),
        cmocka_unit_test(test_detects),
        cmocka_unit_test(test_otlp_is_not_a_draft),
        cmocka_unit_test(test_broken_arrays),
        cmocka_unit_test(test_variants_agree),
        cmocka_unit_test(test_reads_a),
        cmocka_unit_test(test_reads_c),
        cmocka_unit_test(test_proposal_examples),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_text_errors),
        cmocka_unit_test(test_keeps_what_is_whole),
        cmocka_unit_test(test_reads_bare_b),
        cmocka_unit_test(test_truncation),
        cmocka_unit_test(test_budgets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
