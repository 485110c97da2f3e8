/* query/observed.h - how many observations the samples of a profile stand for (docs/glossary.md).  Pure.
 *
 * Timestamps and several values are one observation each.  A lone value without a timestamp may be the sum of many: a count of samples
 * says how many, and so does a sum of time whose period is known (pprof's cpu/nanoseconds at 10 ms).  Any other lone value counts as
 * one observation. */
#pragma once
#include "model/model.h"

typedef struct observed {
    uint64_t n;      /* known one by one */
    uint64_t n_sums; /* samples with a lone value */
    double sum;      /* of these values, absolute */
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

/* `d` is the dictionary that p's types are in. */
uint64_t observed_total(const observed *o, const dict *d, const profile *p);
