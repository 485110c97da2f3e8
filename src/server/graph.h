/* server/graph.h - trees as columns, within the bytes of the answer: what tree and diff share (api_graph.c). */
#pragma once
#include "server/ask.h"
#include "server/fit.h"

/* Chooses the nodes of t that fit and puts their frames.  sides: trees whose values will be put, over the same frames, and where
 * the nodes of t are in them (NO_NODE: not there); at NULL: where they are in t.  per_frame: bytes that the answer has besides. */
NODISCARD bool graph_fit(ask *k, const tree *t, const tree *const *sides, const uint32_t *const *at,
                         size_t n_sides, size_t per_frame, fitted *out, err *e);
/* A column of the nodes that fit; at as above. */
NODISCARD bool graph_put(ask *k, answer_node *o, const char *key, const int64_t *v,
                         const uint32_t *at, const fitted *x, err *e);
