/* Rules of older layouts, drafts and log records: each has a message that violates it and a similar
 * one that does not. The messages use the names of their own schema and are checked without
 * conversion. */
#include "../../support/old_layouts.h"
#include "check/check.h"
#include "format/dialects.h"
#include "format/splunk.h"
#include "message.h"

#include "base/ban.h"

#define T0 "1000000000000000000"
#define T1 "1000000001000000000"
#define T10 "1000000010000000000"
#define P0 "resource_profiles[0].scope_profiles[0].profiles[0]"
#define SHOP "resource{attributes{key:\"service.name\" value{string_value:\"shop\"}}} "
#define STRINGS_7                                                                                  \
    " string_table:\"\" string_table:\"cpu\" string_table:\"nanoseconds\" string_table:\"/bin/a\"" \
    " string_table:\"ab12\" string_table:\"main\" string_table:\"work\""
#define LINK_ONE "{trace_id:x\"" TRACE "\" span_id:x\"" SPAN "\"}"

/* ---- messages without a finding ---- */

static const char V3[] =
    "resource_profiles{" SHOP "scope_profiles{scope{name:\"s\"} profiles{"
    " profile_id:x\"" TRACE "\" start_time_unix_nano:" T0 " end_time_unix_nano:" T10
    " attributes{key:\"run\" value{int_value:1}} attributes{key:\"env\" value{int_value:2}}"
    " original_payload_format:\"jfr\" original_payload:x\"00\""
    " profile{sample_type{type:1 unit:2 aggregation_temporality:1}"
    " sample{value:[10] label{key:1 num:7 num_unit:2} locations_length:2 attributes:[0] link:1"
    "        timestamps_unix_nano:[" T1 "]}"
    " mapping{memory_start:4096 memory_limit:8192 filename:3 build_id:4 build_id_kind:1}"
    " mapping{memory_start:16384 memory_limit:32768 filename:3}"
    " location{mapping_index:1 address:20000 line{line:3 column:1}}"
    " location{address:4100 line{function_index:1 line:4}}"
    " function{name:5 start_line:2} function{name:6}" STRINGS_7 " time_nanos:" T0
    " duration_nanos:10000000000 period_type{type:1 unit:2} period:10 location_indices:[0,1]"
    " attribute_table{key:\"thread.name\" value{string_value:\"w\"}}"
    " link_table{} link_table" LINK_ONE "}}}}";

static const char V7[] =
    "resource_profiles{" SHOP "scope_profiles{profiles{"
    " sample_type{type_strindex:1 unit_strindex:2 aggregation_temporality:2}"
    " sample{locations_length:2 value:[10] attribute_indices:[1] link_index:0"
    "        timestamps_unix_nano:[" T1 "]}"
    " location_indices:[0,1] time_nanos:" T0 " duration_nanos:10000000000"
    " default_sample_type_index:0 profile_id:x\"" TRACE "\" attribute_indices:[0,1]}}}"
    "dictionary{"
    " mapping_table{memory_start:4096 memory_limit:8192 filename_strindex:3 attribute_indices:[0]}"
    " location_table{mapping_index:0 address:4100 line{function_index:0 line:3}}"
    " location_table{address:20000 line{function_index:1 line:4}}"
    " function_table{name_strindex:5} function_table{name_strindex:6}"
    " link_table" LINK_ONE STRINGS_7
    " attribute_table{key:\"process.executable.build_id.gnu\" value{string_value:\"ab12\"}}"
    " attribute_table{key:\"thread.name\" value{string_value:\"w\"}}}";

static const char V8[] =
    "resource_profiles{" SHOP "scope_profiles{profiles{"
    " sample_type{type_strindex:1 unit_strindex:2 aggregation_temporality:1}"
    " sample{stack_index:1 values:[1]} comment_strindices:[3] profile_id:x\"" TRACE "\"}}}"
    "dictionary{mapping_table{} location_table{} location_table{line{function_index:1}}"
    " function_table{} function_table{name_strindex:4} link_table{trace_id:x\"" ZERO16
    "\" span_id:x\"" ZERO8 "\"} string_table:\"\" string_table:\"cpu\" string_table:\"count\""
    " string_table:\"a comment\" string_table:\"main\""
    " attribute_table{} stack_table{} stack_table{location_indices:[1]}}";

static const char A[] =
    "resource_profiles{" SHOP "scope_profiles{profiles{"
    " profile_id:x\"" TRACE "\" start_time_unix_nano:" T0 " end_time_unix_nano:" T10
    " stacktraces{location_indices:[0,1]} stacktraces{location_indices:[0]}"
    " mappings{memory_start:4096 memory_limit:8192 filename_index:3 build_id_index:4}"
    " mappings{memory_start:16384 memory_limit:32768 filename_index:3}"
    " locations{address:4100 line{function_index:0 line:1}}"
    " locations{mapping_index:1 address:20000 line{function_index:1 line:2}}"
    " functions{name_index:5} functions{name_index:6}"
    " links{} links" LINK_ONE
    " attribute_sets{} attribute_sets{attributes{key:\"a\" value{int_value:1}}}" STRINGS_7
    " profile_types{aggregation_temporality:1 type_index:1 unit_index:2"
    "  stacktrace_indices:[0,1] link_indices:[0,1] attribute_set_indices:[0,1] values:[3,4]"
    "  timestamps:[1,2]}}}}";

