/* draw/term_color.h - colours on a terminal: 24 bits, the nearest of 256 colours, or none.  Pure. */
#pragma once
#include "base/buf.h"

typedef enum term_color {
    TERM_COLOR_NONE,
    TERM_COLOR_256,
    TERM_COLOR_RGB, /* 24 bits */
} term_color;

void term_color_front(buf *b, term_color i, uint32_t rgb);
void term_color_ground(buf *b, term_color i, uint32_t rgb);
void term_color_off(buf *b, term_color i);
