/* model/executable.h - moves the main binary to the front of the mappings.  Pure.
 *
 * In pprof and OTEP 0239 the first mapping is the main binary.  OTLP has no field for it, so the
 * order of the table is the only place to record it.  Entry 0 is the zero value, so the first
 * mapping is entry 1. */
#pragma once
#include "model/model.h"

enum { MODEL_EXECUTABLES = 16 }; /* most executables that are searched for */

/* Finds the mappings of the executables that resources name (process.executable.path, else
 * .name), in the order of the resources, each once.  Returns their number. */
size_t model_executables(const model *m, uint32_t out[MODEL_EXECUTABLES]);

/* Moves these mappings before all others, in this order.  Ignores 0 and repeats. */
void model_mappings_first(model *m, const uint32_t *v, size_t n);

/* Finds the executables and moves them. */
void model_executables_first(model *m);
