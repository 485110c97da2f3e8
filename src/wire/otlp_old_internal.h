/* wire/otlp_old_internal.h - the reader that all layouts before v1.8 and the drafts share.
 *
 * A layout is a set of tables, one per message (old_message).  A table states for each field number
 * how the field is read and where its value is stored.  old_fields() reads a message by its table;
 * the steps below are the same for every layout.  Fields come in any order and tables may follow
 * their users, so a Profile is read in steps:
 *
 *   collect   pieces of input and raw numbers                      old_tables, old_profile
 *   resolve   units ▶ attributes ▶ functions ▶ mappings ▶ locations, links     builder indices
 *   rows      every sample once                                    old_sample
 *   emit      a Profile for each type
 *
 * wire/otlp_v3.c and wire/otlp_v4.c hold the released layouts; format/dialect_a_read.c,
 * format/alternatives_read.c and format/events_tables.c the drafts (docs/spec/layouts.md). */
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
typedef VEC(pb_field) list_fields; /* a repeated number: packed chunks, single elements */

typedef struct old {
    layout layout;
    bool lenient;
    ledger *ledger;
    layout_verdict *verdict; /* gets evidence; may be NULL */
    const uint8_t *base;     /* start of the input, for absolute offsets */
    err *e;
    builder b;
    arena keep, tmp; /* scratch memory: for the whole message; for one Profile */
    uint64_t n_unknown;
    uint64_t frames_left; /* frames that may still be added (OLD_MAX_FRAMES_PER_BYTE) */
    char where[96];       /* path of the Profile, for the ledger */
    bool noted[LOSS_CONCEPT_COUNT][2];
} old;

typedef struct old_unit {
    uint32_t key, unit; /* builder strings */
    uint32_t position;
    bool used;
} old_unit;

/* Id and position of an entry, where references may be ids (v1.3). */
typedef struct old_id {
    uint64_t id;
    uint32_t position;
} old_id;

typedef struct old_ids {
    VEC(old_id) v;     /* by position; sorted by id unless dense */
    bool by_id, dense; /* by_id: references are ids (otlp_v3_refs.h); dense: entry i has id i + 1 */
} old_ids;

/* The tables of one Profile or of one message. */
typedef struct old_tables {
    arena *a;
    const struct old_schema *schema;
    void *owner; /* the Profile, for the readers of its layout */
    VEC(str) strings;
    u32s string_index; /* builder indices of strings[]; NONE: not used yet */
    pieces mappings, locations, functions, links, attributes, units;
    u32s mapping, location, function, link, attribute; /* builder indices, by position */
    old_ids mapping_ids, location_ids, function_ids;   /* v1.3 */
    uint64_t main_start, main_limit;                   /* addresses of mapping 0 */
    VEC(old_unit) unit;
    u32s attrs; /* attributes of the entry that is being read */
    VEC(line) lines;
} old_tables;

/* ---- messages as tables of fields ---- */

/* How a field is read, and the type of the member that stores it. */
typedef enum old_kind {
    OLD_UNKNOWN,   /* counted and skipped */
    OLD_IGNORED,   /* a varint that is checked and not stored */
    OLD_U64,       /* a varint: uint64_t or int64_t */
    OLD_U32,       /* a varint, truncated to 32 bits as in protobuf: uint32_t */
    OLD_U32_WIDE,  /* a varint, truncated to 32 bits: int64_t */
    OLD_BOOL,      /* bool */
    OLD_FIXED64,   /* uint64_t */
    OLD_REF,       /* a varint and its position: old_ref */
    OLD_NAME,      /* an index of the string table: uint32_t, a builder string */
    OLD_TEXT,      /* UTF-8: str */
    OLD_BYTES,     /* str */
    OLD_ID16,      /* 0 or 16 bytes: str */
    OLD_ID8,       /* 0 or 8 bytes: str */
    OLD_PIECE,     /* a message that is read later: pieces */
    OLD_LIST,      /* repeated numbers that are read later: list_fields */
    OLD_ATTRS,     /* a KeyValue: keyvalue_list */
    OLD_STRINGS,   /* an entry of the string table; offset unused */
    OLD_ATTR_REFS, /* indices of the attribute table, to t->attrs; offset unused */
    OLD_LINES,     /* a Line, to t->lines; offset unused */
    OLD_CALL,      /* calls read() */
} old_kind;

typedef bool old_call(old *o, old_tables *t, pb_cur *c, const pb_field *f, const char *name,
                      void *to);

