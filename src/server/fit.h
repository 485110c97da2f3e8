/* server/fit.h - which nodes of a tree fit a number of bytes.  Pure.
 *
 * The largest stay, with all above them: nothing is gathered into an "other" node.  How large a node is: the absolute values
 * below it, added up, so that a parent is never smaller than its children whatever their signs. */
#pragma once
#include "query/tree.h"

typedef struct fit_costs {
    size_t room;  /* bytes */
    size_t node;  /* bytes of a node */
    size_t frame; /* bytes of a frame besides its texts */
} fit_costs;

typedef struct fitted {
    size_t n;         /* nodes that stay */
    uint32_t *node;   /* index in the tree, rising: parents come first */
    uint32_t *parent; /* among those that stay; UINT32_MAX: none */
    uint32_t *frame;  /* of `frames`; UINT32_MAX: the root */
    uint32_t *frames; /* that are used: ids of the table */
    size_t n_frames;
    bool whole; /* all stay */
} fitted;

/* self: by node, absolute values.  The root stays always.  n log n where something has to go.  ERR_LIMIT. */
NODISCARD bool fit_tree(const tree *t, const uint64_t *self, const fit_costs *c, arena *a,
                        fitted *out, err *e);
