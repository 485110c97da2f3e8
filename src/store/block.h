/* store/block.h - a block: profiles of one series as columns (layout: docs/store.md). Pure.
 *
 * Samples stay in the order in which they arrived. Senders sort by time or by stack, and both
 * compress well. Each series numbers its attribute lists and its first BLOCK_NEAR stacks in order
 * of first use: frequent stacks appear early and get small numbers. Other stacks are stored with
 * their number in the file's tables. */
#pragma once
#include "store/chunk.h"
#include "store/column.h"
#include "store/tables.h"

enum { BLOCK_NEAR = 4096 };

/* ---- writing ---- */

/* A column under construction. While all its values are equal, only that value and the count are in
 * memory. */
typedef struct steady {
    int64_t value;
    size_t n;    /* number of values */
    i64s varied; /* all values, once two of them differ */
} steady;

typedef struct block_builder {
    /* by profile */
    steady samples, duration, identity, dropped, attrs, format, payload, sender, recognised, ledger,
        n_bytes;
    i64s seq, received, time;
    VEC(content_key) ids; /* profile ids, or content keys of profiles without an id */
    /* by sample */
    u32s stack, list, far; /* stack: its number in the series + 1; 0: the next entry of `far` */
    steady link, n_values, n_times;
    /* pools */
    steady values;
    i64s times;
    VEC(link_ids) links;
    hash_index link_index;

    uint64_t first, last, n_observations;
    int64_t total; /* wraps around */
} block_builder;

/* Facts of a profile that the model does not have. Texts are numbers in the file's tables. */
typedef struct block_profile {
    uint64_t seq, received, n_bytes;
    uint32_t attrs, format, sender, recognised, ledger;
    uint64_t payload; /* 0: none */
    content_key key;
} block_profile;

/* Adds profile p of m with the links, values and timestamps of its samples. The caller then calls
 * block_add_stack and block_add_list for each sample, in order; memory for them is reserved. */
NODISCARD bool block_add_profile(block_builder *b, arena *a, const model *m, const profile *p,
                                 const block_profile *f);

/* Adds the stack of the next sample. near: its number in the series + 1; 0: `far` is its number in
 * the file. */
static inline void block_add_stack(block_builder *b, uint32_t near, uint32_t far)
{
    b->stack.v[b->stack.n++] = near;
    if (!near) b->far.v[b->far.n++] = far;
}

/* Adds the attribute list of the next sample, by its number in the series. */
static inline void block_add_list(block_builder *b, uint32_t list)
{
    b->list.v[b->list.n++] = list;
}

void block_put(const block_builder *b, buf *out, zipper *z);

/* Marks are sorted 32-bit hashes of the profile, trace and span ids that a block may contain. */
typedef enum mark_kind { MARK_PROFILE = 1, MARK_TRACE, MARK_SPAN } mark_kind;
uint32_t mark_of(mark_kind kind, const uint8_t *id, size_t n);
NODISCARD bool block_put_marks(const block_builder *b, arena *a, buf *out);
bool marks_have(str marks, uint32_t mark);

/* ---- reading ---- */

/* The properties that all profiles of a series have in common. Strings are numbers in the file's
 * tables. A reader stores one for each series; a `profile` would be five times as large. */
typedef struct series_head {
    value_type sample_type, period_type;
    int64_t period;
    bool has_sample_type;
} series_head;

/* Returns a profile with only these properties set. */
static inline profile series_head_profile(const series_head *h)
{
    return (profile){.sample_type = h->sample_type,
                     .period_type = h->period_type,
                     .period = h->period,
                     .has_sample_type = h->has_sample_type};
}

/* The series of a block. */
typedef struct block_series {
    resource resource;
    scope scope;
    series_head head;
    u32s stacks, lists; /* number in the file, by number in the series */
    u32s profile_lists; /* attribute lists of its profiles, as numbers in the file */
} block_series;

enum {
    BLOCK_STACKS = 1,
    BLOCK_ATTRS = 2,
    BLOCK_LINKS = 4,
    BLOCK_VALUES = 8,
    BLOCK_TIMES = 16,
    BLOCK_FACTS = 32, /* sender, ledger and other facts */
    BLOCK_ALL = 63,
};

typedef struct block {
    chunk c;
    model m;
    profile_facts *facts;
    uint64_t *payload; /* by profile: row of the original payload; 0: none */
} block;

/* Decodes the chosen columns and checks all numbers. Fields of other columns are zero (stack 0, no
 * attributes). Returns false when the data is damaged or the arena's budget is spent. */
NODISCARD bool block_take(str data, const tables *t, const block_series *s, unsigned columns,
                          zipper *z, arena *a, block *out);

/* Decodes the keys of the profiles of a block into the arena. type and unit are those of its
 * series. Returns false when the data is damaged or the arena's budget is spent. */
NODISCARD bool block_take_keys(str data, str type, str unit, zipper *z, arena *a, content_key **out,
                               size_t *n);
