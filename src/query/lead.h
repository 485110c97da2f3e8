/* query/lead.h - the type that is shown when none is named.  Commands, reports, the store and the page follow one rule.
 *
 *   1. The default of a file with one scope is its first profile (P-42; readers of pprof put pprof's default there), unless all of
 *      its values are zero.
 *   2. Otherwise, and over several scopes, files or senders: cpu, then time off the CPU or of the wall clock, then memory in use,
 *      then everything else in the order of the file. */
#pragma once
#include "model/model.h"

/* 0 leads. */
unsigned lead_rank(str type);

/* The profile that leads among those that `out` does not mark; m->profiles.n: all are marked. */
uint32_t lead_profile(const model *m, const bool *out);
