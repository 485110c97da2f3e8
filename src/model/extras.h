/* model/extras.h - a model without the attributes of one prefix: `--no-extras`.  Pure. */
#pragma once
#include "base/err.h"
#include "model/model.h"

/* Copies a checked model without every attribute whose key begins with `prefix`: on samples,
 * locations, mappings, profiles, scopes and resources.  *n counts references that went.  What became
 * equal by it is one entry again.  The result views the strings of `in`. */
NODISCARD bool model_without(const model *in, str prefix, arena *a, model *out, uint64_t *n,
                             err *e);
