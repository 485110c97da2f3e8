/* store/count_rows.h - the rows of store_counts: one for each pair of values of two labels. */
#pragma once
#include "store/store.h"
#include "base/hash.h"
#include "query/spread.h"

enum { COUNT_LABELS = 2 };

/* The values of a row, as numbers of texts. */
typedef struct count_pair {
    uint32_t text[COUNT_LABELS];
} count_pair;

/* Initialized with an arena, the number of buckets and zeros. */
typedef struct count_rows {
    arena *a;
    size_t n_buckets;
    bool levels; /* rows need store_row.series */
    VEC(store_row) v;
    VEC(int64_t *) whole;  /* by row: of spread_add; NULL: it has no intervals */
    VEC(str) texts;        /* values of labels */
    VEC(count_pair) pairs; /* by row */
    hash_index by_text, by_pair;
} count_rows;

#define NO_ROW UINT32_MAX

/* Returns the number of a value; NO_ROW when out of memory. */
uint32_t count_text(count_rows *x, str text);
/* Returns the row of two values; NO_ROW when out of memory. */
uint32_t count_row(count_rows *x, const uint32_t text[COUNT_LABELS]);

/* Adds the interval [from, to) to a row (query/spread.h). Returns false when out of memory. */
NODISCARD bool count_interval(count_rows *x, uint32_t row, const spread_steps *steps, uint64_t from,
                              uint64_t to, int64_t value);
/* Finishes the sums of the rows after all intervals were added. */
void count_finish(count_rows *x);
