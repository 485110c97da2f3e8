/* query/listing.h - values by line of source, grouped by function: what `list` prints.  Pure. */
#pragma once
#include "query/flat.h"
#include "query/pattern.h"

typedef struct listed_line {
    int64_t line, flat, cum;
} listed_line;

typedef struct listed {
    uint32_t name, file; /* texts of the frame table; file 0: not known */
    int64_t flat, cum;   /* of all its lines */
    size_t first, n;     /* in listing.lines, rising */
} listed;

typedef struct listing {
    VEC(listed) v; /* by name, then file */
    VEC(listed_line) lines;
} listing;

/* Functions whose name matches, of a view by BY_LINE.  Lines of equal number in different binaries are
 * one. */
NODISCARD bool listing_of(const view *v, pattern *p, arena *a, listing *out, err *e);
