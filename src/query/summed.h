/* query/summed.h - profiles that are sums of others, as a store gives them (docs/attributes.md): they say what they were made of.  Pure. */
#pragma once
#include "model/model.h"

typedef struct summed {
    bool is;            /* the profile says so */
    uint64_t n_samples; /* that were added up */
    uint64_t n_observations;
    double squares;   /* of the values of their observations */
    int64_t absolute; /* sum of the samples without their signs; 0: there were none */
} summed;

summed profile_summed(const model *m, const profile *p);
