/* query/summed.h - facts of profiles that are sums of stored profiles (docs/attributes.md).
 * Pure. */
#pragma once
#include "model/model.h"

typedef struct summed {
    bool is;            /* the profile is a sum */
    uint64_t n_samples; /* numbers of the summed profiles */
    uint64_t n_observations;
    double squares;   /* sum of the squares of their observations */
    int64_t absolute; /* sum of the absolute values; 0: no value was negative */
} summed;

summed profile_summed(const model *m, const profile *p);
