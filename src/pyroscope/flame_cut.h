/* pyroscope/flame_cut.h - the nodes of a tree that a flame graph shows.  Pure. */
#pragma once
#include "query/tree.h"

#define PYRO_OTHER STR("other")

/* One tree, or the two sides of a comparison and the tree of both. */
typedef struct flame_sides {
    const tree *t;
    size_t n;
    const tree *side[2];
    const uint32_t *at[2]; /* by node of t; NULL: the same node */
} flame_sides;

static inline int64_t flame_value(const flame_sides *s, size_t side, uint32_t node, bool self)
{
    uint32_t i = s->at[side] ? s->at[side][node] : node;
    if (i == NO_NODE) return 0;
    return self ? s->side[side]->self[i] : s->side[side]->total[i];
}

/* Returns the total of the larger side. */
static inline int64_t flame_size(const flame_sides *s, uint32_t node)
{
    int64_t left = flame_value(s, 0, node, false);
    if (s->n < 2) return left;
    int64_t right = flame_value(s, 1, node, false);
    return left > right ? left : right;
}

enum { FLAME_KEPT = 1, FLAME_HAS_OTHER = 2 };

typedef struct flame_cut {
    uint8_t *flags;  /* by node: FLAME_KEPT; FLAME_HAS_OTHER: children become "other" */
    size_t *n_boxes; /* by depth, with the boxes "other" */
    size_t n_levels;
} flame_cut;

/* Chooses the nodes.  Errors as in flame.h. */
NODISCARD bool flame_cut_of(const flame_sides *s, uint64_t max_nodes, arena *a, flame_cut *out,
                            err *e);
