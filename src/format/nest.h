/* format/nest.h - intervals that begin and end, as stacks over time.  Pure.
 *
 *   A [0,9)          pieces:  A      [0,2)
 *     B [2,5)                 A;B    [2,5)
 *     B [5,6)                 A      [5,5)   the seam between two equal neighbours
 *                             A;B    [5,6)
 *                             A      [6,9)
 *
 * A piece is a stretch of time in which the stack of open intervals stays the same.  Pieces do not
 * overlap and add up to the time in which anything was open.  Where the pieces alone could not tell
 * what happened there is one of length 0: an interval that is no longer than that, the seam above,
 * or an interval that carries an attribute and was covered at once.  So the intervals can be had
 * back from the pieces. */
#pragma once
#include "model/builder.h"

/* Frames of a stack, intervals open at once; deeper ones count as their ancestor. */
enum { NEST_MAX_DEPTH = 1024 };

/* ---- stacks as a tree, so that a stack costs once ---- */

typedef struct nest_node {
    uint32_t parent, location, depth;
    uint32_t stack;                   /* index + 1; 0 = not asked for yet */
    uint32_t recent, recent_location; /* the child that was asked for last; 0 = none */
} nest_node;

typedef struct nest_tree {
    builder *b;
    arena *a; /* of the tree; the stacks are the builder's */
    VEC(nest_node) nodes;
    hash_index index;
    uint64_t n_cut; /* children refused at NEST_MAX_DEPTH */
} nest_tree;

/* Node 0 is the root: the empty stack. */
NODISCARD bool nest_tree_init(nest_tree *t, builder *b, arena *a);
/* The child of `node` with that location; `node` itself at the depth limit; 0 when out of memory
 * (the builder remembers). */
uint32_t nest_child(nest_tree *t, uint32_t node, uint32_t loc);
uint32_t nest_stack(nest_tree *t, uint32_t node);

/* ---- intervals ---- */

typedef struct nest_open {
    uint32_t location, node;
    uint32_t attr;   /* not shown yet; 0: none */
    int64_t end;     /* when it ends by itself; INT64_MAX: when told */
    int64_t min_end; /* the least end from here down */
} nest_open;

typedef struct nest {
    nest_tree *t;
    VEC(nest_open) open;
    int64_t at;     /* pieces are out up to here */
    size_t shown;   /* of the open intervals, how many have been in a piece */
    size_t low;     /* fewest open since the last piece ... */
    uint32_t cut;   /* ... and what was closed there; 0: nothing */
    size_t hidden;  /* beyond NEST_MAX_DEPTH, that end when told */
    uint64_t n_odd; /* intervals that ended inside one that began later */
    void (*piece)(void *self, uint32_t node, uint32_t attr, int64_t at, int64_t length);
    void *self;
} nest;

/* Forgets what is open; memory is kept. */
void nest_reset(nest *n);
/* Time passes: closes what ends by itself up to t.  t must not go back. */
void nest_until(nest *n, int64_t t);
/* Opens an interval now; false when out of memory. */
NODISCARD bool nest_push(nest *n, uint32_t loc, uint32_t attr, int64_t end);
/* Closes the innermost interval that ends when told; false when there is none. */
NODISCARD bool nest_end(nest *n);
/* Closes everything: what ends by itself at its end, the rest at t or with the last of those. */
void nest_finish(nest *n, int64_t t);
