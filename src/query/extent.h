/* query/extent.h - the time that an observation stands for.  Pure. */
#pragma once
#include "model/model.h"

typedef enum extent_kind {
    EXTENT_MOMENT, /* an event */
    EXTENT_BEFORE, /* a sample of a clock: the value is the time before the timestamp */
    EXTENT_AFTER,  /* an interval: it starts at the timestamp and lasts for the value */
} extent_kind;

/* Returns the kind of the observations of a profile of a checked model. */
extent_kind extent_kind_of(const model *m, const profile *p);

/* Sets [*start, *end] to the time of observation i, which has a timestamp. */
void extent_of(extent_kind k, const sample *s, uint32_t i, uint64_t *start, uint64_t *end);
