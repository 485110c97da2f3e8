/* Repair: violations with exactly one possible correction are repaired and reported; the others
 * stay. */
#include "check/check.h"
#include "message.h"
#include "wire/otlp.h"

#include "base/ban.h"

typedef struct fixed {
    arena a;
    buf in, out;
    model lenient, m;
    fix_report did;
    check_report before, after;
} fixed;

static void fix(fixed *x, const char *text)
{
    err e = {0};
    char why[400];
    *x = (fixed){.in = message_bytes(text)};
    otlp_decode_opts o = {.layout = LAYOUT_CURRENT, .lenient = true};
    if (!otlp_decode(x->in.p, x->in.n, &o, &x->a, &x->lenient, &e) ||
        !check_bytes(x->in.p, x->in.n, NULL, &x->a, &x->before, &e) ||
        !check_fix(&x->lenient, &x->a, &x->m, &x->did, &e) ||
        !otlp_encode(&x->m, NULL, &x->out, &e) ||
        !check_bytes(x->out.p, x->out.n, NULL, &x->a, &x->after, &e))
        fail_msg("%s", err_text(&e, why, sizeof why));
    assert_true(x->m.checked);
    size_t n;
    const check_rule *rules = check_rules(&n);
    for (size_t i = 0; i < n; i++) {
        const check_finding *f = check_report_find(&x->after, rules[i].id);
        if (rules[i].fixable && f)
            fail_msg("%s is left: %s: %s", rules[i].id, f->examples[0].path, f->examples[0].found);
    }
    /* A second repair changes nothing. */
    model again;
    fix_report none;
    assert_true(check_fix(&x->m, &x->a, &again, &none, &e));
    assert_int_equal(none.n, 0);
    if (!model_equal(&x->m, &again, &e)) fail_msg("%s", err_text(&e, why, sizeof why));
}

static void done(fixed *x)
{
    arena_free(&x->a);
    buf_free(&x->in);
    buf_free(&x->out);
}

static const fix_action *action(const fixed *x, const char *text)
{
    for (size_t i = 0; i < x->did.n; i++)
        if (strstr(x->did.v[i].action, text)) return &x->did.v[i];
    return NULL;
}

static void expect(const fixed *x, const char *text, uint64_t count, const char *path)
{
    const fix_action *f = action(x, text);
    if (!f)
        fail_msg("no repair: %s", text);
    else if (f->count != count || strcmp(f->path, path) != 0)
        fail_msg("%s: %lu at %s", text, (unsigned long)f->count, f->path);
}

static void assert_str(str s, const char *z)
{
    if (!str_eq(s, str_of(z))) fail_msg("\"%.*s\" is not \"%s\"", STR_ARG(s), z);
}

static void test_nothing_to_do(void **state)
{
    (void)state;
    fixed x;
    fix(&x, BASE);
    assert_int_equal(x.did.n, 0);
    /* Inlining string references and dropping the strings that only they used is not reported as a
     * repair. */
    assert_str(x.m.resources.v[0].attrs.v[1].key, "host.name");
    assert_str(any_str(&x.m.resources.v[0].attrs.v[1].value), "box-1");
    assert_int_equal(x.m.dict.strings.n, 15);
    assert_int_equal(x.after.errors, 0);
    assert_int_equal(x.after.warnings, 0);
    done(&x);
}

static void test_missing_dictionary(void **state)
{
    (void)state;
    fixed x;
    fix(&x, "resource_profiles{scope_profiles{profiles{samples{values:[1]}}}}");
    expect(&x, "empty table", 7, "dictionary.mapping_table");
    assert_int_equal(x.m.dict.strings.n, 1);
    assert_int_equal(dict_n_stacks(&x.m.dict), 1);
    assert_int_equal(x.m.profiles.v[0].n_samples, 1);
    done(&x);
}

