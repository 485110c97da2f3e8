/* query/listing.h - values by source line, grouped by function, as `list` prints them.  Pure. */
#pragma once
#include "query/flat.h"
#include "query/pattern.h"

typedef struct listed_line {
    int64_t line, flat, cum;
} listed_line;

typedef struct listed {
    uint32_t name, file; /* texts of the frame table; file 0: not known */
    int64_t flat, cum;   /* sums over all its lines */
    size_t first, n;     /* in listing.lines, ascending */
} listed;

typedef struct listing {
    VEC(listed) v; /* by name, then file */
    VEC(listed_line) lines;
} listing;

/* Lists the functions whose name matches, from a view by BY_LINE.  Lines with the same number in
 * different binaries are combined. */
NODISCARD bool listing_of(const view *v, pattern *p, arena *a, listing *out, err *e);
