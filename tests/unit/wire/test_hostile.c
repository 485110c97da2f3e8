/* Decodes malformed messages and compares text, byte and path of the error, which are part of the
 * API. */
#include "../../support/test.h"
#include "../../support/wiretext.h"

#include "wire/otlp.h"

#include <string.h>

/* Tables with two entries each and three strings; a case adds entries before or after them. */
#define MAPPINGS "1{} 1{ 1:1 } "
#define LOCATIONS "2{} 2{ 2:16 } "
#define FUNCTIONS "3{} 3{ 1:1 } "
#define LINKS "4{} 4{ 1<01000000000000000000000000000000> } "
#define STRINGS "5\"\" 5\"a\" 5\"b\" "
#define ATTRIBUTES "6{} 6{ 1:1 } "
#define STACKS "7{} 7{ 1[1] } "
#define TABLES MAPPINGS LOCATIONS FUNCTIONS LINKS STRINGS ATTRIBUTES STACKS
#define DICT "2{ " TABLES "} "
#define PROFILE(fields) "1{ 2{ 2{ " fields " } } } "
#define SAMPLE(fields) PROFILE("2{} 2{ " fields " }")
#define RESOURCE_ATTR(fields) "1{ 1{ 1{ " fields " } } } "
#define VALUE(fields) "2{ " TABLES "6{ 2{ " fields " } } } "

#define P "resource_profiles[0].scope_profiles[0].profiles[0]"
#define S P ".samples[1]"
#define NOT_UTF8 "61 ff 62"
#define LONG_10 "ff ff ff ff ff ff ff ff ff 02" /* does not fit in 64 bits */

typedef struct hostile {
    const char *name, *text; /* ^ is the byte of the error */
    const char *msg, *path;
    unsigned how; /* flags */
} hostile;

enum {
    SOFT = 1,   /* valid protobuf that violates a rule: lenient decoding accepts it */
    AT_END = 2, /* the error is at the end of the input: nothing may follow */
    V1_8 = 4,
    V1_9 = 8,
};

static layout layout_of(const hostile *h)
{
    return h->how & V1_8 ? LAYOUT_1_8 : h->how & V1_9 ? LAYOUT_1_9 : LAYOUT_CURRENT;
}