/* Tables without a zero entry, as some producers write them. */
static void test_real_entries_at_0(void **state)
{
    (void)state;
    fixed x;
    fix(&x, "resource_profiles{scope_profiles{profiles{sample_type{type_strindex:0 unit_strindex:1}"
            " samples{stack_index:0 attribute_indices:[0] values:[3]}"
            " samples{stack_index:1 values:[4]}}}}"
            "dictionary{"
            " mapping_table{memory_start:4096 memory_limit:8192 filename_strindex:2}"
            " location_table{mapping_index:0 address:5000 lines{function_index:0 line:7}}"
            " location_table{mapping_index:0 address:9000 lines{function_index:1}}"
            " function_table{name_strindex:3} function_table{name_strindex:4 filename_strindex:0}"
            " link_table{trace_id:x\"" TRACE "\" span_id:x\"" SPAN "\"}"
            " string_table:\"cpu\" string_table:\"ns\" string_table:\"/bin/a\" string_table:\"f\""
            " string_table:\"g\" string_table:\"k\""
            " attribute_table{key_strindex:5 value{int_value:1}}"
            " stack_table{location_indices:[0]} stack_table{location_indices:[1,0]}}");
    const model *m = &x.m;
    const dict *d = &m->dict;
    expect(&x, "inserted a zero entry", 6, "dictionary.mapping_table");
    expect(&x, "inserted the empty string", 1, "dictionary.string_table");
    const profile *p = &m->profiles.v[0];
    assert_str(dict_str(d, p->sample_type.type), "cpu");
    assert_str(dict_str(d, p->sample_type.unit), "ns");
    span s = dict_stack(d, p->stack[0]);
    assert_int_equal(s.n, 1);
    const location *l = &d->locations.v[d->frames.v[s.at]];
    assert_int_equal(l->address, 5000);
    assert_int_equal(l->mapping, 1); /* its address is in mapping 0 */
    assert_str(dict_str(d, d->mappings.v[1].filename), "/bin/a");
    assert_str(dict_str(d, d->functions.v[d->lines.v[l->lines.at].function].name), "f");
    s = dict_stack(d, p->stack[1]);
    assert_int_equal(s.n, 2);
    l = &d->locations.v[d->frames.v[s.at]];
    assert_int_equal(l->address, 9000);
    assert_int_equal(l->mapping, 0); /* outside mapping 0: not set */
    const function *g = &d->functions.v[d->lines.v[l->lines.at].function];
    assert_str(dict_str(d, g->name), "g");
    assert_int_equal(g->filename, 0);
    sample first = sample_at(m, p, 0);
    assert_int_equal(first.n_attrs, 1);
    assert_str(dict_str(d, d->attributes.v[first.attrs[0]].key), "k");
    assert_int_equal(first.link,
                     0); /* index 0 still means "not set", so no sample refers to the link */
    assert_int_equal(d->links.n, 1);
    assert_non_null(action(&x, "interpreted index 0 as entry 0"));
    assert_non_null(action(&x, "interpreted index 0 as not set"));
    done(&x);
}

/* Found by fuzzing: location 0 has address 0, which is in a mapping 0 that begins there. */
static void test_zero_location_stays_zero(void **state)
{
    (void)state;
    fixed x;
    fix(&x, "resource_profiles{scope_profiles{profiles{samples{stack_index:1 values:[1]}}}}"
            "dictionary{mapping_table{memory_limit:16} location_table{} location_table{address:8}"
            " function_table{} link_table{} string_table:\"\" attribute_table{} stack_table{}"
            " stack_table{location_indices:[1]}}");
    assert_int_equal(x.m.dict.locations.v[0].mapping, 0);
    assert_int_equal(x.m.dict.locations.v[1].mapping, 1);
    done(&x);
}

static void test_indices(void **state)
{
    (void)state;
    fixed x;
    fix(&x,
        "resource_profiles{resource{attributes{key_strindex:77 value{string_value_strindex:88}}}"
        " scope_profiles{profiles{attribute_indices:[9]"
        " samples{stack_index:5 link_index:-1 attribute_indices:[4,1,7] values:[3]}"
        " samples{stack_index:1 values:[3]}}}}"
        "dictionary{mapping_table{} location_table{} location_table{mapping_index:3 address:1}"
        " function_table{} link_table{} string_table:\"\" string_table:\"k\" attribute_table{}"
        " attribute_table{key_strindex:1} stack_table{} stack_table{location_indices:[1,12]}}");
    expect(&x, "set an index outside its table to 0", 6,
           "resource_profiles[0].resource.attributes[0].value");
    expect(&x, "dropped an attribute index", 3,
           "resource_profiles[0].scope_profiles[0].profiles[0].attribute_indices[0]");
    sample s = sample_at(&x.m, &x.m.profiles.v[0], 0);
    assert_int_equal(s.stack, 0);
    assert_int_equal(s.link, 0);
    assert_int_equal(s.n_attrs, 1);
    assert_int_equal(s.attrs[0], 1);
    span st = dict_stack(&x.m.dict, 1);
    assert_int_equal(st.n, 2);
    assert_int_equal(x.m.dict.frames.v[st.at + 1], 0);
    done(&x);
}

