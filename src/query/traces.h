/* query/traces.h - the traces that samples belong to.  Pure. */
#pragma once
#include "base/err.h"
#include "base/hash.h"
#include "base/stopper.h"
#include "model/model.h"

typedef struct trace_row {
    uint8_t trace_id[16];
    uint64_t n_spans, n_samples;
    /* from the start of its first observation to the end of its last; 0: no timestamps */
    uint64_t first, last;
    VEC(str) services; /* distinct service.name, in order of their first sample */
} trace_row;

typedef struct trace_rows {
    VEC(trace_row) v;
} trace_rows;

typedef enum trace_order { TRACES_BY_DURATION, TRACES_BY_TIME, TRACES_BY_SAMPLES } trace_order;

/* Finds the traces of a checked model that last at least min_ns, and sorts them: the longest, the
 * latest or those with most samples first.  ERR_MEMORY. */
NODISCARD bool traces_of(const model *m, uint64_t min_ns, trace_order by, stopper *stop, arena *a,
                         trace_rows *out, err *e);
