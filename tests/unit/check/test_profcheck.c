/* The verdict of the SIG's profcheck.  Expectations were checked against the Go program, built from
 * check.go and google.golang.org/protobuf. */
#include "check/check.h"
#include "message.h"

#include "base/ban.h"

#define DICT                                                                                       \
    "dictionary{mapping_table{} location_table{} function_table{} link_table{} "                   \
    "string_table:\"\" attribute_table{} stack_table{}}"
#define EMPTY "resource_profiles{scope_profiles{profiles{}}}"
#define PROFILE(p) "resource_profiles{scope_profiles{profiles{" p "}}}"

static const profcheck_opts all_on = {true, true, true}, no_shapes = {false, false, false};

typedef struct verdict_case {
    const char *name, *text;
    const profcheck_opts *o;
    profcheck_status want;
    const char *first; /* how the first error begins; NULL: any */
} verdict_case;

static const verdict_case cases[] = {
    {"nothing", "", NULL, PROFCHECK_FAIL, "resource profiles are empty"},
    {"only a dictionary", DICT, NULL, PROFCHECK_FAIL, "resource profiles are empty"},
    {"smallest", EMPTY " " DICT, NULL, PROFCHECK_PASS, NULL},
    {"smallest, all checks", EMPTY " " DICT, &all_on, PROFCHECK_PASS, NULL},
    {"dictionary first", DICT " " EMPTY, NULL, PROFCHECK_PASS, NULL},

    /* D-11 */
    {"no dictionary", EMPTY, NULL, PROFCHECK_PANIC, "panic: nil pointer"},
    {"no dictionary, no scopes", "resource_profiles{}", NULL, PROFCHECK_PANIC, "panic: "},
    {"empty dictionary", EMPTY "dictionary{}", NULL, PROFCHECK_PANIC, "panic: "},
    {"no mappings",
     EMPTY "dictionary{location_table{} function_table{} link_table{} "
           "string_table:\"\" attribute_table{} stack_table{}}",
     NULL, PROFCHECK_PANIC, "panic: slice"},
    {"no links",
     EMPTY "dictionary{mapping_table{} location_table{} function_table{} "
           "string_table:\"\" attribute_table{} stack_table{}}",
     NULL, PROFCHECK_PANIC, "panic: slice"},
    {"no strings",
     EMPTY "dictionary{mapping_table{} location_table{} function_table{} link_table{} "
           "attribute_table{} stack_table{}}",
     NULL, PROFCHECK_FAIL,
     "resource_profiles[0]: scope_profiles[0]: profile[0]: sample_type: unit_strindex: index 0 is "
     "out "
     "of range [0..0)"},
    {"no stacks",
     EMPTY "dictionary{mapping_table{} location_table{} function_table{} link_table{} "
           "string_table:\"\" attribute_table{}}",
     NULL, PROFCHECK_FAIL, "dictionary: stack_table: empty table"},

    /* D-5 */
    {"no scopes", "resource_profiles{}" DICT, NULL, PROFCHECK_FAIL,
     "resource_profiles[0]: resource profiles has no scope profiles"},
    {"no profiles", "resource_profiles{scope_profiles{}}" DICT, NULL, PROFCHECK_FAIL,
     "resource_profiles[0]: scope_profiles[0]: scope profiles has no profiles"},

    /* D-1, P-02 */
    {"zero ids in link 0",
     EMPTY "dictionary{mapping_table{} location_table{} function_table{} "
           "link_table{trace_id:x\"" ZERO16 "\" span_id:x\"" ZERO8 "\"} string_table:\"\" "
           "attribute_table{} stack_table{}}",
     NULL, PROFCHECK_FAIL, "dictionary: link_table: must have"},
    {"present but empty ids",
     EMPTY "dictionary{mapping_table{} location_table{} function_table{} "
           "link_table{trace_id:x\"\" span_id:x\"\"} string_table:\"\" attribute_table{value{}} "
           "stack_table{}}",
     NULL, PROFCHECK_PASS, NULL},
    {"explicit default in entry 0",
     EMPTY
     "dictionary{mapping_table{memory_start:0} "
     "location_table{address:0} function_table{} link_table{} string_table:\"\" attribute_table{} "
     "stack_table{location_indices:[]}}",
     NULL, PROFCHECK_PASS, NULL},
    {"unknown field in entry 0",
     EMPTY "dictionary{mapping_table{#9:0} location_table{} "
           "function_table{} link_table{} string_table:\"\" attribute_table{} stack_table{}}",
     NULL, PROFCHECK_FAIL, "dictionary: mapping_table: must have zero value"},
    {"unknown field in attribute 0",
     EMPTY "dictionary{mapping_table{} location_table{} "
           "function_table{} link_table{} string_table:\"\" attribute_table{#9:0} stack_table{}}",
     NULL, PROFCHECK_PASS, NULL},
    {"wrong wire type in entry 0",
     EMPTY
     "dictionary{mapping_table{} location_table{} "
     "function_table{#1:\"\"} link_table{} string_table:\"\" attribute_table{} stack_table{}}",
     NULL, PROFCHECK_FAIL, "dictionary: function_table: must have zero value"},
    {"value in attribute 0",
     EMPTY "dictionary{mapping_table{} location_table{} function_table{} "
           "link_table{} string_table:\"\" attribute_table{value{bool_value:0}} stack_table{}}",
     NULL, PROFCHECK_FAIL, "dictionary: attribute_table: first attribute value must be nil"},
    {"line in location 0",
     EMPTY "dictionary{mapping_table{} location_table{lines{}} "
           "function_table{} link_table{} string_table:\"\" attribute_table{} stack_table{}}",
     NULL, PROFCHECK_FAIL, "dictionary: location_table: must have zero value"},
    {"a string at 0",
     EMPTY "dictionary{mapping_table{} location_table{} function_table{} "
           "link_table{} string_table:\"x\" attribute_table{} stack_table{}}",
     NULL, PROFCHECK_FAIL,
     "dictionary: string_table: must have empty string at index 0, got \"x\""},
    {"two dictionaries are one",
     EMPTY "dictionary{mapping_table{} location_table{} function_table{}}"
           "dictionary{link_table{} string_table:\"\" attribute_table{} stack_table{}}",
     NULL, PROFCHECK_PASS, NULL},

    /* D-2: the window */
    {"timestamp inside",
     PROFILE("time_unix_nano:10 duration_nano:5 "
             "samples{timestamps_unix_nano:[14]}") DICT,
     NULL, PROFCHECK_PASS, NULL},
    {"timestamp at the end",
     PROFILE("samples{timestamps_unix_nano:[15]} time_unix_nano:10 "
             "duration_nano:5") DICT,
     NULL, PROFCHECK_FAIL,
     "resource_profiles[0]: scope_profiles[0]: profile[0]: sample[0]: timestamps_unix_nano[0]=15 "
     "is "
     "outside profile time range [10, 15)"},
    {"window not switchable",
     PROFILE("samples{timestamps_unix_nano:[15]} time_unix_nano:10 "
             "duration_nano:5") DICT,
     &no_shapes, PROFCHECK_FAIL, NULL},
    {"duration 0", PROFILE("samples{timestamps_unix_nano:[10]} time_unix_nano:10") DICT, NULL,
     PROFCHECK_FAIL, NULL},
    {"the sum wraps",
     PROFILE("samples{timestamps_unix_nano:[100]} time_unix_nano:10 "
             "duration_nano:18446744073709551615") DICT,
     NULL, PROFCHECK_FAIL, NULL},

    /* D-3, D-7: shapes */
    {"one value", PROFILE("samples{values:[1]} samples{values:[2]}") DICT, NULL, PROFCHECK_PASS,
     NULL},
    {"two values", PROFILE("samples{values:[1,2]}") DICT, NULL, PROFCHECK_FAIL, NULL},
    {"two values unpacked", PROFILE("samples{values:1 values:2}") DICT, NULL, PROFCHECK_FAIL, NULL},
    {"two values, shapes off", PROFILE("samples{values:[1,2]}") DICT, &no_shapes, PROFCHECK_PASS,
     NULL},
    {"no value", PROFILE("samples{}") DICT, NULL, PROFCHECK_FAIL, NULL},
    {"no value, shapes off", PROFILE("samples{}") DICT, &no_shapes, PROFCHECK_PASS, NULL},
    {"mixed shapes",
     PROFILE("time_unix_nano:1 duration_nano:9 samples{values:[1]} "
             "samples{timestamps_unix_nano:[2]}") DICT,
     NULL, PROFCHECK_FAIL,
     "resource_profiles[0]: scope_profiles[0]: profile[0]: sample[1]: sample shape timestamps_only "
     "does not match expected sample shape values_only"},
    {"shapes are a profile's own",
     "resource_profiles{scope_profiles{profiles{samples{values:[1]}} "
     "profiles{time_unix_nano:1 duration_nano:9 samples{timestamps_unix_nano:[2]}}}}" DICT,
     NULL, PROFCHECK_PASS, NULL},
    {"lengths differ",
     PROFILE("time_unix_nano:1 duration_nano:9 samples{values:[1,2] "
             "timestamps_unix_nano:[2]}") DICT,
     NULL, PROFCHECK_FAIL, NULL},

    /* indices */
    {"stack out of range", PROFILE("samples{stack_index:1 values:[1]}") DICT, NULL, PROFCHECK_FAIL,
     "resource_profiles[0]: scope_profiles[0]: profile[0]: sample[0]: stack_index: index 1 is out "
     "of "
     "range [0..1)"},
    {"negative", PROFILE("samples{link_index:-1 values:[1]}") DICT, NULL, PROFCHECK_FAIL, NULL},
    {"low 32 bits count", PROFILE("samples{link_index:4294967296 values:[1]}") DICT, NULL,
     PROFCHECK_PASS, NULL},
    {"attribute 0 once",
     PROFILE("attribute_indices:[0] samples{attribute_indices:[0] values:[1]}") DICT, NULL,
     PROFCHECK_PASS, NULL},
    {"attribute 0 twice", PROFILE("attribute_indices:[0,0]") DICT, NULL, PROFCHECK_FAIL,
     "resource_profiles[0]: scope_profiles[0]: profile[0]: attribute_indices: [1].key_strindex: "
     "duplicate key \"\""},
    {"the last sample_type counts",
     PROFILE("sample_type{type_strindex:7} "
             "sample_type{type_strindex:0}") DICT,
     NULL, PROFCHECK_PASS, NULL},
    /* D-4 */
    {"string references are ignored",
     "resource_profiles{resource{attributes{key_strindex:99 "
     "value{string_value_strindex:-3}}} scope_profiles{profiles{}}}" DICT,
     NULL, PROFCHECK_PASS, NULL},

    /* what Go's decoder accepts and rejects */
    {"D-12: UTF-8", "resource_profiles{schema_url:\"\\xff\"}" DICT, NULL, PROFCHECK_UNREADABLE,
     "string field contains invalid UTF-8"},
    {"bytes need no UTF-8", PROFILE("original_payload:x\"ff\" profile_id:x\"ff\"") DICT, NULL,
     PROFCHECK_PASS, NULL},
    {"wrong wire type is unknown", PROFILE("#2:1 #11:x\"00\" #4:\"\"") DICT, NULL, PROFCHECK_PASS,
     NULL},
    {"fixed list of 3 bytes", PROFILE("samples{values:[1] #5:\"abc\"}") DICT, NULL,
     PROFCHECK_UNREADABLE, NULL},
    {"packed varint cut off", PROFILE("samples{#4:x\"80\"}") DICT, NULL, PROFCHECK_UNREADABLE,
     NULL},
    {"a group is unknown", EMPTY DICT "!\"2b08010f2c\"", NULL, PROFCHECK_UNREADABLE, NULL},
    {"a whole group", EMPTY DICT "!\"2b08012c\"", NULL, PROFCHECK_PASS, NULL},
    {"group ends with another", EMPTY DICT "!\"2b0801342c\"", NULL, PROFCHECK_UNREADABLE, NULL},
    {"end without a group", EMPTY DICT "!\"2c\"", NULL, PROFCHECK_UNREADABLE, NULL},
    {"field 0", EMPTY DICT "!\"0000\"", NULL, PROFCHECK_UNREADABLE, NULL},
    {"wire type 7", EMPTY DICT "!\"0f00\"", NULL, PROFCHECK_UNREADABLE, NULL},
    {"fixed32", EMPTY DICT "!\"1d01020304\"", NULL, PROFCHECK_PASS, NULL},

    /* -check-dupes, -check-orphans */
    {"same string twice",
     EMPTY "dictionary{mapping_table{} location_table{} function_table{} "
           "link_table{} string_table:\"\" string_table:\"\" attribute_table{} stack_table{}}",
     NULL, PROFCHECK_PASS, NULL},
    {"same string twice, checked",
     EMPTY "dictionary{mapping_table{} location_table{} "
           "function_table{} link_table{} string_table:\"\" string_table:\"\" attribute_table{} "
           "stack_table{}}",
     &(const profcheck_opts){true, true, false}, PROFCHECK_FAIL,
     "dictionary: string_table: duplicate string at index 1, orig index 0"},
    {"unused string",
     EMPTY "dictionary{mapping_table{} location_table{} function_table{} "
           "link_table{} string_table:\"\" string_table:\"a\" attribute_table{} stack_table{}}",
     &(const profcheck_opts){false, true, true}, PROFCHECK_FAIL,
     "dictionary: string_table: unreferenced entry at index 1"},
    {"used by an orphan counts as used",
     EMPTY "dictionary{mapping_table{} "
           "mapping_table{filename_strindex:1} location_table{} function_table{} link_table{} "
           "string_table:\"\" string_table:\"a\" attribute_table{} stack_table{}}",
     &(const profcheck_opts){false, true, true}, PROFCHECK_FAIL,
     "dictionary: mapping_table: unreferenced entry at index 1"},
    {"mappings equal to the zero entry are not duplicates of it",
     EMPTY "dictionary{mapping_table{} "
           "mapping_table{} location_table{} function_table{} link_table{} string_table:\"\" "
           "attribute_table{} stack_table{}}",
     &(const profcheck_opts){true, true, false}, PROFCHECK_PASS, NULL},
    {"mapping error counts from the second entry",
     EMPTY
     "dictionary{mapping_table{} "
     "mapping_table{memory_start:5 memory_limit:5} location_table{} function_table{} link_table{} "
     "string_table:\"\" attribute_table{} stack_table{}}",
     NULL, PROFCHECK_FAIL, "dictionary: mapping_table: [0]: memory_start=0000000000000005"},
    {"link length",
     EMPTY "dictionary{mapping_table{} location_table{} function_table{} link_table{} "
           "link_table{trace_id:x\"" ZERO16
           "\" span_id:x\"00\"} string_table:\"\" attribute_table{} "
           "stack_table{}}",
     NULL, PROFCHECK_FAIL, "dictionary: link_table: len([0].span_id) == 1, want 8"},
};

