/* pyroscope/flame.h - flame graphs as Pyroscope's clients read them.  Pure.
 *
 *   tree ──► pyro_flame_of ─────┐
 *   trees ─► pyro_flame_diff_of ┴─► pyro_flame ──► pyro_flame_put    FlameGraph, FlameGraphDiff
 *                                             └──► pyro_flamebearer_put    JSON of /pyroscope/render
 *   tree ──► pyro_tree_put    bytes of the format TREE
 *
 * A level lists its boxes from left to right.  A box has 4 numbers: its distance from the end of the
 * box to its left, total, self, and the index of its name.  In a comparison it has 7: the first three
 * of the left side, the first three of the right side, the name.  The children of a box begin after
 * its self; names[0] is the root, "total".  Boxes of width 0 are omitted: readers assign a box to the
 * first parent that contains it.
 *
 * All functions take time linear in the nodes. */
#pragma once
#include "base/buf.h"
#include "pyroscope/type_id.h"
#include "query/tree.h"

enum {
    PYRO_FLAME_COLUMNS = 4,
    PYRO_FLAME_DIFF_COLUMNS = 7,
    PYRO_MAX_NODES = 8192,              /* default */
    PYRO_MAX_NODES_LIMIT = 1024 * 1024, /* most that a request may ask for */
};

typedef struct pyro_flame {
    bool diff;
    const str *names;
    size_t n_names;
    const int64_t *values;
    const size_t *level; /* level d is values[level[d] .. level[d + 1]) */
    size_t n_levels;     /* at least 1: the root, also of an empty graph */
    int64_t total;       /* of both sides */
    int64_t max_self;
    int64_t left_ticks, right_ticks; /* totals of the sides of a comparison */
} pyro_flame;

/* Keeps the max_nodes largest nodes and those equal to the smallest of them; 0: all.  The other
 * children of a node become one child "other" after them, together with a child that has this name.
 * Siblings keep their order (TREE_BY_LABEL).  The tree must outlive the flame graph.
 * ERR_MISMATCH for a negative value, ERR_LIMIT when the values exceed 63 bits, ERR_MEMORY. */
NODISCARD bool pyro_flame_of(const tree *t, uint64_t max_nodes, arena *a, pyro_flame *out, err *e);

/* Compares two trees.  `all` has the nodes of both; the three share a table of frames.  A node is
 * kept when it is large enough on either side. */
NODISCARD bool pyro_flame_diff_of(const tree *all, const tree *left, const tree *right,
                                  uint64_t max_nodes, arena *a, pyro_flame *out, err *e);

/* Appends the fields of querier.v1.FlameGraph or FlameGraphDiff. */
void pyro_flame_put(const pyro_flame *f, buf *b);

/* Appends the format TREE, pruned like a flame graph.  An empty tree has no bytes.  Siblings must be
 * in TREE_BY_LABEL order.  Errors as above. */
NODISCARD bool pyro_tree_put(const tree *t, uint64_t max_nodes, arena *a, buf *b, err *e);

/* ---- /pyroscope/render ---- */

typedef struct pyro_timeline {
    str group;     /* value of the label of groupBy */
    int64_t start; /* Unix s */
    uint64_t step; /* s */
    const int64_t *samples;
    size_t n;
} pyro_timeline;

typedef struct pyro_flamebearer {
    const pyro_flame *flame;
    pyro_type type;
    const pyro_timeline *timeline; /* NULL: none */
    const pyro_timeline *groups;   /* NULL: the request has no groupBy */
    size_t n_groups;
    str partial; /* why values are missing; empty: none are */
} pyro_flamebearer;

/* Appends JSON, version 1. */
void pyro_flamebearer_put(const pyro_flamebearer *f, buf *b);