static const char C[] =
    "events{event_type_index:0 stack_index:1 link_index:0 attribute_indices:[0] time:5 value:7}"
    " events{event_type_index:1 stack_index:1 count:3 sum:21}"
    " event_types{name_string_index:1 unit_string_index:2 clock_index:0}"
    " event_types{name_string_index:1 unit_string_index:2}"
    " stacks{} stacks{location_index:[0]}"
    " locations{mapping_index:1 address:4100 line{function_index:0 line:3}}"
    " functions{name_string_uindex:3} mappings{} mappings{memory_start:4096 memory_limit:8192}"
    " attributes{key_string_index:4 value{string_index:3}}"
    " links" LINK_ONE " strings:\"\" strings:\"cpu\" strings:\"ns\" strings:\"main\""
    " strings:\"thread.name\" clocks{frequency:1000000000 time_unix_nano:" T0 "}"
    " time_unix_nano:" T10 " duration_nanos:10000000000";

#define META                                                                                       \
    "\\x22main\\x22 #1 prio=5 os_prio=0 cpu=1.00ms elapsed=2.00s tid=0x1 nid=0x2 runnable\\x0a"
#define STATE "   java.lang.Thread.State: RUNNABLE\\x0a"
#define FRAME "\\x09at com.acme.Foo.bar(Foo.java:10)\\x0a"
#define R0 "resource_logs[0].scope_logs[0].log_records[0]"

static const char LOGS[] =
    "resource_logs{" SHOP "scope_logs{scope{name:\"otel.profiling\" version:\"0.1.0\"} "
    "log_records{time_unix_nano:" T0 " name:\"otel.profiling\""
    " body{string_value:\"" META STATE FRAME "\"}"
    " attributes{key:\"com.splunk.sourcetype\" value{string_value:\"otel.profiling\"}}"
    " attributes{key:\"source.event.period\" value{int_value:1000}}"
    " trace_id:x\"" TRACE "\" span_id:x\"" SPAN "\"}}}";

/* ---- the cases ---- */

typedef struct layout_case {
    const char *rule;
    unsigned kind;
    const char *base;
    const char *from, *bad, *good; /* a piece of the base, and its replacements */
    const char *path, *found;      /* the first example */
} layout_case;

#define OLD_3 LAYOUT_1_3, V3
#define OLD_7 LAYOUT_1_7, V7
#define ARRAYS CHECK_ARRAYS, A
#define EVENTS CHECK_EVENTS, C
#define SPLUNK CHECK_SPLUNK, LOGS
/* Marks a record of a later release. */
#define FORMAT_TEXT " attributes{key:\"profiling.data.format\" value{string_value:\"text\"}}"
#define TYPE_ATTR "attributes{key:\"com.splunk.sourcetype\" value{string_value:\"otel.profiling\"}}"
#define PERIOD_ATTR "attributes{key:\"source.event.period\" value{int_value:1000}}"

