/* format/pprof_internal.h - the protobuf reader's parts.
 *
 *   scan      the top level once: strings as views, runs of records, the few numbers
 *   tables    mappings, functions, locations, each interned; ids to model indices
 *   samples   row by row: stack, values into columns, labels to attributes
 *   finish    one Profile per sample type; stacks, links and attributes are shared columns
 *
 * Each message has two readers.  The quick one takes what encoders write and knows no errors; when it
 * meets anything else it gives up without a trace, and the plain one reads the same bytes with the
 * checked cursor: other field orders, unknown fields, and what is wrong, with its byte and path. */
#pragma once
#include "format/pprof.h"
#include "model/builder.h"
#include "wire/carried.h"
#include "wire/otlp_hot.h"
#include "wire/pb.h"
#include "wire/varint.h"

enum {
    PP_NONE = -1, /* as uint32_t: no such entry.  Indices stay below 2^31: so does the input */
    PP_WAITING = 4,
    PP_FIELDS = 6,       /* of the messages that hold only numbers, 0 included */
    PP_MAIN_MAPPING = 1, /* of the model: the file's first, which names the program */
};
#define PP_NOBODY ((uint32_t)PP_NONE)
#define PP_MAX_BYTES INT32_MAX

/* Records of one field, back to back: one-byte tag, length, body. */
typedef struct pp_run {
    uint32_t at, n; /* bytes */
} pp_run;

typedef struct pp_records {
    VEC(pp_run) runs;
    size_t n; /* records */
} pp_records;

/* Which entry has an id. */
typedef struct pp_ids {
    u64s id;          /* by position */
    u32s index;       /* by position: in the model */
    uint32_t *direct; /* by id, n_direct of them; PP_NOBODY where none */
    uint64_t n_direct;
    bool identity;  /* id i is index i of the model, for all below n_direct but 0 */
    hash_index far; /* positions, when ids are too scattered for a table */
} pp_ids;

/* Every different label once. */
typedef struct pp_label {
    int64_t num;
    uint32_t key, text, unit; /* pprof strings */
    uint32_t key_i;           /* in pp.keys */
    uint32_t attr;            /* in the model; PP_NOBODY until somebody asks */
    uint32_t kind;            /* pp_label_kind */
} pp_label;

typedef struct pp_key {
    str text;
    uint32_t seen; /* row + 1 that has a label with this key */
} pp_key;

typedef struct pp {
    const uint8_t *base, *end, *safe; /* safe: HOT_MARGIN bytes behind it are readable */
    arena *a;
    builder b;
    err *e;
    ledger *ledger;
    bool lenient;
    packed_u32_fn *packed;
    uint64_t n_unknown;

    /* scan */
    VEC(str) strings;
    u32s string;           /* pprof string -> model string, PP_NOBODY: nobody asked yet */
    uint32_t *string_hash; /* pprof string -> high half of its hash, where it was asked for */
    pp_records types, samples, mappings, locations, functions;
    VEC(pb_field) periods, comments;
    pb_field drop_frames, keep_frames, default_type, doc_url; /* wire 0, value: a string */
    uint64_t time_nanos, duration_nanos, period;

    /* tables */
    pp_ids mapping_ids, location_ids, function_ids;
    hash_index function_index, location_index, stack_index;
    u32s attrs;  /* of the entry at hand */
    span folded; /* the attribute list of a folded location; n 0: not made yet */
    uint64_t n_folded;

    /* samples */
    size_t n_types, n_rows;
    u32s ids; /* of the row at hand: location ids, then model indices */
    struct {
        u32s ids;
        uint64_t hash;
    } waiting
        [PP_WAITING]; /* by row modulo PP_WAITING: stacks that are looked up when their slot came */
    int64_t *value;   /* column by column: n_types x n_rows */
    uint32_t *stack, *link, *attr_off; /* columns; link NULL until there is one */
    VEC(pp_label) labels;              /* all */
    hash_index label_index;
    u32s row;         /* labels of the row at hand */
    VEC(pp_key) keys; /* of all labels, each text once */
    hash_index key_index;
    bool row_repeats; /* the row at hand has a key twice */
    bool row_ids;     /* and a trace or span id */
} pp;

/* ---- shared small things ---- */

bool pp_limit(pp *r); /* ERR_LIMIT; always false */

static inline bool pp_near(const pp *r, const uint8_t *q) { return q > r->safe; }

static inline pb_cur pp_cur(const pp *r, const uint8_t *p, const uint8_t *q)
{
    return (pb_cur){.p = p, .end = q, .base = r->base, .e = r->e};
}

/* s with U+FFFD for every byte that is no UTF-8, and counted; its p is NULL when out of memory. */
str pp_utf8(arena *a, ledger *l, str s);

