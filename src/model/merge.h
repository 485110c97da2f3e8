/* model/merge.h - several models into one, and one model made tidy.  Pure.
 *
 * All of these build a new model in `a`: every table re-interned by value, in order of first use (but
 * main binaries before other mappings, model/executable.h), so duplicates and entries that nothing refers
 * to are gone.  Inputs are only read, and must outlive
 * the result unless `copy_strings` is set. */
#pragma once
#include "base/err.h"
#include "model/ledger.h"
#include "model/model.h"

typedef struct merge_opts {
    bool join;      /* profiles of equal resource, scope, types and period become one, and samples
                          of equal {stack, set of attributes, link} become one sample; otherwise
                          profiles stay apart and samples as they are */
    bool canonical; /* order for compression: stacks sorted from the root, samples by stack,
                          strings, locations and functions by first use */
    bool copy_strings; /* the result does not point into the inputs */
    ledger *ledger;    /* saturated sums, joined shapes, ids of joined profiles; may be NULL */
} merge_opts;

/* Merges n checked models.  ERR_LIMIT at the arena's budget. */
NODISCARD bool model_merge(const model *const *in, size_t n, const merge_opts *o, arena *a,
                           model *out, err *e);

/* Garbage collection: model_merge of one, nothing joined. */
NODISCARD bool model_gc(const model *in, arena *a, model *out, err *e);
