/* Every rule that can be checked in data has a message that violates it and a similar one that does
 * not. */
#include "run.h"

#include "base/ban.h"

#define P0 "resource_profiles[0].scope_profiles[0].profiles[0]"

typedef struct rule_case {
    const char *rule;
    const char *from, *bad, *good; /* a piece of BASE, and its replacements */
    const char *path, *found;      /* the first example */
    uint64_t count;
    const char *also; /* other rules that the bad message also violates */
} rule_case;

/* Pieces of BASE that several cases replace. */
#define SAMPLE_2                                                                                   \
    "samples{stack_index:2 attribute_indices:[2,5] values:[7] timestamps_unix_nano:[1999]}"
#define LINK_0 "link_table{trace_id:x\"" ZERO16 "\" span_id:x\"" ZERO8 "\"}"
#define LINK_1 "link_table{trace_id:x\"" TRACE "\" span_id:x\"" SPAN "\"}"
#define STACK_1 "stack_table{location_indices:[1]}"
#define STACK_2 "stack_table{location_indices:[2,1]}"
#define UNIT " unit_strindex:14}"
#define STRING_14 "string_table:\"By\""
#define KEY_7 "string_table:\"thread.name\""
#define MAP_ATTRS "attribute_indices:[1,4]}"

static const rule_case cases[] = {
    {"P-02", " mapping_table{}", " mapping_table{memory_start:1}", " mapping_table{memory_start:0}",
     "dictionary.mapping_table[0].memory_start", "0x1", 1, ""},
    {"P-02", " location_table{}", " location_table{lines{}}", " location_table{address:0}",
     "dictionary.location_table[0].lines", "1 lines", 1, ""},
    {"P-02", " function_table{}", " function_table{start_line:3}", " function_table{start_line:0}",
     "dictionary.function_table[0].start_line", "3", 1, ""},
    {"P-02", " attribute_table{}", " attribute_table{value{int_value:0}}",
     " attribute_table{value{}}", "dictionary.attribute_table[0].value", "a value", 1, ""},
    {"P-02", " stack_table{}", " stack_table{location_indices:[1,2]}",
     " stack_table{location_indices:[]}", "dictionary.stack_table[0].location_indices",
     "2 locations", 1, ""},
    {"P-02", LINK_0, "link_table{trace_id:x\"ff" ZERO8 "00000000000000\" span_id:x\"" ZERO8 "\"}",
     LINK_0, "dictionary.link_table[0].trace_id", "ff000000000000000000000000000000", 1, ""},
    {"P-02", " stack_table{}", " stack_table{#9:1}", " stack_table{}", "dictionary.stack_table[0]",
     "field 9, unknown in this layout", 1, "UNKNOWN"},
    {"P-03", "string_table:\"\"", "string_table:\"x\"", "string_table:\"\"",
     "dictionary.string_table[0]", "\"x\"", 1, ""},
    {"P-04", LINK_0, "link_table{}", LINK_0, "dictionary.link_table[0]", "an empty link", 1, ""},

    /* P-06: each kind of index */
    {"P-06", "stack_index:1 ", "stack_index:3 ", "stack_index:0 ", P0 ".samples[0].stack_index",
     "index 3, the table has 3 entries", 1, "P-10"},
    {"P-06", "stack_index:1 ", "stack_index:-1 ", "stack_index:0 ", P0 ".samples[0].stack_index",
     "index -1, the table has 3 entries", 1, "P-10"},
    {"P-06", "link_index:1", "link_index:2", "link_index:0", P0 ".samples[0].link_index",
     "index 2, the table has 2 entries", 1, "P-10"},
    {"P-06", "attribute_indices:[2,5]", "attribute_indices:[2,5,7]", "attribute_indices:[2,5,6]",
     P0 ".samples[1].attribute_indices[2]", "index 7, the table has 7 entries", 1, ""},
    {"P-06", "attribute_indices:[3]", "attribute_indices:[3,90]", "attribute_indices:[3,2]",
     P0 ".attribute_indices[1]", "index 90, the table has 7 entries", 1, ""},
    {"P-06", MAP_ATTRS, "attribute_indices:[1,4,44]}", "attribute_indices:[1,4,2]}",
     "dictionary.mapping_table[1].attribute_indices[2]", "index 44, the table has 7 entries", 1,
     ""},
    {"P-06", "attribute_indices:[6]", "attribute_indices:[6,-2]", "attribute_indices:[6]",
     "dictionary.location_table[1].attribute_indices[1]", "index -2, the table has 7 entries", 1,
     ""},
    {"P-06", "sample_type{type_strindex:1", "sample_type{type_strindex:17",
     "sample_type{type_strindex:16", P0 ".sample_type.type_strindex",
     "index 17, the table has 17 entries", 1, ""},
    {"P-06", "period_type{type_strindex:1 unit_strindex:2",
     "period_type{type_strindex:1 unit_strindex:17", "period_type{type_strindex:1 unit_strindex:14",
     P0 ".period_type.unit_strindex", "index 17, the table has 17 entries", 1, ""},
    {"P-06", "mapping_index:1 address:4100", "mapping_index:2 address:4100",
     "mapping_index:0 address:4100", "dictionary.location_table[1].mapping_index",
     "index 2, the table has 2 entries", 1, ""},
    {"P-06", "lines{function_index:2 line:3}",
     "lines{function_index:2 line:3} lines{function_index:3}",
     "lines{function_index:2 line:3} lines{function_index:1}",
     "dictionary.location_table[2].lines[1].function_index", "index 3, the table has 3 entries", 1,
     ""},
    {"P-06", "location_indices:[2,1]", "location_indices:[2,3]", "location_indices:[2,0]",
     "dictionary.stack_table[2].location_indices[1]", "index 3, the table has 3 entries", 1, ""},
    {"P-06", "filename_strindex:5", "filename_strindex:55", "filename_strindex:5",
     "dictionary.mapping_table[1].filename_strindex", "index 55, the table has 17 entries", 1,
     "P-10"},
    {"P-06", "name_strindex:11}", "name_strindex:18}", "name_strindex:11}",
     "dictionary.function_table[2].name_strindex", "index 18, the table has 17 entries", 1, "P-10"},
    {"P-06", "system_name_strindex:12", "system_name_strindex:-5", "system_name_strindex:12",
     "dictionary.function_table[1].system_name_strindex", "index -5, the table has 17 entries", 1,
     "P-10"},
    {"P-06", "filename_strindex:4", "filename_strindex:40", "filename_strindex:4",
     "dictionary.function_table[1].filename_strindex", "index 40, the table has 17 entries", 1,
     "P-10"},
    {"P-06", "key_strindex:7 ", "key_strindex:70 ", "key_strindex:7 ",
     "dictionary.attribute_table[2].key_strindex", "index 70, the table has 17 entries", 1, "P-10"},
    {"P-06", UNIT, " unit_strindex:20}", UNIT, "dictionary.attribute_table[5].unit_strindex",
     "index 20, the table has 17 entries", 1, "P-10"},
    {"P-06", "key_strindex:9 ", "key_strindex:19 ", "key_strindex:9 ",
     "resource_profiles[0].resource.attributes[1].key_strindex",
     "index 19, the table has 17 entries", 1, "P-10"},
    {"P-06", "string_value_strindex:10", "string_value_strindex:17", "string_value_strindex:10",
     "resource_profiles[0].resource.attributes[1].value.string_value_strindex",
     "index 17, the table has 17 entries", 1, "P-10"},
    {"P-06", "value{int_value:1}", "value{array_value{values{} values{string_value_strindex:99}}}",
     "value{array_value{values{} values{string_value_strindex:1}}}",
     "dictionary.attribute_table[3].value.kvlist_value.values[0].value.array_value.values[1]."
     "string_value_strindex",
     "index 99, the table has 17 entries", 1, ""},

    /* P-07: each table */
    {"P-07", "string_table:\"env\"", "string_table:\"env\" string_table:\"env\"",
     "string_table:\"env\"", "dictionary.string_table[17]", "the same as entry 16", 1, "P-10"},
    {"P-07", STACK_2, STACK_2 STACK_1, STACK_2, "dictionary.stack_table[3]", "the same as entry 1",
     1, "P-10"},
    {"P-07", LINK_1, LINK_1 " " LINK_1, LINK_1, "dictionary.link_table[2]", "the same as entry 1",
     1, "P-10"},
    {"P-07", " stack_table{}",
     " attribute_table{key_strindex:15 value{string_value:\"native\"}} stack_table{}",
     " stack_table{}", "dictionary.attribute_table[7]", "the same as entry 6", 1, "P-10"},
    {"P-07", " function_table{name_strindex:11}",
     " function_table{name_strindex:11} function_table{name_strindex:11}",
     " function_table{name_strindex:11}", "dictionary.function_table[3]", "the same as entry 2", 1,
     "P-10"},
    {"P-07", " function_table{}",
     " location_table{mapping_index:1 address:4200 lines{function_index:2 line:3}} "
     "function_table{}",
     " function_table{}", "dictionary.location_table[3]", "the same as entry 2", 1, "P-10"},
    /* by value: another index of the same attribute, in another order */
    {"P-07", " location_table{}",
     " mapping_table{memory_start:4096 memory_limit:8192 filename_strindex:5 "
     "attribute_indices:[4,1]}"
     " location_table{}",
     " location_table{}", "dictionary.mapping_table[2]", "the same as entry 1", 1, "P-10"},

    {"P-10", STACK_2, STACK_2 " stack_table{location_indices:[1,1]}", STACK_2,
     "dictionary.stack_table[3]", "no sample, profile, resource or scope refers to it", 1, ""},
    {"P-10", "string_table:\"env\"", "string_table:\"env\" string_table:\"unused\"",
     "string_table:\"env\"", "dictionary.string_table[17]",
     "no sample, profile, resource or scope refers to it", 1, ""},
    {"P-12", " mapping_table{}", "} dictionary{ mapping_table{}", " mapping_table{}", "dictionary",
     "dictionary 2", 1, ""},
    {"P-20", "string_table:\"work\"", "string_table:\"wo\\xffrk\"",
     "string_table:\"wo\\xc3\\xa4rk\"", "dictionary.string_table[11]",
     "byte 0xff at 2 of \"wo\\xffrk\"", 1, ""},
    {"P-20", "key:\"service.name\"", "key:\"\\xed\\xa0\\x80\"", "key:\"service.name\"",
     "resource_profiles[0].resource.attributes[0].key", "byte 0xed at 0 of \"\\xed\\xa0\\x80\"", 1,
     "P-31"},
    {"P-20", "original_payload_format:\"pprof\"", "original_payload_format:\"\\xc0\\x80\"",
     "original_payload_format:\"jfr\"", P0 ".original_payload_format",
     "byte 0xc0 at 0 of \"\\xc0\\x80\"", 1, "P-54"},
    {"P-21", "attribute_indices:[2,5]", "attribute_indices:[2,5,2]", "attribute_indices:[2,5]",
     P0 ".samples[1].attribute_indices[2]", "key \"thread.name\" again, first at [0]", 1, ""},
    {"P-21", MAP_ATTRS, "attribute_indices:[1,4,1]}", MAP_ATTRS,
     "dictionary.mapping_table[1].attribute_indices[2]",
     "key \"process.executable.build_id.gnu\" again, first at [0]", 1, ""},
    {"P-21", "attribute_indices:[6]", "attribute_indices:[6,6]", "attribute_indices:[6]",
     "dictionary.location_table[1].attribute_indices[1]",
     "key \"profile.frame.type\" again, first at [0]", 1, ""},
    {"P-21", "attribute_indices:[3]", "attribute_indices:[3,3]", "attribute_indices:[3,2]",
     P0 ".attribute_indices[1]", "key \"env\" again, first at [0]", 1, ""},
    {"P-23", "key_strindex:9 ", "key:\"service.name\" ", "key:\"host.name\" ",
     "resource_profiles[0].resource.attributes[1]", "key \"service.name\" again, first at [0]", 1,
     "P-10"},
    {"P-23", "values{key:\"b\"", "values{key:\"a\"", "values{key:\"c\"",
     "dictionary.attribute_table[3].value.kvlist_value.values[1]", "key \"a\" again, first at [0]",
     1, ""},
    {"P-24", "key:\"service.name\"", "key:\"service.name\" key_strindex:9",
     "key:\"service.name\" key_strindex:0", "resource_profiles[0].resource.attributes[0]",
     "key and key_strindex are both set", 1, ""},
    {"P-26", STRING_14, "string_table:\"bytes\"", "string_table:\"KiBy/s\"",
     "dictionary.attribute_table[5].unit_strindex", "\"bytes\"", 1, ""},
    {"P-28", "attribute_indices:[2,5]", "attribute_indices:[2,0]", "attribute_indices:[2,5]",
     P0 ".samples[1].attribute_indices[1]", "index 0, the entry without a key", 1, "P-10"},
    {"P-28", "key_strindex:7 ", "key_strindex:0 ", "key_strindex:7 ",
     "dictionary.attribute_table[2].key_strindex", "an empty key", 1, "P-10"},
    {"P-28", "key:\"pprof.scope.default_sample_type\"", "key:\"\"", "key:\"x\"",
     "resource_profiles[0].scope_profiles[0].scope.attributes[0]", "an empty key", 1, ""},
    {"P-31", "type:\"service\"", "type:\"\"", "type:\"host\"",
     "resource_profiles[0].resource.entity_refs[0].type", "no type", 1, ""},
    {"P-31", "id_keys:\"service.name\"", "description_keys:\"service.name\"",
     "id_keys:\"host.name\"", "resource_profiles[0].resource.entity_refs[0].id_keys", "no id keys",
     1, ""},
    {"P-31", "id_keys:\"service.name\"", "id_keys:\"service.name\" description_keys:\"nope\"",
     "id_keys:\"service.name\" description_keys:\"host.name\"",
     "resource_profiles[0].resource.entity_refs[0].description_keys[0]", "\"nope\"", 1, ""},
    {"P-32", KEY_7, "string_table:\"code.function.name\"", "string_table:\"code.function\"",
     "dictionary.attribute_table[2].key_strindex", "\"code.function.name\"", 1, ""},
    {"P-40", "scope_profiles{", "scope_profiles{} scope_profiles{", "scope_profiles{",
     "resource_profiles[0].scope_profiles[0].profiles", "no profiles", 1, ""},
    {"P-40", "resource_profiles{", "resource_profiles{} resource_profiles{", "resource_profiles{",
     "resource_profiles[0].scope_profiles", "no scope profiles", 1, ""},
    {"P-41", "resource_profiles{",
     "resource_profiles{scope_profiles{profiles{}}} resource_profiles{", "resource_profiles{",
     "resource_profiles[0]", "no samples", 1, ""},
    {"P-41", "scope_profiles{", "scope_profiles{profiles{}} scope_profiles{", "scope_profiles{",
     "resource_profiles[0].scope_profiles[0]", "no samples", 1, ""},
    {"P-45", "https://opentelemetry.io/schemas/1.37.0", "https://opentelemetry.io/schemas/latest",
     "https://opentelemetry.io/schemas/1.38.0-dev",
     "resource_profiles[0].scope_profiles[0].schema_url",
     "\"https://opentelemetry.io/schemas/latest\"", 1, ""},
    {"P-45", "https://opentelemetry.io/schemas/1.36.0", "https://opentelemetry.io/schemas/",
     "https://opentelemetry.io/schemas/1", "resource_profiles[0].schema_url",
     "\"https://opentelemetry.io/schemas/\"", 1, ""},
    {"P-45", "resource_profiles{", "resource_profiles{#1000:\"x\"", "resource_profiles{",
     "resource_profiles[0]", "field 1000", 1, ""},
    {"P-46", "sample_type{type_strindex:1 unit_strindex:2}", "sample_type{unit_strindex:2}",
     "sample_type{type_strindex:1 unit_strindex:2}", P0 ".sample_type.type_strindex", "no type", 1,
     ""},
    {"P-46", "sample_type{type_strindex:1 unit_strindex:2}", "sample_type{type_strindex:1}",
     "sample_type{type_strindex:2 unit_strindex:1}", P0 ".sample_type.unit_strindex", "no unit", 1,
     ""},
    {"P-50", "duration_nano:1000", "duration_nano:0", "duration_nano:1000", P0 ".duration_nano",
     "0, with 3 timestamps", 1, "P-67"},
    {"P-51", "period:10", "period:-10", "period:1", P0 ".period", "-10", 1, ""},
    {"P-51", "period:10", "period:0", "period:1", P0 ".period_type",
     "a period_type without a period", 1, ""},
    {"P-51", "period_type{type_strindex:1 unit_strindex:2}", "period_type{}",
     "period_type{type_strindex:1}", P0 ".period", "10 without a period_type", 1, ""},
    {"P-52", "profile_id:x\"" TRACE "\"", "profile_id:x\"0102\"", "", P0 ".profile_id", "2 bytes",
     1, ""},
    {"P-52", "profile_id:x\"" TRACE "\"", "profile_id:x\"" ZERO16 "\"", "profile_id:x\"\"",
     P0 ".profile_id", "16 zero bytes", 1, ""},
    {"P-53", "original_payload:x\"00\"", "", "original_payload:x\"0000\"",
     P0 ".original_payload_format", "\"pprof\" without a payload", 1, ""},
    {"P-53", "original_payload_format:\"pprof\"", "", "original_payload_format:\"jfr\"",
     P0 ".original_payload", "1 bytes without a format", 1, ""},
    {"P-54", "original_payload_format:\"pprof\"", "original_payload_format:\"perf\"",
     "original_payload_format:\"linux_perf\"", P0 ".original_payload_format", "\"perf\"", 1, ""},
    {"P-56", "string_table:\"env\"", "string_table:\"pprof.scope.sample_type_order\"",
     "string_table:\"pprof.profile.comment\"", "dictionary.attribute_table[3].key_strindex",
     "\"pprof.scope.sample_type_order\"", 1, ""},
    {"P-56", "attributes{key_strindex:9 ", "attributes{key:\"pprof.scope.x\" ",
     "attributes{key:\"x\" ", "resource_profiles[0].resource.attributes[1]", "\"pprof.scope.x\"", 1,
     "P-10"},
    {"P-60", SAMPLE_2, "samples{stack_index:2 attribute_indices:[2,5]}", SAMPLE_2, P0 ".samples[1]",
     "no values and no timestamps", 1, ""},
    {"P-61", "values:[7]", "values:[7,8]", "values:[8]", P0 ".samples[1].values",
     "2 values, 1 timestamps", 1, ""},
    {"P-64", SAMPLE_2,
     "} profiles{sample_type{type_strindex:1 unit_strindex:2}"
     "samples{stack_index:2 attribute_indices:[2,5] values:[7,8]} ",
     SAMPLE_2, "resource_profiles[0].scope_profiles[0].profiles[1].samples[0].values", "2 values",
     1, NULL},
    {"P-65", " timestamps_unix_nano:[1999]", "", " timestamps_unix_nano:[1998]", P0 ".samples[1]",
     "values only", 1, ""},
    {"P-66", SAMPLE_2,
     SAMPLE_2 " samples{stack_index:2 attribute_indices:[5,2] values:[1] "
              "timestamps_unix_nano:[1000]}",
     SAMPLE_2
     " samples{stack_index:2 attribute_indices:[5] values:[1] timestamps_unix_nano:[1000]}",
     P0 ".samples[2]", "stack, attributes and link of samples[1]", 1, ""},
    {"P-67", "timestamps_unix_nano:[1999]", "timestamps_unix_nano:[2000]",
     "timestamps_unix_nano:[1000]", P0 ".samples[1].timestamps_unix_nano[0]", "2000", 1, ""},
    {"P-67", "timestamps_unix_nano:[1000,1500]", "timestamps_unix_nano:[1000,999]",
     "timestamps_unix_nano:[1000,1000]", P0 ".samples[0].timestamps_unix_nano[1]", "999", 1, ""},
    /* the sum of start and duration may exceed 64 bits */
    {"P-67", "duration_nano:1000", "duration_nano:999", "duration_nano:18446744073709551615",
     P0 ".samples[1].timestamps_unix_nano[0]", "1999", 1, ""},
    {"P-71", "address:4200", "address:8193", "address:8192", "dictionary.location_table[2].address",
     "0x2001", 1, ""},
    {"P-74", "line:10", "line:-10", "line:0", "dictionary.location_table[1].lines[0].line", "-10",
     1, ""},
    {"P-74", "column:2", "column:-2", "column:0", "dictionary.location_table[1].lines[0].column",
     "-2", 1, ""},
    {"P-74", "start_line:8", "start_line:-8", "start_line:0",
     "dictionary.function_table[1].start_line", "-8", 1, ""},
    {"P-75", "function_table{name_strindex:11}", "function_table{start_line:11}",
     "function_table{filename_strindex:11}", "dictionary.function_table[2]",
     "no name, system_name, filename", 1, "P-10"},
    {"P-76", MAP_ATTRS, "attribute_indices:[2]}", "attribute_indices:[4]}",
     "dictionary.mapping_table[1]", "no build id on \"/bin/app\"", 1, "P-10"},
    {"P-77", MAP_ATTRS, "attribute_indices:[1]}", "attribute_indices:[4]}",
     "dictionary.mapping_table[1]", "no htlhash on \"/bin/app\"", 1, "P-10"},
    {"P-78", "string_value:\"" HTLHASH "\"", "string_value:\"0011\"",
     "string_value:\"00112233445566778899AABBCCDDEEFF\"", "dictionary.attribute_table[4].value",
     "\"0011\"", 1, ""},
    {"P-79", "memory_limit:8192", "memory_limit:4096", "memory_limit:8193",
     "dictionary.mapping_table[1].memory_limit", "[0x1000, 0x1000)", 1, "P-71"},
    {"P-80", LINK_1, "link_table{trace_id:x\"0102\" span_id:x\"" SPAN "\"}", LINK_1,
     "dictionary.link_table[1].trace_id", "2 bytes", 1, ""},
    {"P-80", LINK_1, "link_table{trace_id:x\"" TRACE "\"}", LINK_1,
     "dictionary.link_table[1].span_id", "0 bytes", 1, ""},
    {"P-80", LINK_0, "link_table{trace_id:x\"000000\" span_id:x\"" ZERO8 "\"}", LINK_0,
     "dictionary.link_table[0].trace_id", "3 bytes", 1, ""},
    {"P-81", "string_value:\"native\"", "string_value:\"Python\"", "string_value:\"zig\"",
     "dictionary.attribute_table[6].value", "\"Python\"", 1, ""},
    {"P-81", "value{string_value:\"native\"}", "value{int_value:3}", "value{string_value:\"jvm\"}",
     "dictionary.attribute_table[6].value", "a value that is not a string", 1, ""},
    {"UNKNOWN", "lines{function_index:2 line:3}", "lines{function_index:2 line:3 #7:1}",
     "lines{function_index:2 line:3}", "dictionary.location_table[2].lines[0]",
     "field 7 (varint) of Line", 1, ""},
    {"UNKNOWN", "link_index:1", "link_index:1 #3:\"\"", "link_index:1", P0 ".samples[0].link_index",
     "field 3 of Sample is length-delimited", 1, ""},
    {"WIRE", "values:[7] timestamps_unix_nano:[1999]", "values:[7] #5:x\"010203\"",
     "values:[7] #5:x\"cf07000000000000\"", P0 ".samples[1].timestamps_unix_nano",
     "3 bytes, not a multiple of 8", 1, ""},
    {"WIRE", "values:[7]", "values:x\"80\"", "values:x\"07\"", P0 ".samples[1].values",
     "varint runs past the end of the message", 1, ""},
    {"WIRE", "attribute_table{key_strindex:7 ",
     "attribute_table{!\"0a05\"}"
     " attribute_table{key_strindex:7 ",
     "attribute_table{key_strindex:7 ", "dictionary.attribute_table[2]", NULL, 1, ""},
};

