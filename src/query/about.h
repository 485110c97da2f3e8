/* query/about.h - facts about a profile besides its samples: comments, aggregation temporality
 * and other attributes. Pure. */
#pragma once
#include "model/model.h"

typedef enum about_kind {
    ABOUT_ATTRIBUTE,
    ABOUT_COMMENT, /* pprof.profile.comment, or one of the Collector's pprof.profile.comment.0 ... */
    ABOUT_TEMPORALITY, /* kiln.aggregation_temporality with a string value */
} about_kind;

/* Return attribute i of a profile of a checked model, and its class. */
const attribute *profile_attribute(const model *m, const profile *p, uint32_t i);
about_kind attribute_about(const dict *d, const attribute *a);

/* Returns "delta", "cumulative", or "" when not known. */
str profile_temporality(const model *m, const profile *p);

/* Sets *out to comment i over all attributes of the profile. Returns false when there are fewer. */
bool profile_comment(const model *m, const profile *p, uint32_t i, str *out);
