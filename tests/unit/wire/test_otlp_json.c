/* OTLP/JSON to protobuf and back, and the output of `kiln cat`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "wire/dump.h"
#include "wire/otlp_json.h"
#include "wire/pb.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static str hex_bytes(const char *hex, uint8_t *out)
{
    size_t n = 0;
    for (; *hex; hex++) {
        if (*hex == ' ') continue;
        unsigned v = 0;
        sscanf(hex++, "%2x", &v);
        out[n++] = (uint8_t)v;
    }
    return (str){(const char *)out, n};
}

static void to_hex(const buf *b, char *out, size_t n)
{
    size_t k = 0;
    out[0] = '\0';
    for (size_t i = 0; i < b->n; i++)
        k += (size_t)snprintf(out + k, n - k, "%s%02x", i ? " " : "", (unsigned char)b->p[i]);
}

/* ---- JSON to protobuf, byte by byte; wrapped into an AnyValue or a Sample where that is short */

#define ANY(v) "{\"resourceProfiles\":[{\"resource\":{\"attributes\":[{\"value\":" v "}]}}]}"
#define SAMPLE(v)                                                                                  \
    "{\"resourceProfiles\":[{\"scopeProfiles\":[{\"profiles\":[{\"samples\":[" v "]}]}]}]}"
#define PROFILE(v) "{\"resourceProfiles\":[{\"scopeProfiles\":[{\"profiles\":[{" v "}]}]}]}"

/* Removes the envelope along `path`, because only the contents are compared. */
static str unwrap(const buf *b, const char *path)
{
    str s = buf_view(b);
    for (; *path; path++) {
        err e = {0};
        pb_cur c = pb_open(s.p, s.n, &e);
        pb_field f = {0};
        bool got = false;
        while (pb_next(&c, &f))
            if (f.number == (uint32_t)(*path - '0')) {
                got = true;
                break;
            }
        assert_true(got && f.wire == 2);
        s = pb_bytes(&f);
    }
    return s;
}

