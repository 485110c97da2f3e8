/* query/tree.h - the prefix tree over the stacks of a view: flame graphs, call trees, reports.
 * Pure.
 *
 * The columns are indexed by node; node 0 is the root.  A parent comes before its children, so a
 * loop from the end can add up sums, and a loop from the start sees parents first.  The tree is
 * complete, without an "other" node: total[0] is the sum of the view, and
 *     total[i] = self[i] + the totals of its children. */
#pragma once
#include "query/select.h"

typedef struct tree {
    const frame_table *frames;
    size_t n;               /* nodes; at least 1 */
    uint32_t *parent;       /* [0] is 0 */
    uint32_t *frame;        /* [0] is NO_FRAME */
    uint32_t *first_child;  /* 0: none */
    uint32_t *next_sibling; /* 0: none */
    int64_t *self, *total;
    uint32_t max_depth; /* largest depth of a node; the root has 0 */
} tree;

typedef enum tree_order {
    TREE_AS_MET,   /* in the order of the rows */
    TREE_BY_TOTAL, /* largest first, then by label */
    TREE_BY_LABEL,
} tree_order;

typedef struct tree_opts {
    bool inverted;      /* leaves next to the root, their callers above them */
    uint32_t max_depth; /* values of deeper frames go to the frame at this depth; 0: no limit */
    tree_order order;
} tree_opts;

/* Builds the tree in time linear in the frames of the rows, plus n log n for the order. `o` may be
 * NULL. ERR_LIMIT, ERR_MEMORY. */
NODISCARD bool tree_of(const view *v, const tree_opts *o, arena *a, tree *out, err *e);

#define NO_NODE UINT32_MAX

/* Finds for each node of `all` the node of `part` on the same path, or NO_NODE.  Both trees
 * share a table of frames. ERR_MEMORY. */
NODISCARD bool tree_match(const tree *all, const tree *part, arena *a, uint32_t **out, err *e);
