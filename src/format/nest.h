/* format/nest.h - converts intervals to stacks over time. Pure.
 *
 *   A [0,9)          pieces:  A      [0,2)
 *     B [2,5)                 A;B    [2,5)
 *     B [5,6)                 A [5,5)   separates two equal neighbours
 *                             A;B    [5,6)
 *                             A      [6,9)
 *
 * A piece is a period in which the stack of open intervals does not change. Pieces do not overlap,
 * and their lengths add up to the time in which any interval was open. A piece of length 0 is added
 * where the others would be ambiguous: for an interval of length 0, between equal neighbours as
 * above, and for an interval with an attribute if another opens at the same time. The intervals can
 * therefore be restored from the pieces. */
#pragma once
#include "model/builder.h"

/* Maximal number of frames of a stack and of open intervals. Deeper ones count for their ancestor
 * at this depth. */
enum { NEST_MAX_DEPTH = 1024 };

/* ---- stacks as a tree, which stores common prefixes once ---- */

typedef struct nest_node {
    uint32_t parent, location, depth;
    uint32_t stack;                   /* index + 1; 0 = not created yet */
    uint32_t recent, recent_location; /* the child that was looked up last; 0 = none */
} nest_node;

typedef struct nest_tree {
    builder *b;
    arena *a; /* owns the tree; the builder owns the stacks */
    VEC(nest_node) nodes;
    hash_index index;
    uint64_t n_cut; /* children rejected at NEST_MAX_DEPTH */
} nest_tree;

/* Node 0 is the root: the empty stack. */
NODISCARD bool nest_tree_init(nest_tree *t, builder *b, arena *a);
/* Returns the child of `node` with this location; `node` itself at the depth limit; 0 when out of
 * memory (the builder stores the error). */
uint32_t nest_child(nest_tree *t, uint32_t node, uint32_t loc);
uint32_t nest_stack(nest_tree *t, uint32_t node);

/* ---- intervals ---- */

typedef struct nest_open {
    uint32_t location, node;
    uint32_t attr;   /* attribute that no piece has yet; 0: none */
    int64_t end;     /* known end; INT64_MAX: it ends by nest_end */
    int64_t min_end; /* the earliest end of this and the outer intervals */
} nest_open;

typedef struct nest {
    nest_tree *t;
    VEC(nest_open) open;
    int64_t at;          /* pieces have been emitted up to here */
    size_t emitted;      /* number of open intervals that have been in a piece */
    size_t low;          /* fewest open intervals since the last piece */
    uint32_t cut;        /* location that was closed at `low`; 0: none */
    size_t hidden;       /* intervals beyond NEST_MAX_DEPTH that end by nest_end */
    uint64_t n_overlaps; /* intervals that ended before an interval that began later */
    void (*piece)(void *self, uint32_t node, uint32_t attr, int64_t at, int64_t length);
    void *self;
} nest;

/* Drops the open intervals; keeps the memory. */
void nest_reset(nest *n);
/* Advances the time to t and closes intervals with a known end up to t. t must not decrease. */
void nest_until(nest *n, int64_t t);
/* Opens an interval at the current time. Returns false when out of memory. */
NODISCARD bool nest_push(nest *n, uint32_t loc, uint32_t attr, int64_t end);
/* Closes the innermost interval without a known end. Returns false when there is none. */
NODISCARD bool nest_end(nest *n);
/* Closes all intervals: those with a known end at that end, the others at t or at the last known
 * end, whichever is later. */
void nest_finish(nest *n, int64_t t);
