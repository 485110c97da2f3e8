/* store/told.h - what a profile that is the sum of others tells of them (query/summed.h reads it).  Pure. */
#pragma once
#include "model/graft.h"
#include "query/observed.h"
#include "store/store.h"

enum { TOLD_ATTRS = 4 };

/* The zero value is that of none. */
typedef struct told {
    uint32_t attrs[TOLD_ATTRS]; /* of the result: those that tell how to read the samples */
    uint32_t n_attrs;
    bool alone;               /* a cumulative profile is not added to others */
    uint64_t first, duration; /* recorded time: its begin (0: not known), and all of it */
    uint64_t n_samples;
    observed seen;
    double squares;   /* of the observations: query/diff.h tells noise by them */
    int64_t absolute; /* sum of the samples without their signs */
    bool negative;    /* there are signs */
} told;

/* Of a profile of g's model. */
void told_attrs(told *t, graft *g, const profile *p);
/* May profiles of the two be added up? */
bool told_fits(const told *a, const told *b);

/* The time that the profile covers, as far as it lies in the range. */
void told_time(told *t, const store_selector *q, const profile *p);
void told_sample(told *t, const sample *s);
/* All of its samples, of which the values have been read, and perhaps nothing else. */
void told_profile(told *t, const model *m, const profile *p);

/* Profiles and samples that were told are none of its any more. */
void told_forget(told *t);

/* Onto the newest profile of the builder. */
void told_put(const told *t, builder *b, profile *p);
