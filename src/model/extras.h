/* model/extras.h - removes the attributes with a given prefix from a model (`--no-extras`).
 * Pure. */
#pragma once
#include "base/err.h"
#include "model/model.h"

/* Copies a checked model without the attributes whose key begins with `prefix`, on samples,
 * locations, mappings, profiles, scopes and resources.  *n is the number of removed references.
 * Entries that become equal are merged.  The result refers to the strings of `in`. */
NODISCARD bool model_without(const model *in, str prefix, arena *a, model *out, uint64_t *n,
                             err *e);
