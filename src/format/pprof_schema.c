/* The messages of profile.proto as a table, in the form of wire/schema.c: number, type, name. The
 * reader is written by hand for speed; this table lists the fields that it must handle.
 * tests/vectors/proto/pprof.proto has the same messages for protoc. */
#include "format/pprof.h"
#include "wire/schema_macros.h"

#include "base/ban.h"

MESSAGE(value_type_desc, "ValueType", S(1, INT64, "type"), S(2, INT64, "unit"));
MESSAGE(label, "Label", S(1, INT64, "key"), S(2, INT64, "str"), S(3, INT64, "num"),
        S(4, INT64, "num_unit"));
SAMPLE(sample_desc, P(1, UINT64, "location_id"), P(2, INT64, "value"), R(3, "label", label));
MESSAGE(mapping_desc, "Mapping", S(1, UINT64, "id"), S(2, UINT64, "memory_start"),
        S(3, UINT64, "memory_limit"), S(4, UINT64, "file_offset"), S(5, INT64, "filename"),
        S(6, INT64, "build_id"), S(7, BOOL, "has_functions"), S(8, BOOL, "has_filenames"),
        S(9, BOOL, "has_line_numbers"), S(10, BOOL, "has_inline_frames"));
MESSAGE(line_desc, "Line", S(1, UINT64, "function_id"), S(2, INT64, "line"), S(3, INT64, "column"));
MESSAGE(location_desc, "Location", S(1, UINT64, "id"), S(2, UINT64, "mapping_id"),
        S(3, UINT64, "address"), R(4, "line", line_desc), S(5, BOOL, "is_folded"));
MESSAGE(function_desc, "Function", S(1, UINT64, "id"), S(2, INT64, "name"),
        S(3, INT64, "system_name"), S(4, INT64, "filename"), S(5, INT64, "start_line"));
static const field_desc profile_fields[] = {R(1, "sample_type", value_type_desc),
                                            R(2, "sample", sample_desc),
                                            R(3, "mapping", mapping_desc),
                                            R(4, "location", location_desc),
                                            R(5, "function", function_desc),
                                            P(6, STRING, "string_table"),
                                            S(7, INT64, "drop_frames"),
                                            S(8, INT64, "keep_frames"),
                                            S(9, INT64, "time_nanos"),
                                            S(10, INT64, "duration_nanos"),
                                            M(11, "period_type", value_type_desc),
                                            S(12, INT64, "period"),
                                            P(13, INT64, "comment"),
                                            S(14, INT64, "default_sample_type"),
                                            S(15, INT64, "doc_url")};

const message_desc pprof_profile = {"Profile", profile_fields, (uint8_t)ARRAY_LEN(profile_fields),
                                    MESSAGE_PROFILE};
