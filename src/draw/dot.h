/* draw/dot.h - a view as a call graph in Graphviz's language. */
#pragma once
#include "base/buf.h"
#include "query/flat.h"

enum { DOT_NODES = 80 }; /* default */

/* Appends a directed graph of the `nodes` frames with the largest cumulative values and the calls
 * between them; 0: DOT_NODES.  An empty view has no text. */
NODISCARD bool dot_put(const view *v, size_t nodes, arena *a, buf *b, err *e);
