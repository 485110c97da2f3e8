/* query/flat.h - self and cumulative values of every frame; callers and callees.  Pure.
 *
 * Recursion counts once: a stack with a frame twice adds to its cumulative value once, and a call of a
 * function by itself is no edge.  That, the cut-offs and the order are pprof's. */
#pragma once
#include "query/select.h"

typedef struct flat_row {
    uint32_t frame;
    int64_t flat, cum;
} flat_row;

typedef struct flat_opts {
    bool by_cum;          /* sort by the cumulative value instead of flat */
    size_t node_count;    /* keep that many; 0: all */
    double node_fraction; /* leave out frames whose |cum| is below this part of the sum */
    double edge_fraction; /* the same for edges */
} flat_opts;

typedef struct flat {
    const frame_table *frames;
    flat_row *v; /* sorted by |flat| (or |cum|), equals by label; none has flat = cum = 0 */
    size_t n;
    size_t n_dropped; /* by node_fraction */
    size_t n_all;     /* those left then, before node_count */
    int64_t cutoff;   /* |cum| that node_fraction asked for */
    int64_t flat_sum; /* of all frames, before anything was left out */
} flat;

NODISCARD bool flat_of(const view *v, const flat_opts *o, arena *a, flat *out, err *e);

/* ---- callers and callees ---- */

typedef struct edge {
    uint32_t from, to; /* frames: caller, callee */
    int64_t value;
    bool inlined;  /* every such call was inlined */
    bool residual; /* some went through frames that are not shown */
} edge;

typedef struct edges {
    edge *v;      /* all, grouped by caller, largest |value| first, equals by label */
    uint32_t *in; /* the same by callee: positions in v */
    size_t n;
    uint32_t *first_out, *first_in; /* by row of the flat: v[first_out[i] .. first_out[i + 1]) */
} edges;

/* Edges between the frames that `f` shows: what lies between two of them is skipped.  Edges below
 * o->edge_fraction are left out. */
NODISCARD bool edges_of(const view *v, const flat *f, const flat_opts *o, arena *a, edges *out,
                        err *e);
