/* query/extent.h - the time that an observation stands for.  Pure. */
#pragma once
#include "model/model.h"

typedef enum extent_kind {
    EXTENT_MOMENT, /* an event */
    EXTENT_BEFORE, /* a sample of a clock: the value is the time before the timestamp */
    EXTENT_AFTER,  /* an interval: it starts at the timestamp and lasts for the value */
} extent_kind;

/* How to read the observations of a profile. */
typedef struct extent {
    extent_kind kind;
    uint64_t most; /* EXTENT_BEFORE: the period.  A larger value contains time before a wait */
    double unit;   /* of the values, in ns */
} extent;

/* Returns the extent of a profile of a checked model. */
extent extent_of(const model *m, const profile *p);

/* Sets [*start, *end] to the time of observation i, which has a timestamp. */
void extent_at(const extent *x, const sample *s, uint32_t i, uint64_t *start, uint64_t *end);
