/* format/v8.h - V8's CPU and heap profiles: a tree of call frames and samples that point into it.
 * Shared by .cpuprofile, .heapprofile and the Profile events of a Chrome trace.  Pure.
 *
 * Nodes come in any order, parents after children too; who is whose parent is settled at the end. */
#pragma once
#include "format/json_read.h"
#include "format/nest.h"
#include "format/observe.h"

typedef struct v8_node {
    uint64_t id;
    uint64_t parent_id; /* as the node says it */
    uint32_t parent;    /* index + 1; 0: none */
    uint32_t loc;       /* location */
    uint32_t node;      /* of the tree, + 1; 0: not settled */
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
    VEC(uint64_t) samples; /* node ids; when settled, indices of nodes or V8_NO_NODE */
    i64s deltas;           /* ns; of sample i to the one before it, of the first to `start` */
    i64s times;            /* ns; the old layout has these instead */
    int64_t start, end;    /* ns */
    bool has_start, has_end, rounded;
    uint64_t n_line_ticks, n_scripts, n_reasons;
} v8_profile;

/* The value that comes next: an array of nodes; a node whose children are nodes ("head"); node ids;
 * numbers of microseconds. */
NODISCARD bool v8_nodes(v8_profile *v, json *j);
NODISCARD bool v8_tree(v8_profile *v, json *j);
NODISCARD bool v8_samples(v8_profile *v, json *j);
NODISCARD bool v8_micros(v8_profile *v, json *j, i64s *to);
NODISCARD bool v8_micro(v8_profile *v, json *j, int64_t *to); /* one number */

/* Who is whose parent.  A node that is named and not there, there twice, under two parents or above itself costs what it
 * explains and nothing else: the first one counts, the rest goes to the root, and the ledger says so. */
enum { V8_NO_NODE = -1 };
NODISCARD bool v8_settle(v8_profile *v, err *e);

/* Two profiles, wall/nanoseconds and samples/count, every sample with `attrs`; profile attributes
 * `on_profile` are put on both. */
NODISCARD bool v8_put_cpu(v8_profile *v, const uint32_t *attrs, size_t n,
                          const uint32_t *on_profile, size_t n_on_profile, err *e);
/* One profile, inuse_space/bytes. */
NODISCARD bool v8_put_heap(v8_profile *v, err *e);
/* What was met and not carried. */
void v8_losses(const v8_profile *v);
