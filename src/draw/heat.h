/* draw/heat.h - a heat map (query/timeline.h): columns are seconds, rows parts of a second from the bottom
 * up, so that time runs up a column and on in the next (FlameScope).  Pure.
 *
 * Where the picture is narrower than the seconds, a column holds several of them. */
#pragma once
#include "draw/human.h"
#include "draw/ink.h"
#include "query/timeline.h"

typedef struct heat_opts {
    str title, type, unit; /* for people */
    size_t width;          /* columns of the terminal or pixels; 0: 80, 1200 */
    human_clock clock;     /* of the heat map's times */
    ink ink;               /* heat_term */
    str subject; /* heat_svg: the inputs as a shell wants them; "": no command is offered */
} heat_opts;

/* Rows of half blocks, or of shades without colour, with both axes. */
NODISCARD bool heat_term(const heat *h, const heat_opts *o, arena *a, buf *out, err *e);

/* One self-contained SVG.  The script adds values under the pointer; two clicks choose a range and say the
 * command that draws it. */
NODISCARD bool heat_svg(const heat *h, const heat_opts *o, arena *a, buf *out, err *e);

/* ---- what both share (heat.c) ---- */
typedef struct heat_grid {
    uint32_t per; /* seconds of a column */
    uint32_t columns, rows;
    int64_t *sum; /* [column * rows + row] */
    int64_t max;
} heat_grid;

NODISCARD bool heat_grid_of(const heat *h, size_t max_columns, arena *a, heat_grid *out, err *e);
/* 0: nothing was there; 1 .. PALETTE_HEAT - 1. */
unsigned heat_level(const heat_grid *g, int64_t v);
/* Seconds between two labels that are at least `apart` columns apart: 1, 2, 5, 10, 15, 30, 60 ... */
uint64_t heat_tick(const heat_grid *g, double apart);
