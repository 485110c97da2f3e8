/* server/graph.h - trees as columns within max_bytes, for the endpoints tree and diff
 * (api_graph.c). */
#pragma once
#include "server/query.h"
#include "server/fit.h"

/* Chooses the nodes of t (with `only`: of these, see fit.h) that fit and adds their frames to the
 * response. sides: the trees whose
 * values will be added; they have the same frames. at[side][i]: index of node i of t in that tree
 * (NO_NODE: absent); NULL: the same index. per_frame: additional bytes of the response for each
 * frame. */
NODISCARD bool graph_fit(query *k, const tree *t, const uint8_t *only, const tree *const *sides,
                         const uint32_t *const *at, size_t n_sides, size_t per_frame, fitted *out,
                         err *e);
/* Adds a column with the values of the nodes that fit; `at` as above. */
NODISCARD bool graph_put(query *k, response_node *o, const char *key, const int64_t *v,
                         const uint32_t *at, const fitted *x, err *e);
