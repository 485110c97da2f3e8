/* model/internal.h - declarations that the files of merge share. */
#pragma once
#include "base/hash.h"
#include "model/importer.h"
#include "model/merge.h"

typedef struct merger {
    builder b;
    arena *a;
    importer *in;
    size_t n;
    merge_opts o;
    uint32_t *rank; /* canonical order: rank of each stack of the only input */
    size_t n_ranks;
} merger;

/* For qsort: uint32_t in ascending order. */
int merge_by_number(const void *a, const void *b);

/* merge_join.c: joins equal profiles and their equal samples. */
NODISCARD bool merge_joined(merger *x);

/* merge_order.c: rank[stack] is its position in canonical order, order[] lists the used stacks
 * in that order. merge_sample_order sorts the samples of p by rank, then by position (rank << 32
 * | sample). */
NODISCARD bool merge_stack_order(const model *m, arena *a, uint32_t **rank, uint32_t **order,
                                 size_t *n_out);
NODISCARD bool merge_sample_order(const profile *p, const uint32_t *rank, size_t n_ranks, arena *a,
                                  uint64_t **out);
