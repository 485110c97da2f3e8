/* model/pieces.h - splits a large model into small ones, so that processing needs memory for one
 * at a time.  Pure. */
#pragma once
#include "base/err.h"
#include "model/model.h"

/* The piece is valid until the callback returns. If it returns false, model_pieces stops with its
 * error. */
typedef bool model_each(void *ctx, const model *piece, err *e);

/* Calls `each` with pieces of `m`, a checked model. A piece is a run of whole profiles in the order
 * of the model, with their resources and scopes and the entries of the dictionary that they use.
 * The columns and stacks of a piece need at most max_bytes; a larger profile is a piece of its own,
 * because profiles are never split. A model that fits is passed unchanged. Scratch memory has the
 * budget of `a`. ERR_MEMORY when the budget is used up. */
NODISCARD bool model_pieces(const model *m, size_t max_bytes, arena *a, model_each *each, void *ctx,
                            err *e);
