/* check/internal.h - declarations that the files of src/check share: rule numbers, the collector of
 * findings, canonical entries, reachability. */
#pragma once
#include "base/hash.h"
#include "base/vec.h"
#include "check/check.h"
#include "wire/pb.h"
#include "wire/schema.h"

/* ---- rules by number: the order of the table in check_rules.c ---- */

/* clang-format off */
#define CHECK_RULES(X)                                                                             \
    X(P01) X(P02) X(P03) X(P04) X(P05) X(P06) X(P07) X(P08) X(P09) X(P10) X(P11) X(P12) X(P13)     \
    X(P20) X(P21) X(P22) X(P23) X(P24) X(P25) X(P26) X(P27) X(P28) X(P29) X(P30) X(P31) X(P32)     \
    X(P33) X(P40) X(P41) X(P42) X(P43) X(P44) X(P45) X(P46) X(P47) X(P48) X(P49) X(P50) X(P51)     \
    X(P52) X(P53) X(P54) X(P55) X(P56) X(P57) X(P60) X(P61) X(P62) X(P63) X(P64) X(P65) X(P66)     \
    X(P67) X(P68) X(P70) X(P71) X(P72) X(P73) X(P74) X(P75) X(P76) X(P77) X(P78) X(P79) X(P80)     \
    X(P81) X(P82)                                                                                  \
    X(L01) X(L02) X(L03) X(L04) X(L05) X(L06) X(L07) X(L08) X(L09) X(A01) X(A02) X(A03) X(E01)     \
    X(E02) X(E03) X(E04) X(E05) X(S01) X(S02) X(S03) X(S04) X(S05) X(S06) X(S07) X(S08) X(S09)     \
    X(S10) X(S11) X(S12) X(S13) X(S14) X(S15) X(S16) X(S17) X(S18) X(S19) X(S20) X(S21) X(S22)     \
    X(S23) X(S24) X(S25) X(S26) X(S27) X(S28) X(S29) X(S30) X(S31) X(S32) X(S33) X(S34) X(S35)     \
    X(S36) X(S37) X(S38) X(S39) X(S40) X(S41) X(S42) X(S43) X(S44) X(S45) X(S46) X(S47) X(S48)     \
    X(S49) X(S50) X(S51) X(S52) X(S53) X(S54) X(S55) X(S56) X(S57) X(S58) X(S59) X(S60) X(S61)     \
    X(S62) X(S63) X(S64) X(S65) X(S66) X(S67)                                                      \
    X(UNKNOWN) X(WIRE)
/* clang-format on */

typedef enum rule_no {
#define X(id) RULE_##id,
    CHECK_RULES(X)
#undef X
        RULE_COUNT
} rule_no;

extern const check_rule check_rule_table[RULE_COUNT];

/* ---- the collector ---- */

enum { CHECK_PATH_MAX = 1024, CHECK_TEXT_MAX = 200 };

typedef struct tally {
    uint64_t count;
    check_example *ex;
    size_t n;
} tally;

typedef struct canon canon;

typedef struct checker {
    arena *a;      /* the report */
    arena tmp;     /* everything else; freed before the report is returned */
    unsigned kind; /* the layout or check_kind whose rules are on */
    bool plain;    /* the bytes are not those of the input: examples have no offset */
    const model *m;
    const canon *canon;     /* NULL when no rule that is on needs it */
    const uint32_t *key_of; /* attribute -> canonical string of its key (NO_KEY: out of range) */
    uint32_t *stamp;        /* string -> tick of the last list that has it as a key */
    uint32_t *stamp_at;     /* string -> position in that list */
    uint32_t tick;
    u32s
        bad_links; /* entries of link_table with an id of a wrong length: a model has zeros there */
    u32s used_strings; /* strings that only the bytes refer to (comments of 1.8) */
    size_t max_examples;
    bool failed; /* memory ran out */
    bool on[RULE_COUNT];
    tally by[RULE_COUNT];
    const char *notes[CHECK_NOTES];
    size_t n_notes;
    char path[CHECK_PATH_MAX], text[CHECK_TEXT_MAX], expected_text[CHECK_TEXT_MAX];
} checker;

#define NO_KEY UINT32_MAX

/* Reads the options: ERR_USAGE for an unknown id.  Rules that `kind` does not have are off. */
NODISCARD bool checker_open(checker *c, const check_opts *o, unsigned kind, arena *a, err *e);
/* Builds the report and frees temporary memory; ERR_MEMORY when memory ran out during the check. */
NODISCARD bool checker_finish(checker *c, check_report *out, err *e);
void checker_note(checker *c, const char *fmt, ...) PRINTF(2, 3);

/* Appends to a list of indices in c->tmp. Returns false when memory runs out. */
static inline bool checker_list(checker *c, u32s *to, uint64_t i)
{
    uint32_t *x = vec_push(&c->tmp, to);
    if (!x) return !(c->failed = true);
    *x = (uint32_t)i;
    return true;
}

/* Counts a violation. Returns true for the first few, which are reported as examples:
 *     if (violated(c, RULE_P74)) report(c, RULE_P74, at(c, "..."), found_text(c, "..."), "..."); */
static inline bool violated(checker *c, rule_no r)
{
    return c->on[r] && c->by[r].count++ < c->max_examples;
}

const char *at(checker *c, const char *fmt, ...) PRINTF(2, 3);            /* a path */
const char *found_text(checker *c, const char *fmt, ...) PRINTF(2, 3);    /* what was found */
const char *expected_text(checker *c, const char *fmt, ...) PRINTF(2, 3); /* what is expected */
void report(checker *c, rule_no r, const char *path, const char *found, const char *expected);
void report_at(checker *c, rule_no r, uint64_t offset, const char *path, const char *found,
               const char *expected);