static const layout_case cases[] = {
    /* 1.3 */
    {"P-03", OLD_3, "string_table:\"\"", "string_table:\"x\"", "string_table:\"\"",
     P0 ".profile.string_table[0]", "\"x\""},
    {"P-06", OLD_3, "attributes:[0]", "attributes:[0,9]", "attributes:[0,0]",
     P0 ".profile.sample[0].attributes[1]", "index 9, the table has 1 entries"},
    {"P-06", OLD_3, "link:1", "link:2", "link:0", P0 ".profile.sample[0].link",
     "index 2, the table has 2 entries"},
    {"P-06", OLD_3, "locations_length:2", "locations_length:3", "locations_length:1",
     P0 ".profile.sample[0].locations_length", "[0, + 3), location_indices has 2"},
    {"P-06", OLD_3, "location_indices:[0,1]", "location_indices:[0,2]", "location_indices:[0,0]",
     P0 ".profile.location_indices[1]", "index 2, the table has 2 entries"},
    {"P-06", OLD_3, "function_index:1", "function_index:5", "function_index:0",
     P0 ".profile.location[1].line[0].function_index", "index 5, the table has 2 entries"},
    {"P-06", OLD_3, "mapping_index:1", "mapping_index:7", "mapping_index:0",
     P0 ".profile.location[0].mapping_index", "index 7, the table has 2 entries"},
    {"P-06", OLD_3, "type:1 unit:2 agg", "type:99 unit:2 agg", "type:6 unit:2 agg",
     P0 ".profile.sample_type[0].type", "index 99, the table has 7 entries"},
    {"P-20", OLD_3, "name:\"s\"", "name:\"\\xff\"", "name:\"\\xc3\\xa9\"",
     "resource_profiles[0].scope_profiles[0].scope.name", "byte 0xff at 0 of \"\\xff\""},
    {"P-23", OLD_3, "key:\"env\"", "key:\"run\"", "key:\"other\"", P0 ".attributes[1]",
     "key \"run\" again, first at [0]"},
    {"P-28", OLD_3, "key:\"env\"", "key:\"\"", "key:\"x\"", P0 ".attributes[1]", "an empty key"},
    {"P-52", OLD_3, "profile_id:x\"" TRACE "\"", "profile_id:x\"0102\"",
     "profile_id:x\"" TRACE "\"", P0 ".profile_id", "2 bytes"},
    {"P-53", OLD_3, "original_payload_format:\"jfr\"", "", "original_payload_format:\"x\"",
     P0 ".original_payload", "1 bytes without a format"},
    {"P-67", OLD_3, "timestamps_unix_nano:[" T1 "]", "timestamps_unix_nano:[1900000000000000000]",
     "timestamps_unix_nano:[1000000001000]" /* ms */,
     P0 ".profile.sample[0].timestamps_unix_nano[0]", "1900000000000000000"},
    {"P-71", OLD_3, "address:20000", "address:20", "address:32768",
     P0 ".profile.location[0].address", "0x14"},
    {"P-74", OLD_3, "line:3 column:1", "line:-3 column:1", "line:0",
     P0 ".profile.location[0].line[0].line", "-3"},
    {"P-80", OLD_3, "span_id:x\"" SPAN "\"", "span_id:x\"01\"", "span_id:x\"" SPAN "\"",
     P0 ".profile.link_table[1].span_id", "1 bytes"},
    {"L-01", OLD_3, "aggregation_temporality:1", "", "aggregation_temporality:2",
     P0 ".profile.sample_type[0].aggregation_temporality", "unspecified"},
    {"L-02", OLD_3, "profile_id:x\"" TRACE "\"", "", "profile_id:x\"ff" ZERO8 "00000000000000\"",
     P0 ".profile_id", "no id"},
    {"L-02", OLD_3, "profile_id:x\"" TRACE "\"", "profile_id:x\"" ZERO16 "\"",
     "profile_id:x\"" TRACE "\"", P0 ".profile_id", "16 zero bytes"},
    {"L-03", OLD_3, "end_time_unix_nano:" T10, "end_time_unix_nano:7", "end_time_unix_nano:" T0,
     P0 ".end_time_unix_nano", "7, the start is " T0},
    {"L-03", OLD_3, "duration_nanos:10000000000", "duration_nanos:-1", "duration_nanos:0",
     P0 ".profile.duration_nanos", "-1"},
    {"L-04", OLD_3, "value:[10]", "value:[10,11]", "value:[0]", P0 ".profile.sample[0].value",
     "2 values, 1 sample types"},
    {"L-05", OLD_3, " profile{sample_type{", "}profiles{} profiles{profile{sample_type{",
     " profile{sample_type{", P0 ".profile", "no profile"},
    {"L-07", OLD_3, "link_table{}", "link_table{span_id:x\"" SPAN "\"}",
     "link_table{span_id:x\"" ZERO8 "\"}", P0 ".profile.link_table[0]", "a link"},
    {"L-08", OLD_3, "original_payload_format:\"jfr\"", "original_payload_format:\"pprof\"",
     "original_payload_format:\"linux_perf\"", P0 ".original_payload", "1 bytes of pprof"},
    {"L-09", OLD_3, "label{key:1 num:7", "label{key:1 str:2 num:7", "label{key:1 num:8",
     P0 ".profile.sample[0].label[0].num", "str and num are both set"},
    {"L-09", OLD_3, "label{key:1 num:7 num_unit:2}", "label{key:1 str:2 num_unit:2}",
     "label{key:1 str:2}", P0 ".profile.sample[0].label[0].num_unit", "num_unit together with str"},
    {"UNKNOWN", OLD_3, "period:10", "period:10 #77:1", "period:11", P0 ".profile",
     "field 77 (varint) of Profile"},
    {"WIRE", OLD_3, "scope{name:\"s\"}", "scope{name:\"s\" !\"0a05\"}", "scope{}",
     "resource_profiles[0].scope_profiles[0].scope", NULL},

    /* 1.7: one dictionary, references with presence */
    {"P-03", OLD_7, "string_table:\"\"", "string_table:\"x\"", "string_table:\"\"",
     "dictionary.string_table[0]", "\"x\""},
    {"P-06", OLD_7, "attribute_indices:[1]", "attribute_indices:[0,9]", "attribute_indices:[0]",
     P0 ".sample[0].attribute_indices[1]", "index 9, the table has 2 entries"},
    {"P-06", OLD_7, "link_index:0", "link_index:1", "", P0 ".sample[0].link_index",
     "index 1, the table has 1 entries"},
    {"P-06", OLD_7, " link_table" LINK_ONE, "", " link_table{}", P0 ".sample[0].link_index",
     "index 0, the table is empty"},
    {"P-06", OLD_7, "default_sample_type_index:0", "default_sample_type_index:1", "",
     P0 ".default_sample_type_index", "index 1, the table has 1 entries"},
    {"P-06", OLD_7, "function_index:1", "function_index:-1", "function_index:0",
     "dictionary.location_table[1].line[0].function_index", "index -1, the table has 2 entries"},
    {"P-12", OLD_7, "dictionary{ ", "dictionary{} dictionary{ ", "dictionary{ ", "dictionary",
     "2 dictionaries"},
    {"P-31", OLD_7, "value{string_value:\"shop\"}}",
     "value{string_value:\"shop\"}} entity_refs{type:\"service\" id_keys:\"host.id\"}",
     "value{string_value:\"shop\"}} entity_refs{type:\"service\" id_keys:\"service.name\"}",
     "resource_profiles[0].resource.entity_refs[0].id_keys", "\"host.id\""},
    {"P-31", OLD_7, "value{string_value:\"shop\"}}",
     "value{string_value:\"shop\"}} entity_refs{id_keys:\"service.name\"}",
     "value{string_value:\"shop\"}}", "resource_profiles[0].resource.entity_refs[0].type",
     "no type"},
    {"P-21", OLD_7, "attribute_indices:[0,1]}}}", "attribute_indices:[0,1,0]}}}",
     "attribute_indices:[1,0]}}}", P0 ".attribute_indices[2]",
     "key \"process.executable.build_id.gnu\" again"},
    {"P-71", OLD_7, "mapping_index:0 address:4100", "mapping_index:0 address:1", "address:1",
     "dictionary.location_table[0].address", "0x1"},
    {"P-76", OLD_7, "filename_strindex:3 attribute_indices:[0]",
     "filename_strindex:3 attribute_indices:[1]", "filename_strindex:3 attribute_indices:[1,0]",
     "dictionary.mapping_table[0]", "no build id on \"/bin/a\""},
    {"P-80", OLD_7, "trace_id:x\"" TRACE "\"", "trace_id:x\"01\"", "trace_id:x\"" TRACE "\"",
     "dictionary.link_table[0].trace_id", "1 bytes"},
    {"L-01", OLD_7, "aggregation_temporality:2", "", "aggregation_temporality:1",
     P0 ".sample_type[0].aggregation_temporality", "unspecified"},
    {"L-02", OLD_7, "profile_id:x\"" TRACE "\"", "", "profile_id:x\"" TRACE "\"", P0 ".profile_id",
     "no id"},
    {"L-03", OLD_7, "time_nanos:" T0, "time_nanos:-5", "time_nanos:0", P0 ".time_nanos", "-5"},
    {"L-04", OLD_7, "value:[10]", "", "value:[-1]", P0 ".sample[0].value",
     "0 values, 1 sample types"},

    /* 1.8: current rules with the names of 1.8, and temporality */
    {"L-01", LAYOUT_1_8, V8, "aggregation_temporality:1", "", "aggregation_temporality:2",
     P0 ".sample_type.aggregation_temporality", "unspecified"},
    {"P-10", LAYOUT_1_8, V8, "comment_strindices:[3]", "", "comment_strindices:[3,3]",
     "dictionary.string_table[3]", NULL},
    {"P-60", LAYOUT_1_8, V8, "sample{stack_index:1 values:[1]}", "sample{stack_index:1}",
     "sample{stack_index:1 values:[2]}", P0 ".sample[0]", NULL},
    {"P-06", LAYOUT_1_8, V8, "line{function_index:1}", "line{function_index:2}",
     "line{function_index:1 line:1}", "dictionary.location_table[1].line[0].function_index", NULL},

    /* the arrays draft */
    {"P-03", ARRAYS, "string_table:\"\"", "string_table:\"x\"", "string_table:\"\"",
     P0 ".string_table[0]", "\"x\""},
    {"P-06", ARRAYS, "stacktrace_indices:[0,1]", "stacktrace_indices:[0,2]",
     "stacktrace_indices:[1,1]", P0 ".profile_types[0].stacktrace_indices[1]",
     "index 2, the table has 2 entries"},
    {"P-20", ARRAYS, "key:\"a\"", "key:\"\\xff\"", "key:\"\\xc3\\xa9\"",
     P0 ".attribute_sets[1].attributes[0].key", "byte 0xff at 0 of \"\\xff\""},
    {"P-23", ARRAYS, "attributes{key:\"a\" ", "attributes{key:\"a\"} attributes{key:\"a\" ",
     "attributes{key:\"b\"} attributes{key:\"a\" ", P0 ".attribute_sets[1].attributes[1]",
     "key \"a\" again, first at [0]"},
    {"P-28", ARRAYS, "key:\"a\"", "key:\"\"", "key:\"b\"", P0 ".attribute_sets[1].attributes[0]",
     "an empty key"},
    {"P-52", ARRAYS, "profile_id:x\"" TRACE "\"", "profile_id:x\"0102\"",
     "profile_id:x\"" TRACE "\"", P0 ".profile_id", "2 bytes"},
    {"P-71", ARRAYS, "address:20000", "address:1", "address:16384", P0 ".locations[1].address",
     "0x1"},
    {"P-80", ARRAYS, "trace_id:x\"" TRACE "\"", "", "trace_id:x\"" TRACE "\"",
     P0 ".links[1].trace_id", "0 bytes"},
    {"L-02", ARRAYS, "profile_id:x\"" TRACE "\"", "", "profile_id:x\"" TRACE "\"", P0 ".profile_id",
     "no id"},
    {"L-03", ARRAYS, "end_time_unix_nano:" T10, "", "end_time_unix_nano:" T0,
     P0 ".end_time_unix_nano", "0, the start is " T0},
    {"A-01", ARRAYS, "values:[3,4]", "values:[3]", "values:[4,3]", P0 ".profile_types[0].values",
     "1 elements, stacktrace_indices has 2"},
    {"A-01", ARRAYS, "timestamps:[1,2]", "timestamps:[1,2,3]", "",
     P0 ".profile_types[0].timestamps", "3 elements, stacktrace_indices has 2"},
    {"A-02", ARRAYS, "profile_types{agg",
     "profile_types{aggregation_temporality:1} profile_types{agg", "profile_types{agg",
     P0 ".profile_types[0].stacktrace_indices", "no elements"},
    {"A-03", ARRAYS, "links{}", "links" LINK_ONE, "links{}", P0 ".links[0]", "a link"},
    {"A-03", ARRAYS, "attribute_sets{}", "attribute_sets{attributes{key:\"b\"}}",
     "attribute_sets{dropped_attributes_count:0}", P0 ".attribute_sets[0].attributes",
     "1 attributes"},

    /* the event proposal */
    {"P-06", EVENTS, "stack_index:1 link", "stack_index:2 link", "stack_index:0 link",
     "events[0].stack_index", "index 2, the table has 2 entries"},
    {"P-06", EVENTS, "clock_index:0", "clock_index:1", "clock_index:0",
     "event_types[0].clock_index", "index 1, the table has 1 entries"},
    {"P-20", EVENTS, "strings:\"main\"", "strings:\"\\xff\"", "strings:\"work\"", "strings[3]",
     "byte 0xff at 0 of \"\\xff\""},
    {"P-71", EVENTS, "address:4100", "address:1", "address:4097", "locations[0].address", "0x1"},
    {"L-03", EVENTS, "duration_nanos:10000000000", "duration_nanos:-1", "duration_nanos:0",
     "duration_nanos", "-1"},
    {"P-74", EVENTS, "line:3", "line:-3", "line:0", "locations[0].line[0].line", "-3"},
    {"P-80", EVENTS, "span_id:x\"" SPAN "\"", "span_id:x\"01\"", "span_id:x\"" SPAN "\"",
     "links[0].span_id", "1 bytes"},
    {"E-01", EVENTS, "strings:\"\"", "strings:\"x\"", "strings:\"\"", "strings[0]", "\"x\""},
    {"E-01", EVENTS, "stacks{}", "stacks{location_index:[0]}", "stacks{}", "stacks[0]",
     "1 locations"},
    {"E-02", EVENTS, "frequency:1000000000", "", "frequency:1", "clocks[0].frequency", "0"},
    {"E-03", EVENTS, "event_type_index:0 stack", "event_type_index:1 stack",
     "event_type_index:0 stack", "events[0].time", "5"},
    {"E-04", EVENTS, "count:3 sum:21", "count:3 value:2 sum:21", "count:3 value:21 sum:21",
     "events[1].sum", "sum 21, value 2"},
    {"E-05", EVENTS, "strings:\"ns\"", "strings:\"nanoseconds\"", "strings:\"By\"",
     "event_types[0].unit_string_index", "\"nanoseconds\""},

    /* log records */
    {"P-20", SPLUNK, "version:\"0.1.0\"", "version:\"\\xff\"", "version:\"0.1.0\"",
     "resource_logs[0].scope_logs[0].scope.version", NULL},
    {"P-23", SPLUNK, "key:\"source.event.period\"", "key:\"com.splunk.sourcetype\"",
     "key:\"source.event.period\"", R0 ".attributes[1]", NULL},
    {"P-28", SPLUNK, "key:\"service.name\"", "key:\"\"", "key:\"service.name\"",
     "resource_logs[0].resource.attributes[0]", "an empty key"},
    {"S-21", SPLUNK, " span_id:x\"" SPAN "\"", "", " span_id:x\"1112131415161718\"", R0 ".span_id",
     "no span id"},
    {"S-28", SPLUNK, SHOP, "", SHOP, "resource_logs[0].resource", "no attributes"},
    {"S-30", SPLUNK, "name:\"otel.profiling\" version", "name:\"other\" version",
     "name:\"otel.profiling\" version", "resource_logs[0].scope_logs[0].scope", "\"other\""},
    {"S-31", SPLUNK, "version:\"0.1.0\"", "version:\"0.2.0\"", "version:\"0.1.0\"",
     "resource_logs[0].scope_logs[0].scope", "\"0.2.0\""},
    {"S-32", SPLUNK, TYPE_ATTR, "", TYPE_ATTR, R0 ".attributes", "no com.splunk.sourcetype"},
    {"S-33", SPLUNK, PERIOD_ATTR, "", "attributes{key:\"memory.allocated\" value{int_value:1}}",
     R0 ".attributes", "no source.event.period"},
    {"S-33", SPLUNK, "int_value:1000", "string_value:\"1000\"", "int_value:1", R0 ".attributes",
     "not a positive integer"},
    {"S-35", SPLUNK, " name:\"otel.profiling\" body", " body", FORMAT_TEXT " body", R0 ".name",
     "no name"},
    {"S-36", SPLUNK, "time_unix_nano:" T0, "", "time_unix_nano:1", R0 ".time_unix_nano", "0"},
    {"S-37", SPLUNK, "trace_id:x\"" TRACE "\"", "trace_id:x\"" ZERO16 "\"",
     "trace_id:x\"ff" ZERO8 "00000000000000\"", R0 ".trace_id", "all zero"},
    {"S-38", SPLUNK, "span_id:x\"" SPAN "\"", "span_id:x\"0102\"", "span_id:x\"" SPAN "\"",
     R0 ".span_id", "2 bytes"},
    {"S-39", SPLUNK, "(Foo.java:10)\\x0a", "(Foo.java:10)", "(Foo.java:11)\\x0a", R0 ".body",
     "\"Foo.bar(Foo.java:10)\""},
    {"S-39", SPLUNK, "body{string_value:\"" META STATE FRAME "\"}", "body{int_value:1}",
     "body{string_value:\"" META STATE FRAME "\"}", R0 ".body", "not a string"},
    {"S-40", SPLUNK, "runnable\\x0a", "runnable\\x0d\\x0a", "runnable\\x0a", R0 ".body", "CR LF"},
    {"S-41", SPLUNK, META, "\\x0a", META, R0 ".body", "an empty first line"},
    {"S-41", SPLUNK, " body{string_value:\"" META, " body{string_value:\"\\x0a",
     FORMAT_TEXT " body{string_value:\"\\x0a", R0 ".body", "an empty first line"},
    {"S-42", SPLUNK, "prio=5 os_prio=0", "os_prio=0 prio=5", "prio=0 os_prio=5", R0 ".body", NULL},
    {"S-43", SPLUNK, "\\x22main\\x22 #1", "main #1", "\\x22ma in\\x22 #1", R0 ".body", NULL},
    {"S-44", SPLUNK, "#1 ", "", "#2 ", R0 ".body", NULL},
    {"S-45", SPLUNK, " prio=5", "", " prio=0", R0 ".body", NULL},
    {"S-46", SPLUNK, " os_prio=0", "", " os_prio=7", R0 ".body", NULL},
    {"S-47", SPLUNK, " cpu=1.00ms", "", " cpu=0", R0 ".body", NULL},
    {"S-48", SPLUNK, " elapsed=2.00s", "", " elapsed=0", R0 ".body", NULL},
    {"S-49", SPLUNK, " tid=0x1", " tid=1", " tid=0x0", R0 ".body", NULL},
    {"S-53", SPLUNK, FRAME, "one more thing\\x0a", "  \\x0a", R0 ".body", "\"one more thing\""},
    {"S-56", SPLUNK, "com.acme.Foo.bar(", "bar(", "global.bar(", R0 ".body", NULL},
    {"S-61", SPLUNK, "(Foo.java:10)", "()", "(unknown)", R0 ".body", NULL},
    {"WIRE", SPLUNK, "scope{name", "scope{!\"0a7f\" name", "scope{name",
     "resource_logs[0].scope_logs[0].scope", NULL},
    {"UNKNOWN", SPLUNK, SHOP, SHOP "#99:1 ", SHOP, "resource_logs[0]", NULL},
};

