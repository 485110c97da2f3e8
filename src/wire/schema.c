/* The messages of every released layout as tables, for layout detection, error location, JSON,
 * `kiln cat` and the checks.  tests/unit/wire/test_schema.c compares them with protoc's
 * descriptors. */
#include "wire/schema_macros.h"

#include "base/ban.h"

/* ---- common and resource: before v1.10, and with string references ---- */

static const message_desc any_v3, any_v10;

MESSAGE(kv_v3, "KeyValue", S(1, STRING, "key"), M(2, "value", any_v3));
MESSAGE(array_v3, "ArrayValue", R(1, "values", any_v3));
MESSAGE(kvlist_v3, "KeyValueList", R(1, "values", kv_v3));
MESSAGE(any_v3, "AnyValue", O(1, STRING, "string_value"), O(2, BOOL, "bool_value"),
        O(3, INT64, "int_value"), O(4, DOUBLE, "double_value"), MO(5, "array_value", array_v3),
        MO(6, "kvlist_value", kvlist_v3), O(7, BYTES, "bytes_value"));

MESSAGE(kv_v10, "KeyValue", S(1, STRING, "key"), M(2, "value", any_v10),
        IX(3, INT32, "key_strindex", STRING));
MESSAGE(array_v10, "ArrayValue", R(1, "values", any_v10));
MESSAGE(kvlist_v10, "KeyValueList", R(1, "values", kv_v10));
MESSAGE(any_v10, "AnyValue", O(1, STRING, "string_value"), O(2, BOOL, "bool_value"),
        O(3, INT64, "int_value"), O(4, DOUBLE, "double_value"), MO(5, "array_value", array_v10),
        MO(6, "kvlist_value", kvlist_v10), O(7, BYTES, "bytes_value"),
        FIELD(8, FT_INT32, FF_ONEOF, STRING, NONE, "string_value_strindex", NULL));

MESSAGE(scope_v3, "InstrumentationScope", S(1, STRING, "name"), S(2, STRING, "version"),
        R(3, "attributes", kv_v3), S(4, UINT32, "dropped_attributes_count"));
MESSAGE(scope_v10, "InstrumentationScope", S(1, STRING, "name"), S(2, STRING, "version"),
        R(3, "attributes", kv_v10), S(4, UINT32, "dropped_attributes_count"));

MESSAGE(entity_ref, "EntityRef", S(1, STRING, "schema_url"), S(2, STRING, "type"),
        P(3, STRING, "id_keys"), P(4, STRING, "description_keys"));
MESSAGE(resource_v3, "Resource", R(1, "attributes", kv_v3),
        S(2, UINT32, "dropped_attributes_count"));
MESSAGE(resource_v6, "Resource", R(1, "attributes", kv_v3),
        S(2, UINT32, "dropped_attributes_count"), R(3, "entity_refs", entity_ref));
MESSAGE(resource_v10, "Resource", R(1, "attributes", kv_v10),
        S(2, UINT32, "dropped_attributes_count"), R(3, "entity_refs", entity_ref));

/* ---- shared by several layouts ---- */

MESSAGE(link_v3, "Link", ID(1, "trace_id"), ID8(2, "span_id"));
MESSAGE(line_v4, "Line", IX(1, INT32, "function_index", FUNCTION), S(2, INT64, "line"),
        S(3, INT64, "column"));
MESSAGE(function_v4, "Function", IX(1, INT32, "name_strindex", STRING),
        IX(2, INT32, "system_name_strindex", STRING), IX(3, INT32, "filename_strindex", STRING),
        S(4, INT64, "start_line"));
MESSAGE(unit_v4, "AttributeUnit", IX(1, INT32, "attribute_key_strindex", STRING),
        IX(2, INT32, "unit_strindex", STRING));
MESSAGE(value_type_v4, "ValueType", IX(1, INT32, "type_strindex", STRING),
        IX(2, INT32, "unit_strindex", STRING), S(3, ENUM, "aggregation_temporality"));
MESSAGE(value_type_v9, "ValueType", IX(1, INT32, "type_strindex", STRING),
        IX(2, INT32, "unit_strindex", STRING));
