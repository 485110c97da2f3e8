/* cli/supply.h - what the command line knows and a source lacks: identity, time, types. */
#pragma once
#include "cli/options.h"
#include "model/model.h"

typedef struct supply {
    bool has_id;
    uint8_t profile_id[16];
    uint64_t start, end, time_anchor; /* Unix ns; 0: not given */
    str schema_url, type, unit;
    bool any; /* something was given */

    /* Filled in by supply_model: did a profile take it? */
    bool used_window, used_type, used_schema;
} supply;

/* --profile-id, --start, --end, --schema-url, --sample-type, --time-anchor.  ERR_USAGE. */
NODISCARD bool supply_parse(const cli_options *o, supply *out, err *e);

/* Fills what the profiles of a source do not say; memory from `a`. */
NODISCARD bool supply_model(supply *s, model *m, arena *a, err *e);
/* The id for the first profile without one; the next get the ids that follow it. */
void supply_ids(const supply *s, model *m);
