/* draw/text.h - foreign text on a terminal: nothing in it may move the cursor.  Pure. */
#pragma once
#include "base/buf.h"
#include "base/str.h"

/* Columns that text_clipped would use for all of s (a code point is one column). */
size_t text_columns(str s);

/* At most `width` columns of s, control characters and broken UTF-8 as `?`; what does not fit ends
 * in an ellipsis. */
void text_clipped(buf *b, str s, size_t width);

/* The same, and blanks up to `width`. */
void text_padded(buf *b, str s, size_t width);

/* "────": `n` columns of it. */
void text_repeat(buf *b, const char *cell, size_t n);
