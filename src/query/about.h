/* query/about.h - what a profile says about itself besides its samples, for people: comments, aggregation temporality and
 * its other attributes.  Pure. */
#pragma once
#include "model/model.h"

typedef enum about_kind {
    ABOUT_ATTRIBUTE,
    ABOUT_COMMENT, /* pprof.profile.comment, or one of the Collector's pprof.profile.comment.0 ... */
    ABOUT_TEMPORALITY, /* kiln.aggregation_temporality with a text */
} about_kind;

/* Attribute i of a profile of a checked model. */
const attribute *profile_attribute(const model *m, const profile *p, uint32_t i);
about_kind attribute_about(const dict *d, const attribute *a);

/* "delta", "cumulative", or "" when the profile does not say. */
str profile_temporality(const model *m, const profile *p);

/* Comment i over all attributes of the profile; false behind the last one. */
bool profile_comment(const model *m, const profile *p, uint32_t i, str *out);
