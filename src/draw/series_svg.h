/* draw/series_svg.h - a series (query/timeline.h) as bars in one self-contained SVG.  Pure. */
#pragma once
#include "base/buf.h"
#include "draw/human.h"
#include "query/timeline.h"

typedef struct series_opts {
    str title, type, unit; /* shown in the header */
    human_clock clock;     /* clock of the series' times */
    size_t width;          /* pixels; 0: 1200 */
} series_opts;

/* Draws one bar per bucket.  If bars would be narrower than a pixel, neighbours are summed. */
NODISCARD bool series_svg(const series *s, const series_opts *o, buf *out, err *e);
