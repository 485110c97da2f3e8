/* The messages of profile.proto as a table, as wire/schema.c has those of OTLP: number, type, name.  The
 * reader is written by hand for speed; this is the list of what it has to account for.
 * tests/vectors/proto/pprof.proto says the same to protoc. */
#include "format/pprof.h"

#include "base/ban.h"

#define N(no, kind, text)                                                                          \
    {                                                                                              \
        .number = no, .type = FT_##kind, .name = text                                              \
    }
#define L(no, kind, text)                                                                          \
    {                                                                                              \
        .number = no, .type = FT_##kind, .flags = FF_REPEATED, .name = text                        \
    }
#define M(no, text, of)                                                                            \
    {                                                                                              \
        .number = no, .type = FT_MESSAGE, .name = text, .message = &of                             \
    }
#define R(no, text, of)                                                                            \
    {                                                                                              \
        .number = no, .type = FT_MESSAGE, .flags = FF_REPEATED, .name = text, .message = &of       \
    }
#define MESSAGE(id, text, ...)                                                                     \
    static const field_desc id##_fields[] = {__VA_ARGS__};                                         \
    static const message_desc id = {text, id##_fields, (uint8_t)ARRAY_LEN(id##_fields)}

MESSAGE(value_type_desc, "ValueType", N(1, INT64, "type"), N(2, INT64, "unit"));
MESSAGE(label, "Label", N(1, INT64, "key"), N(2, INT64, "str"), N(3, INT64, "num"),
        N(4, INT64, "num_unit"));
MESSAGE(sample_desc, "Sample", L(1, UINT64, "location_id"), L(2, INT64, "value"),
        R(3, "label", label));
MESSAGE(mapping_desc, "Mapping", N(1, UINT64, "id"), N(2, UINT64, "memory_start"),
        N(3, UINT64, "memory_limit"), N(4, UINT64, "file_offset"), N(5, INT64, "filename"),
        N(6, INT64, "build_id"), N(7, BOOL, "has_functions"), N(8, BOOL, "has_filenames"),
        N(9, BOOL, "has_line_numbers"), N(10, BOOL, "has_inline_frames"));
MESSAGE(line_desc, "Line", N(1, UINT64, "function_id"), N(2, INT64, "line"), N(3, INT64, "column"));
MESSAGE(location_desc, "Location", N(1, UINT64, "id"), N(2, UINT64, "mapping_id"),
        N(3, UINT64, "address"), R(4, "line", line_desc), N(5, BOOL, "is_folded"));
MESSAGE(function_desc, "Function", N(1, UINT64, "id"), N(2, INT64, "name"),
        N(3, INT64, "system_name"), N(4, INT64, "filename"), N(5, INT64, "start_line"));
MESSAGE(profile_desc, "Profile", R(1, "sample_type", value_type_desc), R(2, "sample", sample_desc),
        R(3, "mapping", mapping_desc), R(4, "location", location_desc),
        R(5, "function", function_desc), L(6, STRING, "string_table"), N(7, INT64, "drop_frames"),
        N(8, INT64, "keep_frames"), N(9, INT64, "time_nanos"), N(10, INT64, "duration_nanos"),
        M(11, "period_type", value_type_desc), N(12, INT64, "period"), L(13, INT64, "comment"),
        N(14, INT64, "default_sample_type"), N(15, INT64, "doc_url"));

const message_desc *pprof_schema(void) { return &profile_desc; }
