/* store/filter.h - decides which samples a selector selects. Pure.
 *
 * A label is looked up in the resource, the scope, the profile and the sample. A matcher that is
 * decided at one of these levels is not evaluated at the next. Each attribute of a dictionary is
 * compared only once. */
#pragma once
#include "store/store.h"
#include "base/buf.h"
#include "query/pattern.h"
#include "store/series_index.h"

/* Returns the value as label text: a view of the value or of `scratch`. */
str label_text(const any *v, buf *scratch);

enum { FILTER_MATCHERS = 32 };

/* Labels of a sample's link: hex digits, or "" without a link. */
typedef enum filter_id { FILTER_NO_ID, FILTER_TRACE, FILTER_SPAN } filter_id;

typedef struct filter_rule {
    str key;
    filter_id id;
    store_op op;
    str value;
    pattern *pattern; /* for STORE_LIKE, STORE_NOT_LIKE */
    /* for the current dictionary: 0 unknown, 1 another key, 2 matches, 3 does not match */
    uint8_t *by_attribute;
} filter_rule;

typedef struct filter {
    store_selector q;
    str type, unit; /* parts of q.type; unit.p NULL: any */
    filter_rule rules[FILTER_MATCHERS];
    size_t n_rules;
    bool needs_links;
    series_index series; /* of q.series */
    arena a;             /* for patterns and the index */
    arena memory;        /* for by_attribute */
    buf scratch;
    const model *m; /* the model with the current dictionary */
} filter;

NODISCARD bool filter_open(filter *f, const store_selector *q, err *e);
void filter_close(filter *f);

/* Indexes q.series. The seed is random, because senders choose what identifies a series. The caller
 * calls it once before filter_has_series. ERR_MEMORY. */
NODISCARD bool filter_index_series(filter *f, uint64_t seed, err *e);

/* Sets the dictionary for the following calls. Fails with ERR_MEMORY. */
NODISCARD bool filter_dict(filter *f, const model *m, err *e);

/* Returns the label of a key in resource or scope, or NULL. `made` is memory for a label that has
 * to be built. */
const any *envelope_label(const resource *r, const scope *s, str key, any *made);

/* Bits of the matchers that are undecided; FILTER_NO: nothing of the profile is selected. */
typedef uint64_t filter_open_rules;
#define FILTER_NO UINT64_MAX

NODISCARD bool filter_envelope(filter *f, const resource *r, const scope *s,
                               filter_open_rules *open, err *e);
NODISCARD bool filter_type(const filter *f, str type, str unit);
/* Sets *yes to whether q.series has the series of this profile. Types and units of p are strings of
 * d. ERR_MEMORY. */
NODISCARD bool filter_has_series(filter *f, const dict *d, const resource *r, const scope *s,
                                 const profile *p, bool *yes, err *e);
/* Evaluates matchers that filter_envelope left undecided. */
NODISCARD bool filter_profile(filter *f, const profile *p, filter_open_rules *open, err *e);
/* Evaluates the rest for a sample, or for a profile without samples (s NULL). */
NODISCARD bool filter_sample(filter *f, const sample *s, const link_ids *l, filter_open_rules open,
                             bool *yes, err *e);
/* Sets *may to whether attribute lists (numbers in `table`) of the profiles and samples of a series
 * can satisfy the undecided matchers. If not, nothing of the series is selected. */
NODISCARD bool filter_series(filter *f, const span *table, const u32s *profiles,
                             const u32s *samples, filter_open_rules open, bool *may, err *e);
/* Returns whether the link has the ids that the selector names. NULL: the sample has no link. */
bool filter_link(const filter *f, const link_ids *l);

/* Restricts the sample to the range; copies times and values to the scratch arrays if needed.
 * Returns false when nothing is left. Sets *failed when out of memory. */
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
/* Returns whether all of [first, last] is in the range. */
static inline bool filter_covers(const filter *f, uint64_t first, uint64_t last)
{
    return filter_has_time(f, first) && filter_has_time(f, last);
}
static inline bool filter_meets(const filter *f, uint64_t first, uint64_t last)
{
    return last >= f->q.start && (!f->q.end || first < f->q.end);
}
