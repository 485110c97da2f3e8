/* store/levels.h - levels (profile_is_level) and cumulative profiles (profile_is_cumulative) in
 * time buckets. Adding them up within a bucket would be meaningless, so in each bucket only the
 * newest profile of a series counts.
 *
 * A level lasts. When `hold` is set, it also counts in the buckets after its own, until the next
 * profile of its series, but at most for three usual intervals of the series: then the series has
 * ended, or pauses. Levels of a short time before the range count as well. */
#pragma once
#include "store/count_rows.h"
#include "store/result.h"
#include "store/series_ids.h"

bool makes_no_sum(const model *m, const profile *p);
/* Returns whether the series can have such profiles. */
bool series_makes_no_sum(const block_series *s, const tables *t);

/* How long before the range a read of held levels begins. */
#define LEVELS_BEFORE (900 * NS_PER_S)

/* A series in one time bucket. */
typedef struct level_cell {
    uint32_t series;
    int64_t bucket;    /* LEVEL_EARLIER: before the range */
    uint64_t newest;   /* end of the newest profile so far */
    uint64_t duration; /* of that profile */
    uint32_t replaced; /* how often a newer profile replaced it */
    bool level;        /* false: cumulative */
} level_cell;

enum { LEVEL_EARLIER = -1 };

/* The contribution of the newest profile of a cell to a row. */
typedef struct level_part {
    uint32_t cell, row;
    uint32_t replaced; /* the cell's value when this was added; valid only while they are equal */
    int64_t sum;
    uint64_t count;
} level_part;

/* Initialized with an arena, `hold` and zeros. */
typedef struct levels {
    arena *a;
    bool hold;
    VEC(level_cell) cells;
    VEC(level_part) parts;
    hash_index by_cell, by_part;
} levels;

/* Sets *counts to whether the profile of the series, which ends at `end`, is the newest of its
 * series in the bucket so far. If it is, levels_add may follow, with *cell. Returns false when out
 * of memory. */
NODISCARD bool levels_meet(levels *l, const model *m, const profile *p, uint32_t series,
                           int64_t bucket, uint64_t end, uint32_t *cell, bool *counts);
NODISCARD bool levels_add(levels *l, uint32_t cell, uint32_t row, int64_t v, uint64_t n);
/* Adds the contributions of the newest profiles to the rows; bucket i begins at start + i * step.
 * Returns false when out of memory. */
NODISCARD bool levels_put(const levels *l, uint64_t start, uint64_t step, count_rows *rows);
