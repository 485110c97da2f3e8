/* draw/text.h - foreign text on a terminal: nothing in it may move the cursor.  Pure. */
#pragma once
#include "base/buf.h"
#include "base/str.h"

/* Columns that text_clipped would use for all of s: ideographs and pictures are two wide, marks that
 * combine none. */
size_t text_columns(str s);

/* At most `width` columns of s, control characters, changes of direction and broken UTF-8 as `?`; what
 * does not fit ends in an ellipsis.  Returns the columns used. */
size_t text_clipped(buf *b, str s, size_t width);

/* The same, and blanks up to `width`. */
void text_padded(buf *b, str s, size_t width);

/* "────": `n` columns of it. */
void text_repeat(buf *b, const char *cell, size_t n);