/* ---- running a case ---- */

typedef struct verdict {
    arena a;
    buf bytes;
    check_report r;
} verdict;

static const message_desc *root_of(unsigned kind)
{
    if (kind < LAYOUT_COUNT) return schema_profiles_data((layout)kind);
    return kind == CHECK_ARRAYS   ? dialect_schema(DIALECT_A)
           : kind == CHECK_EVENTS ? dialect_schema(DIALECT_C)
                                  : splunk_logs_schema();
}

static verdict judge(unsigned kind, const char *text)
{
    verdict v = {.bytes = message_bytes_of(root_of(kind), text)};
    err e = {0};
    char why[400];
    bool ok =
        kind < LAYOUT_COUNT
            ? check_bytes_of((layout)kind, v.bytes.p, v.bytes.n, NULL, &v.a, &v.r, &e)
            : check_message(kind, root_of(kind), buf_view(&v.bytes), false, NULL, &v.a, &v.r, &e);
    if (!ok) fail_msg("%s", err_text(&e, why, sizeof why));
    return v;
}

static void drop(verdict *v)
{
    arena_free(&v->a);
    buf_free(&v->bytes);
}

static void show(const check_report *r)
{
    for (size_t i = 0; i < r->n_findings; i++)
        print_message("# %s at %s: %s\n", r->findings[i].rule->id, r->findings[i].examples[0].path,
                      r->findings[i].examples[0].found);
}

