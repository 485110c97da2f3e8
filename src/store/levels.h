/* store/levels.h - levels (profile_is_level) and cumulative profiles (profile_is_cumulative) in
 * time buckets. Adding them up within a bucket would be meaningless, so in each bucket only the
 * newest profile of a series counts. */
#pragma once
#include "store/result.h"

bool makes_no_sum(const model *m, const profile *p);
/* Returns whether the series can have such profiles. */
bool series_makes_no_sum(const block_series *s, const tables *t);

/* A series in one time bucket. */
typedef struct level_cell {
    uint32_t series;
    uint64_t bucket;
    uint64_t newest;   /* end of the newest profile so far */
    uint32_t replaced; /* how often a newer profile replaced it */
} level_cell;

/* The contribution of the newest profile of a cell to a row. */
typedef struct level_part {
    uint32_t cell, row;
    uint32_t replaced; /* the cell's value when this was added; valid only while they are equal */
    int64_t sum;
    uint64_t count;
} level_part;

/* Initialized with an arena and zeros. */
typedef struct levels {
    arena *a;
    VEC(str) series; /* their identities, as bytes */
    VEC(level_cell) cells;
    VEC(level_part) parts;
    hash_index by_series, by_cell, by_part;
    buf scratch;
} levels;

/* Sets *counts to whether the profile of m, which ends at `end`, is the newest of its series in the
 * bucket so far. If it is, levels_add may follow, with *cell. Returns false when out of memory. */
NODISCARD bool levels_meet(levels *l, const model *m, const profile *p, uint64_t bucket,
                           uint64_t end, uint32_t *cell, bool *counts);
NODISCARD bool levels_add(levels *l, uint32_t cell, uint32_t row, int64_t v, uint64_t n);
/* Adds the contributions of the newest profiles to the rows. */
void levels_put(const levels *l, store_buckets *out);
void levels_free(levels *l);
