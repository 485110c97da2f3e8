/* wire/otlp_old_internal.h - what otlp_old.c, otlp_v3.c and otlp_v4.c share.
 *
 * Fields come in any order and tables after their users, so a Profile is read in steps:
 *
 *   collect   pieces of input and raw numbers                      old_tables, old_profile
 *   resolve   units ▶ attributes ▶ functions ▶ mappings ▶ locations, links     builder indices
 *   rows      every sample once                                    old_sample
 *   emit      a Profile for each type */
#pragma once
#include "model/builder.h"
#include "wire/carried.h"
#include "wire/otlp_old.h"
#include "wire/pb.h"

#define NONE UINT32_MAX /* no entry: absent, or cleared */

typedef struct piece { /* bytes of one message */
    const uint8_t *p;
    size_t n;
} piece;
typedef VEC(piece) pieces;
typedef VEC(keyvalue) keyvalue_list;
typedef VEC(pb_field) list_fields; /* a repeated number: packed chunks and single elements */

typedef struct old {
    layout layout;
    bool lenient;
    ledger *ledger;
    layout_verdict *verdict; /* gets evidence; may be NULL */
    const uint8_t *base;     /* of the input: offsets are absolute */
    err *e;
    builder b;
    arena keep, tmp; /* scratch: for the whole message, for one Profile */
    uint64_t n_unknown;
    uint64_t frames_left; /* OLD_MAX_FRAMES_PER_BYTE */
    char where[96];       /* path of the Profile, for the ledger */
    bool noted[LOSS_CONCEPT_COUNT][2];
} old;

typedef struct old_unit {
    uint32_t key, unit; /* builder strings */
    uint32_t position;
    bool used;
} old_unit;

typedef struct old_tables {
    arena *a;
    VEC(str) strings;
    u32s string_index; /* in the builder; NONE = not used yet */
    pieces mappings, locations, functions, links, attributes, units;
    u32s mapping, location, function, link, attribute; /* builder indices, by position */
    VEC(old_unit) unit;
    u32s attrs; /* of the entry at hand */
    VEC(line) lines;
} old_tables;

/* v1.3: where the entry with an id is. */
typedef struct old_id {
    uint64_t id;
    uint32_t position;
} old_id;

typedef struct old_ids {
    VEC(old_id) v;     /* by position; sorted by id unless dense */
    bool by_id, dense; /* references are ids (otlp_v3_refs.h); entry i has id i + 1 */
} old_ids;

typedef struct old_type {
    uint32_t type, unit; /* builder strings */
    uint64_t temporality;
} old_type;

typedef struct old_sample {
    uint32_t stack, link;
    span attrs, values, times; /* in the pools of the profile */
} old_sample;

typedef struct old_slice {
    uint64_t start, n;
    uint32_t stack;
} old_slice;

typedef struct old_profile {
    old_tables *t;
    old_tables own; /* v1.3 to v1.5 */
    VEC(old_type) types;
    old_type period_type;
    pieces type_pieces, period_pieces, samples;
    list_fields location_indices, comments, attr_indices;
    keyvalue_list attrs;                 /* v1.3, v1.4 */
    uint64_t time_nanos, duration_nanos; /* as read; negative is wrong */
    uint64_t period, default_type;
    const uint8_t *default_at;
    uint32_t dropped_attributes_count;
    str id, payload_format, payload;

    /* v1.3 */
    uint64_t start, end; /* of the container */
    uint64_t drop_frames, keep_frames;
    const uint8_t *drop_at, *keep_at;
    old_ids mapping_ids, location_ids, function_ids;
    pieces chunks;                   /* of the Profile message */
    bool link_0;                     /* link_table[0] is a real link */
    uint64_t main_start, main_limit; /* addresses of mapping 0 */

    /* resolved */
    uint32_t default_name; /* builder string; 0 = not set */
    uint32_t first;        /* position of the type that comes first */
    uint64_t time, duration;
    u32s profile_attrs;
    u32s all_frames; /* location_indices as builder indices; NONE = leave out */
    bool milliseconds;

    VEC(old_sample) rows;
    u32s row_attrs;
    i64s row_values;
    u64s row_times;
    bool each; /* kiln.timestamp_values */
    hash_index slice_index;
    VEC(old_slice) slices;          /* those that have their stack */
    u32s frames, labels, attr_refs; /* of the sample at hand */
} old_profile;

/* ---- small readers; all return false with the error set ---- */

bool old_limit(old *o); /* ERR_LIMIT; always false */

/* Counts a window that ends before it starts; it has no duration. */
void old_end_before_start(old *o, uint64_t start, uint64_t end);
/* Counts a loss; only the first of its kind in this message formats its path. */
void old_note(old *o, loss_concept c, const char *carried_as, str value, const char *fmt, ...)
    PRINTF(5, 6);