static void bases_are_clean(void **state)
{
    (void)state;
    static const struct {
        unsigned kind;
        const char *text;
    } bases[] = {{OLD_3}, {OLD_7}, {LAYOUT_1_8, V8}, {ARRAYS}, {EVENTS}, {SPLUNK}};
    for (size_t i = 0; i < ARRAY_LEN(bases); i++) {
        verdict v = judge(bases[i].kind, bases[i].text);
        show(&v.r);
        assert_int_equal(v.r.n_findings, 0);
        drop(&v);
    }
}

static void each_rule(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const layout_case *k = &cases[i];
        char *bad = message_replaced(k->base, k->from, k->bad);
        char *good = message_replaced(k->base, k->from, k->good);
        verdict v = judge(k->kind, bad);
        const check_finding *f = check_report_find(&v.r, k->rule);
        if (!f || strcmp(f->examples[0].path, k->path) ||
            (k->found && strcmp(f->examples[0].found, k->found))) {
            show(&v.r);
            fail_msg("%s of %s with %s", k->rule, check_kind_name(k->kind), k->bad);
        }
        assert_true(f->examples[0].offset < v.bytes.n);
        drop(&v);
        v = judge(k->kind, good);
        if (check_report_find(&v.r, k->rule)) {
            show(&v.r);
            fail_msg("%s of %s although %s", k->rule, check_kind_name(k->kind), k->good);
        }
        drop(&v);
        free(bad);
        free(good);
    }
}