typedef struct old_field {
    uint8_t kind;
    uint16_t offset;  /* of the member */
    const char *name; /* for errors */
    old_call *read;   /* OLD_CALL: receives the member */
} old_field;

/* The fields of a message by number; gaps are unknown fields. */
typedef struct old_message {
    const old_field *fields;
    size_t n;
} old_message;

#define OLD_MESSAGE(fields)                                                                        \
    {                                                                                              \
        (fields), ARRAY_LEN(fields)                                                                \
    }
#define OLD_FIELD(kind, type, member, name)                                                        \
    {                                                                                              \
        OLD_##kind, offsetof(type, member), name, NULL                                             \
    }
#define OLD_READ(call, type, member, name)                                                         \
    {                                                                                              \
        OLD_CALL, offsetof(type, member), name, call                                               \
    }

typedef struct old_ref {
    uint64_t v;
    const uint8_t *at;
} old_ref;

/* Reads the message at c into *to.  Lists grow in `a`; references are resolved in `t`, which may be
 * NULL if the message has none.  On failure the error has byte and path. */
bool old_fields(old *o, arena *a, old_tables *t, pb_cur c, const old_message *m, void *to);
/* Reads the message inside field f: checks the wire type and adds the name to the error path. */
bool old_submessage(old *o, old_tables *t, pb_cur *c, const pb_field *f, const char *name,
                    const old_message *m, void *to);

/* ---- the fields of table entries ---- */

typedef struct old_function {
    function f;
    uint64_t id; /* lost */
} old_function;

typedef struct old_mapping {
    mapping m;
    size_t position;
    str build_id;
    uint32_t build_id_name; /* builder string, in layouts without build_id */
    uint64_t build_id_kind;
    bool flags[4];          /* functions, filenames, line numbers, inline frames */
    uint64_t symbolic_info; /* 1: sets all four flags; other values are lost */
} old_mapping;

typedef struct old_line {
    line l;
    old_ref function;
} old_line;

extern const old_field old_line_fields[4]; /* for v1.3 to v1.7 and dialect C */

typedef struct old_location {
    uint64_t address;
    old_ref mapping;
    uint32_t mapping_index; /* builder index, where the schema has explicit_mapping */
    uint32_t type;          /* builder string */
    bool folded;
} old_location;

/* The tables of a layout: names for error paths, and their messages. */
typedef struct old_schema {
    const char *function, *mapping, *location, *link, *attribute;
    const char *frame_type; /* "locations[0]" + this is the path of a frame type */
    bool explicit_mapping;  /* mapping_index has presence; if absent, there is no mapping */
    bool text_refs;         /* texts and keys of attributes are indices of the string table */
    old_message functions, mappings, locations, lines, units;
} old_schema;

/* ---- profiles and samples ---- */

typedef struct old_type {
    uint32_t type, unit; /* builder strings */
    uint64_t temporality;
} old_type;

typedef struct old_sample {
    uint32_t stack, link;
    span attrs, values, times; /* parts of row_attrs, row_values and row_times */
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
    uint64_t time_nanos, duration_nanos; /* as read; negative values are invalid */
    uint64_t period;
    old_ref default_type;
    uint32_t dropped_attributes_count;
    str id, payload_format, payload;

    /* v1.3 */
    uint64_t start, end; /* times of the container */
    old_ref drop_frames, keep_frames;
    pieces chunks; /* records of the Profile message */
    bool link_0;   /* link_table[0] is a real link */

    /* resolved */
    uint32_t default_name; /* builder string; 0 = not set */
    uint32_t first;        /* position of the type whose Profile comes first */
    uint64_t time, duration;
    u32s profile_attrs;
    u32s all_frames; /* location_indices as builder indices; NONE: skip */
    bool milliseconds;

    VEC(old_sample) rows;
    u32s row_attrs;
    i64s row_values;
    u64s row_times;
    bool each; /* each timestamp counts 1 (kiln.timestamp_values) */
    hash_index slice_index;
    VEC(old_slice) slices;          /* slices whose stack is in the builder */
    u32s frames, labels, attr_refs; /* of the current sample */
} old_profile;

/* A sample while it is read. */
typedef struct old_sample_reader {
    old_profile *p;
    old_sample *s;
    old_ref start; /* slice of location_indices */
    uint64_t n;
    uint32_t stack_id; /* v1.3 */
} old_sample_reader;

/* ---- small readers; all return false with the error set ---- */

/* Records a window that ends before it starts; the Profile then has no duration. */
void old_end_before_start(old *o, uint64_t start, uint64_t end);
/* Counts a loss.  Only the first of its kind in a message formats its path. */
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

