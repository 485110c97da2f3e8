/* model/pieces.h - a large model as several small ones, so that whoever encodes or keeps them needs memory for one.  Pure. */
#pragma once
#include "base/err.h"
#include "model/model.h"

/* The piece lives until the callback returns; false stops with its error. */
typedef bool model_each(void *who, const model *piece, err *e);

/* Calls `each` with pieces of `m`, a checked model: runs of whole profiles in the order of the model, each with its resource, its scope
 * and the entries of the dictionary that it uses.  A piece ends before the profile with which its columns and stacks would need
 * more than max_bytes; a profile is never split, so that one that is larger is a piece of its own.  A model that fits is
 * handed on as it is.  Scratch memory has the budget of `a`.  ERR_LIMIT: it is spent. */
NODISCARD bool model_pieces(const model *m, size_t max_bytes, arena *a, model_each *each, void *who,
                            err *e);