/* Every rule has a case in a layout that has it (test_rules.c for the current layout), or a reason
 * why not. */
static void every_rule_has_a_case(void **state)
{
    (void)state;
    size_t n;
    const check_rule *rules = check_rules(&n);
    for (size_t i = 0; i < n; i++) {
        bool seen = !strcmp(rules[i].id, "L-06"), old = seen; /* references */
        for (size_t k = 0; k < ARRAY_LEN(cases); k++) {
            if (strcmp(cases[k].rule, rules[i].id)) continue;
            seen = true;
            old |= cases[k].kind < LAYOUT_1_8;
            if (!(rules[i].kinds >> cases[k].kind & 1))
                fail_msg("%s is not a rule of %s", rules[i].id, check_kind_name(cases[k].kind));
        }
        bool claims_old = rules[i].kinds & ((1u << LAYOUT_1_8) - 1);
        if (claims_old && !old) fail_msg("%s has no case before 1.8", rules[i].id);
        if (rules[i].kinds >> LAYOUT_CURRENT & 1) continue;
        if (seen == (rules[i].unseen != NULL)) fail_msg("%s: tested or unseen?", rules[i].id);
        assert_true(rules[i].kinds && rules[i].title[0] && rules[i].expected[0]);
        assert_true(rules[i].unseen || rules[i].fix[0]);
    }
}

