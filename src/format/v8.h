/* format/v8.h - V8's CPU and heap profiles: a tree of call frames, and samples that refer to its
 * nodes. Shared by .cpuprofile, .heapprofile and the Profile events of a Chrome trace. Pure.
 *
 * Nodes may be in any order, with parents after children, so parents are resolved at the end. */
#pragma once
#include "format/json_read.h"
#include "format/nest.h"
#include "format/observe.h"

typedef struct v8_node {
    uint64_t id;
    uint64_t parent_id; /* from the file */
    uint32_t parent;    /* index + 1; 0: none */
    uint32_t loc;       /* location */
    uint32_t node;      /* node of the tree, + 1; 0: not resolved */
    int64_t hits, self_size;
    bool has_id, has_parent_id, is_root, busy;
} v8_node;

typedef struct v8_child {
    uint32_t parent; /* index */
    uint64_t id;
} v8_child;

typedef struct v8_profile {
    builder *b;
    nest_tree *tree;
    arena *work;
    ledger *l;
    VEC(v8_node) nodes;
    VEC(v8_child) children;
    VEC(uint64_t) samples; /* node ids; when resolved, indices of nodes or V8_NO_NODE */
    i64s deltas;           /* ns since the previous sample, or since `start` */
    i64s times;            /* ns; the old layout has times instead of deltas */
    int64_t start, end;    /* ns */
    bool has_start, has_end, rounded;
    uint64_t n_line_ticks, n_scripts, n_reasons;
} v8_profile;

/* Read the next value: an array of nodes; a node whose children are nodes ("head"); node ids;
 * numbers of microseconds. */
NODISCARD bool v8_nodes(v8_profile *v, json *j);
NODISCARD bool v8_tree(v8_profile *v, json *j);
NODISCARD bool v8_samples(v8_profile *v, json *j);
NODISCARD bool v8_micros(v8_profile *v, json *j, i64s *to);
NODISCARD bool v8_micro(v8_profile *v, json *j, int64_t *to); /* one number */

/* Resolves the parents. A node that is undefined, defined twice, under two parents or its own
 * ancestor affects only its own subtree: the first definition counts, the rest moves to the root,
 * and the ledger records it. */
enum { V8_NO_NODE = -1 };
NODISCARD bool v8_resolve(v8_profile *v, err *e);

/* Adds two profiles, wall/nanoseconds and samples/count; every sample has `attrs`, both profiles
 * have the attributes `on_profile`. */
NODISCARD bool v8_put_cpu(v8_profile *v, const uint32_t *attrs, size_t n,
                          const uint32_t *on_profile, size_t n_on_profile, err *e);
/* Adds one profile, inuse_space/bytes. */
NODISCARD bool v8_put_heap(v8_profile *v, err *e);
/* Records what was read and cannot be stored. */
void v8_losses(const v8_profile *v);
