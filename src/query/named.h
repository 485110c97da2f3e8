/* query/named.h - sums the stacks of a view that match a pattern, and suggests names when
 * nothing matches.  Pure. */
#pragma once
#include "query/select.h"

typedef struct named {
    double sum; /* sum of the rows with a frame whose name or file matches */
    bool any;   /* there is such a row, whatever its value */
} named;

/* Sums the rows that match `text`. `what` starts error messages: "the gate". ERR_USAGE for text
 * that is not a pattern, ERR_LIMIT, ERR_MEMORY. */
NODISCARD bool named_in(const view *v, str text, bool literal, const char *what, named *out,
                        err *e);

/* Sets ERR_USAGE, "WHAT matches no frame; nearest: parse, parse_all", with names from the rows
 * of the views, and returns false. */
bool named_nothing(const view *const *v, size_t n, str text, const char *what, err *e);
