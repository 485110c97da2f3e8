/* draw/label.h - names of functions in narrow boxes.  Pure.
 *
 * ui/src/draw/label.ts and flame.js have the same rules; tests of all read
 * tests/support/flame_cases.txt. */
#pragma once
#include "base/buf.h"
#include "base/str.h"

/* Returns the name without its package: "pkg.(*T).Run", "HashMap.put". A view into `name`. */
str name_short(str name);

/* Appends a name in at most `width` columns, and returns the columns used. A name that does not fit
 * loses, in this order: its package, the text of its arguments and most digits of a Rust hash, and
 * then its middle, so that the function, `$0` of a lambda and other endings remain. */
size_t name_cut(buf *b, str name, size_t width);
