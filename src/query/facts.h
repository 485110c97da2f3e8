/* query/facts.h - the numbers that describe a profile.  Pure. */
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
    int64_t total;            /* sum of values, a timestamp without a value counts 1; saturates */
    bool saturated;
    /* The largest sum by leaf: innermost inlined function, otherwise "0x" and the address, "?" for a
     * sample without a stack.  Of equals the one whose bytes sort first. */
    bool has_top;
    str top_function;
    int64_t top_self;
} profile_facts;

/* Facts of all profiles of a checked model; *out lives in `a`, m->profiles.n of them.  Linear in the
 * model.  ERR_LIMIT at the budget. */
NODISCARD bool facts_of(const model *m, arena *a, profile_facts **out, err *e);

/* What `top` calls the leaf of a stack; memory from `a` for addresses.  {NULL, 0} at the budget. */
str leaf_name(const dict *d, uint32_t stack, arena *a);
