/* model/model.h - profiles in memory: one dictionary, columns of samples.  Pure.
 *
 * The model has the structure of OTLP, as arrays.  Entry 0 of every table is the zero value and
 * index 0 means "not set".  Strings are views into the input (decoded models) or the arena (built
 * models).  A model owns nothing; it is valid as long as its arena and, if decoded, its input.
 *
 *   model ── resources[] ── scopes[] ── profiles[] ── stack[] link[] attrs values times (columns)
 *     └──── dict: strings mappings functions locations+lines stacks attributes links
 *
 * A model is *checked* when every index is known to be inside its table.  All decoders and the
 * builder produce checked models, except under DECODE_LENIENT, which `check` uses to examine
 * broken data. */
#pragma once
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

/* ---- values ---- */

typedef enum any_kind {
    ANY_EMPTY, /* no member of the oneof is set, which is a valid value (P-30) */
    ANY_STRING,
    ANY_BOOL,
    ANY_INT,
    ANY_DOUBLE,
    ANY_ARRAY,
    ANY_KVLIST,
    ANY_BYTES,
    ANY_STRREF, /* string_value_strindex; only in lenient models, elsewhere resolved to ANY_STRING */
} any_kind;

typedef struct any any;
typedef struct keyvalue keyvalue;

struct any {
    uint32_t kind; /* any_kind */
    uint32_t n;    /* bytes of a string, elements of an array or kvlist */
    union {
        const char *s; /* ANY_STRING, ANY_BYTES */
        int64_t i;     /* ANY_INT, ANY_BOOL (0 or 1), ANY_STRREF */
        double d;
        any *array;
        keyvalue *kvlist;
    };
};

struct keyvalue {
    str key;
    uint32_t key_ref; /* key_strindex; 0 except in lenient models, elsewhere resolved to `key` */
    any value;
};

typedef struct keyvalues {
    keyvalue *v;
    size_t n;
} keyvalues;

static inline str any_str(const any *v) { return (str){v->s, v->n}; }

/* ---- dictionary ---- */

/* Element i covers [off[i], off[i+1]) of its pool.  Without off[] every element has `stride`
 * entries starting at `base`; nearly all profiles have this form. */
typedef struct spans {
    const uint32_t *off;
    uint32_t base, stride;
} spans;

typedef struct span {
    uint32_t at, n;
} span;

/* Returns the first of the entries that s covers; NULL when there are none (the pool may be NULL
 * then). */
static inline const uint32_t *refs_at(const u32s *pool, span s)
{
    return s.n ? pool->v + s.at : NULL;
}

static inline span spans_at(const spans *s, size_t i)
{
    if (s->off) return (span){s->off[i], s->off[i + 1] - s->off[i]};
    return (span){s->base + (uint32_t)i * s->stride, s->stride};
}

typedef struct value_type {
    uint32_t type, unit; /* strings */
} value_type;

typedef struct mapping {
    uint64_t memory_start, memory_limit, file_offset;
    uint32_t filename; /* string */
    span attrs;        /* in dict.attr_refs */
} mapping;

typedef struct line {
    int64_t line, column;
    uint32_t function;
} line;

typedef struct location {
    uint64_t address;
    uint32_t mapping;
    span lines; /* in dict.lines: innermost inlined first, physical function last */
    span attrs; /* in dict.attr_refs */
} location;

typedef struct function {
    int64_t start_line;
    uint32_t name, system_name, filename; /* strings */
} function;

typedef struct link_ids {
    uint8_t trace_id[16], span_id[8]; /* all zero = not set */
} link_ids;

typedef struct attribute {
    uint32_t key, unit; /* strings */
    any value;
} attribute;

typedef struct dict {
    VEC(str) strings;
    VEC(mapping) mappings;
    VEC(location) locations;
    VEC(function) functions;
    VEC(link_ids) links;
    VEC(attribute) attributes;
    VEC(line) lines; /* pool: lines of locations */
    u32s attr_refs;  /* pool: attribute indices of mappings, locations and profiles */
    u32s stacks;     /* offsets into frames; n_stacks + 1 of them */
    u32s frames;     /* pool: location indices, leaf first */
} dict;

static inline size_t dict_n_stacks(const dict *d) { return d->stacks.n ? d->stacks.n - 1 : 0; }
static inline span dict_stack(const dict *d, uint32_t i)
{
    return (span){d->stacks.v[i], d->stacks.v[i + 1] - d->stacks.v[i]};
}
/* Returns "" for an index outside the table, which makes it safe for lenient models and
 * messages. */
static inline str dict_str(const dict *d, uint32_t i)
{
    return i < d->strings.n ? d->strings.v[i] : (str){"", 0};
}

/* ---- the envelope ---- */

