/* wire/otlp_v3_refs.h - OTEP 0239: does a reference name a position or an id?  Pure.
 *
 * The document renamed pprof's location_id to location_index and kept `id` as a deprecated field.  A
 * converter from pprof may still write ids into the references, another producer writes positions and
 * fills `id` besides.  No field says which.  The references do: each table is read the way that fits
 * all references to it. */
#pragma once
#include "base/arena.h"
#include "base/str.h"

typedef enum v3_table { V3_LOCATION, V3_FUNCTION, V3_MAPPING, V3_TABLES } v3_table;

typedef struct v3_reading {
    bool has_ids; /* an entry has an id other than 0; without any, references are positions */
    bool by_id;   /* references are ids */
    bool open; /* both readings fit and nothing decides: read as positions, as the document says */
    bool weak; /* by position because of a line without a function alone */
    bool broken;  /* neither reading fits all references */
    char why[96]; /* the evidence; "" without ids */
} v3_reading;

const char *v3_table_name(v3_table t); /* "location" */

/* Judges one Profile, given as the pieces of its (possibly split) message.  Malformed parts are
 * skipped: the reader reports them.  `tmp` holds the ids.  false at the budget. */
NODISCARD bool v3_refs_judge(const str *pieces, size_t n, arena *tmp, v3_reading out[V3_TABLES]);
