/* pyroscope/ingest_query.h - the query parameters of POST /ingest. Pure. */
#pragma once
#include "base/err.h"
#include "pyroscope/series_labels.h"

typedef struct ingest_query {
    str app;
    pyro_labels labels;
    uint64_t from, until; /* Unix ns; 0: not given */
    uint32_t sample_rate; /* per second; 100 */
    str format, spy;      /* empty: not given */
} ingest_query;

enum { INGEST_SAMPLE_RATE = 100 };

/* Parses `name=...&from=...`. Unknown parameters, units and aggregationType are ignored: the types
 * of the body define them. Texts are in `a`. Errors name the parameter. */
NODISCARD bool ingest_query_parse(str query, uint64_t now, arena *a, ingest_query *out, err *e);
