/* draw/flame_term.h - a flame graph in the cells of a terminal: a row a depth, the root on top.  Pure.
 *
 * In colour a box is ground with its name on it; without, box drawing keeps boxes apart:
 *     │all 1.17 s                                                   │
 *     │main.main 61.2 %                │runtime.mcall 38.8 %          │
 * A box takes the cells its edges round to; boxes of less than a cell are left out and counted. */
#pragma once
#include "draw/flame.h"
#include "draw/ink.h"

typedef struct flame_term_opts {
    size_t width; /* columns; 0: 80 */
    ink ink;
} flame_term_opts;

/* Appends rows, colours and what was left out.  Linear in the nodes.  ERR_LIMIT. */
NODISCARD bool flame_term(const flame *f, const flame_term_opts *o, arena *a, buf *out, err *e);