MESSAGE(mapping_v4, "Mapping", S(1, UINT64, "memory_start"), S(2, UINT64, "memory_limit"),
        S(3, UINT64, "file_offset"), IX(4, INT32, "filename_strindex", STRING),
        PX(5, INT32, "attribute_indices", ATTRIBUTE), S(6, BOOL, "has_functions"),
        S(7, BOOL, "has_filenames"), S(8, BOOL, "has_line_numbers"),
        S(9, BOOL, "has_inline_frames"));
MESSAGE(location_v4, "Location", IO(1, INT32, "mapping_index", MAPPING), S(2, UINT64, "address"),
        R(3, "line", line_v4), S(4, BOOL, "is_folded"),
        PX(5, INT32, "attribute_indices", ATTRIBUTE));
SAMPLE(sample_v4, S(1, INT32, "locations_start_index"), S(2, INT32, "locations_length"),
       P(3, INT64, "value"), PX(4, INT32, "attribute_indices", ATTRIBUTE),
       IO(5, INT32, "link_index", LINK), P(6, UINT64, "timestamps_unix_nano"));

/* ---- v1.3: OTEP 0239, pprof with additions ---- */

MESSAGE(value_type_v3, "ValueType", IX(1, INT64, "type", STRING), IX(2, INT64, "unit", STRING),
        S(3, ENUM, "aggregation_temporality"));
MESSAGE(unit_v3, "AttributeUnit", IX(1, INT64, "attribute_key", STRING),
        IX(2, INT64, "unit", STRING));
MESSAGE(label_v3, "Label", IX(1, INT64, "key", STRING), IX(2, INT64, "str", STRING),
        S(3, INT64, "num"), IX(4, INT64, "num_unit", STRING));
/* References to locations, mappings and functions are ids or indices (docs/spec/layouts.md, R3), so
 * these fields have no target. */
SAMPLE(sample_v3, P(1, UINT64, "location_index"), P(2, INT64, "value"), R(3, "label", label_v3),
       S(7, UINT64, "locations_start_index"), S(8, UINT64, "locations_length"),
       IX(9, UINT32, "stacktrace_id_index", STRING), PX(10, UINT64, "attributes", ATTRIBUTE),
       IX(12, UINT64, "link", LINK), P(13, UINT64, "timestamps_unix_nano"));
MESSAGE(mapping_v3, "Mapping", S(1, UINT64, "id"), S(2, UINT64, "memory_start"),
        S(3, UINT64, "memory_limit"), S(4, UINT64, "file_offset"), IX(5, INT64, "filename", STRING),
        IX(6, INT64, "build_id", STRING), S(7, BOOL, "has_functions"), S(8, BOOL, "has_filenames"),
        S(9, BOOL, "has_line_numbers"), S(10, BOOL, "has_inline_frames"),
        S(11, ENUM, "build_id_kind"), PX(12, UINT64, "attributes", ATTRIBUTE));
MESSAGE(line_v3, "Line", S(1, UINT64, "function_index"), S(2, INT64, "line"),
        S(3, INT64, "column"));
MESSAGE(location_v3, "Location", S(1, UINT64, "id"), S(2, UINT64, "mapping_index"),
        S(3, UINT64, "address"), R(4, "line", line_v3), S(5, BOOL, "is_folded"),
        IX(6, UINT32, "type_index", STRING), PX(7, UINT64, "attributes", ATTRIBUTE));
MESSAGE(function_v3, "Function", S(1, UINT64, "id"), IX(2, INT64, "name", STRING),
        IX(3, INT64, "system_name", STRING), IX(4, INT64, "filename", STRING),
        S(5, INT64, "start_line"));
PROFILE(profile_v3, R(1, "sample_type", value_type_v3), R(2, "sample", sample_v3),
        T(3, "mapping", mapping_v3, MAPPING), T(4, "location", location_v3, LOCATION),
        T(5, "function", function_v3, FUNCTION), STRINGS(6, "string_table"),
        IX(7, INT64, "drop_frames", STRING), IX(8, INT64, "keep_frames", STRING),
        S(9, INT64, "time_nanos"), S(10, INT64, "duration_nanos"),
        M(11, "period_type", value_type_v3), S(12, INT64, "period"),
        PX(13, INT64, "comment", STRING), IX(14, INT64, "default_sample_type", STRING),
        P(15, INT64, "location_indices"), T(16, "attribute_table", kv_v3, ATTRIBUTE),
        R(17, "attribute_units", unit_v3), T(18, "link_table", link_v3, LINK));
