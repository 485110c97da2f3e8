/* format/pprof_write.h - the pprof writer: state and helpers shared by its source files.
 *
 *   rows      which Profiles become which sample types, and their samples row by row
 *   labels    attributes, links and resources as label records, each created once
 *   write     the message: types, samples, tables, strings
 *   ids       which mappings and locations become one entry in pprof
 *
 * Id 0 means "none". A stack may however contain a location without any data, and a line may have
 * function 0 ("unknown"); they get separate entries after the others. */
#pragma once
#include "base/hash.h"
#include "format/pprof.h"
#include "wire/carried.h"

typedef struct pw_label {
    str records;        /* label fields, ready to copy; p NULL: not created yet */
    uint32_t key;       /* pprof string index */
    bool is_id;         /* its key is trace_id or span_id */
    pp_label_kind kind; /* as the reader will classify it */
} pw_label;

typedef struct pw {
    const model *m;
    const dict *d;
    const pprof_write_opts *o;
    ledger *ledger;
    err *e;
    arena a; /* memory of the writer */
    buf *out;
    buf scratch;

    /* strings */
    u32s string; /* model string -> pprof string + 1; 0: not added yet */
    VEC(str) strings;
    hash_index by_text;
    uint32_t empty; /* a second "", for labels whose text is empty; 0: not added yet */

    pw_label *attr_label; /* by attribute */
    u32s key_row;         /* by pprof string: the last row, counted from 1, with this key */
    uint32_t row;
    str *link_label;     /* by link; p NULL: not created yet */
    str *resource_label; /* by resource; NULL: they are not written as labels */

    uint32_t *mapping_id, *location_id; /* by model index; 0: an empty entry */
    u32s mappings, locations;           /* model index of id 1, 2, ... */
    bool location_0, function_0;        /* something refers to them */
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

void pw_lose(pw *w, loss_concept c, const char *carried_as, uint64_t n, const char *path,
             str value);

/* Sets *out to the pprof string index of a text. */
NODISCARD bool pw_text(pw *w, str s, uint32_t *out);
NODISCARD bool pw_string(pw *w, uint32_t model_string, uint32_t *out);

static inline bool pw_timed(const pw *w) { return w->o->timestamps; }

/* ---- ids ---- */

/* The attributes of a mapping for which pprof has fields. */
typedef struct pw_mapping_facts {
    str build_id;
    const char *build_key;
    bool has[4];
} pw_mapping_facts;

/* With `note`, records attributes without a field in the ledger. */
pw_mapping_facts pw_mapping_facts_of(pw *w, const mapping *m, bool note);
bool pw_folded(const pw *w, const location *l);
NODISCARD bool pw_ids_make(pw *w);
static inline uint32_t pw_location_id(const pw *w, uint32_t i)
{
    return w->location_id[i] ? w->location_id[i] : (uint32_t)w->locations.n + 1;
}

/* ---- rows ---- */

typedef struct pw_group {
    uint32_t first, n; /* consecutive profiles with the same rows */
} pw_group;

typedef struct pw_plan {
    VEC(pw_group) groups;
    VEC(value_type) types; /* columns of the output */
    u32s profiles;         /* if there is one group: the Profile of each column */
    u32s column;           /* if there are several groups: the column of each Profile */
    str default_type;
} pw_plan;

NODISCARD bool pw_plan_make(pw *w, pw_plan *p);
/* Writes all samples. */
NODISCARD bool pw_rows(pw *w, const pw_plan *p);
NODISCARD bool pw_sample(pw *w, const pw_row *r, const int64_t *values, size_t n_values);

/* ---- texts and times ---- */

typedef struct pw_texts {
    u32s comments;                              /* pprof string indices */
    uint32_t drop_frames, keep_frames, doc_url; /* pprof string indices; 0: none */
    u32s done;                                  /* attributes that were handled */
} pw_texts;

/* Collects the texts, and records in the ledger those that pprof cannot represent. Decides how
 * resources are written: one as comments, several as labels. */
NODISCARD bool pw_texts_of(pw *w, pw_texts *t);

typedef struct pw_window {
    uint64_t start, end;
    value_type period_type;
    int64_t period;
} pw_window;

/* Returns the time range of all profiles and the period of the first. */
pw_window pw_window_of(pw *w);

static inline str pw_attr_text(const any *v)
{
    return v->kind == ANY_STRING ? any_str(v) : (str){0};
}

/* ---- labels ---- */

/* Set *out to the label records of an attribute, a link or a resource. */
NODISCARD bool pw_attr_label(pw *w, uint32_t attr, const pw_label **out);
NODISCARD bool pw_link_label(pw *w, uint32_t link, str *out);
NODISCARD bool pw_resource_label(pw *w, uint32_t resource, str *out);
/* Appends a label with a number to b. */
NODISCARD bool pw_put_num(pw *w, str key, int64_t num, str unit, buf *b);
/* Appends a value in readable form: text unchanged, other values as JSON. */
void pw_any_text(const any *v, buf *b);
