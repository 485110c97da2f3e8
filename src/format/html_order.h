/* format/html_order.h - the order of stacks in a report. Pure. */
#pragma once
#include "base/arena.h"
#include "model/model.h"

/* Returns a checked model whose stacks are sorted by the names of their frames, from the root, and
 * that is otherwise equal and shares the tables of `m`. Stack 0 stays the first. The viewer builds
 * its flame graph from sorted stacks without sorting them itself (ui/src/model/paths.ts). When
 * memory is short, returns the model with its stacks as they are, which the viewer shows too. */
model html_sorted(const model *m, arena *a);
