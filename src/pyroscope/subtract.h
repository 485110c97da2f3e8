/* pyroscope/subtract.h - the difference of two cumulative pprof profiles. Pure. */
#pragma once
#include "model/ledger.h"
#include "model/model.h"
#include "pyroscope/sample_types.h"

/* Subtracts `before` from `now`: for cumulative types *out has the increase since, for other types
 * the values of `now`. Samples without a difference are dropped; a negative one (the process was
 * restarted) counts as 0. The inputs must outlive *out. */
NODISCARD bool pyro_subtract(const model *now, const model *before, const sample_types *t,
                             ledger *l, arena *a, model *out, err *e);
