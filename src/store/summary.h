/* store/summary.h - the summary of the profiles that a sum consists of, stored as its attributes
 * (query/summed.h reads them). Pure. */
#pragma once
#include "model/importer.h"
#include "query/observed.h"
#include "store/store.h"

enum { SUMMARY_ATTRS = 4 };

/* The zero value is the summary of no profiles. */
typedef struct summary {
    /* numbers in the result: attributes that change how samples are read */
    uint32_t attrs[SUMMARY_ATTRS];
    uint32_t n_attrs;
    bool alone;               /* a cumulative profile, which is not added to others */
    bool drops;               /* names frames to drop from its stacks */
    uint64_t first, duration; /* start of the recorded time (0: unknown) and its total length */
    uint64_t n_samples;
    observed seen;
    double squares;   /* sum of squared observations: query/diff.h derives noise from it */
    int64_t absolute; /* sum of absolute sample values */
    bool negative;    /* some sample values are negative */
} summary;

/* Collects the attributes of p, a profile of g's model. */
void summary_attrs(summary *t, importer *g, const profile *p);
/* Returns whether profiles with these two summaries may be added up. */
bool summary_matches(const summary *a, const summary *b);

/* Adds the time that the profile covers within the range. */
void summary_time(summary *t, const store_selector *q, const profile *p);
void summary_sample(summary *t, const sample *s);
/* Adds all samples of the profile. Only their values need to be decoded. */
void summary_profile(summary *t, const model *m, const profile *p);

/* Removes all profiles and samples that were added. */
void summary_reset(summary *t);

/* Adds the attributes of summary_attrs to the newest profile of the builder. */
void summary_put_attrs(const summary *t, builder *b);
/* Adds these and the attributes of the sum to the newest profile of the builder. */
void summary_put(const summary *t, builder *b, profile *p);
