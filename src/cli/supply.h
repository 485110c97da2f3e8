/* cli/supply.h - options that supply what an input does not record: id, time, type, schema URL. */
#pragma once
#include "cli/options.h"
#include "model/model.h"

typedef struct supply {
    bool has_id;
    uint8_t profile_id[16];
    uint64_t start, end, time_anchor; /* Unix ns; 0: not given */
    str schema_url, type, unit;
    bool any; /* whether any option was given */

    /* Set by supply_model: whether any profile used the value. */
    bool used_window, used_type, used_schema;
} supply;

/* Parses --profile-id, --start, --end, --schema-url, --sample-type and --time-anchor. Fails with
 * ERR_USAGE. */
NODISCARD bool supply_parse(const cli_options *o, supply *out, err *e);

/* Fills in missing values of the profiles; allocates from `a`. */
NODISCARD bool supply_model(supply *s, model *m, arena *a, err *e);
/* Gives the id to the first profile without one, and consecutive ids to the others. */
void supply_ids(const supply *s, model *m);
