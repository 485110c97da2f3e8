/* Messages for the tests of check, as text:
 *
 *     name{...}          a message                     name:7  name:-1     a number
 *     name:"text\xff"    a string                      name:[1,2]          a packed list
 *     name:x"00ff"       bytes in hex                  #15:7  #15:"text"   a field by number
 *     !"08"              raw bytes, in hex
 *
 * Field names and types come from a schema, that of the current layout unless stated otherwise.  BASE is a message without any
 * finding; a case replaces one piece of it. */
#pragma once
#include "base/buf.h"
#include "wire/pb.h"
#include "wire/schema.h"
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TRACE "0102030405060708090a0b0c0d0e0f10"
#define SPAN "0102030405060708"
#define ZERO16 "00000000000000000000000000000000"
#define ZERO8 "0000000000000000"
#define HTLHASH "00112233445566778899aabbccddeeff"

static const char BASE[] =
    "resource_profiles{"
    " resource{attributes{key:\"service.name\" value{string_value:\"shop\"}}"
    "          attributes{key_strindex:9 value{string_value_strindex:10}}"
    "          entity_refs{schema_url:\"https://x/1.37.0\" type:\"service\" "
    "id_keys:\"service.name\"}}"
    " scope_profiles{"
    "  scope{name:\"scope\" attributes{key:\"pprof.scope.default_sample_type\""
    "                                 value{string_value:\"cpu\"}}}"
    "  profiles{"
    "   sample_type{type_strindex:1 unit_strindex:2}"
    "   samples{stack_index:1 attribute_indices:[2] link_index:1 values:[5,6]"
    "           timestamps_unix_nano:[1000,1500]}"
    "   samples{stack_index:2 attribute_indices:[2,5] values:[7] timestamps_unix_nano:[1999]}"
    "   time_unix_nano:1000 duration_nano:1000"
    "   period_type{type_strindex:1 unit_strindex:2} period:10"
    "   profile_id:x\"" TRACE "\" original_payload_format:\"pprof\" original_payload:x\"00\""
    "   attribute_indices:[3]"
    "  }"
    "  schema_url:\"https://opentelemetry.io/schemas/1.37.0\""
    " }"
    " schema_url:\"https://opentelemetry.io/schemas/1.36.0\""
    "}"
    "dictionary{"
    " mapping_table{}"
    " mapping_table{memory_start:4096 memory_limit:8192 filename_strindex:5 "
    "attribute_indices:[1,4]}"
    " location_table{}"
    " location_table{mapping_index:1 address:4100 lines{function_index:1 line:10 column:2}"
    "                attribute_indices:[6]}"
    " location_table{mapping_index:1 address:4200 lines{function_index:2 line:3}}"
    " function_table{}"
    " function_table{name_strindex:3 system_name_strindex:12 filename_strindex:4 start_line:8}"
    " function_table{name_strindex:11}"
    " link_table{trace_id:x\"" ZERO16 "\" span_id:x\"" ZERO8 "\"}"
    " link_table{trace_id:x\"" TRACE "\" span_id:x\"" SPAN "\"}"
    " string_table:\"\""                                    /* 0 */
    " string_table:\"cpu\""                                 /* 1 */
    " string_table:\"nanoseconds\""                         /* 2 */
    " string_table:\"main\""                                /* 3 */
    " string_table:\"main.c\""                              /* 4 */
    " string_table:\"/bin/app\""                            /* 5 */
    " string_table:\"process.executable.build_id.gnu\""     /* 6 */
    " string_table:\"thread.name\""                         /* 7 */
    " string_table:\"heap.size\""                           /* 8 */
    " string_table:\"host.name\""                           /* 9 */
    " string_table:\"box-1\""                               /* 10 */
    " string_table:\"work\""                                /* 11 */
    " string_table:\"_main\""                               /* 12 */
    " string_table:\"process.executable.build_id.htlhash\"" /* 13 */
    " string_table:\"By\""                                  /* 14 */
    " string_table:\"profile.frame.type\""                  /* 15 */
    " string_table:\"env\""                                 /* 16 */
    " attribute_table{}"
    " attribute_table{key_strindex:6 value{string_value:\"abcd\"}}"
    " attribute_table{key_strindex:7 value{string_value:\"worker\"}}"
    " attribute_table{key_strindex:16 value{kvlist_value{values{key:\"a\" value{int_value:1}}"
    "                                                    values{key:\"b\" value{bool_value:1}}}}}"
    " attribute_table{key_strindex:13 value{string_value:\"" HTLHASH "\"}}"
    " attribute_table{key_strindex:8 value{int_value:64} unit_strindex:14}"
    " attribute_table{key_strindex:15 value{string_value:\"native\"}}"
    " stack_table{}"
    " stack_table{location_indices:[1]}"
    " stack_table{location_indices:[2,1]}"
    "}";

