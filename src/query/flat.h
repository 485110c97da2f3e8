/* query/flat.h - self and cumulative values of every frame; callers and callees.  Pure.
 *
 * Recursion counts once: a stack that contains a frame twice adds to its cumulative value once,
 * and a call of a function by itself is not an edge.  These rules, the cut-offs and the order
 * are those of pprof. */
#pragma once
#include "query/select.h"

typedef struct flat_row {
    uint32_t frame;
    int64_t flat, cum;
} flat_row;

typedef struct flat_opts {
    bool by_cum;          /* sort by the cumulative value instead of the flat value */
    size_t node_count;    /* at most this many rows; 0: all */
    double node_fraction; /* omit frames whose |cum| is below this fraction of the sum */
    double edge_fraction; /* omit edges whose |value| is below this fraction of the sum */
} flat_opts;

typedef struct flat {
    const frame_table *frames;
    flat_row
        *v; /* sorted by |flat| (or |cum|), then by label; rows with flat = cum = 0 are omitted */
    size_t n;
    size_t n_dropped; /* omitted by node_fraction */
    size_t n_all;     /* remaining rows, before node_count */
    int64_t cutoff;   /* the |cum| that node_fraction requires */
    int64_t flat_sum; /* sum of flat over all frames, including omitted ones */
} flat;

NODISCARD bool flat_of(const view *v, const flat_opts *o, arena *a, flat *out, err *e);

/* ---- callers and callees ---- */

typedef struct edge {
    uint32_t from, to; /* frames: caller, callee */
    int64_t value;
    bool inlined;  /* every such call was inlined */
    bool residual; /* some calls went through omitted frames */
} edge;

typedef struct edges {
    edge *v;      /* all edges, grouped by caller, largest |value| first, equals by label */
    uint32_t *in; /* positions in v, grouped by callee */
    size_t n;
    uint32_t *first_out, *first_in; /* by row of flat.v: v[first_out[i] .. first_out[i + 1]) */
} edges;

/* Computes the edges between the frames of `f`; frames in between that `f` omits are skipped.
 * Edges below o->edge_fraction are omitted. */
NODISCARD bool edges_of(const view *v, const flat *f, const flat_opts *o, arena *a, edges *out,
                        err *e);