/* ---- seeds, vectors and references ---- */

static verdict judge_file(layout l, const char *name)
{
    verdict v = {0};
    size_t n;
    char *p = vector(name, &n);
    v.bytes = (buf){.p = p, .n = n, .cap = n + 1};
    payload one = {.bytes = {p, n}, .kind = PAYLOAD_PROTOBUF};
    err e = {0};
    assert_true(check_payload(&one, l, NULL, NULL, &v.a, &v.r, &e));
    return v;
}

static void seeds(void **state)
{
    (void)state;
    verdict v = judge_file(LAYOUT_UNKNOWN, "layouts/t7.pb");
    const check_finding *f = check_report_find(&v.r, "P-06");
    assert_non_null(f);
    assert_string_equal(f->examples[0].path, P0 ".sample[0].attribute_indices[1]");
    assert_int_equal(f->examples[0].offset, 26);
    drop(&v);
    v = judge_file(LAYOUT_UNKNOWN, "layouts/v3min.pb");
    show(&v.r);
    assert_int_equal(v.r.n_findings, 0);
    drop(&v);
    v = judge_file(LAYOUT_UNKNOWN, "layouts/l0.pb");
    assert_int_equal(v.r.n_findings, 1);
    assert_non_null(check_report_find(&v.r, "L-07"));
    drop(&v);
}

/* Messages that protoc wrote violate no MUST except temporality, which the vectors do not set. */
static void vectors_of_every_layout(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        verdict v = judge_file(files[i].l, files[i].name);
        for (size_t k = 0; k < v.r.n_findings; k++) {
            const check_rule *r = v.r.findings[k].rule;
            bool known = !strcmp(r->id, "L-01") || !strcmp(r->id, "P-76");
            if (r->severity == CHECK_ERROR && !known) {
                show(&v.r);
                fail_msg("%s: %s", files[i].name, r->id);
            }
        }
        drop(&v);
    }
}

