/* wire/otlp_v3_refs.h - decides whether references of OTEP 0239 are positions or ids.  Pure.
 *
 * The OTEP renamed pprof's location_id to location_index and kept `id` as a deprecated field.  A
 * converter from pprof may still write ids into the references; another producer writes positions
 * and sets `id` too. No field states which, so the references decide: those to a table are read in
 * the way that fits all of them. */
#pragma once
#include "base/arena.h"
#include "base/str.h"

typedef enum v3_table { V3_LOCATION, V3_FUNCTION, V3_MAPPING, V3_TABLES } v3_table;

typedef struct v3_reading {
    bool has_ids; /* an entry has an id other than 0; without any, references are positions */
    bool by_id;   /* references are ids */
    bool open;    /* both readings fit; read as positions, as the OTEP specifies */
    bool weak;    /* positions, only because a line has no function */
    bool broken;  /* neither reading fits all references */
    char why[96]; /* the evidence; "" without ids */
} v3_reading;

const char *v3_table_name(v3_table t); /* "location" */

/* Decides for one Profile, given as the pieces of its (possibly split) message.  Skips malformed
 * parts; the reader reports them.  `tmp` holds the ids.  Returns false at its budget. */
NODISCARD bool v3_refs_judge(const str *pieces, size_t n, arena *tmp, v3_reading out[V3_TABLES]);
