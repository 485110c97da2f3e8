/* draw/flame_svg.h - a flame graph as one self-contained SVG, with zoom and search.  Pure.
 *
 *   title, numbers, colours      the header; the script adds the search field
 *   <g id="frames">              <g class="c7"><title>name, numbers, place</title><rect/><text/></g> ...
 *   omitted frames               a line at the bottom
 *
 * Groups are in order of the walk: a parent, then its children from left to right, so that the
 * script can rebuild the tree from depth and order.  The same flame gives the same bytes. */
#pragma once
#include "draw/flame.h"

typedef struct flame_svg_opts {
    double width; /* pixels; 0: 1200. The script adapts it to the window */
    double least; /* smallest width of a drawn box in pixels; 0: 0.1 */
    bool icicle;  /* the root is on top */
} flame_svg_opts;

/* Appends the picture to `out`. Linear in the nodes; bytes in proportion to the boxes drawn.
 * ERR_MEMORY when a budget is used up. */
NODISCARD bool flame_svg(const flame *f, const flame_svg_opts *o, arena *a, buf *out, err *e);
