/* cli/graph_out.h - prints frames with their callers and callees, for tree and peek. */
#pragma once
#include "cli/query.h"

/* Prints a block for each frame with shown[row], or for all frames if shown is NULL. */
void graph_text(query *q, const flat *f, const edges *g, const bool *shown);
void graph_json(query *q, const flat *f, const edges *g, const bool *shown);