typedef struct profile {
    value_type sample_type, period_type;
    int64_t period;
    uint64_t time_unix_nano, duration_nano;
    uint8_t profile_id[16]; /* all zero = not set */
    uint32_t dropped_attributes_count;
    uint32_t scope;       /* index of its scope */
    bool has_sample_type; /* false: the source has no types; an empty message is written */
    str original_payload_format, original_payload;
    span attrs; /* in dict.attr_refs */

    /* The columns.  Their entries are in pools of the model, which all profiles share. */
    size_t n_samples;
    const uint32_t *stack; /* n_samples stack indices */
    const uint32_t *link;  /* n_samples link indices, or NULL: no sample has a link */
    spans attr_span;       /* into model.sample_attrs */
    spans value_span;      /* into model.values */
    spans time_span;       /* into model.times */
} profile;

typedef struct scope {
    str name, version, schema_url;
    keyvalues attrs;
    uint32_t dropped_attributes_count;
    uint32_t resource; /* index of its resource */
    uint32_t first_profile, n_profiles;
    bool present; /* the message had a scope, maybe empty */
} scope;

typedef struct entity_ref {
    str schema_url, type;
    str *id_keys, *description_keys;
    size_t n_id_keys, n_description_keys;
} entity_ref;

typedef struct resource {
    keyvalues attrs;
    entity_ref *entity_refs;
    size_t n_entity_refs;
    uint32_t dropped_attributes_count;
    uint32_t first_scope, n_scopes;
    str schema_url;
    bool present; /* the message had a resource, maybe empty */
} resource;

typedef struct model {
    dict dict;
    VEC(resource) resources;
    VEC(scope) scopes;     /* those of one resource are adjacent */
    VEC(profile) profiles; /* those of one scope are adjacent */
    u32s sample_attrs;     /* pool: attribute indices of samples */
    i64s values;           /* pool: values of samples */
    u64s times;            /* pool: Unix ns */
    uint64_t n_unknown;    /* fields skipped because no layout knows them */
    uint64_t seed;         /* for hash tables over this model (base/arena.h) */
    bool checked;          /* every index is inside its table */
} model;

/* ---- samples ---- */

typedef struct sample {
    uint32_t stack, link;
    const uint32_t *attrs;
    const int64_t *values;
    const uint64_t *times;
    uint32_t n_attrs, n_values, n_times;
} sample;

static inline sample sample_at(const model *m, const profile *p, size_t i)
{
    span a = spans_at(&p->attr_span, i), v = spans_at(&p->value_span, i),
         t = spans_at(&p->time_span, i);
    return (sample){
        .stack = p->stack[i],
        .link = p->link ? p->link[i] : 0,
        .attrs = a.n ? m->sample_attrs.v + a.at : NULL,
        .values = v.n ? m->values.v + v.at : NULL,
        .times = t.n ? m->times.v + t.at : NULL,
        .n_attrs = a.n,
        .n_values = v.n,
        .n_times = t.n,
    };
}

/* Returns the number of observations of a sample: its values, or its timestamps, which count 1 each
 * (P-63). */
static inline uint32_t sample_observations(const sample *s)
{
    return s->n_values ? s->n_values : s->n_times;
}

/* Returns the sum of the values; timestamps without values count 1 each.  The sum saturates,
 * which sets *saturated (may be NULL). */
int64_t sample_total(const sample *s, bool *saturated);
int64_t add_saturating(int64_t a, int64_t b, bool *saturated);

static inline bool id_is_zero(const uint8_t *id, size_t n)
{
    uint8_t any_bit = 0;
    for (size_t i = 0; i < n; i++) any_bit |= id[i];
    return any_bit == 0;
}

/* Writes an id as lower-case hex digits: 2n + 1 bytes. */
void hex_encode(const uint8_t *p, size_t n, char *out);

/* Derives the id of the k-th profile that a profile of several types is split into: OTLP has one
 * type per profile, and ids are unique (P-52).  The derived id is `whole` plus a constant that
 * depends on k, so it is distinct, the same in every run, and reversible.  k = 0 returns the id
 * itself; a zero id stays zero. */
void profile_id_derive(const uint8_t whole[16], size_t k, uint8_t out[16]);
/* Returns whether `id` is derived from `whole`, with k < PROFILE_ID_TYPES. */
bool profile_id_leads(const uint8_t id[16], const uint8_t whole[16]);
enum { PROFILE_ID_TYPES = 32 };

/* Compares tables and columns by value, entry by entry, in order. ERR_MISMATCH with the path of the
 * first difference. */
NODISCARD bool model_equal(const model *a, const model *b, err *e);
NODISCARD bool any_equal(const any *a, const any *b);
NODISCARD bool resource_equal(const resource *a, const resource *b); /* ignores scopes */
/* Returns whether values are levels, such as inuse_space: a later profile replaces an earlier
 * one, and sums are meaningless. */
bool profile_is_level(const model *m, const profile *p);

NODISCARD bool scope_equal(const scope *a, const scope *b); /* ignores profiles */