static const hostile cases[] = {
    /* ---- the wire: varints ---- */
    {"truncated varint", "^|80|", "varint runs past the end of the message", "", AT_END},
    {"tag without a value", "|08| ^", "varint runs past the end of the message", "", AT_END},
    {"tag of eleven bytes", "^|ff ff ff ff ff ff ff ff ff ff 01|", "varint does not fit in 64 bits",
     "", 0},
    {"tenth byte of a stack index is 2", SAMPLE("|08| ^|" LONG_10 "|"),
     "varint does not fit in 64 bits", S, 0},
    {"eleven bytes of a stack index", SAMPLE("|08| ^|80 80 80 80 80 80 80 80 80 80 00|"),
     "varint does not fit in 64 bits", S, 0},
    {"stack index runs out of its sample", SAMPLE("|08| ^|80|"),
     "varint runs past the end of the message", S, 0},
    {"link index runs out", SAMPLE("1:1 |18| ^|80 80|"), "varint runs past the end of the message",
     S, 0},
    {"value runs out of its list", SAMPLE("|22 02 05| ^|80|"),
     "varint runs past the end of the message", S ".values[1]", 0},
    {"overlong value", SAMPLE("|22 0b 05| ^|" LONG_10 "|"), "varint does not fit in 64 bits",
     S ".values[1]", 0},
    {"overlong unpacked value", SAMPLE("|20| ^|" LONG_10 "|"), "varint does not fit in 64 bits", S,
     0},
    {"attribute index runs out", SAMPLE("|12 01| ^|80|"), "varint runs past the end of the message",
     S ".attribute_indices[0]", 0},
    {"overlong address", "2{ 2{} 2{ |10| ^|" LONG_10 "| } }", "varint does not fit in 64 bits",
     "dictionary.location_table[1]", 0},
    {"overlong memory start", "2{ 1{ |08| ^|" LONG_10 "| } }", "varint does not fit in 64 bits",
     "dictionary.mapping_table[0]", 0},
    {"overlong line", "2{ 2{ 3{} 3{ |10| ^|" LONG_10 "| } } }", "varint does not fit in 64 bits",
     "dictionary.location_table[0].lines[1]", 0},
    {"overlong start line", "2{ 3{ |20| ^|" LONG_10 "| } }", "varint does not fit in 64 bits",
     "dictionary.function_table[0]", 0},
    {"frame runs out of its list", "2{ 7{} 7{ |0a 03 01 02| ^|80| } }",
     "varint runs past the end of the message", "dictionary.stack_table[1].location_indices[2]", 0},
    {"overlong frame among many",
     "2{ 2{} 2{ 2:1 } 7{ |0a 4a| |0101010101010101010101010101010101010101010101010101010101010101|"
     "|0101010101010101010101010101010101010101010101010101010101010101| ^|" LONG_10 "| } }",
     "varint does not fit in 64 bits", "dictionary.stack_table[0].location_indices[64]", 0},
    {"duration runs out", PROFILE("|20| ^|ff|"), "varint runs past the end of the message", P, 0},
    {"overlong comment", PROFILE("|3a 0a| ^|" LONG_10 "|"), "varint does not fit in 64 bits",
     P ".comment_strindices[0]", V1_8},
    {"overlong profile attribute", PROFILE("|5a 0b 01| ^|" LONG_10 "|") DICT,
     "varint does not fit in 64 bits", P ".attribute_indices[1]", 0},
    {"overlong int value", VALUE("|18| ^|" LONG_10 "|"), "varint does not fit in 64 bits",
     "dictionary.attribute_table[2].value", 0},

    /* ---- the wire: lengths ---- */
    {"length past the end", "^|0a 05 00|", "field 1 needs 5 bytes, 1 are left", "", AT_END},
    {"length missing", "|0a| ^", "varint runs past the end of the message", "", AT_END},
    {"length of 4 GiB", "^|12 ff ff ff ff 0f| 5\"abc\"",
     "field 2 needs 4294967295 bytes, 5 are left", "", AT_END},
    {"length of 2^63", "1{ ^|12 80 80 80 80 80 80 80 80 80 01| }",
     "field 2 needs 9223372036854775808 bytes, 0 are left", "resource_profiles[0]", 0},
    {"length of 2^64 - 1", "2{ ^|2a ff ff ff ff ff ff ff ff ff 01| }",
     "field 5 needs 18446744073709551615 bytes, 0 are left", "dictionary", 0},
    {"overlong length", "2{ |2a| ^|" LONG_10 "| }", "varint does not fit in 64 bits", "dictionary",
     0},
    {"sample longer than its profile", PROFILE("2{} ^|12 03 08 01|"),
     "field 2 needs 3 bytes, 2 are left", P, 0},
    {"values longer than their sample", SAMPLE("1:1 ^|22 02 01|"),
     "field 4 needs 2 bytes, 1 are left", S, 0},
    {"times longer than their sample", SAMPLE("^|2a 10 01 02 03|"),
     "field 5 needs 16 bytes, 3 are left", S, 0},
    {"line longer than its location", "2{ 2{ 2:1 ^|1a 7f 08 01| } }",
     "field 3 needs 127 bytes, 2 are left", "dictionary.location_table[0]", 0},
    {"frames longer than their stack", "2{ 7{} 7{ ^|0a ff ff ff ff 07 01| } }",
     "field 1 needs 2147483647 bytes, 1 are left", "dictionary.stack_table[1]", 0},
    {"string longer than the dictionary", "2{ " STRINGS "^|2a 09 61 62| }",
     "field 5 needs 9 bytes, 2 are left", "dictionary", 0},
    {"trace id longer than its link", "2{ 4{} 4{ ^|0a 10 01 02| } }",
     "field 1 needs 16 bytes, 2 are left", "dictionary.link_table[1]", 0},
    {"value longer than its attribute", "2{ 6{ ^|12 05 18| } }",
     "field 2 needs 5 bytes, 1 are left", "dictionary.attribute_table[0]", 0},
    {"string longer than its value", RESOURCE_ATTR("1\"k\" 2{ ^|0a 05 61| }"),
     "field 1 needs 5 bytes, 1 are left", "resource_profiles[0].resource.attributes[0].value", 0},

    /* ---- the wire: fixed numbers ---- */
    {"fixed64 of 7 bytes", PROFILE("2{} ^|19 01 02 03 04 05 06 07|"),
     "field 3 needs 8 bytes, 7 are left", P, 0},
    {"unpacked time of 7 bytes", SAMPLE("^|29 01 02 03 04 05 06 07|"),
     "field 5 needs 8 bytes, 7 are left", S, 0},
    {"packed times of 7 bytes", SAMPLE("^5<01020304050607>"),
     "packed timestamps_unix_nano has 7 bytes, not a multiple of 8", S ".timestamps_unix_nano[0]",
     0},
    {"packed times of 15 bytes", SAMPLE("5@1 ^5<0102030405060708090a0b0c0d0e0f>"),
     "packed timestamps_unix_nano has 15 bytes, not a multiple of 8", S ".timestamps_unix_nano[1]",
     0},
    {"double of 4 bytes", VALUE("^|21 00 00 00 00|"), "field 4 needs 8 bytes, 4 are left",
     "dictionary.attribute_table[2].value", 0},
    {"unknown fixed32 of 3 bytes", "2{ 2{ ^|25 01 02 03| } }", "field 4 needs 4 bytes, 3 are left",
     "dictionary.location_table[0]", 0},

    /* ---- the wire: tags ---- */
    {"field number 0", "^|00 01|", "field number 0 is not allowed", "", 0},
    {"field number 0 in a sample", SAMPLE("1:1 ^|02 00|"), "field number 0 is not allowed", S, 0},
    {"field number 0 in a location", "2{ 2{ ^|00 00| } }", "field number 0 is not allowed",
     "dictionary.location_table[0]", 0},
    {"tag beyond 32 bits", "^|80 80 80 80 10 00|", "field number 536870912 is not allowed", "", 0},
    {"tag beyond 32 bits in a dictionary", "2{ ^|ff ff ff ff 7f 00| }",
     "field number 4294967295 is not allowed", "dictionary", 0},
    {"group at the top", "^|0b 0c|", "field 1 has wire type 3, which proto3 never uses", "", 0},
    {"end of a group", "^|0c|", "field 1 has wire type 4, which proto3 never uses", "", 0},
    {"group in a resource", "1{ 1{ ^|0b| } }", "field 1 has wire type 3, which proto3 never uses",
     "resource_profiles[0].resource", 0},
    {"group in a profile", PROFILE("2{} ^|13| 2{}"),
     "field 2 has wire type 3, which proto3 never uses", P, 0},
    {"group in a sample", SAMPLE("^|0b 0c|"), "field 1 has wire type 3, which proto3 never uses", S,
     0},
    {"group in a stack", "2{ 7{ ^|0b 0c| } }", "field 1 has wire type 3, which proto3 never uses",
     "dictionary.stack_table[0]", 0},
    {"group in a link", "2{ 4{ ^|0c| } }", "field 1 has wire type 4, which proto3 never uses",
     "dictionary.link_table[0]", 0},
    {"group in a mapping", "2{ 1{} 1{ ^|2b| } }",
     "field 5 has wire type 3, which proto3 never uses", "dictionary.mapping_table[1]", 0},
    {"wire type 6", "2{ ^|0e 01| }", "field 1 has wire type 6, which proto3 never uses",
     "dictionary", 0},
    {"wire type 7", SAMPLE("^|0f 01|"), "field 1 has wire type 7, which proto3 never uses", S, 0},
    {"padded tag", "^|8a 00 00|", "the tag of field 1 is padded", "", 0},
    {"padded tag of a sample", PROFILE("2{} ^|92 80 00 00|"), "the tag of field 2 is padded", P, 0},
    {"padded tag of a stack index", SAMPLE("^|88 00 01|"), "the tag of field 1 is padded", S, 0},
    {"padded tag of a string", "2{ 5\"\" ^|aa 00 00| }", "the tag of field 5 is padded",
     "dictionary", 0},

    /* ---- indices: every kind ---- */
    {"stack index", SAMPLE("^1:2") DICT, "index 2 is outside stack_table, which has 2 entries",
     S ".stack_index", SOFT},
    {"stack index, no tables", SAMPLE("^1:1"),
     "index 1 is outside stack_table, which has 0 entries", S ".stack_index", SOFT},
    {"stack index, one stack", SAMPLE("^1:1") "2{ 7{} }",
     "index 1 is outside stack_table, which has 1 entry", S ".stack_index", SOFT},
    {"link index", SAMPLE("^3:9") DICT, "index 9 is outside link_table, which has 2 entries",
     S ".link_index", SOFT},
    {"attribute of a sample", SAMPLE("2[1 ^9]") DICT,
     "index 9 is outside attribute_table, which has 2 entries", S ".attribute_indices[1]", SOFT},
    {"attribute of a sample, unpacked", SAMPLE("2:1 ^2:9") DICT,
     "index 9 is outside attribute_table, which has 2 entries", S ".attribute_indices[1]", SOFT},
    {"attribute of a sample, second chunk", SAMPLE("2[1 1] 2[1 ^9]") DICT,
     "index 9 is outside attribute_table, which has 2 entries", S ".attribute_indices[3]", SOFT},
    {"attribute of a profile", PROFILE("11[0 ^2]") DICT,
     "index 2 is outside attribute_table, which has 2 entries", P ".attribute_indices[1]", SOFT},
    {"attribute of a location", "2{ " TABLES "2{ 4[1 ^3] } }",
     "index 3 is outside attribute_table, which has 2 entries",
     "dictionary.location_table[2].attribute_indices[1]", SOFT},
    {"attribute of a mapping", "2{ " TABLES "1{ 5[^3] } }",
     "index 3 is outside attribute_table, which has 2 entries",
     "dictionary.mapping_table[2].attribute_indices[0]", SOFT},
    {"mapping of a location", "2{ " TABLES "2{ ^1:5 } }",
     "index 5 is outside mapping_table, which has 2 entries",
     "dictionary.location_table[2].mapping_index", SOFT},
    {"function of a line", "2{ " TABLES "2{ 3{ 1:1 } 3{ ^1:5 } } }",
     "index 5 is outside function_table, which has 2 entries",
     "dictionary.location_table[2].lines[1].function_index", SOFT},
    {"location of a stack", "2{ " TABLES "7{ 1[1 0 ^4] } }",
     "index 4 is outside location_table, which has 2 entries",
     "dictionary.stack_table[2].location_indices[2]", SOFT},
    {"location of a stack, unpacked", "2{ " TABLES "7{ 1:1 ^1:4 } }",
     "index 4 is outside location_table, which has 2 entries",
     "dictionary.stack_table[2].location_indices[1]", SOFT},
    {"name of a function", "2{ " TABLES "3{ ^1:3 } }",
     "index 3 is outside string_table, which has 3 entries",
     "dictionary.function_table[2].name_strindex", SOFT},
    {"system name of a function", "2{ " TABLES "3{ ^2:3 } }",
     "index 3 is outside string_table, which has 3 entries",
     "dictionary.function_table[2].system_name_strindex", SOFT},
    {"file of a function", "2{ " TABLES "3{ ^3:3 } }",
     "index 3 is outside string_table, which has 3 entries",
     "dictionary.function_table[2].filename_strindex", SOFT},
    {"file of a mapping", "2{ " TABLES "1{ ^4:3 } }",
     "index 3 is outside string_table, which has 3 entries",
     "dictionary.mapping_table[2].filename_strindex", SOFT},
    {"key of an attribute", "2{ " TABLES "6{ ^1:3 } }",
     "index 3 is outside string_table, which has 3 entries",
     "dictionary.attribute_table[2].key_strindex", SOFT},
    {"unit of an attribute", "2{ " TABLES "6{ ^3:3 } }",
     "index 3 is outside string_table, which has 3 entries",
     "dictionary.attribute_table[2].unit_strindex", SOFT},
    {"sample type", PROFILE("1{ ^1:3 }") DICT,
     "index 3 is outside string_table, which has 3 entries", P ".sample_type.type_strindex", SOFT},
    {"sample unit", PROFILE("1{ 1:1 ^2:3 }") DICT,
     "index 3 is outside string_table, which has 3 entries", P ".sample_type.unit_strindex", SOFT},
    {"period type", PROFILE("5{ ^1:3 }") DICT,
     "index 3 is outside string_table, which has 3 entries", P ".period_type.type_strindex", SOFT},
    {"period unit", PROFILE("5{ ^2:3 }") DICT,
     "index 3 is outside string_table, which has 3 entries", P ".period_type.unit_strindex", SOFT},
    {"key reference", RESOURCE_ATTR("^3:3") DICT,
     "index 3 is outside string_table, which has 3 entries",
     "resource_profiles[0].resource.attributes[0].key_strindex", SOFT},
    {"string reference", RESOURCE_ATTR("1\"k\" 2{ ^8:3 }") DICT,
     "index 3 is outside string_table, which has 3 entries",
     "resource_profiles[0].resource.attributes[0].value.string_value_strindex", SOFT},
    {"string reference in a scope", "1{ 2{ 1{ 3{} 3{ 2{ ^8:3 } } } } } " DICT,
     "index 3 is outside string_table, which has 3 entries",
     "resource_profiles[0].scope_profiles[0].scope.attributes[1].value.string_value_strindex",
     SOFT},
    {"string reference in an attribute", VALUE("^8:3"),
     "index 3 is outside string_table, which has 3 entries",
     "dictionary.attribute_table[2].value.string_value_strindex", SOFT},
    {"string reference in an array", VALUE("5{ 1{ 3:1 } 1{ ^8:3 } }"),
     "index 3 is outside string_table, which has 3 entries",
     "dictionary.attribute_table[2].value.array_value.values[1].string_value_strindex", SOFT},
    {"key reference in a map", VALUE("6{ 1{ ^3:3 } }"),
     "index 3 is outside string_table, which has 3 entries",
     "dictionary.attribute_table[2].value.kvlist_value.values[0].key_strindex", SOFT},
    {"negative stack index", SAMPLE("^1:-1") DICT, "index -1 is negative", S ".stack_index", SOFT},
    {"negative in 32 bits", SAMPLE("^1:0xffffffff") DICT, "index -1 is negative", S ".stack_index",
     SOFT},
    {"negative attribute", SAMPLE("2[1 ^-5]") DICT, "index -5 is negative",
     S ".attribute_indices[1]", SOFT},
    {"negative frame", "2{ " TABLES "7{ 1[^-2147483648] } }", "index -2147483648 is negative",
     "dictionary.stack_table[2].location_indices[0]", SOFT},
    {"negative string", "2{ " TABLES "3{ ^1:-2 } }", "index -2 is negative",
     "dictionary.function_table[2].name_strindex", SOFT},
    {"largest index", "2{ " TABLES "7{ 1[^2147483647] } }",
     "index 2147483647 is outside location_table, which has 2 entries",
     "dictionary.stack_table[2].location_indices[0]", SOFT},
    {"attribute of a v1.9 sample", SAMPLE("3[^9]") DICT,
     "index 9 is outside attribute_table, which has 2 entries", S ".attribute_indices[0]",
     V1_9 | SOFT},
    {"link of a v1.9 sample", SAMPLE("^4:9") DICT,
     "index 9 is outside link_table, which has 2 entries", S ".link_index", V1_9 | SOFT},
    {"comment of v1.8", PROFILE("7[1 ^9]") DICT,
     "index 9 is outside string_table, which has 3 entries", P ".comment_strindices[1]",
     V1_8 | SOFT},
    {"the second of three samples", PROFILE("2{ 1:1 } 2{ ^1:7 } 2{ 1:8 }") DICT,
     "index 7 is outside stack_table, which has 2 entries", S ".stack_index", SOFT},

    /* ---- text: every field ---- */
    {"string table", "2{ 5\"\" |2a 03 61| ^|ff 62| }", "string_table is not UTF-8: byte 0xff",
     "dictionary.string_table[1]", SOFT},
    {"surrogate", "2{ 5\"\" |2a 03| ^|ed a0 80| }", "string_table is not UTF-8: byte 0xed",
     "dictionary.string_table[1]", SOFT},
    {"cut character at the end of a long string",
     "2{ |2a 0b 61 61 61 61 61 61 61 61 61| ^|e2 82| }", "string_table is not UTF-8: byte 0xe2",
     "dictionary.string_table[0]", SOFT},
    {"schema of a resource", "1{ |1a 03 61| ^|ff 62| }", "schema_url is not UTF-8: byte 0xff",
     "resource_profiles[0].schema_url", SOFT},
    {"schema of a scope", "1{ 2{ |1a 01| ^|80| } }", "schema_url is not UTF-8: byte 0x80",
     "resource_profiles[0].scope_profiles[0].schema_url", SOFT},
    {"name of a scope", "1{ 2{ 1{ |0a 01| ^|c0| } } }", "name is not UTF-8: byte 0xc0",
     "resource_profiles[0].scope_profiles[0].scope.name", SOFT},
    {"version of a scope", "1{ 2{ 1{ |12 01| ^|f5| } } }", "version is not UTF-8: byte 0xf5",
     "resource_profiles[0].scope_profiles[0].scope.version", SOFT},
    {"key", RESOURCE_ATTR("|0a 03 61| ^|ff 62|"), "key is not UTF-8: byte 0xff",
     "resource_profiles[0].resource.attributes[0].key", SOFT},
    {"string value", RESOURCE_ATTR("2{ |0a 03 61| ^|ff 62| }"),
     "string_value is not UTF-8: byte 0xff",
     "resource_profiles[0].resource.attributes[0].value.string_value", SOFT},
    {"string value in a map", VALUE("6{ 1{} 1{ |0a 01| ^|ff| } }"), "key is not UTF-8: byte 0xff",
     "dictionary.attribute_table[2].value.kvlist_value.values[1].key", SOFT},
    {"entity schema", "1{ 1{ 3{ |0a 01| ^|ff| } } }", "schema_url is not UTF-8: byte 0xff",
     "resource_profiles[0].resource.entity_refs[0].schema_url", SOFT},
    {"entity type", "1{ 1{ 3{} 3{ |12 01| ^|ff| } } }", "type is not UTF-8: byte 0xff",
     "resource_profiles[0].resource.entity_refs[1].type", SOFT},
    {"entity id key", "1{ 1{ 3{ 3\"a\" |1a 01| ^|ff| } } }", "id_keys is not UTF-8: byte 0xff",
     "resource_profiles[0].resource.entity_refs[0].id_keys[1]", SOFT},
    {"entity description key", "1{ 1{ 3{ |22 01| ^|ff| } } }",
     "description_keys is not UTF-8: byte 0xff",
     "resource_profiles[0].resource.entity_refs[0].description_keys[0]", SOFT},
    {"payload format", PROFILE("|4a 01| ^|ff|"), "original_payload_format is not UTF-8: byte 0xff",
     P ".original_payload_format", SOFT},

    /* ---- ids ---- */
    {"trace id of 15", "2{ 4{} 4{ ^1<000102030405060708090a0b0c0d0e> } }",
     "trace_id is 15 long, expected 16 or none", "dictionary.link_table[1].trace_id", SOFT},
    {"span id of 16", "2{ 4{} 4{ ^2<000102030405060708090a0b0c0d0e0f> } }",
     "span_id is 16 long, expected 8 or none", "dictionary.link_table[1].span_id", SOFT},
    {"span id of 1", "2{ 4{ ^2<01> } }", "span_id is 1 long, expected 8 or none",
     "dictionary.link_table[0].span_id", SOFT},
    {"profile id of 17", PROFILE("^7<000102030405060708090a0b0c0d0e0f10>"),
     "profile_id is 17 long, expected 16 or none", P ".profile_id", SOFT},
    {"profile id of v1.8", PROFILE("^8<00>"), "profile_id is 1 long, expected 16 or none",
     P ".profile_id", V1_8 | SOFT},
};

