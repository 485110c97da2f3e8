/* draw/svg.h - the parts that all SVGs share: frame, style, script.  Pure.
 *
 * A picture is one file without references: it uses the fonts of the reader and includes its
 * scripts.  It is complete without scripts (titles are tooltips) and adapts to dark mode. */
#pragma once
#include "base/buf.h"
#include "base/str.h"

/* Generated from svg.css, flame.js and heat.js by tools/embed. */
extern const str svg_css, flame_js, heat_js;

enum {
    SVG_PAD = 12,        /* margin on the left and right */
    SVG_CHAR_MPX = 6625, /* width of a character of code (11 px) in thousandths of a pixel */
    SVG_NAME_MPX =
        6300, /* width of a character of 12 px text in the reader's font; an upper estimate */
};

/* Starts a picture: "<svg ...>".  `data` is attributes for the script, or "". */
void svg_begin(buf *b, double width, double height, const char *data);
/* Writes svg.css and `style`, the rules of this picture. */
void svg_style(buf *b, str style);
void svg_ground(buf *b);
/* Writes a line of text, truncated to `room` pixels. */
void svg_line(buf *b, const char *class_name, double x, double y, str text, double room);
/* Ends a picture: the script, if there is one, and "</svg>". */
void svg_end(buf *b, str script);

/* Writes a name in at most n columns: whole, else its short form, else truncated. */
void svg_name(buf *b, str name, size_t n);
