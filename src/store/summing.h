/* store/summing.h - the state of sums by stack while they are added up (result_sums.c), and their
 * conversion to a model (result_sums_put.c). */
#pragma once
#include "model/importer.h"
#include "store/result.h"
#include "store/summary.h"

/* One profile of the result. It has a type, and with by_series also a resource and a scope. */
typedef struct sum_class {
    profile head; /* with strings of the result */
    resource resource;
    scope scope;
    str label;       /* with by_label */
    summary summary; /* with by_series */
    bool selected;   /* some of its samples are selected; otherwise it is not part of the result */
    uint64_t first, last; /* time that its profiles cover within the range; first > last: none */
    /* Levels are not added up: a newer profile of the series replaces the older one. */
    bool level;
    uint64_t newest;   /* end of the newest profile so far */
    uint32_t replaced; /* how often a newer one replaced it */
    /* Samples of the result, unless samples are separated by attributes. */
    u32s stacks;
    i64s sums;
    hash_index by_stack; /* of the first by_stack.n stacks */
} sum_class;

/* A sample of the result. */
typedef struct sum_row {
    uint32_t class, stack, list_at, n_list;
    uint32_t replaced; /* the class's value when this was added; valid only while they are equal */
    int64_t sum;
    uint32_t next; /* row of the same class: index + 1 */
} sum_row;

typedef struct summing {
    scan k;
    reader *r;
    bool by_series, by_reading, by_attributes;
    str by_label; /* empty: none */
    bool leaves;
    arena *a;
    builder b;
    arena *work; /* for the current dictionary */
    arena *keep; /* classes and rows */
    bool second; /* one dictionary was finished already */
    importer g;
    cutter cut;
    VEC(sum_class) classes;
    hash_index by_class;         /* without cumulative profiles, to which nothing is added */
    VEC(uint64_t) series_hashes; /* with by_reading */
    hash_index by_series_hash;
    const profile *counted; /* the last profile of the chunk that was counted */
    buf scratch, label;
    VEC(sum_row) rows;
    u32s lists; /* attributes of rows */
    hash_index by_row;

    /* Sums by stack of the current dictionary, for one class. */
    int64_t *dense;
    uint32_t *touched; /* stacks with a sum */
    bool *is_touched;
    size_t n_dense, n_touched;
    uint32_t class; /* UINT32_MAX: none */
    /* NULL: stacks stay whole. By stack of the current dictionary: the first one with its leaf. By
     * location of it: the stack of the result that has only this frame, + 1 */
    uint32_t *by_leaf, *leaf_stack;
} summing;

/* Writes the profiles into the builder and, with by_attributes, their samples. */
NODISCARD bool summing_put(summing *x, err *e);
/* Writes samples that consist of a stack and a sum into the finished model. */
NODISCARD bool summing_put_columns(summing *x, model *m, err *e);
