/* query/named.h - what a pattern names in a view, and what it may have meant when it names nothing.  Pure. */
#pragma once
#include "query/select.h"

typedef struct named {
    double sum; /* of the rows with a frame whose name or file matches */
    bool any;   /* there is such a row, whatever its value */
} named;

/* `what` begins error sentences: "the gate".  ERR_USAGE for text that is not a pattern, ERR_LIMIT. */
NODISCARD bool named_in(const view *v, str text, bool literal, const char *what, named *out,
                        err *e);

/* ERR_USAGE: "WHAT matches no frame; nearest: parse, parse_all".  Names come from the rows of the views.  Always
 * false. */
bool named_nothing(const view *const *v, size_t n, str text, const char *what, err *e);