static void test_base_is_clean(void **state)
{
    (void)state;
    run x;
    start(&x, BASE, NULL);
    print_report(&x.r);
    assert_int_equal(x.r.n_findings, 0);
    assert_int_equal(x.r.n_notes, 0);
    stop(&x);
}

static void only_expected(const rule_case *k, const check_report *r)
{
    for (size_t i = 0; k->also && i < r->n_findings; i++) {
        const char *id = r->findings[i].rule->id;
        if (strcmp(id, k->rule) != 0 && !strstr(k->also, id)) {
            print_report(r);
            fail_msg("%s with %s: unexpected %s", k->rule, k->bad, id);
        }
    }
}

static void test_rules(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const rule_case *k = &cases[i];
        run x;
        char *bad = message_with(k->from, k->bad), *good = message_with(k->from, k->good);
        start(&x, bad, NULL);
        const check_finding *f = check_report_find(&x.r, k->rule);
        if (!f) {
            print_report(&x.r);
            fail_msg("%s not found with %s", k->rule, k->bad);
        }
        if (strcmp(f->examples[0].path, k->path) != 0 || f->count != k->count ||
            (k->found && strcmp(f->examples[0].found, k->found) != 0)) {
            print_report(&x.r);
            fail_msg("%s with %s: %lu at %s: %s", k->rule, k->bad, (unsigned long)f->count,
                     f->examples[0].path, f->examples[0].found);
        }
        assert_true(f->examples[0].offset == NO_OFFSET || f->examples[0].offset < x.bytes.n);
        assert_true(f->examples[0].expected[0] != '\0');
        only_expected(k, &x.r);
        stop(&x);

        start(&x, good, NULL);
        if (check_report_find(&x.r, k->rule)) {
            print_report(&x.r);
            fail_msg("%s although %s", k->rule, k->good);
        }
        stop(&x);
        free(bad);
        free(good);
    }
}

