/* check/profcheck.h - reads a message like Go's protobuf decoder, for the verdict of profcheck.
 *
 * Go is both stricter and more tolerant than Kiln's decoder: it keeps a field of another wire type and a
 * whole group as unknown bytes, rejects invalid UTF-8, and accepts 10000 levels.  Only the fields that
 * profcheck checks are stored. */
#pragma once
#include "base/err.h"
#include "base/vec.h"
#include "base/str.h"
#include "check/check.h"

/* ---- reading like Go ---- */

typedef struct go_cur {
    const uint8_t *p, *end;
} go_cur;

typedef struct go_field {
    uint32_t number, wire;
    uint64_t value;      /* varint, fixed; length-delimited: the length */
    const uint8_t *data; /* length-delimited */
} go_field;

/* Reads the next field. Returns false at the end, or when malformed (sets *bad). */
bool go_next(go_cur *c, go_field *f, bool *bad);
bool go_varint(go_cur *c, uint64_t *v);

/* Returns NULL if Go's proto.Unmarshal accepts p[0..n) as a ProfilesData, otherwise the reason. */
const char *go_validate(const void *p, size_t n, arena *a, bool *limit);

/* ---- the dictionary ---- */

typedef struct go_span {
    size_t at, n;
} go_span;

typedef struct go_mapping {
    uint64_t start, limit, file_offset;
    int32_t filename;
    go_span attrs;
} go_mapping;
typedef struct go_line {
    int64_t line, column;
    int32_t function;
} go_line;
typedef struct go_location {
    int32_t mapping;
    go_span lines, attrs;
} go_location;
typedef struct go_function {
    int32_t name, system_name, filename;
    int64_t start_line;
} go_function;
typedef struct go_link {
    uint64_t trace_len, span_len;
} go_link;
typedef struct go_attribute {
    int32_t key, unit;
} go_attribute;

typedef VEC(int32_t) i32s;

typedef struct go_dict {
    bool present;
    VEC(go_mapping) mappings;
    VEC(go_location) locations;
    VEC(go_function) functions;
    VEC(go_link) links;
    VEC(str) strings;
    VEC(go_attribute) attributes;
    VEC(go_span) stacks;
    VEC(go_line) lines;
    i32s refs; /* pool: attribute and location indices */
    /* entry 0 differs from the zero message (proto.Equal: unknown bytes count) */
    bool mapping_0, location_0, function_0, link_0, stack_0;
    bool attribute_0_value; /* attribute_table[0].value has a member of its oneof set */
} go_dict;

/* Decodes all dictionaries of a valid message into one. Returns false when memory runs out. */
NODISCARD bool go_decode_dict(const void *p, size_t n, arena *a, go_dict *out);

/* Appends the int32s of a packed or single field. */
NODISCARD bool go_take_i32s(const go_field *f, arena *a, i32s *out);

/* ---- the state of the checks ---- */

typedef struct profcheck {
    go_dict d;
    profcheck_opts o;
    profcheck_result *out;
    arena *a;
    i32s attrs;     /* of the current sample or profile */
    u64s times;     /* of the current sample */
    const char *in; /* the current path: "resource_profiles[0]: scope_profiles[0]: ..." */
    char place[160];
    uint32_t *key_of;      /* attribute -> canonical string of its key */
    uint32_t *stamp, tick; /* string -> the last list that has it as a key */
    bool panicked, limit;
} profcheck;

void profcheck_fails(profcheck *j, const char *fmt, ...) PRINTF(2, 3);
/* Records that Go panics here, which loses all errors found before. */
void profcheck_panics(profcheck *j, const char *why);
void profcheck_index(profcheck *j, int32_t i, size_t n, const char *fmt, ...) PRINTF(4, 5);
/* profcheck's checkAttributeIndices: checks ranges and unique keys. */
void profcheck_list(profcheck *j, const int32_t *v, size_t n, const char *prefix);

static inline bool go_outside(int32_t i, size_t n) { return i < 0 || (size_t)i >= n; }

#define GO_INDEX(j, i, n, ...)                                                                     \
    do {                                                                                           \
        if (go_outside((i), (n))) profcheck_index((j), (i), (n), __VA_ARGS__);                     \
    } while (0)

/* ---- profiles, for the checks and the orphans ---- */

typedef struct go_sample {
    int32_t stack, link;
    uint64_t n_values;
} go_sample;

typedef struct go_profile {
    int32_t types[4]; /* sample unit and type, period unit and type: the order of the checks */
    uint64_t time, duration;
} go_profile;

/* Read a sample or profile; lists go to j->attrs and j->times. Return false without memory. */
NODISCARD bool go_take_sample(profcheck *j, const go_field *f, go_sample *s);
NODISCARD bool go_take_profile(profcheck *j, go_cur c, go_profile *p);

void profcheck_dictionary(profcheck *j);                        /* check_profcheck_dict.c */
NODISCARD bool profcheck_orphans(profcheck *j, go_cur message); /* check_profcheck_orphans.c */
