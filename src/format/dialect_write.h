/* format/dialect_write.h - shared parts of the writers of the drafts (format/dialects.h).
 *
 * The tables are inside each Profile message, so a writer works group by group:
 *
 *   group    profiles of one scope that one message can hold (several types of one measurement)
 *   gather   walks the samples once; entries get their index in order of first use, root first
 *   put      writes fields in ascending order; inserts a length when its message is complete
 *
 * Some fields exist only in a dialect; the model carries them as attributes (wire/carried.h). A
 * writer turns these attributes back into fields. */
#pragma once
#include "base/hash.h"
#include "format/dialects.h"
#include "wire/carried.h"
#include "wire/pb.h"

/* The field that an attribute carries. ROLE_NONE if its value has another kind or it has a unit. */
typedef enum attr_role {
    ROLE_NONE,
    ROLE_TEMPORALITY,
    ROLE_TIME_UNIT,
    ROLE_TIME_VALUES,
    ROLE_TYPE_ORDER,
    ROLE_DEFAULT_TYPE,
    ROLE_SAMPLE_RATE,
    ROLE_SAMPLE_SIZE,
    ROLE_COMMENT,
    ROLE_DROP_FRAMES,
    ROLE_KEEP_FRAMES,
    ROLE_STACK_ID,
    ROLE_BUILD_ID_GNU,
    ROLE_BUILD_ID_GO,
    ROLE_BUILD_ID_HASH,
    ROLE_BUILD_ID_KIND,
    ROLE_HAS_FUNCTIONS, /* written only if all four are present */
    ROLE_HAS_FILENAMES,
    ROLE_HAS_LINE_NUMBERS,
    ROLE_HAS_INLINE_FRAMES,
    ROLE_FOLDED,
    ROLE_FRAME_TYPE,
    ROLE_EVENT_CLOCK,
    ROLE_EVENT_DEFAULT,
    ROLE_EVENT_UNIT,
    ROLE_EVENT_INTERVAL,
    ROLE_EVENT_DURATION,
    ROLE_DROPPED,
    ROLE_COUNT
} attr_role;

#define TAKES(role) (UINT32_C(1) << ROLE_##role)
#define TAKES_FLAGS                                                                                \
    (TAKES(HAS_FUNCTIONS) | TAKES(HAS_FILENAMES) | TAKES(HAS_LINE_NUMBERS) |                       \
     TAKES(HAS_INLINE_FRAMES))

/* Index in the model -> index in the table being written. */
typedef struct index_map {
    uint32_t *to; /* new index + 1; 0 = not used yet */
    u32s used;    /* model indices by new index */
} index_map;

/* Attributes of a scope that become fields of its profiles. */
enum { STRIP_ORDER = 1, STRIP_DEFAULT = 2 };

typedef struct dw {
    const model *m;
    buf *out;
    ledger *ledger;
    arena a, tmp;  /* a: for the whole message; tmp: for the current group */
    bool failed;   /* out of memory */
    uint8_t *role; /* attr_role by attribute */
    index_map stacks, locations, functions, mappings, links, attributes;
    VEC(str) strings;
    hash_index string_index;
    VEC(span) sets; /* dialect A: attribute sets; [0] is empty */
    u32s set_attrs;
    hash_index set_index;
    unsigned (*strips)(struct dw *w, const scope *s); /* STRIP_*; NULL: nothing */
    char where[64];                                   /* path of the current profile */
} dw;

NODISCARD bool dw_open(dw *w, const model *m, const write_opts *o, buf *out);
void dw_reset(dw *w); /* clears the tables for the next group */
/* Frees the writer. Returns ok; false with ERR_MEMORY when memory or the buffer ran out. */
NODISCARD bool dw_close(dw *w, bool ok, err *e);

void dw_note(dw *w, loss_concept c, const char *carried_as, str value, const char *what);

/* ---- tables ---- */
uint32_t dw_ref(dw *w, index_map *x, uint32_t model_i); /* finds or adds an entry */
static inline bool dw_known(const index_map *x, uint32_t i) { return x->to[i] != 0; }
uint32_t dw_string(dw *w, str s);
static inline uint32_t dw_model_string(dw *w, uint32_t i)
{
    return i ? dw_string(w, w->m->dict.strings.v[i]) : 0;
}
/* Returns the index of a set of these attributes except those with roles in `takes`; 0: none. */
uint32_t dw_set(dw *w, const uint32_t *attrs, size_t n, uint32_t takes);

/* Writes attributes as field `number`, and the number of dropped ones as field `dropped`. */
void dw_put_set(dw *w, const uint32_t *attrs, size_t n, uint32_t number, uint32_t dropped);