static profcheck_result verdict(const char *text, const profcheck_opts *o)
{
    buf b = message_bytes(text);
    arena a = {0};
    profcheck_result r;
    err e = {0};
    assert_true(profcheck_verdict(b.p, b.n, o, &a, &r, &e));
    arena_free(&a);
    buf_free(&b);
    return r;
}

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const verdict_case *k = &cases[i];
        profcheck_result r = verdict(k->text, k->o);
        if (r.status != k->want)
            fail_msg("%s: %s (%s)", k->name, profcheck_status_name(r.status), r.first);
        if (k->first && strncmp(r.first, k->first, strlen(k->first)) != 0)
            fail_msg("%s: %s", k->name, r.first);
        assert_int_equal(r.status == PROFCHECK_PASS, r.first[0] == '\0');
    }
}

static void test_22_bytes(void **state)
{
    (void)state;
    static const char bytes[] = "\x0a\x04\x12\x02\x12\x00\x12\x0e\x0a\x00\x12\x00\x1a\x00\x22\x00"
                                "\x2a\x00\x32\x00\x3a";
    arena a = {0};
    profcheck_result r;
    err e = {0};
    assert_true(profcheck_verdict(bytes, 22, NULL, &a, &r, &e));
    assert_int_equal(r.status, PROFCHECK_PASS);
    assert_true(profcheck_verdict(bytes, 21, NULL, &a, &r, &e));
    assert_int_equal(r.status, PROFCHECK_UNREADABLE);
    arena_free(&a);
}

