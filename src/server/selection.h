/* server/selection.h - the parameters that say what a question is about, for those who ask over HTTP and on the command line.  Pure. */
#pragma once
#include "server/params.h"
#include "store/store.h"

/* query, start, end, trace_id, span_id and profile_id (docs/query-api.md) as a selector, whose memory is the arena's.  What
 * `query` says of an id goes before the parameter.  ERR_USAGE, ERR_MALFORMED: the parameter is named. */
NODISCARD bool selection_of(const params *p, uint64_t now, arena *a, store_selector *out, err *e);

/* Is it one of them? */
bool selection_has(str key);
