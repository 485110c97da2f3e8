/* store/levels.h - what is in use at a time (profile_is_level), and what holds everything since its start (profile_is_cumulative), over
 * steps of time: a sum over a step would mean nothing, so in each the newest profile of a series counts. */
#pragma once
#include "store/answer.h"

bool makes_no_sum(const model *m, const profile *p);
/* May one of its profiles be such? */
bool series_makes_no_sum(const block_series *s, const tables *t);

/* A series in a step. */
typedef struct level_cell {
    uint32_t series;
    uint64_t bucket;
    uint64_t newest;   /* end of the newest profile so far */
    uint32_t replaced; /* how often a newer one was met */
} level_cell;

/* What the newest profile of a cell adds to a row. */
typedef struct level_part {
    uint32_t cell, row;
    uint32_t replaced; /* the cell's: otherwise it is over */
    int64_t sum;
    uint64_t count;
} level_part;

/* The zero value with an arena is ready. */
typedef struct levels {
    arena *a;
    VEC(str) series; /* what tells them apart, as bytes */
    VEC(level_cell) cells;
    VEC(level_part) parts;
    hash_index by_series, by_cell, by_part;
    buf scratch;
} levels;

/* Does the profile of m, which ends at `end`, count in the bucket, as far as is known?  Then levels_add may follow, with *cell.
 * false: no memory. */
NODISCARD bool levels_meet(levels *l, const model *m, const profile *p, uint64_t bucket,
                           uint64_t end, uint32_t *cell, bool *counts);
NODISCARD bool levels_add(levels *l, uint32_t cell, uint32_t row, int64_t v, uint64_t n);
/* Adds what counts to the rows. */
void levels_put(const levels *l, store_buckets *out);
void levels_free(levels *l);