/* Decodes a copy of exact size, so that a sanitizer detects a read past the end. */
static bool decode_exact(const void *p, size_t n, const otlp_decode_opts *o, size_t *peak, err *e)
{
    char *copy = malloc(n ? n : 1);
    if (n) memcpy(copy, p, n);
    arena a = {0};
    model m;
    bool ok = otlp_decode(n ? copy : NULL, n, o, &a, &m, e);
    if (ok) assert_int_equal(m.checked, !o->lenient);
    if (peak) *peak = a.peak;
    arena_free(&a);
    free(copy);
    return ok;
}

static void check_case(const hostile *h, const buf *in, size_t mark, otlp_decode_opts o)
{
    err e = {0};
    size_t peak;
    char text[512];
    if (decode_exact(in->p, in->n, &o, &peak, &e)) fail_msg("%s: decoded", h->name);
    err_text(&e, text, sizeof text);
    if (strcmp(e.msg, h->msg) != 0 || strcmp(e.path, h->path) != 0 || e.offset != mark)
        fail_msg("%s: %s\n  expected: %s (byte %zu, at %s)", h->name, text, h->msg, mark, h->path);
    assert_int_equal(e.code, ERR_MALFORMED);
    assert_true(peak <= 65536 + 24 * in->n);
}

static void table(void **state)
{
    (void)state;
    assert_true(ARRAY_LEN(cases) >= 60);
    print_message("# %zu hostile cases\n", ARRAY_LEN(cases));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const hostile *h = &cases[i];
        size_t mark;
        buf in = wire_bytes(h->text, &mark);
        if (mark == WIRE_NO_MARK) fail_msg("%s: no ^", h->name);
        /* Once as it is, close to the end of the input, and once far from it: another code path. */
        for (int far = 0; far < (h->how & AT_END ? 1 : 2); far++) {
            static const char filler[300];
            if (far) pb_put_bytes(&in, 900, (str){filler, sizeof filler});
            for (simd_mode s = SIMD_PORTABLE; s < SIMD_MODES; s++) {
                if (!simd_runs(s)) continue;
                otlp_decode_opts o = {.layout = layout_of(h), .simd = s};
                check_case(h, &in, mark, o);
                o.lenient = true;
                err e = {0};
                if (!(h->how & SOFT))
                    check_case(h, &in, mark, o);
                else if (!decode_exact(in.p, in.n, &o, NULL, &e))
                    fail_msg("%s: lenient decoding rejected it: %s", h->name, e.msg);
            }
        }
        buf_free(&in);
    }
}