static inline bool dw_takes(const dw *w, uint32_t attr, uint32_t takes)
{
    return w->role[attr] != ROLE_NONE && (takes >> w->role[attr] & 1);
}
/* Returns the value of the first attribute with that role; NULL: none. */
const any *dw_find(const dw *w, const uint32_t *attrs, size_t n, attr_role role);
static inline const any *dw_profile_attr(const dw *w, const profile *p, attr_role role)
{
    return dw_find(w, refs_at(&w->m->dict.attr_refs, p->attrs), p->attrs.n, role);
}

/* Fields of a mapping that come from its attributes, and the roles of these attributes. */
typedef struct mapping_fields {
    str build_id;
    uint64_t kind;
    bool flags[4];
    uint32_t takes;
} mapping_fields;

/* kinds: the dialect has build_id_kind. single: flags are set one by one, not all four or none. */
mapping_fields dw_mapping_fields(const dw *w, const mapping *m, bool kinds, bool single);

typedef struct location_fields {
    str type; /* in the drafts' spelling */
    bool folded;
    uint32_t takes;
} location_fields;

location_fields dw_location_fields(const dw *w, const location *l);

/* Readers interpret index 0 as mapping 0 if that covers the address, otherwise as no mapping.
 * Returns whether an empty mapping must come first so that every location is read correctly. */
bool dw_needs_null_mapping(const dw *w);

/* ---- gather: everything that is used gets its index ---- */

void dw_gather_attrs(dw *w, const uint32_t *attrs, size_t n, uint32_t takes);
void dw_gather_mapping(dw *w, uint32_t i);
/* null_first: index 0 belongs to an empty mapping. */
void dw_gather_location(dw *w, bool null_first, uint32_t i);

/* ---- groups ---- */

/* Whether first[k] and *first come from one profile, according to their ids; true without ids. */
bool dw_same_id(const profile *first, size_t k);

/* Returns the number of profiles from `first` on that have the same header (id, times, payload, and
 * attributes other than `takes`) and for which `fits` returns true. */
size_t dw_group(const dw *w, const profile *first, size_t most, uint32_t takes,
                bool (*fits)(const dw *w, const profile *first, const profile *next));
/* Whether the samples of a and b have equal stacks, links, attributes, times and value counts. */
bool dw_aligned(const dw *w, const profile *a, const profile *b);

/* Returns 1 for delta, 2 for cumulative, other numbers unchanged; 0: not known. */
uint64_t dw_temporality(const dw *w, const profile *p);
/* Returns the period as a rate in Hz, or 0; records a loss if there is no such rate. */
uint64_t dw_sample_rate(dw *w, const profile *p);
/* Returns the end of the profile; 0: not known. */
uint64_t dw_end_time(dw *w, const profile *p);

/* ---- put ---- */

/* Begin and end a message or packed list whose length is not known yet:
 *     size_t at = dw_begin(b, 7); ... dw_end(b, at); */
size_t dw_begin(buf *b, uint32_t number);
void dw_end(buf *b, size_t at);
void dw_end_or_drop(buf *b, size_t at, uint32_t number); /* omits an empty one */
void dw_uint(buf *b, uint32_t number, uint64_t v);       /* omits 0 */
void dw_fixed64(buf *b, uint32_t number, uint64_t v);    /* omits 0 */
void dw_text(buf *b, uint32_t number, str s);            /* omits "" */
void dw_keyvalue(buf *b, uint32_t number, str key, const any *v);
void dw_keyvalue_ref(dw *w, uint32_t number, str key, const any *v); /* strings as indices */
/* Writes an attribute of the model as KeyValue; records the loss of its unit unless `units`. */
void dw_attribute(dw *w, uint32_t number, uint32_t attr, bool units);
void dw_link(buf *b, uint32_t number, const link_ids *l);
/* Writes the attributes of a profile other than `takes`. */
void dw_profile_attrs(dw *w, const profile *p, uint32_t number, uint32_t takes);

/* Writes profile_id: the profile's, or one derived from the bytes written until dw_id_end. */
size_t dw_id(dw *w, const profile *p);
void dw_id_end(dw *w, const profile *p, size_t at);

/* Writes the whole message; scope_fn writes the profiles of each scope (field 2). */
void dw_envelope(dw *w, void (*scope_fn)(dw *w, const scope *s));

/* ---- rows: one value, one time ---- */

typedef struct dw_row {
    int64_t value;
    uint64_t time; /* 0: none */
} dw_row;

/* Returns the number of rows of a sample; records a loss if rows cannot represent it. */
uint32_t dw_rows(dw *w, const sample *s);       /* a time of 0 means no time */
uint32_t dw_rows_timed(dw *w, const sample *s); /* a time of 0 is 1970 */
dw_row dw_row_at(const sample *s, uint32_t i);
