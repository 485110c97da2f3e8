/* draw/text.h - writes untrusted text to a terminal, so that it cannot move the cursor. Pure. */
#pragma once
#include "base/buf.h"
#include "base/str.h"

/* Returns the columns that text_clipped uses for all of s: ideographs and emoji take two,
 * combining marks none. */
size_t text_columns(str s);

/* Appends at most `width` columns of s.  Control characters, direction changes and invalid UTF-8
 * become `?`; text that does not fit ends in an ellipsis.  Returns the columns used. */
size_t text_clipped(buf *b, str s, size_t width);

/* Returns the longest end of s that text_clipped writes in at most `width` columns. */
str text_tail(str s, size_t width);

/* Appends s like text_clipped, padded with spaces to `width`. */
void text_padded(buf *b, str s, size_t width);

/* Appends `cell` n times: "────". */
void text_repeat(buf *b, const char *cell, size_t n);
