/* query/observed.h - the number of observations of a profile (docs/glossary.md).  Pure.
 *
 * Each timestamp is one observation, and so is each of several values.  A single value without a
 * timestamp may be a sum: a count of samples is the number of observations, and a sum of time is
 * divided by the period if that is known (cpu/nanoseconds of pprof at 10 ms).  Any other single
 * value is one observation. */
#pragma once
#include "model/model.h"

typedef struct observed {
    uint64_t n;      /* single observations */
    uint64_t n_sums; /* samples with a single value */
    double sum;      /* sum of the absolute values of these samples */
} observed;

static inline void observed_add(observed *o, const sample *s)
{
    if (s->n_values == 1 && !s->n_times) {
        o->n_sums++;
        o->sum += s->values[0] < 0 ? -(double)s->values[0] : (double)s->values[0];
    } else {
        o->n += sample_observations(s);
    }
}

/* Returns the number of observations. `d` is the dictionary that p's types refer to. */
uint64_t observed_total(const observed *o, const dict *d, const profile *p);
