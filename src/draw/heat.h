/* draw/heat.h - draws a heat map (query/timeline.h) like FlameScope: columns are seconds, and rows
 * are parts of a second from bottom to top.  Pure.
 *
 * If the picture is too narrow for all seconds, a column covers several. */
#pragma once
#include "draw/human.h"
#include "draw/term_color.h"
#include "query/timeline.h"

typedef struct heat_opts {
    str title, type, unit; /* shown in the header */
    size_t width;          /* columns of the terminal or pixels; 0: 80, 1200 */
    human_clock clock;     /* clock of the heat map's times */
    term_color term_color; /* heat_term */
    str subject;           /* heat_svg: the inputs, quoted for a shell; "": no command is shown */
} heat_opts;

/* Appends rows of half blocks, or of shades without colour, with both axes. */
NODISCARD bool heat_term(const heat *h, const heat_opts *o, arena *a, buf *out, err *e);

/* Appends a self-contained SVG.  Its script shows values under the pointer; two clicks select a
 * range and show the command that draws it. */
NODISCARD bool heat_svg(const heat *h, const heat_opts *o, arena *a, buf *out, err *e);

/* ---- used by both (heat.c) ---- */
typedef struct heat_grid {
    uint32_t per; /* seconds per column */
    uint32_t columns, rows;
    int64_t *sum; /* [column * rows + row] */
    int64_t max;
} heat_grid;

NODISCARD bool heat_grid_of(const heat *h, size_t max_columns, arena *a, heat_grid *out, err *e);
/* Returns 0 for an empty cell, otherwise 1 .. PALETTE_HEAT - 1. */
unsigned heat_level(const heat_grid *g, int64_t v);
/* Returns the seconds between labels that are at least `apart` columns apart: 1, 2, 5, 10, 15,
 * 30, 60 ... */
uint64_t heat_tick(const heat_grid *g, double apart);
