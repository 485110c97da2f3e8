/* format/pprof_internal.h - the pprof reader: state and helpers shared by its source files.
 *
 *   scan      walks the top-level fields once: strings as views, runs of records, numbers
 *   tables    mappings, functions, locations, each interned; ids to model indices
 *   samples   row by row: stack, values into columns, labels to attributes
 *   finish    one Profile per sample type; stacks, links and attributes are shared columns
 *
 * Each message has two readers. The fast one accepts the usual encoding and reports no errors; when
 * it meets anything else it gives up without side effects. The plain one then reads the same bytes
 * with the checked cursor: other field orders, unknown fields, and errors with byte and path. */
#pragma once
#include "format/pprof.h"
#include "model/builder.h"
#include "wire/carried.h"
#include "wire/otlp_hot.h"
#include "wire/pb.h"
#include "wire/varint.h"

enum {
    PP_NONE = -1,   /* as uint32_t: no such entry. Indices stay below 2^31 because the input does */
    PP_WAITING = 4, /* rows between the prefetch of a stack's slot and its lookup */
    PP_FIELDS = 6,  /* field numbers of the messages that contain only numbers, plus the unused 0 */
    PP_MAIN_MAPPING = 1, /* in the model: the file's first mapping, which names the program */
};
#define PP_ABSENT ((uint32_t)PP_NONE)
#define PP_MAX_BYTES INT32_MAX

/* Consecutive records of one field: one-byte tag, length, body. */
typedef struct pp_run {
    uint32_t at, n; /* bytes */
} pp_run;

typedef struct pp_records {
    VEC(pp_run) runs;
    size_t n; /* records */
} pp_records;

/* Maps ids to entries. */
typedef struct pp_ids {
    u64s id;          /* by position */
    u32s index;       /* by position: index in the model */
    uint32_t *direct; /* by id: index in the model, PP_ABSENT: none; n_direct entries */
    uint64_t n_direct;
    bool identity;  /* id i is index i of the model, for all ids below n_direct except 0 */
    hash_index far; /* id -> position, when ids are too sparse for `direct` */
} pp_ids;

/* A distinct label. */
typedef struct pp_label {
    int64_t num;
    uint32_t key, text, unit; /* pprof strings */
    uint32_t key_i;           /* index in pp.keys */
    uint32_t attr;            /* index in the model; PP_ABSENT: not created yet */
    uint32_t kind;            /* pp_label_kind */
} pp_label;

typedef struct pp_key {
    str text;
    uint32_t seen; /* last row + 1 with a label of this key */
} pp_key;

typedef struct pp {
    const uint8_t *base, *end, *safe; /* safe: HOT_MARGIN bytes after it are readable */
    arena *a;
    builder b;
    err *e;
    ledger *ledger;
    bool lenient;
    packed_u32_fn *packed;
    uint64_t n_unknown;

    /* scan */
    VEC(str) strings;
    u32s string;           /* pprof string -> model string, PP_ABSENT: not interned yet */
    uint32_t *string_hash; /* pprof string -> high half of its hash, where it was computed */
    pp_records types, samples, mappings, locations, functions;
    VEC(pb_field) periods, comments;
    pb_field drop_frames, keep_frames, default_type, doc_url; /* varints: string indices */
    uint64_t time_nanos, duration_nanos, period;

    /* tables */
    pp_ids mapping_ids, location_ids, function_ids;
    hash_index function_index, location_index, stack_index;
    u32s attrs;  /* attributes of the current entry */
    span folded; /* attribute list of all folded locations; n == 0: not created yet */
    uint64_t n_folded;

    /* samples */
    size_t n_types, n_rows;
    u32s ids; /* frames of the current row: location ids, then model indices */
    struct {
        u32s ids;
        uint64_t hash;
    } waiting[PP_WAITING]; /* by row modulo PP_WAITING: stacks whose slot is prefetched */
    int64_t *value;        /* n_types columns of n_rows values */
    uint32_t *stack, *link, *attr_off; /* columns; link is NULL until a row has one */
    VEC(pp_label) labels;              /* all distinct labels */
    hash_index label_index;
    u32s row;         /* labels of the current row */
    VEC(pp_key) keys; /* the distinct keys of all labels */
    hash_index key_index;
    bool row_repeats; /* the current row has a key twice */
    bool row_ids;     /* the current row has a trace or span id */
} pp;

