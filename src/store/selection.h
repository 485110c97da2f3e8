/* store/selection.h - the parameters that select stored samples, for the query API and the command
 * line.  Pure. */
#pragma once
#include "store/params.h"
#include "store/store.h"

/* Converts query, start, end, trace_id, span_id and profile_id (docs/query-api.md) to a selector in
 * memory of the arena.  An id in `query` must equal the parameter.  ERR_USAGE and ERR_MALFORMED
 * name the parameter. */
NODISCARD bool selection_of(const params *p, uint64_t now, arena *a, store_selector *out, err *e);

/* Returns whether `key` is one of these parameters. */
bool selection_has(str key);