MESSAGE(container_v3, "ProfileContainer", ID(1, "profile_id"),
        S(2, FIXED64, "start_time_unix_nano"), S(3, FIXED64, "end_time_unix_nano"),
        R(4, "attributes", kv_v3), S(5, UINT32, "dropped_attributes_count"), PAYLOAD_FORMAT(6),
        PAYLOAD(7), LARGE(8, "profile", profile_v3));

/* ---- v1.4, v1.5: tables inside each Profile ---- */

#define PROFILE_V4_COMMON                                                                          \
    R(1, "sample_type", value_type_v4), R(2, "sample", sample_v4),                                 \
        T(3, "mapping_table", mapping_v4, MAPPING), T(4, "location_table", location_v4, LOCATION), \
        FIELD(5, FT_INT32, FF_REPEATED, LOCATION, LOCATION_INDEX, "location_indices", NULL),       \
        T(6, "function_table", function_v4, FUNCTION), T(7, "attribute_table", kv_v3, ATTRIBUTE),  \
        R(8, "attribute_units", unit_v4), T(9, "link_table", link_v3, LINK),                       \
        STRINGS(10, "string_table"), S(11, INT64, "time_nanos"), S(12, INT64, "duration_nanos"),   \
        M(13, "period_type", value_type_v4), S(14, INT64, "period"),                               \
        PX(15, INT32, "comment_strindices", STRING),                                               \
        IX(16, INT32, "default_sample_type_strindex", STRING), ID(17, "profile_id")

PROFILE(profile_v4, PROFILE_V4_COMMON, R(18, "attributes", kv_v3),
        S(19, UINT32, "dropped_attributes_count"), PAYLOAD_FORMAT(20), PAYLOAD(21));
PROFILE(profile_v5, PROFILE_V4_COMMON, S(19, UINT32, "dropped_attributes_count"),
        PAYLOAD_FORMAT(20), PAYLOAD(21), PX(22, INT32, "attribute_indices", ATTRIBUTE));

/* ---- v1.6, v1.7: tables of the message, several sample types ---- */

PROFILE(profile_v6, T(1, "sample_type", value_type_v4, SAMPLE_TYPE), R(2, "sample", sample_v4),
        FIELD(3, FT_INT32, FF_REPEATED, LOCATION, LOCATION_INDEX, "location_indices", NULL),
        S(4, INT64, "time_nanos"), S(5, INT64, "duration_nanos"),
        M(6, "period_type", value_type_v4), S(7, INT64, "period"),
        PX(8, INT32, "comment_strindices", STRING),
        IX(9, INT32, "default_sample_type_index", SAMPLE_TYPE), ID(10, "profile_id"),
        S(11, UINT32, "dropped_attributes_count"), PAYLOAD_FORMAT(12), PAYLOAD(13),
        PX(14, INT32, "attribute_indices", ATTRIBUTE));
MESSAGE(dictionary_v7, "ProfilesDictionary", T(1, "mapping_table", mapping_v4, MAPPING),
        T(2, "location_table", location_v4, LOCATION),
        T(3, "function_table", function_v4, FUNCTION), T(4, "link_table", link_v3, LINK),
        STRINGS(5, "string_table"), T(6, "attribute_table", kv_v3, ATTRIBUTE),
        R(7, "attribute_units", unit_v4));

/* ---- v1.8 … v1.10: stacks, one sample type per Profile ---- */

MESSAGE(mapping_v8, "Mapping", S(1, UINT64, "memory_start"), S(2, UINT64, "memory_limit"),
        S(3, UINT64, "file_offset"), IX(4, INT32, "filename_strindex", STRING),
        PX(5, INT32, "attribute_indices", ATTRIBUTE));
MESSAGE(location_v8, "Location", IX(1, INT32, "mapping_index", MAPPING), S(2, UINT64, "address"),
        R(3, "line", line_v4), PX(4, INT32, "attribute_indices", ATTRIBUTE));
MESSAGE(location_v9, "Location", IX(1, INT32, "mapping_index", MAPPING), S(2, UINT64, "address"),
        R(3, "lines", line_v4), PX(4, INT32, "attribute_indices", ATTRIBUTE));