/* Data that the specification allows and profcheck does not check (D-8, D-9): BASE except for link
 * 0. */
static void test_base(void **state)
{
    (void)state;
    assert_int_equal(verdict(BASE, NULL).status, PROFCHECK_FAIL);
    char *text =
        message_with("link_table{trace_id:x\"" ZERO16 "\" span_id:x\"" ZERO8 "\"}", "link_table{}");
    assert_int_equal(verdict(text, NULL).status, PROFCHECK_PASS);
    /* D-4: two strings are used by references only */
    profcheck_result r = verdict(text, &all_on);
    assert_int_equal(r.status, PROFCHECK_FAIL);
    assert_int_equal(r.n_errors, 2);
    free(text);
}

/* Values may nest up to Go's limit: 10000 messages, including the root. */
static void test_depth(void **state)
{
    (void)state;
    for (int more = 0; more < 2; more++) {
        /* root, dictionary, attribute, AnyValue, then pairs of ArrayValue and AnyValue */
        size_t pairs = (10000 - 4) / 2 + (size_t)more, cap = 16 + pairs * 12, at = cap;
        unsigned char *p = malloc(cap);
        assert_non_null(p);
        size_t len = 0;
        const unsigned char tags[] = {0x0a, 0x2a};
        for (size_t i = 0; i < 2 * pairs + 3; i++) { /* written from the inside out */
            unsigned char tag = i < 2 * pairs        ? tags[i % 2]
                                : i == 2 * pairs     ? 0x12
                                : i == 2 * pairs + 1 ? 0x32
                                                     : 0x12;
            unsigned char v[10];
            size_t n = 0;
            for (size_t l = len;; l >>= 7) {
                v[n++] = (unsigned char)(l >= 0x80 ? l | 0x80 : l);
                if (l < 0x80) break;
            }
            at -= n;
            memcpy(p + at, v, n);
            p[--at] = tag;
            len += n + 1;
        }
        arena a = {0};
        profcheck_result r;
        err e = {0};
        assert_true(profcheck_verdict(p + at, len, NULL, &a, &r, &e));
        assert_int_equal(r.status, more ? PROFCHECK_UNREADABLE : PROFCHECK_FAIL);
        assert_string_equal(r.first, more ? "proto: exceeded maximum recursion depth"
                                          : "resource profiles are empty");
        arena_free(&a);
        free(p);
    }
}

static void test_out_of_memory(void **state)
{
    (void)state;
    buf b = message_bytes(BASE);
    bool done = false;
    for (size_t budget = 16; budget < 64 * 1024; budget += 256) {
        arena a = {.budget = budget};
        profcheck_result r;
        err e = {0};
        bool ok = profcheck_verdict(b.p, b.n, &all_on, &a, &r, &e);
        assert_true(ok || err_exhausted(&e));
        done |= ok;
        arena_free(&a);
    }
    assert_true(done);
    buf_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),         cmocka_unit_test(test_22_bytes),
        cmocka_unit_test(test_base),          cmocka_unit_test(test_depth),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
