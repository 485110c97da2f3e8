/* query/facts.h - computes the numbers that describe a profile.  Pure. */
#pragma once
#include "base/err.h"
#include "model/model.h"

typedef struct profile_facts {
    uint64_t samples;
    uint64_t observations; /* values, or timestamps of samples without values */
    uint64_t timestamps;
    uint64_t links;           /* samples with a link */
    uint64_t distinct_stacks; /* distinct lists of locations */
    uint32_t max_depth;       /* locations of the deepest stack */
    int64_t total;            /* sum of values; a timestamp without a value counts 1; saturates */
    bool saturated;
    /* The leaf with the largest sum: the innermost inlined function, "0x" and the address if there
     * is no function, "?" for samples without a stack. Of equal sums, the first in byte order. */
    bool has_top;
    str top_function;
    int64_t top_self;
} profile_facts;

/* Computes the facts of all m->profiles.n profiles of a checked model; *out lives in `a`.
 * Linear in the model. ERR_MEMORY. */
NODISCARD bool facts_of(const model *m, arena *a, profile_facts **out, err *e);

/* Returns the name of the leaf of a stack, as in `top`; addresses use memory from `a`.  {NULL,
 * 0} when out of memory. */
str leaf_name(const dict *d, uint32_t stack, arena *a);
