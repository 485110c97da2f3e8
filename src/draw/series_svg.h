/* draw/series_svg.h - a series (query/timeline.h) as bars in one self-contained SVG.  Pure. */
#pragma once
#include "base/buf.h"
#include "draw/human.h"
#include "query/timeline.h"

typedef struct series_opts {
    str title, type, unit; /* for people */
    human_clock clock;     /* of the series' times */
    size_t width;          /* pixels; 0: 1200 */
} series_opts;

/* A bar a bucket; where bars would be narrower than a pixel, neighbours are added up. */
NODISCARD bool series_svg(const series *s, const series_opts *o, buf *out, err *e);