MESSAGE(stack_v8, "Stack", PX(1, INT32, "location_indices", LOCATION));
MESSAGE(kvu_v8, "KeyValueAndUnit", IX(1, INT32, "key_strindex", STRING), M(2, "value", any_v3),
        IX(3, INT32, "unit_strindex", STRING));
MESSAGE(kvu_v10, "KeyValueAndUnit", IX(1, INT32, "key_strindex", STRING), M(2, "value", any_v10),
        IX(3, INT32, "unit_strindex", STRING));
SAMPLE(sample_v8, IX(1, INT32, "stack_index", STACK), P(2, INT64, "values"),
       PX(3, INT32, "attribute_indices", ATTRIBUTE), IX(4, INT32, "link_index", LINK),
       P(5, FIXED64, "timestamps_unix_nano"));
SAMPLE(sample_v10, IX(1, INT32, "stack_index", STACK), PX(2, INT32, "attribute_indices", ATTRIBUTE),
       IX(3, INT32, "link_index", LINK), P(4, INT64, "values"),
       P(5, FIXED64, "timestamps_unix_nano"));

#define DICTIONARY(location, kvu)                                                                  \
    T(1, "mapping_table", mapping_v8, MAPPING), T(2, "location_table", location, LOCATION),        \
        T(3, "function_table", function_v4, FUNCTION), T(4, "link_table", link_v3, LINK),          \
        STRINGS(5, "string_table"), T(6, "attribute_table", kvu, ATTRIBUTE),                       \
        T(7, "stack_table", stack_v8, STACK)

MESSAGE(dictionary_v8, "ProfilesDictionary", DICTIONARY(location_v8, kvu_v8));
MESSAGE(dictionary_v9, "ProfilesDictionary", DICTIONARY(location_v9, kvu_v8));
MESSAGE(dictionary_v10, "ProfilesDictionary", DICTIONARY(location_v9, kvu_v10));

PROFILE(profile_v8, M(1, "sample_type", value_type_v4), R(2, "sample", sample_v8),
        S(3, FIXED64, "time_unix_nano"), S(4, UINT64, "duration_nano"),
        M(5, "period_type", value_type_v4), S(6, INT64, "period"),
        PX(7, INT32, "comment_strindices", STRING), ID(8, "profile_id"),
        S(9, UINT32, "dropped_attributes_count"), PAYLOAD_FORMAT(10), PAYLOAD(11),
        PX(12, INT32, "attribute_indices", ATTRIBUTE));

#define PROFILE_V9(sample)                                                                         \
    M(1, "sample_type", value_type_v9), R(2, "samples", sample), S(3, FIXED64, "time_unix_nano"),  \
        S(4, UINT64, "duration_nano"), M(5, "period_type", value_type_v9), S(6, INT64, "period"),  \
        ID(7, "profile_id"), S(8, UINT32, "dropped_attributes_count"), PAYLOAD_FORMAT(9),          \
        PAYLOAD(10), PX(11, INT32, "attribute_indices", ATTRIBUTE)

PROFILE(profile_v9, PROFILE_V9(sample_v8));
PROFILE(profile_v10, PROFILE_V9(sample_v10));

/* ---- envelopes ---- */