static void test_duplicates_and_orphans(void **state)
{
    (void)state;
    fixed x;
    fix(&x, "resource_profiles{scope_profiles{profiles{"
            " samples{stack_index:2 attribute_indices:[2,1,2] values:[1]}"
            " samples{stack_index:3 attribute_indices:[1] values:[2]}}}}"
            "dictionary{mapping_table{} location_table{} location_table{address:1}"
            " location_table{address:2 lines{function_index:1}}"
            " location_table{address:2 lines{function_index:2}}"
            " function_table{} function_table{name_strindex:1} function_table{name_strindex:2}"
            " function_table{name_strindex:3}"
            " link_table{} string_table:\"\" string_table:\"f\" string_table:\"f\""
            " string_table:\"unused\""
            " attribute_table{} attribute_table{key_strindex:1 value{string_value:\"f\"}}"
            " attribute_table{key_strindex:2 value{string_value_strindex:2}}"
            " stack_table{} stack_table{location_indices:[1]} stack_table{location_indices:[2]}"
            " stack_table{location_indices:[3]}}");
    const dict *d = &x.m.dict;
    expect(&x, "merged an entry", 5, "dictionary.location_table[3]");
    expect(&x, "removed an entry that nothing", 4, "dictionary.location_table[1]");
    expect(&x, "removed a repeated attribute", 2,
           "resource_profiles[0].scope_profiles[0].profiles[0].samples[0].attribute_indices[1]");
    assert_int_equal(d->strings.n, 2);
    assert_int_equal(d->functions.n, 2);
    assert_int_equal(d->locations.n, 2);
    assert_int_equal(dict_n_stacks(d), 2);
    assert_int_equal(d->attributes.n, 2);
    const profile *p = &x.m.profiles.v[0];
    assert_int_equal(p->stack[0], 1);
    assert_int_equal(p->stack[1], 1);
    assert_int_equal(sample_at(&x.m, p, 0).n_attrs, 1);
    assert_non_null(check_report_find(&x.after, "P-66")); /* samples are unchanged */
    done(&x);
}

static void test_key_twice(void **state)
{
    (void)state;
    fixed x;
    fix(&x, "resource_profiles{resource{attributes{key:\"a\" key_strindex:1 value{int_value:1}}}"
            " scope_profiles{profiles{}}}"
            "dictionary{mapping_table{} location_table{} function_table{} link_table{}"
            " string_table:\"\" string_table:\"b\" attribute_table{} stack_table{}}");
    assert_non_null(check_report_find(&x.before, "P-24"));
    expect(&x, "kept the inline key", 1, "resource_profiles[0].resource.attributes[0]");
    assert_str(x.m.resources.v[0].attrs.v[0].key, "a");
    done(&x);
}

/* Ids of the wrong length and explicit zero ids are removed. */
static void test_ids(void **state)
{
    (void)state;
    fixed x;
    fix(&x, "resource_profiles{scope_profiles{profiles{profile_id:x\"" ZERO16 "\""
            " samples{link_index:1 values:[1]}}}}"
            "dictionary{mapping_table{} location_table{} function_table{}"
            " link_table{trace_id:x\"" ZERO16 "\" span_id:x\"" ZERO8 "\"}"
            " link_table{trace_id:x\"0102\" span_id:x\"03\"}"
            " string_table:\"\" attribute_table{} stack_table{}}");
    assert_non_null(check_report_find(&x.before, "P-80"));
    assert_null(check_report_find(&x.after, "P-80"));
    assert_null(check_report_find(&x.after, "P-52"));
    assert_int_equal(x.m.dict.links.n, 1);
    done(&x);
}

/* A violation with several possible corrections stays and is still reported. */
static void test_left_alone(void **state)
{
    (void)state;
    fixed x;
    char *text = message_with("values:[7] timestamps_unix_nano:[1999]", "values:[7,8]");
    fix(&x, text);
    assert_non_null(check_report_find(&x.after, "P-64"));
    assert_non_null(check_report_find(&x.after, "P-65"));
    done(&x);
    free(text);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    buf b = message_bytes(BASE);
    arena in = {0};
    model m, out;
    err e = {0};
    fix_report r;
    otlp_decode_opts o = {.layout = LAYOUT_CURRENT, .lenient = true};
    assert_true(otlp_decode(b.p, b.n, &o, &in, &m, &e));
    bool ok = false;
    for (size_t budget = 64; budget < 256 * 1024; budget += 512) {
        arena a = {.budget = budget};
        err why = {0};
        ok = check_fix(&m, &a, &out, &r, &why);
        assert_true(ok || err_exhausted(&why));
        arena_free(&a);
    }
    assert_true(ok);
    arena_free(&in);
    buf_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_to_do),     cmocka_unit_test(test_missing_dictionary),
        cmocka_unit_test(test_real_entries_at_0), cmocka_unit_test(test_zero_location_stays_zero),
        cmocka_unit_test(test_indices),           cmocka_unit_test(test_duplicates_and_orphans),
        cmocka_unit_test(test_key_twice),         cmocka_unit_test(test_ids),
        cmocka_unit_test(test_left_alone),        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
