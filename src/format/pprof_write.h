/* format/pprof_write.h - the writer's parts.
 *
 *   rows      which Profiles become which sample types, and their samples row by row
 *   labels    attributes, links and resources as label records, each made once
 *   write     the message: types, samples, tables, strings
 *
 *   ids       which mappings and locations are one entry in pprof
 *
 * Id 0 means "none", but a stack may hold a location of which nothing is known and a line function 0
 * ("unknown"): those get an entry of their own behind the others. */
#pragma once
#include "base/hash.h"
#include "format/pprof.h"
#include "wire/carried.h"

typedef struct pw_label {
    str records;        /* label fields, ready to copy; p NULL: not made yet */
    uint32_t key;       /* string of the output */
    bool is_id;         /* its key is trace_id or span_id */
    pp_label_kind kind; /* as the reader will see it */
} pw_label;

typedef struct pw {
    const model *m;
    const dict *d;
    const pprof_write_opts *o;
    ledger *ledger;
    err *e;
    arena a; /* the writer's own */
    buf *out;
    buf scratch;

    /* strings */
    u32s string; /* model string -> pprof string + 1; 0: not yet */
    VEC(str) strings;
    hash_index by_text;
    uint32_t empty; /* a second "", for labels whose text is empty; 0: not yet */

    pw_label *attr_label; /* by attribute */
    u32s key_row;         /* by string of the output: the last row, from 1, with that key */
    uint32_t row;
    str *link_label;     /* by link; p NULL: not made yet */
    str *resource_label; /* by resource; NULL: they are not written as labels */

    uint32_t *mapping_id, *location_id; /* by model index; 0: nothing is known of it */
    u32s mappings, locations;           /* model index of id 1, 2, ... */
    bool location_0, function_0;        /* referred to */
} pw;

/* A row of the output. */
typedef struct pw_row {
    uint32_t stack, link;
    const uint32_t *attrs;
    uint32_t n_attrs;
    uint32_t resource;
    bool timed;
    uint64_t time;
} pw_row;

bool pw_limit(pw *w); /* ERR_LIMIT; always false */
void pw_lose(pw *w, loss_concept c, const char *carried_as, uint64_t n, const char *path,
             str value);

/* The number of a string in the output. */
NODISCARD bool pw_text(pw *w, str s, uint32_t *out);
NODISCARD bool pw_string(pw *w, uint32_t model_string, uint32_t *out);

static inline bool pw_timed(const pw *w) { return w->o->timestamps; }

/* ---- ids ---- */

/* What a mapping's attributes say that pprof has fields for. */
typedef struct pw_mapping_facts {
    str build_id;
    const char *build_key;
    bool has[4];
} pw_mapping_facts;

/* note: what there is no field for goes into the ledger. */
pw_mapping_facts pw_mapping_facts_of(pw *w, const mapping *m, bool note);
bool pw_folded(const pw *w, const location *l);
NODISCARD bool pw_ids_make(pw *w);
static inline uint32_t pw_location_id(const pw *w, uint32_t i)
{
    return w->location_id[i] ? w->location_id[i] : (uint32_t)w->locations.n + 1;
}

/* ---- rows ---- */

typedef struct pw_group {
    uint32_t first, n; /* profiles that lie together and have the same rows */
} pw_group;

typedef struct pw_plan {
    VEC(pw_group) groups;
    VEC(value_type) types; /* columns of the output */
    u32s profiles;         /* of a single group: the Profile of each column */
    u32s column;           /* of several groups: the column of each Profile */
    str default_type;
} pw_plan;

NODISCARD bool pw_plan_make(pw *w, pw_plan *p);
/* Writes all samples. */
NODISCARD bool pw_rows(pw *w, const pw_plan *p);
NODISCARD bool pw_sample(pw *w, const pw_row *r, const int64_t *values, size_t n_values);

/* ---- texts and times ---- */

typedef struct pw_texts {
    u32s comments;                              /* strings of the output */
    uint32_t drop_frames, keep_frames, doc_url; /* likewise; 0: none */
    u32s done;                                  /* attributes that were seen */
} pw_texts;

/* Collects them, and puts what pprof cannot say into the ledger.  Decides how resources are written:
 * one as comments, several as labels. */
NODISCARD bool pw_texts_of(pw *w, pw_texts *t);

typedef struct pw_window {
    uint64_t start, end;
    value_type period_type;
    int64_t period;
} pw_window;

/* The window around all profiles, and the first one's period. */
pw_window pw_window_of(pw *w);

static inline str pw_attr_text(const any *v)
{
    return v->kind == ANY_STRING ? any_str(v) : (str){0};
}

/* ---- labels ---- */

/* The records of attribute i, link i, resource i. */
NODISCARD bool pw_attr_label(pw *w, uint32_t attr, const pw_label **out);
NODISCARD bool pw_link_label(pw *w, uint32_t link, str *out);
NODISCARD bool pw_resource_label(pw *w, uint32_t resource, str *out);
/* A record with a number into b. */
NODISCARD bool pw_put_num(pw *w, str key, int64_t num, str unit, buf *b);
/* A value as people read it: text as it is, the rest as JSON. */
void pw_any_text(const any *v, buf *b);