/* Returns whether the field is a varint or a packed list of varints. */
static inline bool old_list_wire(pb_cur *c, const pb_field *f, const char *name)
{
    return f->wire == 0 || pb_expect(c, f, 2, name);
}

bool old_u64(pb_cur *c, const pb_field *f, const char *name, uint64_t *out);
/* Reads the KeyValue at c.  With refs, keys and texts are indices of its string table; NULL: they
 * are inline. */
bool old_keyvalue(old *o, arena *a, old_tables *refs, pb_cur c, keyvalue *out);

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

/* Sets *out to position v in a table of n entries, or to NONE when v is outside and decoding is
 * lenient. */
bool old_index(old *o, uint64_t v, size_t n, const char *table, const char *field,
               const uint8_t *at, uint32_t *out);
/* Like old_index, but v may be an id.  *out is also NONE when v refers to nothing: id 0, or 0 in an
 * empty table. */
bool old_reference(old *o, const old_ids *ids, old_ref v, size_t n, const char *table,
                   const char *field, uint32_t *out);
static inline bool old_means_nothing(const old_ids *ids, uint64_t v, size_t n)
{
    return v == 0 && (ids->by_id || n == 0);
}
/* Sets *out to the builder index of string v. */
bool old_string(old *o, old_tables *t, uint64_t v, const char *field, const uint8_t *at,
                uint32_t *out);
/* Appends the builder indices of the attributes in a list field to *to. */
bool old_attr_refs(old *o, arena *a, const old_tables *t, const pb_field *f, const char *name,
                   u32s *to);
/* Appends an attribute unless the list has one with its key. */
bool old_attr_add(old *o, arena *a, u32s *to, uint32_t attr);
bool old_attr_text(old *o, arena *a, u32s *to, const char *key, str v);
bool old_attr_int(old *o, arena *a, u32s *to, const char *key, uint64_t v);
bool old_push(old *o, arena *a, u32s *to, uint32_t v);

/* ---- tables that every layout has ---- */

bool old_build_attributes(old *o, old_tables *t); /* and their units */
bool old_build_links(old *o, old_tables *t);
bool old_build_frames(old *o, old_tables *t); /* functions, mappings, locations */
/* Adds the build id and the symbol flags of a mapping as attributes. */
bool old_mapping_attrs(old *o, const char *table, arena *a, const old_mapping *m, u32s *attrs);
/* Adds a list of KeyValues as attributes. */
bool old_build_keyvalues(old *o, arena *a, const keyvalue_list *from, u32s *to);
/* Adds the texts of the profile's comments as one attribute. */
bool old_build_comments(old *o, old_tables *t, const list_fields *comments, const char *name,
                        u32s *to);
/* Adds the attributes of the Profile, then its comments. */
bool old_build_lists(old *o, old_profile *p, const char *comment);
bool old_build_types(old *o, old_profile *p, const old_message *m);
/* Sets the default type by its name.  Without a name, the type at position `unset` comes first. */
void old_set_default(old_profile *p, uint32_t name, uint32_t unset);
/* Adds a value of aggregation_temporality as an attribute. */
bool old_temporality(old *o, uint64_t v, const char *path, u32s *attrs);

/* Read fields of a sample, in all layouts. */
old_call old_sample_values, old_sample_times;
/* Sets the stack of the sample to location_indices[start, start + n). */
bool old_slice_stack(old *o, const old_sample_reader *r);

/* ---- the envelope ---- */

typedef struct old_scope {
    scope scope;
    keyvalue_list attrs;
    pieces profiles;
} old_scope;

/* Reads a ResourceProfiles into the builder and calls `each` for its scopes. */
bool old_resource(old *o, pb_cur c, size_t resource_i,
                  bool (*each)(old *o, old_scope *s, size_t resource_i, size_t scope_i, void *ctx),
                  void *ctx);
bool old_put_scope(old *o, old_scope *s); /* into the builder */

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
bool old_v3_sample(old *o, old_sample_reader *r, pb_cur c);

extern const old_schema old_v4_schema;
typedef struct old_root {
    old_tables t; /* v1.6, v1.7 */
    pieces resources;
} old_root;
bool old_v4_root(old *o, old_root *r, pb_cur c); /* ProfilesData; also of v1.3 */
bool old_v4_tables(old *o, old_tables *t);       /* builds the tables */
bool old_v4_collect(old *o, old_profile *p, pb_cur c);
bool old_v4_resolve(old *o, old_profile *p);
bool old_v4_sample(old *o, old_sample_reader *r, pb_cur c);
