/* store/block.h - profiles of one series as columns.  Pure.  docs/store.md has the layout.
 *
 * Samples stay in the order in which they came, so nothing has to be kept about order; senders sort by time or by stack, and
 * either is cheap.  Attribute lists are numbers of the series, given in order of first use, and so are the first BLOCK_NEAR
 * stacks that it meets: what is frequent came early and is a small number.  Other stacks are numbers of the file. */
#pragma once
#include "store/chunk.h"
#include "store/column.h"
#include "store/tables.h"

enum { BLOCK_NEAR = 4096 };

/* ---- writing ---- */

/* A column being made.  Most have one value throughout, which is then all there is of them in memory. */
typedef struct steady {
    int64_t value;
    size_t n;    /* values so far */
    i64s varied; /* all of them, once two differed */
} steady;

typedef struct block_builder {
    /* by profile */
    steady samples, duration, identity, dropped, attrs, format, payload, sender, recognised, ledger,
        n_bytes;
    i64s seq, received, time;
    VEC(content_key) ids; /* profile ids, or keys where there is none */
    /* by sample */
    u32s stack, list, far; /* stack: number of the series + 1; 0: the next of `far` */
    steady link, n_values, n_times;
    /* pools */
    steady values;
    i64s times;
    VEC(link_ids) links;
    hash_index link_index;

    uint64_t first, last, n_observations;
    int64_t total; /* wraps */
} block_builder;

/* What is known of a profile beyond the model, as numbers of the file's tables. */
typedef struct block_profile {
    uint64_t seq, received, n_bytes;
    uint32_t attrs, format, sender, recognised, ledger;
    uint64_t payload; /* 0: none */
    content_key key;
} block_profile;

/* A profile of m with the links, values and timestamps of its samples.  Of each of them, in turn, block_add_stack and
 * block_add_list have to follow, for which there is room then. */
NODISCARD bool block_add_profile(block_builder *b, arena *a, const model *m, const profile *p,
                                 const block_profile *f);

/* near: number of the series + 1, or 0: `far` of the file. */
static inline void block_add_stack(block_builder *b, uint32_t near, uint32_t far)
{
    b->stack.v[b->stack.n++] = near;
    if (!near) b->far.v[b->far.n++] = far;
}

/* A number of the series. */
static inline void block_add_list(block_builder *b, uint32_t list)
{
    b->list.v[b->list.n++] = list;
}

void block_put(const block_builder *b, buf *out, zipper *z);

/* Marks say which profile, trace and span ids a block may hold: sorted 32-bit hashes. */
typedef enum mark_kind { MARK_PROFILE = 1, MARK_TRACE, MARK_SPAN } mark_kind;
uint32_t mark_of(mark_kind kind, const uint8_t *id, size_t n);
NODISCARD bool block_put_marks(const block_builder *b, arena *a, buf *out);
bool marks_have(str marks, uint32_t mark);

/* ---- reading ---- */

/* What the profiles of a series have in common; strings of the file's tables.  Not a `profile`, which is five times as large: a
 * reader keeps one of these for each series. */
typedef struct series_head {
    value_type sample_type, period_type;
    int64_t period;
    bool has_sample_type;
} series_head;

/* A profile that has these and nothing else. */
static inline profile series_head_profile(const series_head *h)
{
    return (profile){.sample_type = h->sample_type,
                     .period_type = h->period_type,
                     .period = h->period,
                     .has_sample_type = h->has_sample_type};
}

/* The series that a block belongs to. */
typedef struct block_series {
    resource resource;
    scope scope;
    series_head head;
    u32s stacks, lists; /* of the file, by number of the series */
    u32s profile_lists; /* that its profiles have */
} block_series;

enum {
    BLOCK_STACKS = 1,
    BLOCK_ATTRS = 2,
    BLOCK_LINKS = 4,
    BLOCK_VALUES = 8,
    BLOCK_TIMES = 16,
    BLOCK_FACTS = 32, /* sender, ledger and the like */
    BLOCK_ALL = 63,
};

typedef struct block {
    chunk c;
    model m;
    profile_facts *facts;
    uint64_t *payload; /* by profile: row of its original payload; 0: none */
} block;

/* The chosen columns; others are as if samples had none (stack 0, no attributes ...).  Numbers are checked.  false: damaged, or the
 * arena's budget. */
NODISCARD bool block_take(str data, const tables *t, const block_series *s, unsigned columns,
                          zipper *z, arena *a, block *out);

/* The keys of the profiles of a block, in the arena; type and unit are those of its series.  false: damaged, or the budget. */
NODISCARD bool block_take_keys(str data, str type, str unit, zipper *z, arena *a, content_key **out,
                               size_t *n);
