/* query/diff_moved.h - finds cost that moved to another function without growing.  Pure.
 *
 * When a function is inlined, the self amount of its caller grows while the cumulative amount
 * stays the same.  When a function is renamed, a new function is as large as the one that
 * disappeared.  Neither is a regression. */
#pragma once
#include "query/diff.h"

/* Sets `moved` in rows that are already tested and sorted. */
NODISCARD bool mark_moved(const recordings *r, diff *d, stopper *stop, err *e);
