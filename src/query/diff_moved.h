/* query/diff_moved.h - cost that changed its name or place and not its size.  Pure.
 *
 * A function that is inlined into its caller makes the caller's own amount grow, and its cumulative amount stay; a
 * function under a new name is there for the first time, as large as the one that is gone.  Neither is a
 * regression. */
#pragma once
#include "query/diff.h"

/* Sets `moved` of rows that were judged and sorted. */
NODISCARD bool mark_moved(const recordings *r, diff *d, stopper *stop, err *e);
