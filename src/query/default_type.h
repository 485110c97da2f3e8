/* query/default_type.h - the default type, shown when the user names none.  Commands, reports, the store
 * and the page use this rule:
 *
 *   1. The default of a file with one scope is its first profile (P-42; readers of pprof put pprof's default
 *      there), unless all of its values are zero.
 *   2. Otherwise, and over several scopes, files or senders: cpu, then off-CPU or wall-clock time, then memory in
 *      use, then other types in the order of the file. */
#pragma once
#include "model/model.h"

/* Returns the rank of a type: 0 is the most preferred. */
unsigned default_type_rank(str type);

/* Returns the default profile among those that `out` does not mark; m->profiles.n when all are
 * marked. */
uint32_t default_profile(const model *m, const bool *out);
