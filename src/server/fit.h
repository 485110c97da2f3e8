/* server/fit.h - chooses the nodes of a tree that fit in a number of bytes. Pure. It keeps the
 * largest nodes and all of their ancestors, and adds no "other" node. The size of a node is the sum
 * of the absolute values below it, so that a parent is never smaller than a child, even if values
 * are negative. */
#pragma once
#include "query/tree.h"

typedef struct fit_costs {
    size_t room;  /* available bytes */
    size_t node;  /* bytes of a node */
    size_t frame; /* bytes of a frame without its texts */
} fit_costs;

typedef struct fitted {
    size_t n;         /* nodes that stay */
    uint32_t *node;   /* index in the tree, ascending: parents come first */
    uint32_t *parent; /* index among the nodes that stay; UINT32_MAX: none */
    uint32_t *frame;  /* index in `frames`; UINT32_MAX: the root */
    uint32_t *frames; /* ids of the used frames */
    size_t n_frames;
    size_t n_all; /* nodes to choose from */
    bool whole;   /* all of them stay */
} fitted;

/* Chooses the nodes. self: the absolute value of each node. only: 1 for the nodes to choose from,
 * which include the parents of each; NULL: all. The root always stays. Takes O(n log n) time when
 * nodes have to be dropped. Fails only when out of memory. */
NODISCARD bool fit_tree(const tree *t, const uint64_t *self, const uint8_t *only,
                        const fit_costs *c, arena *a, fitted *out, err *e);
