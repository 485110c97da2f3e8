/* store/summing.h - sums by stack while they are being added up (answer_sums.c), and made a model (answer_sums_put.c). */
#pragma once
#include "model/graft.h"
#include "store/answer.h"
#include "store/told.h"

/* What is added up apart: a type, or with by_series a resource and a scope besides. */
typedef struct sum_class {
    profile head; /* strings of the result */
    resource resource;
    scope scope;
    told told;     /* by_series */
    bool selected; /* some of it was; otherwise it is not part of the result */
    uint64_t first,
        last; /* its own profiles cover, cut to the range; first > last: there are none */
    /* What is in use at a time is not added up: a newer profile of the series takes the place of what there is. */
    bool level;
    uint64_t newest;   /* end of the newest profile so far */
    uint32_t replaced; /* how often that happened */
    /* Samples of the result, unless attributes tell them apart. */
    u32s stacks;
    i64s sums;
    hash_index by_stack; /* of the first by_stack.n of them */
} sum_class;

/* A sample of the result. */
typedef struct sum_row {
    uint32_t class, stack, list_at, n_list;
    uint32_t replaced; /* that of the class: otherwise the row was taken away */
    int64_t sum;
    uint32_t next; /* of the class: index + 1 */
} sum_row;

typedef struct summing {
    look k;
    reader *r;
    bool by_series, by_reading, by_attributes;
    arena *a;
    builder b;
    arena *work; /* of the dictionary at hand */
    arena *keep; /* classes and rows */
    bool second; /* a dictionary has been settled */
    graft g;
    cutter cut;
    VEC(sum_class) classes;
    hash_index by_class; /* without those of cumulative profiles, which nothing is added to */
    VEC(uint64_t) series_hashes; /* by_reading */
    hash_index by_series_hash;
    const profile *counted; /* the last one of the chunk */
    buf scratch;
    VEC(sum_row) rows;
    u32s lists; /* attributes of rows */
    hash_index by_row;

    /* Sums by stack of the dictionary at hand, of one class. */
    int64_t *dense;
    uint32_t *touched; /* stacks that have a sum */
    bool *is_touched;
    size_t n_dense, n_touched;
    uint32_t class; /* UINT32_MAX: nothing in it */
} summing;

/* Profiles and, where attributes tell samples apart, samples into the builder. */
NODISCARD bool summing_put(summing *x, err *e);
/* Samples that are a stack and a sum into the model that the builder gave: the columns are there already. */
NODISCARD bool summing_put_columns(summing *x, model *m, err *e);
