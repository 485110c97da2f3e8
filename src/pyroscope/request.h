/* pyroscope/request.h - one request of Pyroscope's query services, decoded.  Pure.
 *
 * All requests share one struct, because they share most of their fields.  A field that a request
 * does not have is zero. */
#pragma once
#include "base/err.h"
#include "base/vec.h"
#include "pyroscope/messages.h"

enum { PYRO_LIST_MAX = 1000 }; /* elements of one list in a request */

typedef VEC(str) pyro_texts;

typedef enum pyro_format {
    PYRO_FORMAT_DEFAULT, /* a flame graph */
    PYRO_FORMAT_FLAMEGRAPH,
    PYRO_FORMAT_TREE,
    PYRO_FORMAT_DOT,
    PYRO_FORMAT_PPROF,
} pyro_format;

typedef enum pyro_aggregation { PYRO_SUM, PYRO_AVERAGE } pyro_aggregation;

typedef enum pyro_exemplars {
    PYRO_EXEMPLARS_DEFAULT, /* none */
    PYRO_EXEMPLARS_NONE,
    PYRO_EXEMPLARS_INDIVIDUAL,
    PYRO_EXEMPLARS_SPAN,
} pyro_exemplars;

typedef struct pyro_request {
    int64_t start, end; /* Unix ms, both included */
    str profile_type;   /* the id, process_cpu:cpu:nanoseconds:cpu:nanoseconds */
    str selector;
    pyro_texts matchers; /* selectors, all of which must match */
    pyro_texts label_names, group_by, call_site;
    pyro_texts profile_ids, trace_ids, span_ids; /* as sent */
    double step;                                 /* seconds */
    int64_t max_nodes, limit;
    bool has_max_nodes, has_limit;
    uint64_t format, aggregation, exemplars, heatmap;
    str name, value, id, right_id, adhoc_type, profile, service, query;
    struct pyro_request *left, *right; /* of Diff; may be NULL */
} pyro_request;

/* Decodes one message of type `d`; `d` may be NULL for a message without fields.  Texts are views
 * of `bytes`.  Unknown fields are ignored.  ERR_MALFORMED, ERR_LIMIT, ERR_MEMORY. */
NODISCARD bool pyro_request_read(const message_desc *d, str bytes, arena *a, pyro_request *out,
                                 err *e);

/* Adds to an error in selector i of `texts` the name of the field that holds it.  Returns false. */
bool pyro_request_name(const pyro_request *r, const pyro_texts *texts, size_t i, err *e);