static void test_to_pb(void **state)
{
    (void)state;
    static const struct {
        const char *name, *json, *path, *want; /* path: field numbers to the compared bytes */
    } cases[] = {
        {"nothing", "{}", "", ""},
        {"null is absent", "{\"resourceProfiles\":null,\"dictionary\":null}", "", ""},
        {"no entries", "{\"resourceProfiles\":[]}", "", ""},
        {"an empty entry survives", "{\"resourceProfiles\":[{}]}", "1", ""},
        {"empty messages survive",
         "{\"dictionary\":{\"linkTable\":[{},{}],\"stringTable\":[\"\",\"a\"]}}", "2",
         "22 00 22 00 2a 00 2a 01 61"},
        {"snake case", "{\"dictionary\":{\"string_table\":[\"x\"]}}", "2", "2a 01 78"},
        {"oneof at its default", ANY("{\"intValue\":\"0\"}"), "111", "12 02 18 00"},
        {"oneof false", ANY("{\"boolValue\":false}"), "111", "12 02 10 00"},
        {"oneof empty text", ANY("{\"stringValue\":\"\"}"), "111", "12 02 0a 00"},
        {"empty value", ANY("{}"), "111", "12 00"},
        {"null member", ANY("{\"intValue\":null}"), "111", "12 00"},
        {"empty list value", ANY("{\"arrayValue\":{}}"), "111", "12 02 2a 00"},
        {"values in a list", ANY("{\"arrayValue\":{\"values\":[{},{\"boolValue\":true}]}}"), "111",
         "12 08 2a 06 0a 00 0a 02 10 01"},
        {"negative", ANY("{\"intValue\":-1}"), "111", "12 0b 18 ff ff ff ff ff ff ff ff ff 01"},
        {"double", ANY("{\"doubleValue\":0.5}"), "111", "12 09 21 00 00 00 00 00 00 e0 3f"},
        {"quoted double", ANY("{\"doubleValue\":\"-Infinity\"}"), "111",
         "12 09 21 00 00 00 00 00 00 f0 ff"},
        {"bytes", ANY("{\"bytesValue\":\"AP9/\"}"), "111", "12 05 3a 03 00 ff 7f"},
        {"url alphabet, no padding", ANY("{\"bytesValue\":\"-_8\"}"), "111", "12 04 3a 02 fb ff"},
        {"escaped text", ANY("{\"stringValue\":\"a\\u00e9\\n\"}"), "111",
         "12 06 0a 04 61 c3 a9 0a"},
        {"an index as text and as 1e1", SAMPLE("{\"stackIndex\":\"3\",\"linkIndex\":1e1}"), "1222",
         "08 03 18 0a"},
        {"defaults are left out", SAMPLE("{\"stackIndex\":0,\"linkIndex\":0,\"values\":[]}"),
         "1222", ""},
        {"packed", SAMPLE("{\"attributeIndices\":[1,300,0],\"values\":[\"-1\",2]}"), "1222",
         "12 04 01 ac 02 00 22 0b ff ff ff ff ff ff ff ff ff 01 02"},
        {"fixed64", SAMPLE("{\"timestampsUnixNano\":[\"1\",18446744073709551615]}"), "1222",
         "2a 10 01 00 00 00 00 00 00 00 ff ff ff ff ff ff ff ff"},
        {"any order", SAMPLE("{\"values\":[7],\"stackIndex\":1}"), "1222", "22 01 07 08 01"},
        {"profileId in hex", PROFILE("\"profileId\":\"000102030405060708090A0B0C0D0e0f\""), "122",
         "3a 10 00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f"},
        {"profileId in base64", PROFILE("\"profileId\":\"AAECAwQFBgcICQoLDA0ODw==\""), "122",
         "3a 10 00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f"},
        {"profileId in bare base64", PROFILE("\"profileId\":\"AAECAwQFBgcICQoLDA0ODw\""), "122",
         "3a 10 00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f"},
        {"no profileId", PROFILE("\"profileId\":\"\""), "122", ""},
        {"spanId", "{\"dictionary\":{\"linkTable\":[{\"spanId\":\"0001020304050607\"}]}}", "2",
         "22 0a 12 08 00 01 02 03 04 05 06 07"},
        {"unknown keys", PROFILE("\"x\":{\"y\":[1,{}]},\"period\":\"5\",\"z\":null"), "122",
         "30 05"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        buf out = {0};
        err e = {0};
        char got[512], text[512];
        bool ok =
            otlp_json_to_pb(cases[i].json, strlen(cases[i].json), LAYOUT_1_10, &out, NULL, &e);
        if (!ok) fail_msg("%s: %s", cases[i].name, err_text(&e, text, sizeof text));
        str inside = unwrap(&out, cases[i].path);
        uint8_t want[256];
        str w = hex_bytes(cases[i].want, want);
        if (!str_eq(inside, w)) {
            to_hex(&(buf){.p = (char *)(uintptr_t)inside.p, .n = inside.n}, got, sizeof got);
            fail_msg("%s: %s", cases[i].name, got);
        }
        buf_free(&out);
    }
}

/* v1.4 has fields with presence: an explicit 0 is not absent. */
static void test_presence(void **state)
{
    (void)state;
    str in = STR(
        "{\"resourceProfiles\":[{\"scopeProfiles\":[{\"profiles\":[{\"sample\":[{\"linkIndex\":0,"
        "\"locationsLength\":0}]}]}]}]}");
    buf out = {0};
    err e = {0};
    assert_true(otlp_json_to_pb(in.p, in.n, LAYOUT_1_5, &out, NULL, &e));
    str inside = unwrap(&out, "1222");
    assert_true(str_eq(inside, STR("\x28\x00")));
    buf_free(&out);
}

/* ---- errors: message, byte, path ---- */

static void test_errors(void **state)
{
    (void)state;
    static const struct {
        const char *json, *want;
    } cases[] = {
        {"[]", "expected an object, found an array (byte 0)"},
        {"{", "the input ends where a key or } should be (byte 1)"},
        {"{} {}", "expected the end, found '{' (byte 3)"},
        {"{\"dictionary\":[]}", "expected an object, found an array (byte 14, at dictionary)"},
        {"{\"resourceProfiles\":{}}",
         "expected an array, found an object (byte 20, at resource_profiles)"},
        {"{\"resourceProfiles\":[{},null]}",
         "expected an object, found null (byte 24, at resource_profiles[1])"},
        {"{\"dictionary\":{\"stringTable\":[\"a\",5]}}",
         "expected a string, found a number (byte 34, at dictionary.string_table[1])"},
        {"{\"dictionary\":{\"stringTable\":[\"a\",\"\\ud800\"]}}",
         "lone surrogate \\ud800 (byte 35, at dictionary.string_table[1])"},
        {"{\"dictionary\":{\"stackTable\":[{},{\"locationIndices\":[1,2,-3000000000]}]}}",
         "-3000000000 is not between -2147483648 and 2147483647 (byte 56, at "
         "dictionary.stack_table[1].location_indices[2])"},
        {"{\"dictionary\":{\"stackTable\":[{},{\"locationIndices\":[1,2,1.5]}]}}",
         "1.5 is not an integer (byte 56, at dictionary.stack_table[1].location_indices[2])"},
        {"{\"dictionary\":{\"locationTable\":[{\"address\":-1}]}}",
         "-1 is not between 0 and 18446744073709551615 (byte 43, at "
         "dictionary.location_table[0].address)"},
        {"{\"dictionary\":{\"linkTable\":[{\"traceId\":\"abc\"}]}}",
         "trace_id has 3 hex digits, expected 32 or none (byte 39, at "
         "dictionary.link_table[0].trace_id)"},
        {"{\"dictionary\":{\"linkTable\":[{\"spanId\":\"000102030405060x\"}]}}",
         "span_id is not hex (byte 38, at dictionary.link_table[0].span_id)"},
        {"{\"dictionary\":{\"linkTable\":[{\"spanId\":17}]}}",
         "expected a string, found a number (byte 38, at dictionary.link_table[0].span_id)"},
        {PROFILE("\"profileId\":\"AAECAwQFBgcICQoLDA0O!w==\""),
         "profile_id is not base64 of 16 bytes (byte 65, at "
         "resource_profiles[0].scope_profiles[0].profiles[0].profile_id)"},
        {PROFILE("\"originalPayload\":\"AAE%\""),
         "character 3 is not base64 (byte 71, at "
         "resource_profiles[0].scope_profiles[0].profiles[0].original_payload)"},
        {PROFILE("\"originalPayload\":\"AAEBA\""),
         "base64 text ends in the middle of a byte (byte 71, at "
         "resource_profiles[0].scope_profiles[0].profiles[0].original_payload)"},
        {PROFILE("\"period\":1,\"period\":2"),
         "period appears twice (byte 64, at resource_profiles[0].scope_profiles[0].profiles[0])"},
        {ANY("{\"boolValue\":\"true\"}"),
         "expected true or false, found a string (byte 70, at "
         "resource_profiles[0].resource.attributes[0].value.bool_value)"},
        {ANY("{\"doubleValue\":1e400}"),
         "1e400 does not fit a double (byte 72, at "
         "resource_profiles[0].resource.attributes[0].value.double_value)"},
        {"{\"unknown\":[1,2,}", "expected a value, found '}' (byte 16)"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        buf out = {0};
        err e = {0};
        char text[512];
        assert_false(
            otlp_json_to_pb(cases[i].json, strlen(cases[i].json), LAYOUT_1_10, &out, NULL, &e));
        assert_string_equal(err_text(&e, text, sizeof text), cases[i].want);
        assert_int_equal(e.code, ERR_MALFORMED);
        buf_free(&out);
    }
    /* Enums are integers, or strings that hold one. */
    const char *named =
        "{\"resourceProfiles\":[{\"scopeProfiles\":[{\"profiles\":[{\"sampleType\":[{"
        "\"aggregationTemporality\":\"DELTA\"}]}]}]}]}";
    buf out = {0};
    err e = {0};
    assert_false(otlp_json_to_pb(named, strlen(named), LAYOUT_1_5, &out, NULL, &e));
    assert_string_equal(e.msg, "expected an integer, found \"DELTA\"");
    buf_free(&out);
}

static void put_nested(buf *b, size_t levels, const char *open, const char *inner,
                       const char *close)
{
    buf_z(b, "{\"resourceProfiles\":[{\"resource\":{\"attributes\":[{\"value\":");
    for (size_t i = 0; i < levels; i++) buf_z(b, open);
    buf_z(b, inner);
    for (size_t i = 0; i < levels; i++) buf_z(b, close);
    buf_z(b, "}]}}]}");
}

static void test_depth(void **state)
{
    (void)state;
    static const char *const lists[2][2] = {{"{\"arrayValue\":{\"values\":[", "]}}"},
                                            {"{\"kvlistValue\":{\"values\":[{\"value\":", "}]}}"}};
    for (size_t k = 0; k < 2; k++) {
        for (size_t levels = OTLP_MAX_DEPTH - 1; levels <= OTLP_MAX_DEPTH; levels++) {
            buf in = {0}, pb = {0}, back = {0};
            err e = {0};
            put_nested(&in, levels, lists[k][0], "{}",
                       lists[k][1]); /* `levels` lists around one value */
            bool ok = otlp_json_to_pb(in.p, in.n, LAYOUT_CURRENT, &pb, NULL, &e);
            assert_int_equal(ok, levels < OTLP_MAX_DEPTH);
            if (ok) {
                assert_true(otlp_pb_to_json(pb.p, pb.n, LAYOUT_CURRENT, NULL, &back, &e));
                assert_true(str_eq(buf_view(&back), buf_view(&in)));
            } else {
                assert_int_equal(e.code, ERR_LIMIT);
                assert_string_equal(e.msg, "values nest deeper than 64");
            }
            buf_free(&in), buf_free(&pb), buf_free(&back);
        }
    }
    buf in = {0}, pb = {0};
    err e = {0};
    put_nested(&in, 10000, "[", "", "");
    assert_false(otlp_json_to_pb(in.p, in.n, LAYOUT_UNKNOWN, &pb, NULL, &e));
    buf_free(&in), buf_free(&pb);
}

/* ---- layout and unknown keys ---- */

static void test_layouts(void **state)
{
    (void)state;
#define IN_PROFILE(v)                                                                              \
    "{\"resourceProfiles\":[{\"resource\":{\"dictionary\":1},\"scopeProfiles\":[{\"profiles\":["   \
    "{" v "}]}]}]"
    static const struct {
        const char *json;
        layout want;
    } cases[] = {
        {"{}", LAYOUT_CURRENT},
        {"", LAYOUT_CURRENT},
        {"[1,2", LAYOUT_CURRENT},
        {IN_PROFILE("\"profileId\":\"\",\"profile\":{}") "}", LAYOUT_1_3},
        {IN_PROFILE("\"stringTable\":[\"\"]") "}", LAYOUT_1_5},
        {IN_PROFILE("\"attributes\":[],\"string_table\":[]") "}", LAYOUT_1_4},
        {IN_PROFILE("\"attributeIndices\":[],\"stringTable\":[]") "}", LAYOUT_1_5},
        {IN_PROFILE("\"sample\":[]") ",\"stringTable\":[]}", LAYOUT_1_6},
        {IN_PROFILE("\"sample\":[{\"locationsStartIndex\":0}]") "}", LAYOUT_1_6},
        {IN_PROFILE("\"sample\":[{}]") ",\"dictionary\":{\"stringTable\":[]}}", LAYOUT_1_7},
        {IN_PROFILE("\"sample\":[{}]") ",\"dictionary\":{\"stackTable\":[]}}", LAYOUT_1_8},
        {IN_PROFILE("\"sample\":[{\"stackIndex\":1}]") "}", LAYOUT_1_8},
        {"{\"dictionary\":{\"stackTable\":[],\"locationTable\":[{},{\"line\":[]}]}}", LAYOUT_1_8},
        {"{\"dictionary\":{\"locationTable\":[{},{\"line\":[]}]}}", LAYOUT_1_7},
        {"{\"dictionary\":{\"locationTable\":[{},{\"lines\":[]}]}}", LAYOUT_1_10},
        {"{\"dictionary\":{\"stackTable\":[]}}", LAYOUT_1_10},
        {"{\"dictionary\":{}}", LAYOUT_1_10},
        {IN_PROFILE("\"samples\":[]") "}", LAYOUT_1_10},
        {IN_PROFILE("\"samples\":["), LAYOUT_1_10}, /* truncated */
        {IN_PROFILE("\"samples\":null,\"sample\":[{}]") ",\"dictionary\":{}}", LAYOUT_1_7},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        layout got = otlp_json_layout(cases[i].json, strlen(cases[i].json));
        if (got != cases[i].want) fail_msg("%s: %s", cases[i].json, layout_name(got));
    }
}

static void test_found(void **state)
{
    (void)state;
    str in = STR(PROFILE("\"colour\":{\"a\":1},\"shape\":2,\"samples\":[{\"x\":[]}]"));
    buf out = {0};
    err e = {0};
    otlp_json_found f;
    assert_true(otlp_json_to_pb(in.p, in.n, LAYOUT_UNKNOWN, &out, &f, &e));
    assert_int_equal(f.layout, LAYOUT_1_10);
    assert_int_equal(f.n_unknown, 3);
    assert_string_equal(f.unknown_in, "Profile");
    assert_string_equal(f.unknown_key, "colour");
    buf_free(&out);
}

/* ---- protobuf to JSON ---- */

static void test_to_json(void **state)
{
    (void)state;
    static const struct {
        const char *name, *pb, *want;
    } cases[] = {
        {"nothing", "", "{}"},
        {"empty entry", "0a 00", "{\"resourceProfiles\":[{}]}"},
        {"empty strings stay", "12 04 2a 00 2a 00",
         "{\"dictionary\":{\"stringTable\":[\"\",\"\"]}}"},
        {"interleaved lists are gathered", "12 09 2a 01 61 22 00 2a 02 62 63",
         "{\"dictionary\":{\"linkTable\":[{}],\"stringTable\":[\"a\",\"bc\"]}}"},
        {"descending order", "12 07 2a 01 61 12 02 10 05 0a 00",
         "{\"resourceProfiles\":[{}],\"dictionary\":{\"locationTable\":[{\"address\":\"5\"}],"
         "\"stringTable\":[\"a\"]}}"},
        {"split and unpacked numbers", "12 0b 3a 09 0a 02 01 02 08 03 0a 01 04",
         "{\"dictionary\":{\"stackTable\":[{\"locationIndices\":[1,2,3,4]}]}}"},
        {"packed, but empty", "12 04 3a 02 0a 00", "{\"dictionary\":{\"stackTable\":[{}]}}"},
        {"a message twice is merged", "12 03 2a 01 61 0a 00 12 03 2a 01 62",
         "{\"resourceProfiles\":[{}],\"dictionary\":{\"stringTable\":[\"a\",\"b\"]}}"},
        {"the last scalar wins", "12 06 1a 04 20 05 20 06",
         "{\"dictionary\":{\"functionTable\":[{\"startLine\":\"6\"}]}}"},
        {"back to the default", "12 06 1a 04 20 05 20 00",
         "{\"dictionary\":{\"functionTable\":[{}]}}"},
        {"unknown fields", "12 07 a2 06 01 00 2a 01 61 58 01",
         "{\"dictionary\":{\"stringTable\":[\"a\"]}}"},
        {"the last of a oneof wins", "12 09 32 07 12 05 0a 01 78 18 00",
         "{\"dictionary\":{\"attributeTable\":[{\"value\":{\"intValue\":\"0\"}}]}}"},
        {"oneof merged only after the last other",
         "12 0e 32 0c 12 0a 2a 02 0a 00 18 01 2a 02 0a 00",
         "{\"dictionary\":{\"attributeTable\":[{\"value\":{\"arrayValue\":{\"values\":[{}]}}}]}}"},
        {"an int32 is the low half", "12 0d 1a 0b 08 ff ff ff ff ff ff ff ff ff 01",
         "{\"dictionary\":{\"functionTable\":[{\"nameStrindex\":-1}]}}"},
        {"ids in hex", "12 0c 22 0a 12 08 00 ab cd ef 01 02 03 04",
         "{\"dictionary\":{\"linkTable\":[{\"spanId\":\"00abcdef01020304\"}]}}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint8_t bytes[256];
        str pb = hex_bytes(cases[i].pb, bytes);
        buf out = {0};
        err e = {0};
        char text[512];
        if (!otlp_pb_to_json(pb.p, pb.n, LAYOUT_CURRENT, NULL, &out, &e))
            fail_msg("%s: %s", cases[i].name, err_text(&e, text, sizeof text));
        buf_putc(&out, '\0');
        assert_string_equal(out.p, cases[i].want);
        buf_free(&out);
    }
}

static void test_to_json_errors(void **state)
{
    (void)state;
    static const struct {
        const char *pb, *want;
    } cases[] = {
        {"12 05 2a 01", "field 2 needs 5 bytes, 2 are left (byte 0)"},
        {"12 04 2a 05 61 62", "field 5 needs 5 bytes, 2 are left (byte 2, at dictionary)"},
        {"12 06 2a 01 61 2a 01 ff",
         "string_table is not UTF-8: byte 0xff (byte 7, at dictionary.string_table[1])"},
        {"12 02 28 01", "string_table (field 5) is a varint, expected length-delimited (byte 2, at "
                        "dictionary.string_table[0])"},
        {"12 05 3a 03 0a 01 80", "varint runs past the end of the message (byte 6, at "
                                 "dictionary.stack_table[0].location_indices[0])"},
        {"12 04 1a 02 22 00", "start_line (field 4) is length-delimited, expected a varint (byte "
                              "4, at dictionary.function_table[0].start_line)"},
        /* merged messages: the error has a path but no byte */
        {"12 00 12 03 2a 01 ff",
         "string_table is not UTF-8: byte 0xff (at dictionary.string_table[0])"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint8_t bytes[64];
        str pb = hex_bytes(cases[i].pb, bytes);
        buf out = {0};
        err e = {0};
        char text[512];
        assert_false(otlp_pb_to_json(pb.p, pb.n, LAYOUT_CURRENT, NULL, &out, &e));
        assert_string_equal(err_text(&e, text, sizeof text), cases[i].want);
        buf_free(&out);
    }
}

/* ---- text through a sink, limits, streams ---- */

static const char rich[] = "{\"resourceProfiles\":[{\"resource\":{\"attributes\":[{\"key\":\"no\","
                           "\"value\":{\"stringValue\":\"a: b\\n\"}},"
                           "{\"key\":\"x\",\"value\":{\"doubleValue\":2}},{\"value\":{"
                           "\"bytesValue\":\"AP8=\"}},{}]},\"scopeProfiles\":[{}]}],"
                           "\"dictionary\":{\"linkTable\":[{},{\"spanId\":\"0001020304050607\"}],"
                           "\"stringTable\":[\"\",\"1.5\",\"\xc3\xa9\",\"plain\"],"
                           "\"stackTable\":[{},{\"locationIndices\":[1,2]}]}}";

static bool take_text(void *ctx, str text, err *e)
{
    (void)e;
    buf_str(ctx, text);
    return true;
}

static bool refuse_text(void *ctx, str text, err *e)
{
    (void)ctx, (void)text;
    return err_sys(e, 28, "cannot write");
}

static void test_dump(void **state)
{
    (void)state;
    static const char *const want[] = {
        [DUMP_YAML] =
            "resource_profiles:\n  - resource:\n      attributes:\n        - key: \"no\"\n         "
            " value:\n"
            "            string_value: \"a: b\\n\"\n        - key: x\n          value:\n"
            "            double_value: 2.0\n        - value:\n            bytes_value: !!binary "
            "\"AP8=\"\n"
            "        - {}\n    scope_profiles:\n      - {}\n"
            "dictionary:\n  link_table:\n    - {}\n    - span_id: \"0001020304050607\"\n"
            "  string_table:\n    - \"\"\n    - \"1.5\"\n    - \"\xc3\xa9\"\n    - plain\n"
            "  stack_table:\n    - {}\n    - location_indices: [1, 2]\n",
        [DUMP_TEXT] =
            "resource_profiles {\n  resource {\n    attributes {\n      key: \"no\"\n      value "
            "{\n"
            "        string_value: \"a: b\\n\"\n      }\n    }\n    attributes {\n      key: "
            "\"x\"\n"
            "      value {\n        double_value: 2\n      }\n    }\n    attributes {\n      value "
            "{\n"
            "        bytes_value: \"\\000\\377\"\n      }\n    }\n    attributes {\n    }\n  }\n"
            "  scope_profiles {\n  }\n}\ndictionary {\n  link_table {\n  }\n  link_table {\n"
            "    span_id: \"\\000\\001\\002\\003\\004\\005\\006\\007\"\n  }\n  string_table: \"\"\n"
            "  string_table: \"1.5\"\n  string_table: \"\\303\\251\"\n  string_table: \"plain\"\n"
            "  stack_table {\n  }\n  stack_table {\n    location_indices: 1\n    location_indices: "
            "2\n  }\n}\n",
    };
    buf pb = {0};
    err e = {0};
    assert_true(otlp_json_to_pb(rich, sizeof rich - 1, LAYOUT_CURRENT, &pb, NULL, &e));
    for (size_t f = 0; f <= DUMP_TEXT; f++) {
        buf out = {0}, sunk = {0}, work = {0};
        assert_true(
            dump_pb(pb.p, pb.n, LAYOUT_CURRENT, &(dump_opts){.format = (dump_format)f}, &out, &e));
        assert_true(dump_pb(pb.p, pb.n, LAYOUT_CURRENT,
                            &(dump_opts){(dump_format)f, take_text, &sunk}, &work, &e));
        assert_true(str_eq(buf_view(&out), buf_view(&sunk)) && work.n == 0);
        buf_putc(&out, '\0');
        if (want[f]) assert_string_equal(out.p, want[f]);
        buf_free(&out), buf_free(&sunk), buf_free(&work);
    }
    buf work = {0};
    assert_false(
        dump_pb(pb.p, pb.n, LAYOUT_CURRENT, &(dump_opts){DUMP_TEXT, refuse_text, NULL}, &work, &e));
    assert_int_equal(e.code, ERR_SYS);
    buf_free(&work), buf_free(&pb);

    buf empty = {0};
    assert_true(dump_pb("", 0, LAYOUT_CURRENT, &(dump_opts){.format = DUMP_YAML}, &empty, &e));
    assert_true(str_eq(buf_view(&empty), STR("{}\n")));
    buf_free(&empty);
}

static void test_pretty_reads_back(void **state)
{
    (void)state;
    buf pb = {0}, pretty = {0}, again = {0};
    err e = {0};
    assert_true(otlp_json_to_pb(rich, sizeof rich - 1, LAYOUT_CURRENT, &pb, NULL, &e));
    assert_true(otlp_pb_to_json(pb.p, pb.n, LAYOUT_CURRENT, &(otlp_json_opts){.pretty = true},
                                &pretty, &e));
    assert_true(otlp_json_to_pb(pretty.p, pretty.n, LAYOUT_UNKNOWN, &again, NULL, &e));
    assert_true(str_eq(buf_view(&pb), buf_view(&again)));
    assert_true(pretty.p[pretty.n - 1] == '\n');
    buf_free(&pb), buf_free(&pretty), buf_free(&again);
}

/* A text far larger than its limit fails with ERR_LIMIT in both directions. */
static void test_limits(void **state)
{
    (void)state;
    buf in = {0};
    buf_z(&in, "{\"dictionary\":{\"stringTable\":[\"\"");
    for (int i = 0; i < 2000; i++) buf_printf(&in, ",\"string number %d\"", i);
    buf_z(&in, "]}}");
    size_t failed = 0;
    for (size_t limit = 1; limit < 100000; limit *= 2) {
        buf pb = {.limit = limit}, json_text = {.limit = limit};
        err e = {0};
        if (otlp_json_to_pb(in.p, in.n, LAYOUT_CURRENT, &pb, NULL, &e)) {
            if (!otlp_pb_to_json(pb.p, pb.n, LAYOUT_CURRENT, NULL, &json_text, &e))
                assert_int_equal(e.code, ERR_LIMIT);
        } else {
            assert_int_equal(e.code, ERR_LIMIT);
            failed++;
        }
        buf_free(&pb), buf_free(&json_text);
    }
    assert_true(failed > 4);
    buf_free(&in);
}

typedef struct drip {
    source base;
    str left;
} drip;

static bool drip_read(source *s, void *p, size_t n, size_t *got, err *e)
{
    drip *d = (drip *)s;
    (void)e;
    *got = d->left.n < 13 ? d->left.n : 13;
    if (*got > n) *got = n;
    if (*got) memcpy(p, d->left.p, *got);
    d->left.p += *got;
    d->left.n -= *got;
    return true;
}

/* JSON lines through a small window give the same bytes as each line alone. */
static void test_lines(void **state)
{
    (void)state;
    buf lines = {0}, one = {0}, got = {0};
    err e = {0};
    arena a = {0};
    for (int i = 0; i < 3; i++) buf_put(&lines, rich, sizeof rich - 1), buf_putc(&lines, '\n');
    assert_true(otlp_json_to_pb(rich, sizeof rich - 1, LAYOUT_CURRENT, &one, NULL, &e));
    drip d = {.base = {.read = drip_read}, .left = buf_view(&lines)};
    json j = json_open_source(&d.base, 64, &a, &e);
    size_t n = 0;
    do {
        buf_reset(&got);
        assert_true(otlp_json_read(&j, LAYOUT_CURRENT, &got, NULL));
        assert_true(str_eq(buf_view(&got), buf_view(&one)));
    } while (++n < 10 && json_another(&j));
    assert_true(n == 3 && json_finish(&j));
    arena_free(&a);
    buf_free(&lines), buf_free(&one), buf_free(&got);
}

/* ---- models ---- */

static buf vector(const char *path)
{
    char name[512];
    const char *src = getenv("KILN_SRC");
    snprintf(name, sizeof name, "%s/tests/vectors/%s", src ? src : ".", path);
    buf b = {0};
    FILE *f = fopen(name, "rb");
    if (!f || !buf_reserve(&b, 1 << 20)) fail_msg("%s: cannot read", name);
    b.n = fread(b.p, 1, b.cap, f);
    fclose(f);
    return b;
}

/* The JSON of a vector gives the same model as its protobuf, and is written as the same JSON
 * again. */
static void test_models(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        layout l;
    } cases[] = {{"v1_3/basic.bin", LAYOUT_1_3},      {"v1_5/basic.bin", LAYOUT_1_5},
                 {"v1_7/basic.bin", LAYOUT_1_7},      {"v1_8/basic.bin", LAYOUT_1_8},
                 {"v1_9/basic.bin", LAYOUT_1_9},      {"v1_10/basic.bin", LAYOUT_1_10},
                 {"v1_10/anyvalue.bin", LAYOUT_1_10}, {"v1_10/nulls.bin", LAYOUT_1_10}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        buf pb = vector(cases[i].path), text = {0}, out = {0}, out2 = {0};
        arena a = {0};
        err e = {0};
        char why[512];
        model want, got;
        layout_verdict v;
        assert_true(otlp_pb_to_json(pb.p, pb.n, cases[i].l, NULL, &text, &e));
        if (!otlp_decode(pb.p, pb.n, &(otlp_decode_opts){.layout = cases[i].l}, &a, &want, &e) ||
            !otlp_json_decode(text.p, text.n, &(otlp_decode_opts){.verdict = &v}, &a, &got, &e) ||
            !model_equal(&want, &got, &e))
            fail_msg("%s: %s", cases[i].path, err_text(&e, why, sizeof why));
        assert_int_equal(v.layout, cases[i].l == LAYOUT_1_9 ? LAYOUT_1_10 : cases[i].l);
        assert_true(otlp_json_encode(&got, NULL, &out, &e) &&
                    otlp_json_encode(&want, NULL, &out2, &e));
        assert_true(str_eq(buf_view(&out), buf_view(&out2)));
        buf_free(&pb), buf_free(&text), buf_free(&out), buf_free(&out2);
        arena_free(&a);
    }
}

static void test_model_errors(void **state)
{
    (void)state;
    arena a = {0};
    err e = {0};
    model m;
    char why[512];
    str in = STR(
        "{\"dictionary\":{\"stringTable\":[\"\"],\"functionTable\":[{},{\"nameStrindex\":7}]}}");
    assert_false(otlp_json_decode(in.p, in.n, NULL, &a, &m, &e));
    assert_int_equal(e.offset, NO_OFFSET); /* found after transcoding */
    assert_non_null(strstr(err_text(&e, why, sizeof why), "dictionary.function_table[1]"));

    ledger l = {0};
    e = (err){0};
    in = STR("{\"colour\":1,\"dictionary\":{\"shape\":{}}}");
    assert_true(otlp_json_decode(in.p, in.n, &(otlp_decode_opts){.ledger = &l}, &a, &m, &e));
    assert_int_equal(m.n_unknown, 2);
    assert_int_equal(l.n, 1);
    assert_int_equal(l.v[0].count, 2);
    assert_string_equal(l.v[0].value, "colour");
    arena_free(&a);
}

static void test_model_budget(void **state)
{
    (void)state;
    buf pb = vector("v1_10/anyvalue.bin"), text = {0};
    err e = {0};
    assert_true(otlp_pb_to_json(pb.p, pb.n, LAYOUT_1_10, NULL, &text, &e));
    size_t failed = 0, worked = 0;
    for (size_t budget = 16; budget < 128 * 1024; budget += 256) { /* every budget */
        arena a = {.budget = budget};
        model m;
        e = (err){0};
        if (otlp_json_decode(text.p, text.n, NULL, &a, &m, &e))
            worked++;
        else
            assert_int_equal(e.code, ERR_MEMORY), failed++;
        arena_free(&a);
    }
    assert_true(failed && worked);
    buf_free(&pb), buf_free(&text);
}

static void test_response(void **state)
{
    (void)state;
    str in = STR("{\"partialSuccess\":{\"rejectedProfiles\":\"3\",\"errorMessage\":\"too late\"}}");
    buf pb = {0}, out = {0};
    err e = {0};
    arena a = {0};
    json j = json_open(in.p, in.n, &a, &e);
    assert_true(otlp_json_read_message(&j, schema_export_response(), &pb, NULL) && json_finish(&j));
    assert_true(otlp_message_to_json(pb.p, pb.n, schema_export_response(), NULL, &out, &e));
    assert_true(str_eq(buf_view(&out), in));
    buf_free(&pb), buf_free(&out);
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_to_pb),        cmocka_unit_test(test_presence),
        cmocka_unit_test(test_errors),       cmocka_unit_test(test_depth),
        cmocka_unit_test(test_layouts),      cmocka_unit_test(test_found),
        cmocka_unit_test(test_to_json),      cmocka_unit_test(test_to_json_errors),
        cmocka_unit_test(test_dump),         cmocka_unit_test(test_pretty_reads_back),
        cmocka_unit_test(test_limits),       cmocka_unit_test(test_lines),
        cmocka_unit_test(test_response),     cmocka_unit_test(test_models),
        cmocka_unit_test(test_model_errors), cmocka_unit_test(test_model_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