/* Writes untrusted text for a message to out[n]: quoted, truncated, with control characters and
 * invalid bytes as \xNN. */
const char *quote(str s, char *out, size_t n);

/* ---- paths ---- */

#define NO_INDEX UINT64_MAX

/* One step of a path, linked outward; on the stack of a recursive walk. */
typedef struct step {
    const struct step *up;
    const char *name;
    uint64_t index; /* NO_INDEX: a singular field */
} step;

const char *at_step(checker *c, const step *s); /* the whole path */

/* Returns "resource_profiles[0].scope_profiles[1].profiles[2]" and the suffix. */
const char *at_profile(checker *c, size_t profile, const char *fmt, ...) PRINTF(3, 4);
const char *at_scope(checker *c, size_t scope, const char *fmt, ...) PRINTF(3, 4);

/* Sets the missing offsets of examples from their paths, in one walk over the bytes. */
NODISCARD bool check_locate(checker *c, const void *p, size_t n);

/* ---- areas: each checks its part of c->m ---- */

/* check_wire.c: rules on bytes. With `deep`, also checks inside samples, stacks, locations and
 * functions, where only unknown fields can be found. */
void check_wire(checker *c, const void *p, size_t n, bool deep);
/* One rule each: bytes that do not parse, invalid UTF-8, a packed list, a field that is not in the
 * schema.  Offsets count from `base`. */
void wire_broken(checker *c, const step *self, const err *e);
void wire_text(checker *c, const uint8_t *base, const pb_field *f, const step *s);
void wire_packed(checker *c, const uint8_t *base, const field_desc *fd, const pb_cur *outer,
                 const pb_field *f, const step *s);
void wire_unknown(checker *c, const uint8_t *base, const message_desc *m, const pb_field *f,
                  const step *self);

/* check_layout.c: the rules on p[0..n), a message of an older layout or a draft, by its schema.
 * With `rest`, only rules that check_model does not have (1.8: temporality). */
void check_layout(checker *c, const message_desc *root, const void *p, size_t n, bool rest);

void check_tables(checker *c);     /* P-01 P-02 P-03 P-06 of the tables */
void check_dict(checker *c);       /* mappings, locations, functions */
void check_attributes(checker *c); /* entries of attribute_table */
void check_dupes(checker *c);      /* P-07 */
void check_orphans(checker *c);    /* P-10 */
void check_envelope(checker *c);   /* resources, scopes, keys of all nested lists */
void check_profiles(checker *c);
void check_samples(checker *c);

/* Reports P-06: index i is outside its table of n entries. The path comes from at(). */
void bad_index(checker *c, const char *path, uint32_t i, size_t n);

/* The owner of a list of attribute indices. */
typedef enum owner_kind { OWNER_MAPPING, OWNER_LOCATION, OWNER_PROFILE, OWNER_SAMPLE } owner_kind;
typedef struct owner {
    owner_kind kind;
    size_t i, j; /* entry, or profile and sample */
} owner;
/* Checks P-06, P-21 and P-28 on one list. */
void check_attr_list(checker *c, owner w, const uint32_t *v, size_t n);

/* Returns whether a unit is valid UCUM, case sensitive, by the grammar of the specification. */
bool ucum_ok(str unit);
/* Returns the UCUM code for a unit that profilers use ("bytes" -> "By"), or NULL. */
const char *ucum_for(str unit);

/* Returns v + at; NULL for a pool without memory. */
static inline const uint32_t *pool_at(const u32s *pool, size_t at)
{
    return pool->v ? pool->v + at : NULL;
}

/* Returns the largest of v[0..n), 0 for none. Reads four at a time, because compilers do not
 * vectorize the loop at -O2. */
static inline uint32_t u32_max(const uint32_t *v, size_t n)
{
    uint32_t m[4] = {0};
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (size_t k = 0; k < 4; k++) m[k] = v[i + k] > m[k] ? v[i + k] : m[k];
    for (; i < n; i++) m[0] = v[i] > m[0] ? v[i] : m[0];
    m[0] = m[1] > m[0] ? m[1] : m[0];
    m[2] = m[3] > m[2] ? m[3] : m[2];
    return m[2] > m[0] ? m[2] : m[0];
}

/* Hashes computed ahead of the lookups, so that their slots are prefetched. */
enum { HASH_AHEAD = 16 };

static inline void hash_prefetch(const hash_index *x, uint64_t h)
{
    __builtin_prefetch(&x->slot[hash_first(x, h)]);
}

/* ---- canonical entries: equal by resolved value, recursively ---- */

struct canon {
    /* entry -> first equal entry; NULL: the table has no duplicates */
    uint32_t *strings, *attributes, *mappings, *functions, *locations, *stacks, *links;
    size_t n_dupes;
};

static inline uint32_t canon_of(const uint32_t *map, uint32_t i, size_t n)
{
    return map && i < n ? map[i] : i;
}

/* Accepts indices outside their tables: each equals only itself. Returns false without memory. */
NODISCARD bool canon_build(const model *m, arena *a, canon *out);

/* Sorts v[0..n) and drops repeats; returns the new length. */
size_t sort_unique(uint32_t *v, size_t n);

/* ---- reachability ---- */

typedef struct reach {
    /* entry -> 1 when a profile, sample, resource or scope refers to it; entry 0 always */
    uint8_t *strings, *attributes, *mappings, *functions, *locations, *stacks, *links;
} reach;

/* With `by`, references are followed to the canonical entry. Returns false without memory. */
NODISCARD bool reach_build(const model *m, const canon *by, arena *a, reach *out);
