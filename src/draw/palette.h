/* draw/palette.h - the colours of all pictures, for light and dark backgrounds, as 0xrrggbb. Pure.
 *
 * The colours are in palette.json, which the viewer imports too. The viewer
 * (ui/src/draw/palette.ts) also has the rules below, so that a package has the same colour in an
 * SVG, in a terminal and on the page. Tests of both sides read tests/support/flame_cases.txt. */
#pragma once
#include "base/str.h"

enum {
    PALETTE_HUES = 12,               /* for groups: packages, libraries */
    PALETTE_GREY = PALETTE_HUES,     /* one more row: the root */
    PALETTE_PALE = PALETTE_HUES + 1, /* four more rows: functions whose group is not known */
    PALETTE_ROWS = PALETTE_PALE + 4,
    PALETTE_SHADES = 3, /* shades of a row, to distinguish neighbours */
    PALETTE_BOXES = PALETTE_ROWS * PALETTE_SHADES,
    PALETTE_DIFF = 4,  /* steps in each direction: -4 shrank much ... 0 ... 4 grew much */
    PALETTE_HEAT = 16, /* levels; 0 is nearly the background */
};

/* Generated from palette.json by tools/palette. */
extern const uint32_t palette_boxes[PALETTE_ROWS][2][PALETTE_SHADES];
extern const uint32_t palette_diffs[2][2 * PALETTE_DIFF + 1];
extern const uint32_t palette_heats[2][PALETTE_HEAT];

static inline uint32_t palette_box(unsigned row, unsigned shade, bool dark)
{
    return palette_boxes[row][dark][shade];
}
static inline uint32_t palette_diff(int step, bool dark)
{
    return palette_diffs[dark][step + PALETTE_DIFF];
}
static inline uint32_t palette_heat(unsigned level, bool dark)
{
    return palette_heats[dark][level];
}

/* Returns the hue of a group from its name: the same in every run and in the viewer. */
unsigned palette_hue(str group);
/* Returns the hue to try next when a larger group has `hue`. */
static inline unsigned palette_next_hue(unsigned hue)
{
    return (hue + 5) % PALETTE_HUES; /* 5 and 12 are coprime: all hues are tried */
}
/* Returns the shade of a function.  *row is the hue of its group; PALETTE_GREY, for an unknown
 * group, is replaced by a pale row. */
unsigned palette_shade(str function, unsigned *row);

/* Returns a change as a step of palette_diff: a tenth more is one step, four times as much is four.
 * 0 also for a change within the noise of sampling: below three standard deviations of counts, when
 * a sample stands for after_size or before_size of the amounts. A size of 0: not known; the change
 * then counts as it is. */
int palette_step(double after, double before, double after_size, double before_size);

/* Returns the nearest of the 240 fixed colours of a 256-colour terminal: 16 .. 255. */
unsigned palette_256(uint32_t rgb);
