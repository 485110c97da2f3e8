/* wire/schema_macros.h - one line per field in a table of messages; for the files that hold such
 * tables.
 *
 * A row is: number, type, flags, table that an index refers to, table that an element fills, name,
 * message. */
#pragma once
#include "wire/schema.h"

/* clang-format off */
#define FIELD(no, type, flags, target, fills, name, msg)                                           \
    {no, type, flags, TABLE_##target, TABLE_##fills, name, msg, NULL}

/* numbers, texts, bytes: singular, in a oneof, repeated */
#define S(no, type, name) FIELD(no, FT_##type, 0, NONE, NONE, name, NULL)
#define O(no, type, name) FIELD(no, FT_##type, FF_ONEOF, NONE, NONE, name, NULL)
#define P(no, type, name) FIELD(no, FT_##type, FF_REPEATED, NONE, NONE, name, NULL)
/* ids of 16 and of 8 bytes; the original payload and its format */
#define ID(no, name) FIELD(no, FT_BYTES, FF_ID, NONE, NONE, name, NULL)
#define ID8(no, name) FIELD(no, FT_BYTES, FF_ID | FF_SHORT_ID, NONE, NONE, name, NULL)
#define PAYLOAD(no) FIELD(no, FT_BYTES, FF_PAYLOAD, NONE, NONE, "original_payload", NULL)
#define PAYLOAD_FORMAT(no)                                                                         \
    FIELD(no, FT_STRING, FF_PAYLOAD_FORMAT, NONE, NONE, "original_payload_format", NULL)
/* indices: singular, with presence, repeated */
#define IX(no, type, name, to) FIELD(no, FT_##type, 0, to, NONE, name, NULL)
#define IO(no, type, name, to) FIELD(no, FT_##type, FF_OPTIONAL, to, NONE, name, NULL)
#define PX(no, type, name, to) FIELD(no, FT_##type, FF_REPEATED, to, NONE, name, NULL)
/* messages: singular, in a oneof, repeated, entries of a table, large */
#define M(no, name, msg) FIELD(no, FT_MESSAGE, 0, NONE, NONE, name, &msg)
#define MO(no, name, msg) FIELD(no, FT_MESSAGE, FF_ONEOF, NONE, NONE, name, &msg)
#define R(no, name, msg) FIELD(no, FT_MESSAGE, FF_REPEATED, NONE, NONE, name, &msg)
#define T(no, name, msg, table) FIELD(no, FT_MESSAGE, FF_REPEATED, NONE, table, name, &msg)
#define LARGE(no, name, msg) FIELD(no, FT_MESSAGE, FF_LARGE, NONE, NONE, name, &msg)
#define BIG(no, name, msg) FIELD(no, FT_MESSAGE, FF_REPEATED | FF_LARGE, NONE, NONE, name, &msg)
/* an enum whose JSON may have names, a number with presence */
#define EN(no, name, names) {no, FT_ENUM, 0, TABLE_NONE, TABLE_NONE, name, NULL, names}
#define OPT(no, type, name) FIELD(no, FT_##type, FF_OPTIONAL, NONE, NONE, name, NULL)
#define STRINGS(no, name) FIELD(no, FT_STRING, FF_REPEATED, NONE, STRING, name, NULL)
/* clang-format on */

#define MESSAGE_OF(id, text, kind, ...)                                                            \
    static const field_desc id##_fields[] = {__VA_ARGS__};                                         \
    static const message_desc id = {text, id##_fields, (uint8_t)ARRAY_LEN(id##_fields), kind}
#define MESSAGE(id, text, ...) MESSAGE_OF(id, text, MESSAGE_OTHER, __VA_ARGS__)
#define PROFILE(id, ...) MESSAGE_OF(id, "Profile", MESSAGE_PROFILE, __VA_ARGS__)
#define SAMPLE(id, ...) MESSAGE_OF(id, "Sample", MESSAGE_SAMPLE, __VA_ARGS__)
