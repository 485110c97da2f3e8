/* The schemas of the drafts (docs/spec/layouts.md, "Drafts"), in the form of wire/schema.c.
 * tests/vectors/proto/dialect_*.proto define the same messages for protoc. */
#include "format/dialects.h"
#include "wire/schema_macros.h"

#include "base/ban.h"

/* Kinds of tables that only the drafts have. They reuse numbers of kinds that only old layouts
 * have. */
enum {
    TABLE_SET = TABLE_ATTRIBUTE, /* A: attribute sets */
    TABLE_EVENT_TYPE = TABLE_SAMPLE_TYPE,
    TABLE_CLOCK = TABLE_LOCATION_INDEX,
};

/* ---- common and resource, as of 2023 ---- */

static const message_desc any_value;

MESSAGE(kv, "KeyValue", S(1, STRING, "key"), M(2, "value", any_value));
MESSAGE(array, "ArrayValue", R(1, "values", any_value));
MESSAGE(kvlist, "KeyValueList", R(1, "values", kv));
MESSAGE(any_value, "AnyValue", O(1, STRING, "string_value"), O(2, BOOL, "bool_value"),
        O(3, INT64, "int_value"), O(4, DOUBLE, "double_value"), MO(5, "array_value", array),
        MO(6, "kvlist_value", kvlist), O(7, BYTES, "bytes_value"));
MESSAGE(scope_desc, "InstrumentationScope", S(1, STRING, "name"), S(2, STRING, "version"),
        R(3, "attributes", kv), S(4, UINT32, "dropped_attributes_count"));
MESSAGE(resource_desc, "Resource", R(1, "attributes", kv),
        S(2, UINT32, "dropped_attributes_count"));