/* ---- nesting ---- */

static void wrap(buf *b, uint32_t number)
{
    buf out = {0};
    pb_put_bytes(&out, number, buf_view(b));
    buf_free(b);
    *b = out;
}

/* Builds an AnyValue of `depth` nested arrays or maps. */
static buf nested(size_t depth, bool maps)
{
    buf b = {0};
    for (size_t i = 0; i < depth; i++) {
        if (i && maps) wrap(&b, 2); /* KeyValue.value */
        if (i) wrap(&b, 1);         /* values */
        wrap(&b, maps ? 6 : 5);     /* kvlist_value, array_value */
    }
    return b;
}

static void nesting_has_a_limit(void **state)
{
    (void)state;
    static const size_t depths[] = {
        1, 2, OTLP_MAX_DEPTH - 1, OTLP_MAX_DEPTH, OTLP_MAX_DEPTH + 1, 100, 10000};
    for (int maps = 0; maps < 2; maps++) {
        for (int place = 0; place < 2; place++) {
            for (size_t i = 0; i < ARRAY_LEN(depths); i++) {
                buf b = nested(depths[i], maps);
                wrap(&b, 2); /* value */
                if (place) {
                    wrap(&b, 6), wrap(&b, 2); /* attribute_table, dictionary */
                } else {
                    wrap(&b, 1), wrap(&b, 1),
                        wrap(&b, 1); /* attributes, resource, resource_profiles */
                }
                err e = {0};
                size_t peak;
                bool ok = decode_exact(b.p, b.n, &(otlp_decode_opts){.layout = LAYOUT_CURRENT},
                                       &peak, &e);
                /* The innermost list is empty, so there are `depth` nested values. */
                assert_int_equal(ok, depths[i] <= OTLP_MAX_DEPTH);
                assert_true(peak <= 65536 + 24 * b.n);
                if (!ok) {
                    assert_int_equal(e.code, ERR_LIMIT);
                    assert_string_equal(e.msg, "values nest deeper than 64");
                    assert_true(e.offset > 0 && e.offset < b.n);
                    const char *at = place ? "dictionary.attribute_table[0].value."
                                           : "resource_profiles[0].resource.attributes[0].value.";
                    assert_memory_equal(e.path, at, strlen(at));
                }
                buf_free(&b);
            }
        }
    }
}