/* Every rule is in the table above, has a separate test, or has a reason why it cannot be checked
 * in data. */
static void test_all_rules_are_tested(void **state)
{
    (void)state;
    size_t n;
    const check_rule *rules = check_rules(&n);
    for (size_t i = 0; i < n; i++) {
        if (!(rules[i].kinds >> LAYOUT_CURRENT & 1)) continue; /* test_layouts.c */
        /* test_missing_tables, test_cardinality */
        bool seen = strcmp(rules[i].id, "P-01") == 0 || strcmp(rules[i].id, "P-27") == 0;
        for (size_t k = 0; !seen && k < ARRAY_LEN(cases); k++)
            seen = strcmp(cases[k].rule, rules[i].id) == 0;
        if (seen == (rules[i].unseen != NULL)) fail_msg("%s: tested or unseen?", rules[i].id);
        assert_true(rules[i].title[0] && rules[i].expected[0] && rules[i].source[0]);
        assert_true(rules[i].unseen || rules[i].fix[0]);
        assert_ptr_equal(check_rule_find(str_of(rules[i].id)), &rules[i]);
    }
    assert_ptr_equal(check_rule_find(STR("p-06")), check_rule_find(STR("P-06")));
    assert_null(check_rule_find(STR("P-6")));
    assert_null(check_rule_find(STR("")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_base_is_clean),
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_all_rules_are_tested),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
