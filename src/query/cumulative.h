/* query/cumulative.h - profiles that hold everything since their start, as old layouts could say.  Pure.
 *
 * Adding them up would count the same thing again and again.  Of several with the same resource, type and
 * start the newest holds all the others, and the difference of two neighbours is what happened between. */
#pragma once
#include "base/err.h"
#include "model/model.h"

/* Does kiln.aggregation_temporality say so? */
bool profile_is_cumulative(const model *m, const profile *p);

typedef struct cumulative_ref {
    size_t model;
    uint32_t profile;
    bool replaced;  /* a newer one holds it */
    int64_t before; /* position of the one that came before it in the same series, or -1 */
} cumulative_ref;

typedef struct cumulative {
    cumulative_ref *v; /* in order of series and time */
    size_t n;
} cumulative;

/* Levels (profile_is_level: what is in use at a time) make no sum: of those with the same resource and type, the ones that end before the
 * newest lose their samples.  n log n. */
NODISCARD bool levels_keep_newest(model *m, arena *a, err *e);

/* All cumulative profiles of n models and how they follow each other; n log n. */
NODISCARD bool cumulative_find(const model *const *m, size_t n, arena *a, cumulative *out, err *e);

/* Takes profiles that a newer one holds out of a model whose scopes are in the order of their profiles, as builders make them. */
NODISCARD bool cumulative_keep_newest(model *m, arena *a, err *e);