/* The model's string for pprof string i, which exists. */
uint32_t pp_intern(pp *r, uint64_t i);
static inline uint32_t pp_string(pp *r, uint64_t i)
{
    uint32_t s = r->string.v[i];
    return LIKELY(s != PP_NOBODY) ? s : pp_intern(r, i);
}
static inline str pp_text(const pp *r, uint32_t model_string)
{
    return r->b.m.dict.strings.v[model_string];
}

/* f holds a string index that is in the table; otherwise, when lenient, *repaired is set. */
bool pp_string_there(pp *r, pb_cur *c, const pb_field *f, const char *name, bool *repaired);
/* f holds a string index: *out the model's string. */
bool pp_string_field(pp *r, pb_cur *c, const pb_field *f, const char *name, uint32_t *out);

/* The model index behind an id other than 0; PP_NOBODY: nobody has it. */
uint32_t pp_find_far(const pp_ids *ids, uint64_t id);
static inline uint32_t pp_find(const pp_ids *ids, uint64_t id)
{
    return LIKELY(id < ids->n_direct) ? ids->direct[id] : pp_find_far(ids, id);
}
/* The same for a field; 0 and, when lenient, ids that nobody has give 0 ("none"). */
bool pp_ref_field(pp *r, pb_cur *c, const pb_field *f, const char *name, const pp_ids *ids,
                  const char *table, uint32_t *out);

/* The plain reader of messages that hold only numbers: the last field of each number (the one that
 * counts) up to `last`, named for errors; the others are counted as unknown. */
bool pp_plain_numbers(pp *r, pb_cur *c, const char *const *names, uint32_t last, pb_field *out);

/* Fields that are all varints, numbers 1 to `last` (below PP_FIELDS), into v[number].  false: something
 * else. */
ALWAYS_INLINE bool pp_numbers(const uint8_t *p, const uint8_t *q, unsigned last,
                              uint64_t v[PP_FIELDS])
{
    while (p < q) {
        unsigned tag = *p;
        if (UNLIKELY((tag & 7) || tag - 8 > (last - 1) * 8)) return false;
        p = take_varint(p + 1, q, &v[tag >> 3], false);
        if (UNLIKELY(!p)) return false;
    }
    return p == q;
}

/* Length-delimited: *o the first byte, the return value one past the last; NULL when malformed. */
ALWAYS_INLINE const uint8_t *pp_len(const uint8_t *p, const uint8_t *q, const uint8_t **o)
{
    uint64_t n;
    p = take_varint(p, q, &n, false);
    if (UNLIKELY(!p || p > q || n > (uint64_t)(q - p))) return NULL;
    *o = p;
    return p + n;
}

/* Walks records: for (pp_iter i = pp_each(r, &r->functions); pp_next(&i);) use(i.p, i.q, i.n). */
typedef struct pp_iter {
    const uint8_t *base, *at, *run_end; /* at: the next record */
    const pp_run *run, *last;
    const uint8_t *p, *q; /* the body */
    size_t n;             /* its number */
} pp_iter;

static inline pp_iter pp_each(const pp *r, const pp_records *of)
{
    return (pp_iter){.base = r->base,
                     .run = of->runs.v,
                     .last = of->runs.n ? of->runs.v + of->runs.n : NULL,
                     .n = (size_t)-1};
}

/* The scan saw every record, so nothing is checked again. */
static inline bool pp_next(pp_iter *i)
{
    if (UNLIKELY(i->at == i->run_end)) {
        if (i->run == i->last) return false;
        i->at = i->base + i->run->at;
        i->run_end = i->at + i->run->n;
        i->run++;
    }
    const uint8_t *p = i->at + 1;
    uint64_t n = *p++;
    if (UNLIKELY(n >= 0x80)) {
        n &= 0x7f;
        for (unsigned shift = 7;; shift += 7) {
            uint64_t b = *p++;
            n |= (b & 0x7f) << shift;
            if (b < 0x80) break;
        }
    }
    i->p = p;
    i->q = i->at = p + n;
    i->n++;
    return true;
}

/* ---- order of the types ---- */

/* Profile k holds the type at this position: the default first, the others as they were. */
static inline uint32_t pp_type_at(uint32_t first, uint32_t k)
{
    if (k == 0) return first;
    return k <= first ? k - 1 : k;
}

/* The scope of the Profiles, with what pprof knows of their order; false: out of memory. */
bool pp_put_scope(builder *b, uint32_t n_types, uint32_t first, str default_name, ledger *l);

/* ---- the parts ---- */

bool pp_scan(pp *r);
bool pp_tables(pp *r);
bool pp_samples(pp *r);

/* labels */
bool pp_label_add(pp *r, const uint64_t v[PP_FIELDS], size_t row);
bool pp_row_attrs(pp *r, size_t row);
