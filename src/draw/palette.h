/* draw/palette.h - the colours of all pictures, on light and on dark ground, as 0xrrggbb.  Pure.
 *
 * Computed in OKLCH so that hues of one row look equally bright: nothing shouts because of its name. */
#pragma once
#include "base/compiler.h"

enum {
    PALETTE_HUES = 12,           /* for groups: packages, libraries */
    PALETTE_GREY = PALETTE_HUES, /* one more hue: nothing is known */
    PALETTE_SHADES = 3,          /* of a hue, to tell neighbours apart */
    PALETTE_BOXES = (PALETTE_HUES + 1) * PALETTE_SHADES,
    PALETTE_DIFF = 4,  /* steps each way: -4 shrank much ... 0 ... 4 grew much */
    PALETTE_HEAT = 16, /* levels; 0 is nearly the ground */
};

uint32_t palette_box(unsigned hue, unsigned shade, bool dark);
uint32_t palette_diff(int step, bool dark);
uint32_t palette_heat(unsigned level, bool dark);

/* The nearest of the 240 fixed colours of a 256-colour terminal: 16 .. 255. */
unsigned palette_256(uint32_t rgb);
