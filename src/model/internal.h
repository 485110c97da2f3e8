/* model/internal.h - what the files of merge share: the translation of one input's indices. */
#pragma once
#include "base/hash.h"
#include "model/builder.h"
#include "model/merge.h"

/* Maps the tables of one input to the builder's: 0 = not yet, else index + 1.  Only what a sample
 * reaches is ever mapped, which is the garbage collection. */
typedef struct remap {
    const model *m;
    uint32_t *string, *mapping, *function, *location, *link, *attribute, *stack;
} remap;

typedef struct merger {
    builder b;
    arena *a;
    remap *in;
    size_t n;
    u32s scratch; /* indices being translated */
    VEC(line) lines;
    merge_opts o;
    uint32_t *rank; /* canonical: place of each stack of the only input */
    size_t n_ranks;
} merger;

/* Index of an entry of the input in the result, made on first use. */
uint32_t merge_string(merger *x, remap *r, uint32_t i);
uint32_t merge_attribute(merger *x, remap *r, uint32_t i);
uint32_t merge_link(merger *x, remap *r, uint32_t i);
uint32_t merge_stack(merger *x, remap *r, uint32_t i);
/* A list of attribute indices, translated into x->scratch; false when out of memory. */
NODISCARD bool merge_attrs(merger *x, remap *r, const uint32_t *v, size_t n);

/* For qsort: uint32_t in ascending order. */
int merge_by_number(const void *a, const void *b);

/* A new profile with everything of p but its samples. */
void merge_profile_head(merger *x, remap *r, const profile *p);

/* merge_join.c: profiles that belong together become one, and so do their samples. */
NODISCARD bool merge_joined(merger *x);

/* merge_order.c: rank[stack] is its place in canonical order, order[] the stacks in use in that
 * order; samples of p by rank, otherwise as they were (rank << 32 | sample). */
NODISCARD bool merge_stack_order(const model *m, arena *a, uint32_t **rank, uint32_t **order,
                                 size_t *n_out);
NODISCARD bool merge_sample_order(const profile *p, const uint32_t *rank, size_t n_ranks, arena *a,
                                  uint64_t **out);
