/* model/internal.h - what the files of merge share. */
#pragma once
#include "base/hash.h"
#include "model/graft.h"
#include "model/merge.h"

typedef struct merger {
    builder b;
    arena *a;
    graft *in;
    size_t n;
    merge_opts o;
    uint32_t *rank; /* canonical: place of each stack of the only input */
    size_t n_ranks;
} merger;

/* For qsort: uint32_t in ascending order. */
int merge_by_number(const void *a, const void *b);

/* merge_join.c: profiles that belong together become one, and so do their samples. */
NODISCARD bool merge_joined(merger *x);

/* merge_order.c: rank[stack] is its place in canonical order, order[] the stacks in use in that
 * order; samples of p by rank, otherwise as they were (rank << 32 | sample). */
NODISCARD bool merge_stack_order(const model *m, arena *a, uint32_t **rank, uint32_t **order,
                                 size_t *n_out);
NODISCARD bool merge_sample_order(const profile *p, const uint32_t *rank, size_t n_ranks, arena *a,
                                  uint64_t **out);
