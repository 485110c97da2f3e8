/* pyroscope/sample_types.h - the part sample_type_config of POST /ingest, and the defaults without
 * it. Pure.
 *
 *   {"alloc_space": {"units": "bytes", "aggregation": "sum", "display-name": "...",
 *                    "cumulative": true, "sampled": false}, ...} */
#pragma once
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

typedef struct sample_type_rule {
    str type, display_name; /* display_name may be empty */
    bool cumulative;        /* values count from the start of the process */
} sample_type_rule;

typedef struct sample_types {
    VEC(sample_type_rule) rules;
} sample_types;

/* Reads the configuration; an empty text gives the defaults. Errors have the offset in `json`. */
NODISCARD bool sample_types_read(str json, arena *a, sample_types *out, err *e);

/* Returns the rule of a type, or NULL. */
const sample_type_rule *sample_types_find(const sample_types *t, str type);