/* ---- truncation and damage ---- */

static const char *const victims[] = {"v1_10/minimal.bin", "v1_10/nulls.bin", "v1_10/basic.bin",
                                      "v1_10/anyvalue.bin", "v1_10/payload.bin"};

static void located(const err *e, size_t n)
{
    assert_true(e->code == ERR_MALFORMED || err_exhausted(e));
    assert_true(e->offset <= n);
    assert_true(e->msg[0] != '\0' && strchr(e->msg, '\n') == NULL);
}

static void cut_at_every_byte(void **state)
{
    (void)state;
    for (size_t v = 0; v < ARRAY_LEN(victims); v++) {
        buf in = test_vector(victims[v]);
        size_t whole = 0, modes = 0;
        for (size_t n = 0; n < in.n; n++) {
            for (simd_mode s = SIMD_PORTABLE; s < SIMD_MODES; s++) {
                if (!simd_runs(s)) continue;
                otlp_decode_opts o = {.layout = LAYOUT_CURRENT, .simd = s};
                err e = {0};
                modes += n == 0;
                if (decode_exact(in.p, n, &o, NULL, &e))
                    whole++;
                else
                    located(&e, n);
                o.lenient = true;
                e = (err){0};
                if (!decode_exact(in.p, n, &o, NULL, &e)) located(&e, n);
            }
        }
        /* A prefix is valid only if it ends after a top-level field and has no reference to a
         * missing table. */
        assert_true(whole >= modes && whole <= 2 * modes);
        buf_free(&in);
    }
}

