/* query/spread.h - adds the values of intervals to the steps of time that they cover.  Pure.
 *
 * The value of an interval is spread evenly over its length. The first and the last step get their
 * shares at once; the steps between them, which all get the same, are noted as differences. So an
 * interval costs the same whatever the number of its steps. */
#pragma once
#include "query/extent.h"

/* Steps of time: step i is [start + i * step, + step), the last one ends at `end`. */
typedef struct spread_steps {
    uint64_t start, end, step;
} spread_steps;

/* Returns whether a part of the interval is between start and end. */
static inline bool spread_meets(const spread_steps *x, uint64_t from, uint64_t to)
{
    return from < x->end && to > x->start && from < to;
}

/* Adds the value of the interval [from, to), from < to, to `sum`, which has an entry for each step.
 * `whole` has one more entry and is added by spread_finish. The part of an interval outside of the
 * steps does not count; of an interval inside, exactly `value` does. */
void spread_add(const spread_steps *x, int64_t *sum, int64_t *whole, uint64_t from, uint64_t to,
                int64_t value);
/* Adds to the n sums what their steps have of intervals that cover them. */
void spread_finish(int64_t *sum, const int64_t *whole, size_t n);
