/* draw/svg.h - what all our SVGs have in common: frame, style, script.  Pure.
 *
 * A picture is one file without references: fonts are the reader's, scripts are inside, nothing is
 * fetched.  It is complete without scripts (titles are tooltips) and follows dark and light. */
#pragma once
#include "base/buf.h"
#include "base/str.h"

/* Generated from svg.css, flame.js and heat.js by tools/embed. */
extern const str svg_css, flame_js, heat_js;

enum {
    SVG_PAD = 12,        /* left and right of what is drawn */
    SVG_CHAR_MPX = 6625, /* width of a character of code (11 px) in thousandths of a pixel */
    SVG_NAME_MPX = 6300, /* the same of 12 px text in the reader's own font, on the safe side */
};

/* "<svg ...>" with the pieces every picture begins with; `data` is attributes for the script or "". */
void svg_begin(buf *b, double width, double height, const char *data);
/* `style` is what this picture adds to svg.css. */
void svg_style(buf *b, str style);
void svg_ground(buf *b);
/* "<text ...>" of a line of prose that fits `room` pixels. */
void svg_line(buf *b, const char *class_name, double x, double y, str text, double room);
/* The script, if there is one, and "</svg>". */
void svg_end(buf *b, str script);

/* A name in at most n columns: as it is, else without the directories of its package, else cut. */
void svg_name(buf *b, str name, size_t n);
