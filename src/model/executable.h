/* model/executable.h - the main binary is the first mapping.  Pure.
 *
 * To pprof and OTEP 0239 the first mapping is the main binary; in OTLP the order of the table says so as
 * far as anything does.  Entry 0 is the zero value, so "first" is entry 1. */
#pragma once
#include "model/model.h"

enum { MODEL_EXECUTABLES = 16 }; /* that are looked for; the first is what readers show */

/* The mappings of the executables that resources name (process.executable.path, else .name), in the
 * order of the resources, each once.  Returns how many; 0: nobody says which. */
size_t model_executables(const model *m, uint32_t out[MODEL_EXECUTABLES]);

/* Puts these mappings before all others, in their order; 0 and repeats say nothing. */
void model_mappings_first(model *m, const uint32_t *v, size_t n);

/* Both. */
void model_executables_first(model *m);
