/* query/cumulative.h - profiles whose values count from a fixed start, as old layouts allow. Pure.
 *
 * Adding such profiles up counts the same observations repeatedly. Among cumulative profiles with
 * the same resource, type and start, the newest includes all others, and the difference between two
 * neighbours covers the time between them. */
#pragma once
#include "base/err.h"
#include "model/model.h"

/* Returns whether the attribute kiln.aggregation_temporality of the profile is "cumulative". */
bool profile_is_cumulative(const model *m, const profile *p);

typedef struct cumulative_ref {
    size_t model; /* index into the models that were searched */
    uint32_t profile;
    bool replaced;  /* a newer profile of the series includes this one */
    int64_t before; /* index in `cumulative` of the previous profile of the series, or -1 */
} cumulative_ref;

typedef struct cumulative {
    cumulative_ref *v; /* sorted by series, then by time */
    size_t n;
} cumulative;

/* Finds all cumulative profiles of n models and their order within each series.  O(n log n). */
NODISCARD bool cumulative_find(const model *const *m, size_t n, arena *a, cumulative *out, err *e);

/* Empties every cumulative profile of the n models that a newer profile of any of them includes:
 * the profile keeps its index but has no samples and no attributes, so that it adds nothing to a
 * view. Only the profile tables of the models change. ERR_LIMIT when the budget of `a` is used up;
 * the models are then unchanged. */
NODISCARD bool cumulative_empty_replaced(model *const *m, size_t n, arena *a, err *e);

/* Removes cumulative profiles that a newer profile of the model includes.  The scopes must be in
 * the order of their profiles, as the builder creates them. */
NODISCARD bool cumulative_keep_newest(model *m, arena *a, err *e);

/* A level (profile_is_level) is an amount in use at one time, such as live heap, and cannot be
 * added up over time.  Among levels with the same resource and type, those that end before the
 * newest lose their samples. O(n log n). */
NODISCARD bool levels_keep_newest(model *m, arena *a, err *e);