/* ---- text to bytes ---- */

static inline void message_blanks(const char **s)
{
    while (**s == ' ' || **s == '\n' || **s == ',') ++*s;
}

static inline unsigned message_hex(const char *s)
{
    char d[3] = {s[0], s[1], 0};
    return (unsigned)strtoul(d, NULL, 16);
}

static inline void message_quoted(const char **s, bool hex, buf *out)
{
    assert_int_equal(*(*s)++, '"');
    while (**s != '"') {
        if (hex) {
            buf_putc(out, (char)message_hex(*s));
            *s += 2;
        } else if ((*s)[0] == '\\' && (*s)[1] == 'x') {
            buf_putc(out, (char)message_hex(*s + 2));
            *s += 4;
        } else {
            buf_putc(out, *(*s)++);
        }
    }
    ++*s;
}

static inline uint64_t message_number(const char **s)
{
    char *end;
    uint64_t v = **s == '-' ? (uint64_t)strtoll(*s, &end, 0) : strtoull(*s, &end, 0);
    assert_true(end != *s);
    *s = end;
    return v;
}

static inline void message_list(const char **s, bool fixed, buf *out)
{
    ++*s;
    for (message_blanks(s); **s != ']'; message_blanks(s)) {
        uint64_t v = message_number(s);
        if (!fixed) pb_put_varint(out, v);
        for (size_t i = 0; fixed && i < 8; i++) buf_putc(out, (char)(v >> (8 * i)));
    }
    ++*s;
}

static inline void message_fields(const char **s, const message_desc *m, buf *out);

static inline void message_value(const char **s, const field_desc *fd, uint32_t number, buf *out)
{
    buf b = {0};
    if (**s == '{') {
        ++*s;
        message_fields(s, fd->message, &b);
        ++*s;
        pb_put_bytes(out, number, buf_view(&b));
        buf_free(&b);
        return;
    }
    assert_int_equal(*(*s)++, ':');
    bool fixed = fd && (fd->type == FT_FIXED64 || fd->type == FT_DOUBLE), hex = **s == 'x';
    if (**s == '[')
        message_list(s, fixed, &b);
    else if (hex || **s == '"')
        *s += hex, message_quoted(s, hex, &b);
    else {
        uint64_t v = message_number(s);
        fixed ? pb_put_fixed64(out, number, v) : pb_put_uint(out, number, v);
        return;
    }
    pb_put_bytes(out, number, buf_view(&b));
    buf_free(&b);
}

static inline void message_fields(const char **s, const message_desc *m, buf *out)
{
    for (message_blanks(s); **s && **s != '}'; message_blanks(s)) {
        if (**s == '!') {
            ++*s;
            message_quoted(s, true, out);
            continue;
        }
        if (**s == '#') {
            ++*s;
            message_value(s, NULL, (uint32_t)message_number(s), out);
            continue;
        }
        size_t n = strcspn(*s, "{:");
        const field_desc *fd = message_field_named(m, (str){*s, n});
        if (!fd) fail_msg("no field at: %.40s", *s);
        *s += n;
        message_value(s, fd, fd->number, out);
    }
}

static inline buf message_bytes_of(const message_desc *root, const char *text)
{
    buf b = {0};
    message_fields(&text, root, &b);
    assert_int_equal(*text, '\0');
    assert_false(b.failed);
    return b;
}

static inline buf message_bytes(const char *text)
{
    return message_bytes_of(schema_profiles_data(LAYOUT_CURRENT), text);
}

/* Returns `base` with the first `from` replaced by `to`; the caller frees it. */
static inline char *message_replaced(const char *base, const char *from, const char *to)
{
    const char *at = from ? strstr(base, from) : base;
    if (!at) {
        fail_msg("the base has no: %s", from ? from : "");
        return NULL;
    }
    size_t head = (size_t)(at - base), cut = from ? strlen(from) : 0, n = strlen(to);
    size_t size = strlen(base) + 1;
    char *s = malloc(size + n);
    if (!s) abort();
    memcpy(s, base, head);
    memcpy(s + head, to, n);
    memcpy(s + head + n, at + cut, size - head - cut);
    return s;
}

static inline char *message_with(const char *from, const char *to)
{
    return message_replaced(BASE, from, to);
}
