/* cli/graph_out.h - frames with their callers and callees: tree and peek. */
#pragma once
#include "cli/question.h"

/* Blocks of the frames for which shown[row] is true (NULL: all). */
void graph_text(question *q, const flat *f, const edges *g, const bool *shown);
void graph_json(question *q, const flat *f, const edges *g, const bool *shown);