/* ---- shared helpers ---- */

/* Returns whether fewer than HOT_MARGIN readable bytes follow q. */
static inline bool pp_near(const pp *r, const uint8_t *q) { return q > r->safe; }

static inline pb_cur pp_cur(const pp *r, const uint8_t *p, const uint8_t *q)
{
    return (pb_cur){.p = p, .end = q, .base = r->base, .e = r->e};
}

/* Returns s with U+FFFD for every byte that is not UTF-8, and counts them in the ledger. Its p is
 * NULL when out of memory. */
str pp_utf8(arena *a, ledger *l, str s);

/* Returns the model's string for pprof string i, which must exist. */
uint32_t pp_intern(pp *r, uint64_t i);
static inline uint32_t pp_string(pp *r, uint64_t i)
{
    uint32_t s = r->string.v[i];
    return LIKELY(s != PP_ABSENT) ? s : pp_intern(r, i);
}
static inline str pp_text(const pp *r, uint32_t model_string)
{
    return r->b.m.dict.strings.v[model_string];
}

/* Checks the string index in f. If it is outside the table, fails or, when lenient, returns true
 * and sets *repaired. */
bool pp_string_exists(pp *r, pb_cur *c, const pb_field *f, const char *name, bool *repaired);
/* Sets *out to the model's string for the string index in f. */
bool pp_string_field(pp *r, pb_cur *c, const pb_field *f, const char *name, uint32_t *out);

/* Returns the model index of an id other than 0, or PP_ABSENT if it is undefined. */
uint32_t pp_find_far(const pp_ids *ids, uint64_t id);
static inline uint32_t pp_find(const pp_ids *ids, uint64_t id)
{
    return LIKELY(id < ids->n_direct) ? ids->direct[id] : pp_find_far(ids, id);
}
/* Sets *out to the model index of the id in field f. Id 0 gives 0 ("none"), and so does an
 * undefined id when lenient. */
bool pp_ref_field(pp *r, pb_cur *c, const pb_field *f, const char *name, const pp_ids *ids,
                  const char *table, uint32_t *out);

/* The plain reader of messages that contain only numbers. Stores the last occurrence of each field
 * up to `last`, and counts others as unknown; names are for errors. */
bool pp_plain_numbers(pp *r, pb_cur *c, const char *const *names, uint32_t last, pb_field *out);

/* Reads a message of varint fields 1 to `last` (below PP_FIELDS) into v[number]. Returns false if
 * the message has another field. */
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

/* Reads a length prefix. Sets *o to the first byte of the body and returns its end, or NULL when
 * malformed. */
ALWAYS_INLINE const uint8_t *pp_len(const uint8_t *p, const uint8_t *q, const uint8_t **o)
{
    uint64_t n;
    p = take_varint(p, q, &n, false);
    if (UNLIKELY(!p || p > q || n > (uint64_t)(q - p))) return NULL;
    *o = p;
    return p + n;
}

/* Iterates over records: for (pp_iter i = pp_each(r, &r->functions); pp_next(&i);) use(i.p, i.q,
 * i.n). */
typedef struct pp_iter {
    const uint8_t *base, *at, *run_end; /* at: the next record */
    const pp_run *run, *last;
    const uint8_t *p, *q; /* body of the record */
    size_t n;             /* index of the record */
} pp_iter;

static inline pp_iter pp_each(const pp *r, const pp_records *of)
{
    return (pp_iter){.base = r->base,
                     .run = of->runs.v,
                     .last = of->runs.n ? of->runs.v + of->runs.n : NULL,
                     .n = (size_t)-1};
}

/* Reads the next record. Does not check it, because the scan has. */
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

/* Returns the position of the type of Profile k: the default comes first, the others keep their
 * order. */
static inline uint32_t pp_type_at(uint32_t first, uint32_t k)
{
    if (k == 0) return first;
    return k <= first ? k - 1 : k;
}

/* Adds the scope of the Profiles, with the order of the pprof types. Returns false when out of
 * memory. */
bool pp_put_scope(builder *b, uint32_t n_types, uint32_t first, str default_name, ledger *l);

/* ---- the parts ---- */

bool pp_scan(pp *r);
bool pp_tables(pp *r);
bool pp_samples(pp *r);

/* labels */
bool pp_label_add(pp *r, const uint64_t v[PP_FIELDS], size_t row);
bool pp_row_attrs(pp *r, size_t row);
