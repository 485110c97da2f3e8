/* model/sweep.h - tables without entries that nobody refers to. */
#pragma once
#include "base/err.h"
#include "model/model.h"

/* Removes locations that no stack has, then functions, mappings, attributes and strings that nothing uses, in place; entry 0 stays.  For readers that take
 * whole tables over: a pprof file has strings of labels and all that was mapped.  Linear in the tables and the attributes of samples.
 * Mapping `main` stays also when nothing is in it (pprof: the first one is the main binary); 0: none.  Scratch comes from `a`. */
NODISCARD bool model_sweep(model *m, uint32_t main, arena *a, err *e);
