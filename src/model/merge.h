/* model/merge.h - merges models, and removes unused entries from one.  Pure.
 *
 * The result is a new model in `a`.  All tables are interned again by value, in order of first
 * use (main binaries come before other mappings, model/executable.h), so it has no duplicates
 * and no unused entries. The inputs are not changed and must outlive the result unless
 * `copy_strings` is set. */
#pragma once
#include "base/err.h"
#include "model/ledger.h"
#include "model/model.h"

typedef struct merge_opts {
    bool join;      /* join profiles with equal resource, scope, types and period, and samples with
                          equal {stack, set of attributes, link}; otherwise profiles stay separate
                          and samples unchanged */
    bool canonical; /* an order that compresses well: stacks sorted from the root, samples by stack,
                          strings, locations and functions by first use */
    bool copy_strings; /* the result does not point into the inputs */
    ledger *ledger; /* records saturated sums, joined shapes, ids of joined profiles; may be NULL */
} merge_opts;

/* Merges n checked models.  ERR_MEMORY at the arena's budget. */
NODISCARD bool model_merge(const model *const *in, size_t n, const merge_opts *o, arena *a,
                           model *out, err *e);

/* Removes unused entries: model_merge of one model without joining. */
NODISCARD bool model_gc(const model *in, arena *a, model *out, err *e);