#define ENVELOPE(v, profile)                                                                       \
    MESSAGE(scope_profiles_##v, "ScopeProfiles", M(1, "scope", scope_desc),                        \
            BIG(2, "profiles", profile), S(3, STRING, "schema_url"));                              \
    MESSAGE(resource_profiles_##v, "ResourceProfiles", M(1, "resource", resource_desc),            \
            BIG(2, "scope_profiles", scope_profiles_##v), S(3, STRING, "schema_url"));             \
    MESSAGE(data_##v, "ProfilesData", BIG(1, "resource_profiles", resource_profiles_##v))

/* ---- A ---- */

MESSAGE(a_link, "Link", ID(1, "trace_id"), ID8(2, "span_id"));
MESSAGE(a_set, "AttributeSet", R(1, "attributes", kv), S(2, UINT32, "dropped_attributes_count"));
MESSAGE(a_stack, "Stacktrace", PX(1, UINT32, "location_indices", LOCATION));
MESSAGE(a_line, "Line", IX(1, UINT32, "function_index", FUNCTION), S(2, UINT32, "line"));
MESSAGE(a_function, "Function", IX(1, UINT32, "name_index", STRING),
        IX(2, UINT32, "system_name_index", STRING), IX(3, UINT32, "filename_index", STRING),
        S(4, UINT32, "start_line"));

#define A_MAPPING                                                                                  \
    S(1, UINT64, "memory_start"), S(2, UINT64, "memory_limit"), S(3, UINT64, "file_offset"),       \
        IX(4, UINT32, "filename_index", STRING), IX(5, UINT32, "build_id_index", STRING),          \
        S(6, ENUM, "symbolic_info")
MESSAGE(a_mapping, "Mapping", A_MAPPING, PX(7, UINT32, "attribute_set_indices", SET));
MESSAGE(a1_mapping, "Mapping", A_MAPPING, IX(7, UINT32, "attribute_set_index", SET));

MESSAGE(a_location, "Location", IX(1, UINT32, "mapping_index", MAPPING), S(2, UINT64, "address"),
        R(3, "line", a_line), PX(5, UINT32, "attribute_set_indices", SET));
MESSAGE(a1_location, "Location", IX(1, UINT32, "mapping_index", MAPPING), S(2, UINT64, "address"),
        R(3, "line", a_line), IX(4, UINT32, "attribute_set_index", SET));
MESSAGE(a2_location, "Location", R(1, "line", a_line), S(2, UINT64, "address"),
        IX(3, UINT32, "mapping_index", MAPPING), IX(4, UINT32, "attribute_set_index", SET));

#define A_COLUMNS(no)                                                                              \
    PX(no, UINT32, "stacktrace_indices", STACK), PX(no + 1, UINT32, "link_indices", LINK),         \
        PX(no + 2, UINT32, "attribute_set_indices", SET), P(no + 3, INT64, "values"),              \
        P(no + 4, UINT64, "timestamps")
MESSAGE(a_type, "ProfileType", S(1, ENUM, "aggregation_temporality"), S(2, UINT64, "sample_rate"),
        IX(3, UINT32, "type_index", STRING), IX(4, UINT32, "unit_index", STRING), A_COLUMNS(10));
MESSAGE(a2_list, "SampleList", A_COLUMNS(1), S(6, UINT64, "sample_rate"),
        IX(7, UINT32, "type_index", STRING), IX(8, UINT32, "unit_index", STRING),
        S(9, ENUM, "aggregation_temporality"));

#define A_PROFILE(mapping, location, list, lists)                                                  \
    ID(1, "profile_id"), S(2, FIXED64, "start_time_unix_nano"),                                    \
        S(3, FIXED64, "end_time_unix_nano"), R(4, "attributes", kv),                               \
        S(5, UINT32, "dropped_attributes_count"), PAYLOAD(6), T(7, "stacktraces", a_stack, STACK), \
        T(8, "mappings", mapping, MAPPING), T(9, "locations", location, LOCATION),                 \
        T(10, "functions", a_function, FUNCTION), T(11, "links", a_link, LINK),                    \
        T(12, "attribute_sets", a_set, SET), STRINGS(13, "string_table"), R(14, lists, list)
PROFILE(a_profile, A_PROFILE(a_mapping, a_location, a_type, "profile_types"));
PROFILE(a1_profile, A_PROFILE(a1_mapping, a1_location, a_type, "sample_lists"));
PROFILE(a2_profile, ID(1, "profile_id"), PAYLOAD(2), T(3, "stacktraces", a_stack, STACK),
        T(4, "mappings", a1_mapping, MAPPING), T(5, "locations", a2_location, LOCATION),
        T(6, "functions", a_function, FUNCTION), T(7, "links", a_link, LINK),
        T(8, "attribute_sets", a_set, SET), STRINGS(9, "string_table"),
        R(10, "sample_lists", a2_list), R(11, "attributes", kv),
        S(12, UINT32, "dropped_attributes_count"), S(13, FIXED64, "start_time_unix_nano"),
        S(14, FIXED64, "end_time_unix_nano"));

ENVELOPE(a, a_profile);
ENVELOPE(a1, a1_profile);
ENVELOPE(a2, a2_profile);

/* ---- A0 and bench: three alternatives, each with a package name of its own ---- */

MESSAGE(alt_type, "SampleType", S(1, ENUM, "aggregation_temporality"), S(2, UINT64, "sample_size"),
        IX(3, UINT32, "type_index", STRING), IX(4, UINT32, "unit_index", STRING));
MESSAGE(alt_list, "ProfileType", A_COLUMNS(10));
#define ALT_TABLES                                                                                 \
    T(4, "mappings", a_mapping, MAPPING), T(5, "locations", a_location, LOCATION),                 \
        T(6, "functions", a_function, FUNCTION), T(7, "links", a_link, LINK),                      \
        T(8, "attribute_sets", a_set, SET), STRINGS(9, "string_table")
MESSAGE(arrays_profile, "ArraysProfile", R(1, "sample_types", alt_type),
        T(2, "stacktraces", a_stack, STACK), ALT_TABLES, R(10, "profile_types", alt_list));
MESSAGE(norm_sample, "NormalizedSample", IX(1, UINT32, "stacktrace_index", STACK),
        PX(2, UINT32, "link_indices", LINK), PX(3, UINT32, "attribute_set_indices", SET),
        P(4, INT64, "values"), S(5, FIXED64, "timestamp_unix_nano"));
MESSAGE(norm_profile, "NormalizedProfile", R(1, "sample_types", alt_type),
        T(2, "stacktraces", a_stack, STACK), R(3, "samples", norm_sample), ALT_TABLES);

MESSAGE(denorm_type, "DenormalizedSampleType", S(1, ENUM, "aggregation_temporality"),
        S(2, UINT64, "sample_size"), S(3, STRING, "type"), S(4, STRING, "unit"));
MESSAGE(denorm_function, "DenormalizedFunction", S(1, STRING, "name"), S(2, STRING, "system_name"),
        S(3, STRING, "filename"), S(4, INT64, "start_line"));
MESSAGE(denorm_line, "DenormalizedLine", M(1, "function", denorm_function), S(2, INT64, "line"));
MESSAGE(denorm_mapping, "DenormalizedMapping", S(1, UINT64, "memory_start"),
        S(2, UINT64, "memory_limit"), S(3, UINT64, "file_offset"), S(4, STRING, "filename"),
        S(5, STRING, "build_id"), S(6, BOOL, "has_functions"), S(7, BOOL, "has_filenames"),
        S(8, BOOL, "has_line_numbers"), S(9, BOOL, "has_inline_frames"));
MESSAGE(denorm_location, "DenormalizedLocation", M(1, "mapping", denorm_mapping),
        S(2, UINT64, "address"), R(3, "line", denorm_line));
MESSAGE(denorm_stack, "DenormalizedStacktrace", R(1, "locations", denorm_location));
MESSAGE(denorm_sample, "DenormalizedSample", M(1, "stacktrace", denorm_stack),
        R(2, "links", a_link), R(3, "attributes", kv), S(4, UINT32, "dropped_attributes_count"),
        P(5, FIXED64, "values"), S(6, FIXED64, "timestamp_unix_nano"));
MESSAGE(denorm_profile, "DenormalizedProfile", R(1, "sample_types", denorm_type),
        R(2, "samples", denorm_sample));

/* Member 8 of A0 is pprof. That message is dialect B, layout 1.3, and is not in these tables. */
MESSAGE(a0_entry, "ProfileContainer", ID(1, "profile_id"), S(2, FIXED64, "start_time_unix_nano"),
        S(3, FIXED64, "end_time_unix_nano"), R(4, "attributes", kv),
        S(5, UINT32, "dropped_attributes_count"), PAYLOAD(7), MO(9, "normalized", norm_profile),
        MO(10, "arrays", arrays_profile), MO(11, "denormalized", denorm_profile));
MESSAGE(bench_entry, "ProfileContainer", ID(1, "profile_id"), S(2, FIXED64, "start_time_unix_nano"),
        S(3, FIXED64, "end_time_unix_nano"), R(4, "attributes", kv),
        S(5, UINT32, "dropped_attributes_count"), PAYLOAD_FORMAT(6), PAYLOAD(7),
        MO(102, "normalized", norm_profile), MO(103, "arrays", arrays_profile),
        MO(104, "denormalized", denorm_profile));

ENVELOPE(a0, a0_entry);
ENVELOPE(bench, bench_entry);

/* ---- C: names as published, misspellings included ---- */

static const message_desc c_any;

MESSAGE(c_kv, "KeyValue", IX(1, UINT32, "key_string_index", STRING), M(2, "value", c_any));
MESSAGE(c_array, "ArrayValue", R(1, "values", c_any));
MESSAGE(c_kvlist, "KeyValueList", R(1, "values", c_kv));
MESSAGE(c_any, "AnyValue", FIELD(1, FT_UINT32, FF_ONEOF, STRING, NONE, "string_index", NULL),
        O(2, BOOL, "bool_value"), O(3, INT64, "int_value"), O(4, DOUBLE, "double_value"),
        MO(5, "array_value", c_array), MO(6, "kvlist_value", c_kvlist), O(7, BYTES, "bytes_value"));

MESSAGE(c_event, "Event", IX(1, UINT32, "event_type_index", EVENT_TYPE),
        IX(2, UINT32, "stack_index", STACK), IO(3, UINT32, "link_index", LINK),
        PX(4, UINT32, "attribute_indices", ATTRIBUTE), S(5, INT64, "time"),
        S(6, UINT64, "duration"), S(7, UINT64, "value"), S(8, UINT64, "count"),
        S(9, UINT64, "sum"));
MESSAGE(c_type, "EventType", IX(1, UINT32, "name_string_index", STRING),
        IX(2, UINT32, "unit_string_index", STRING), IO(3, UINT32, "clock_index", CLOCK),
        S(4, UINT64, "default_value"), PX(7, UINT32, "attribute_incidices", ATTRIBUTE));
MESSAGE(c_clock, "Clock", S(1, UINT64, "frequency"), S(2, FIXED64, "time_unix_nano"),
        PX(3, UINT32, "attribute_indices", ATTRIBUTE));
MESSAGE(c_stack, "Stack", PX(1, UINT32, "location_index", LOCATION));
MESSAGE(c_line, "Line", IX(1, UINT32, "function_index", FUNCTION), S(2, INT64, "line"),
        S(3, INT64, "column"));
MESSAGE(c_location, "Location", IX(1, UINT32, "mapping_index", MAPPING), S(2, UINT64, "address"),
        R(3, "line", c_line), S(4, BOOL, "is_folded"), IX(5, INT32, "type_string_index", STRING),
        PX(6, UINT32, "attribute_index", ATTRIBUTE));
MESSAGE(c_function, "Function", S(1, UINT64, "id"), IX(2, UINT32, "name_string_uindex", STRING),
        IX(3, UINT32, "system_name_string_index", STRING),
        IX(4, UINT32, "filename_string_index", STRING), S(5, INT64, "start_line"));
MESSAGE(c_mapping, "Mapping", S(1, UINT64, "memory_start"), S(2, UINT64, "memory_limit"),
        S(3, UINT64, "file_offset"), IX(4, UINT32, "filename_string_index", STRING),
        IX(5, UINT32, "build_id_string_index", STRING), S(6, ENUM, "build_id_kind"),
        PX(7, UINT64, "attributes", ATTRIBUTE), S(8, BOOL, "has_functions"),
        S(9, BOOL, "has_filenames"), S(10, BOOL, "has_line_numbers"),
        S(11, BOOL, "has_inline_frames"));
PROFILE(c_profile, R(1, "events", c_event), T(3, "event_types", c_type, EVENT_TYPE),
        T(4, "stacks", c_stack, STACK), T(5, "locations", c_location, LOCATION),
        T(6, "functions", c_function, FUNCTION), T(7, "mappings", c_mapping, MAPPING),
        T(8, "attributes", c_kv, ATTRIBUTE), T(10, "links", a_link, LINK), STRINGS(11, "strings"),
        T(12, "clocks", c_clock, CLOCK), S(16, FIXED64, "time_unix_nano"),
        S(17, INT64, "duration_nanos"), PX(18, UINT32, "comment_string_index", STRING));

MESSAGE(c_box, "ProfileContainer", ID(1, "profile_id"), S(2, FIXED64, "start_time_unix_nano"),
        S(3, FIXED64, "end_time_unix_nano"), R(4, "attributes", kv),
        S(5, UINT32, "dropped_attributes_count"), PAYLOAD_FORMAT(6), PAYLOAD(7),
        LARGE(8, "profile", c_profile));

ENVELOPE(c_box, c_box);
ENVELOPE(c_scope, c_profile);

/* ---- B without its container, with pprof's field names ---- */

static const message_desc *b_profile(void)
{
    const message_desc *m = schema_profiles_data(LAYOUT_1_3);
    static const char *const steps[] = {"resource_profiles", "scope_profiles", "profiles",
                                        "profile"};
    for (size_t i = 0; i < ARRAY_LEN(steps); i++)
        m = message_field_named(m, str_of(steps[i]))->message;
    return m;
}

const message_desc *dialect_schema(dialect d)
{
    switch (d) {
    case DIALECT_A: return &data_a;
    case DIALECT_A1: return &data_a1;
    case DIALECT_A2: return &data_a2;
    case DIALECT_A0: return &data_a0;
    case DIALECT_BENCH: return &data_bench;
    case DIALECT_C: return &c_profile;
    case DIALECT_C_BOX: return &data_c_box;
    case DIALECT_C_SCOPE: return &data_c_scope;
    case DIALECT_B_BARE: return b_profile();
    default: return NULL;
    }
}

const char *dialect_name(dialect d)
{
    static const char *const names[DIALECT_COUNT] = {
        "none", "A", "A1", "A2", "A0", "bench", "C", "C in a container", "C in a scope", "bare B"};
    return (unsigned)d < DIALECT_COUNT ? names[d] : names[0];
}