#define ENVELOPE(v, resource, scope, profile)                                                      \
    MESSAGE(scope_profiles_##v, "ScopeProfiles", M(1, "scope", scope),                             \
            BIG(2, "profiles", profile), S(3, STRING, "schema_url"));                              \
    MESSAGE(resource_profiles_##v, "ResourceProfiles", M(1, "resource", resource),                 \
            BIG(2, "scope_profiles", scope_profiles_##v), S(3, STRING, "schema_url"))
#define DICT(dictionary) LARGE(2, "dictionary", dictionary)

ENVELOPE(v3, resource_v3, scope_v3, container_v3);
ENVELOPE(v4, resource_v3, scope_v3, profile_v4);
ENVELOPE(v5, resource_v3, scope_v3, profile_v5);
ENVELOPE(v6, resource_v6, scope_v3, profile_v6);
ENVELOPE(v8, resource_v6, scope_v3, profile_v8);
ENVELOPE(v9, resource_v6, scope_v3, profile_v9);
ENVELOPE(v10, resource_v10, scope_v10, profile_v10);

MESSAGE(data_v3, "ProfilesData", BIG(1, "resource_profiles", resource_profiles_v3));
MESSAGE(data_v4, "ProfilesData", BIG(1, "resource_profiles", resource_profiles_v4));
MESSAGE(data_v5, "ProfilesData", BIG(1, "resource_profiles", resource_profiles_v5));
MESSAGE(data_v6, "ProfilesData", BIG(1, "resource_profiles", resource_profiles_v6),
        T(2, "mapping_table", mapping_v4, MAPPING), T(3, "location_table", location_v4, LOCATION),
        T(4, "function_table", function_v4, FUNCTION), T(5, "link_table", link_v3, LINK),
        STRINGS(6, "string_table"), T(7, "attribute_table", kv_v3, ATTRIBUTE),
        R(8, "attribute_units", unit_v4));
MESSAGE(data_v7, "ProfilesData", BIG(1, "resource_profiles", resource_profiles_v6),
        DICT(dictionary_v7));
MESSAGE(data_v8, "ProfilesData", BIG(1, "resource_profiles", resource_profiles_v8),
        DICT(dictionary_v8));
MESSAGE(data_v9, "ProfilesData", BIG(1, "resource_profiles", resource_profiles_v9),
        DICT(dictionary_v9));
MESSAGE(data_v10, "ProfilesData", BIG(1, "resource_profiles", resource_profiles_v10),
        DICT(dictionary_v10));

MESSAGE(partial_success, "ExportProfilesPartialSuccess", S(1, INT64, "rejected_profiles"),
        S(2, STRING, "error_message"));
MESSAGE(export_response, "ExportProfilesServiceResponse", M(1, "partial_success", partial_success));

const message_desc *schema_profiles_data(layout l)
{
    static const message_desc *const roots[LAYOUT_COUNT] = {
        NULL, &data_v3, &data_v4, &data_v5, &data_v6, &data_v7, &data_v8, &data_v9, &data_v10};
    return (unsigned)l < LAYOUT_COUNT ? roots[l] : NULL;
}

const message_desc *schema_export_response(void) { return &export_response; }

const field_desc *message_field(const message_desc *m, uint32_t number)
{
    /* Numbers are usually dense, so try the position number - 1, then search. */
    if (number - 1 < m->n_fields && m->fields[number - 1].number == number)
        return &m->fields[number - 1];
    for (size_t i = 0; i < m->n_fields; i++)
        if (m->fields[i].number == number) return &m->fields[i];
    return NULL;
}

const field_desc *message_field_named(const message_desc *m, str name)
{
    for (size_t i = 0; i < m->n_fields; i++)
        if (str_eq(str_of(m->fields[i].name), name)) return &m->fields[i];
    return NULL;
}

size_t field_json_name(const field_desc *f, char *out, size_t n)
{
    size_t k = 0;
    bool up = false;
    for (const char *s = f->name; *s && k + 1 < n; s++) {
        if (*s == '_') {
            up = true;
            continue;
        }
        out[k++] = up && *s >= 'a' && *s <= 'z' ? (char)(*s - 'a' + 'A') : *s;
        up = false;
    }
    out[k] = '\0';
    return k;
}

/* Compares names without building the lowerCamelCase form. */
static bool json_name_is(const char *snake, str json)
{
    size_t k = 0;
    for (; *snake; snake++, k++) {
        bool up = *snake == '_';
        if (up) snake++;
        char c = up && *snake >= 'a' && *snake <= 'z' ? (char)(*snake - 'a' + 'A') : *snake;
        if (k >= json.n || json.p[k] != c) return false;
    }
    return k == json.n;
}

const field_desc *message_field_json(const message_desc *m, str json_name)
{
    for (size_t i = 0; i < m->n_fields; i++)
        if (json_name_is(m->fields[i].name, json_name)) return &m->fields[i];
    return NULL;
}

unsigned field_wire_type(const field_desc *f)
{
    switch ((field_type)f->type) {
    case FT_FIXED64:
    case FT_DOUBLE: return 1;
    case FT_STRING:
    case FT_BYTES:
    case FT_MESSAGE: return 2;
    default: return 0;
    }
}