/* Deprecated ids: references that are valid neither as positions nor as ids violate P-06; those
 * valid as both violate L-06. */
static void references(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *rule;
    } x[] = {
        {"location_indices:[0,1]", "location_indices:[9,1]", "P-06"},
        {"location_indices:[0,1]", "location_indices:[1,1]", "L-06"},
        {"location_indices:[0,1]", "location_indices:[0,1]", NULL},
        {"location_indices:[0,1]", "location_indices:[2,1]", NULL},
    };
    char *a = message_replaced(V3, "location{mapping_index:1", "location{id:1 mapping_index:1");
    char *ids = message_replaced(a, "location{address:4100", "location{id:2 address:4100");
    for (size_t i = 0; i < ARRAY_LEN(x); i++) {
        char *text = message_replaced(ids, x[i].from, x[i].to);
        verdict v = judge(LAYOUT_1_3, text);
        if (x[i].rule ? !check_report_find(&v.r, x[i].rule) : v.r.n_findings) {
            show(&v.r);
            fail_msg("%s", x[i].to);
        }
        drop(&v);
        free(text);
    }
    free(ids);
    free(a);
}

/* Two containers with the same id violate P-52; the types of one profile share its id without a
 * violation. */
static void ids_are_of_one_profile(void **state)
{
    (void)state;
    char *text = message_replaced(V3, "} profiles{",
                                  "} profiles{profile_id:x\"" TRACE "\" profile{}} profiles{");
    verdict v = judge(LAYOUT_1_3, text);
    const check_finding *f = check_report_find(&v.r, "P-52");
    assert_non_null(f);
    assert_string_equal(f->examples[0].path,
                        "resource_profiles[0].scope_profiles[0].profiles[1].profile_id");
    drop(&v);
    free(text);
}

/* JSON of an older layout is checked by the rules of that layout; examples have no byte offsets. */
static void json_of_an_older_layout(void **state)
{
    (void)state;
    static const char json[] =
        "{\"resourceProfiles\":[{\"scopeProfiles\":[{\"profiles\":[{\"sampleType\":[{}],"
        "\"sample\":[{\"value\":[1],\"attributeIndices\":[3]}]}]}]}],"
        "\"dictionary\":{\"stringTable\":[\"\"],\"attributeUnits\":[]}}";
    payload one = {.bytes = {json, sizeof json - 1}, .kind = PAYLOAD_JSON};
    verdict v = {0};
    err e = {0};
    assert_true(check_payload(&one, LAYOUT_1_7, NULL, NULL, &v.a, &v.r, &e));
    const check_finding *f = check_report_find(&v.r, "P-06");
    assert_non_null(f);
    assert_true(f->examples[0].offset == NO_OFFSET);
    assert_non_null(check_report_find(&v.r, "L-02"));
    drop(&v);
}

/* Any budget gives a report or a memory error; any truncated input gives a report. */
static void budgets_and_cuts(void **state)
{
    (void)state;
    buf b = message_bytes_of(root_of(LAYOUT_1_3), V3);
    bool ok = false;
    for (size_t budget = 1; budget < 256 * 1024; budget += 511) {
        arena a = {.budget = budget};
        check_report r;
        err e = {0};
        ok = check_bytes_of(LAYOUT_1_3, b.p, b.n, NULL, &a, &r, &e);
        assert_true(ok || err_exhausted(&e));
        arena_free(&a);
    }
    assert_true(ok);
    for (size_t n = 0; n < b.n; n++) {
        arena a = {0};
        check_report r;
        err e = {0};
        assert_true(check_bytes_of(LAYOUT_1_3, b.p, n, NULL, &a, &r, &e));
        assert_true(n == 0 || check_report_find(&r, "WIRE"));
        arena_free(&a);
    }
    buf_free(&b);
}

static void names_of_kinds(void **state)
{
    (void)state;
    char text[CHECK_KINDS_MAX];
    static const struct {
        const char *rule, *want;
    } x[] = {{"P-01", "1.8-1.11"},
             {"P-20", "all"},
             {"P-24", "1.10-1.11"},
             {"L-01", "1.3-1.8"},
             {"L-05", "1.3"},
             {"S-30", "splunk"},
             {"P-52", "1.3-1.11, arrays, events"}};
    for (size_t i = 0; i < ARRAY_LEN(x); i++) {
        const check_rule *r = check_rule_find(str_of(x[i].rule));
        assert_string_equal(check_kinds_text(r->kinds, text, sizeof text), x[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bases_are_clean),         cmocka_unit_test(each_rule),
        cmocka_unit_test(every_rule_has_a_case),   cmocka_unit_test(seeds),
        cmocka_unit_test(vectors_of_every_layout), cmocka_unit_test(references),
        cmocka_unit_test(ids_are_of_one_profile),  cmocka_unit_test(json_of_an_older_layout),
        cmocka_unit_test(budgets_and_cuts),        cmocka_unit_test(names_of_kinds),
    };
    return cmocka_run_group_tests_name("check_layouts", tests, NULL, NULL);
}