static inline pb_cur old_cur(const old *o, piece x)
{
    return (pb_cur){.p = x.p, .end = x.p + x.n, .base = o->base, .e = o->e};
}

static inline str old_text(const old *o, uint32_t builder_string_i)
{
    return o->b.m.dict.strings.v[builder_string_i];
}

bool old_piece(old *o, arena *a, pb_cur *c, const pb_field *f, const char *name, pieces *to);
bool old_u64(pb_cur *c, const pb_field *f, const char *name, uint64_t *out);
bool old_u32(pb_cur *c, const pb_field *f, const char *name, uint32_t *out);
bool old_bool(pb_cur *c, const pb_field *f, const char *name, bool *out);
bool old_fixed64(pb_cur *c, const pb_field *f, const char *name, uint64_t *out);
bool old_id_bytes(pb_cur *c, const pb_field *f, const char *name, size_t want, str *out);
bool old_bytes(pb_cur *c, const pb_field *f, const char *name, str *out);
bool old_list_field(old *o, arena *a, pb_cur *c, const pb_field *f, const char *name,
                    list_fields *to);
bool old_keyvalue(old *o, arena *a, pb_cur c, keyvalue *out);
/* A Line: its numbers go to *out, what names its function and where that stands to the others. */
bool old_line_fields(old *o, pb_cur c, line *out, uint64_t *function_ref, const uint8_t **at);
bool old_attributes(old *o, arena *a, pb_cur *c, const pb_field *f, keyvalue_list *to);

/* Walks the numbers of a list field:
 *     for (old_iter i = old_iter_open(c, f); old_iter_next(&i);) use(i.v, i.at);  then !i.c.bad */
typedef struct old_iter {
    pb_cur c;
    bool single;
    uint64_t v;
    const uint8_t *at;
} old_iter;

old_iter old_iter_open(const old *o, const pb_field *f);
bool old_iter_next(old_iter *i);

/* ---- references ---- */

/* v as a position among n entries: *out, or NONE when lenient and outside. */
bool old_index(old *o, uint64_t v, size_t n, const char *table, const char *field,
               const uint8_t *at, uint32_t *out);
/* Builder index of string v. */
bool old_string(old *o, old_tables *t, uint64_t v, const char *field, const uint8_t *at,
                uint32_t *out);
/* Builder indices of the attributes that a list field names, appended to *to. */
bool old_attr_refs(old *o, arena *a, const old_tables *t, const pb_field *f, const char *name,
                   u32s *to);
/* Appends an attribute unless the list has one with its key. */
bool old_attr_add(old *o, arena *a, u32s *to, uint32_t attr);
bool old_push(old *o, arena *a, u32s *to, uint32_t v);

/* ---- tables that every layout has ---- */

bool old_add_string(old *o, old_tables *t, pb_cur *c, const pb_field *f);
bool old_build_units(old *o, old_tables *t); /* before the attributes */
bool old_build_attributes(old *o, old_tables *t);
bool old_build_links(old *o, old_tables *t);
bool old_build_lists(old *o, old_profile *p, const char *comment); /* comments, attributes */
bool old_build_types(old *o, old_profile *p,
                     bool (*read)(old *, old_profile *, pb_cur, old_type *));
void old_set_default(old_profile *p, uint32_t name, uint32_t unset);

/* Stack of location_indices[start, start + n). */
bool old_slice_stack(old *o, old_profile *p, uint64_t start, uint64_t n, const uint8_t *at,
                     uint32_t *stack);
/* Adds a number list of a sample to a pool. */
bool old_sample_values(old *o, old_profile *p, const pb_field *f, old_sample *s);
bool old_sample_times(old *o, old_profile *p, const pb_field *f, old_sample *s);

/* ---- the whole message ---- */

typedef struct old_source {
    layout layout;
    bool lenient;
    ledger *ledger;
    layout_verdict *verdict; /* gets evidence; may be NULL */
    bool (*decode)(old *o, pb_cur c, const void *ctx);
    const void *ctx;
} old_source;

/* Runs `decode` over the bytes with a builder and scratch memory, and finishes the model. */
NODISCARD bool old_read(str bytes, const old_source *s, arena *a, model *out, err *e);

/* ---- the layouts ---- */

bool old_v3_collect(old *o, old_profile *p, pb_cur c); /* one ProfileContainer */
bool old_v3_resolve(old *o, old_profile *p);
bool old_v3_sample(old *o, old_profile *p, pb_cur c, old_sample *s);

bool old_v4_table(old *o, old_tables *t, uint32_t number, pb_cur *c, const pb_field *f, bool *is);
bool old_v4_dictionary(old *o, old_tables *t, pb_cur c); /* v1.7 */
bool old_v4_tables(old *o, old_tables *t);               /* resolves them */
bool old_v4_collect(old *o, old_profile *p, pb_cur c);
bool old_v4_resolve(old *o, old_profile *p);
bool old_v4_sample(old *o, old_profile *p, pb_cur c, old_sample *s);