static void damage_at_every_byte(void **state)
{
    (void)state;
    static const uint8_t masks[] = {0x01, 0x02, 0x04, 0x08, 0x80, 0xff};
    for (size_t v = 0; v < ARRAY_LEN(victims); v++) {
        buf in = test_vector(victims[v]);
        for (size_t i = 0; i < in.n; i++) {
            for (size_t k = 0; k < ARRAY_LEN(masks); k++) {
                in.p[i] = (char)(in.p[i] ^ masks[k]);
                err first = {0};
                bool ok = false;
                for (simd_mode s = SIMD_PORTABLE; s < SIMD_MODES; s++) {
                    if (!simd_runs(s)) continue;
                    otlp_decode_opts o = {.layout = LAYOUT_CURRENT, .simd = s};
                    err e = {0};
                    bool ok_now = decode_exact(in.p, in.n, &o, NULL, &e);
                    if (!ok_now) located(&e, in.n);
                    if (s == SIMD_PORTABLE) ok = ok_now, first = e;
                    assert_int_equal(ok, ok_now);
                    assert_u64(first.offset, e.offset);
                }
                in.p[i] = (char)(in.p[i] ^ masks[k]);
            }
        }
        buf_free(&in);
    }
}

static void too_large_for_protobuf(void **state)
{
    (void)state;
    arena a = {0};
    model m;
    err e = {0};
    assert_false(otlp_decode("", (size_t)OTLP_MAX_BYTES + 1, NULL, &a, &m,
                             &e)); /* rejected before a byte is read */
    assert_int_equal(e.code, ERR_LIMIT);
    assert_string_equal(
        e.msg, "a message of 2147483648 bytes is larger than protobuf allows (2147483647)");
    arena_free(&a);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(table),
        cmocka_unit_test(nesting_has_a_limit),
        cmocka_unit_test(cut_at_every_byte),
        cmocka_unit_test(damage_at_every_byte),
        cmocka_unit_test(too_large_for_protobuf),
    };
    return cmocka_run_group_tests_name("hostile", tests, NULL, NULL);
}
