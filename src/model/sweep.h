/* model/sweep.h - removes unused entries from the tables of a model.  Pure. */
#pragma once
#include "base/err.h"
#include "model/model.h"

/* Removes, in place, locations that no stack uses, then unused functions, mappings, attributes and
 * strings; entry 0 stays. Readers that copy whole tables need this: a pprof file contains strings
 * of labels and all mappings. Linear in the tables and the attributes of samples. Mapping `main`
 * stays even if unused (in pprof the first one is the main binary); 0: none. Scratch comes from
 * `a`. */
NODISCARD bool model_sweep(model *m, uint32_t main, arena *a, err *e);
