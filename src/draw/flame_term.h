/* draw/flame_term.h - a flame graph in the cells of a terminal: one row per depth, the root at the
 * top.  Pure.
 *
 * In colour, a box is a coloured background with its name on it.  Without colour, lines separate
 * boxes:
 *     │all 1.17 s                                                   │
 *     │main.main 61.2 %                │runtime.mcall 38.8 %          │
 * The edges of a box are rounded to cells; boxes of less than a cell are omitted and counted. */
#pragma once
#include "draw/flame.h"
#include "draw/term_color.h"

typedef struct flame_term_opts {
    size_t width; /* columns; 0: 80 */
    term_color term_color;
} flame_term_opts;

/* Appends the rows, the legend and the number of omitted frames.  Linear in the nodes.
 * ERR_MEMORY. */
NODISCARD bool flame_term(const flame *f, const flame_term_opts *o, arena *a, buf *out, err *e);
