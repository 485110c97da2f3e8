/* store/filter.h - which samples a selector means.  Pure.
 *
 * Labels are looked for in the resource, the scope, the profile and the sample; a matcher that an outer one settles is not asked
 * again inside.  What attributes say is asked once per entry of a dictionary. */
#pragma once
#include "store/store.h"
#include "base/buf.h"
#include "query/pattern.h"

/* The text of a value as a label; a view of the value or of `scratch`. */
str label_text(const any *v, buf *scratch);

enum { FILTER_MATCHERS = 32 };

/* Labels that a sample's link has: hex digits, or "" without one. */
typedef enum filter_id { FILTER_NO_ID, FILTER_TRACE, FILTER_SPAN } filter_id;

typedef struct filter_rule {
    str key;
    filter_id id;
    store_op op;
    str value;
    pattern *pattern; /* STORE_LIKE, STORE_NOT_LIKE */
    uint8_t *
        by_attribute; /* of the dictionary at hand: 0 not asked, 1 another key, 2 fits, 3 does not */
} filter_rule;

typedef struct filter {
    store_selector q;
    str type, unit; /* of q.type; unit.p NULL: any */
    filter_rule rules[FILTER_MATCHERS];
    size_t n_rules;
    bool looks_at_links;
    arena a;      /* patterns */
    arena memory; /* by_attribute */
    buf scratch;
    const model *m; /* its dictionary is the one at hand */
} filter;

NODISCARD bool filter_open(filter *f, const store_selector *q, err *e);
void filter_close(filter *f);

/* A dictionary is at hand until the next call.  ERR_LIMIT. */
NODISCARD bool filter_dict(filter *f, const model *m, err *e);

/* The label of a key in the envelope; NULL: it has none.  `made` is room for one. */
const any *envelope_label(const resource *r, const scope *s, str key, any *made);

/* Rules that are still open, as bits; or FILTER_NO: nothing of the profile is meant. */
typedef uint64_t filter_open_rules;
#define FILTER_NO UINT64_MAX

NODISCARD bool filter_envelope(filter *f, const resource *r, const scope *s,
                               filter_open_rules *open, err *e);
NODISCARD bool filter_type(const filter *f, str type, str unit);
/* Goes on with what filter_envelope left open. */
NODISCARD bool filter_profile(filter *f, const profile *p, filter_open_rules *open, err *e);
/* A sample, or none (NULL), against what is open. */
NODISCARD bool filter_sample(filter *f, const sample *s, const link_ids *l, filter_open_rules open,
                             bool *yes, err *e);
/* *may: some of the lists (numbers of `table`) that profiles and samples of a series have fit what is open; otherwise nothing
 * of the series is meant. */
NODISCARD bool filter_series(filter *f, const span *table, const u32s *profiles,
                             const u32s *samples, filter_open_rules open, bool *may, err *e);
/* Is it the link that the selector names?  NULL: the sample has none. */
bool filter_link(const filter *f, const link_ids *l);

/* Cuts the sample to the range: times and values move to the front of the scratch arrays if they have to.  false: nothing is
 * left.  ERR_LIMIT is *e. */
typedef struct cutter {
    arena *a;
    i64s values;
    u64s times;
} cutter;
bool filter_cut(const filter *f, cutter *c, uint64_t moment, sample *s, bool *failed);

static inline bool filter_has_time(const filter *f, uint64_t t)
{
    return t >= f->q.start && (!f->q.end || t < f->q.end);
}
/* Is all of [first, last] in the range? */
static inline bool filter_covers(const filter *f, uint64_t first, uint64_t last)
{
    return filter_has_time(f, first) && filter_has_time(f, last);
}
static inline bool filter_meets(const filter *f, uint64_t first, uint64_t last)
{
    return last >= f->q.start && (!f->q.end || first < f->q.end);
}
