/* store/series_index.h - finds a series in a list by what identifies it: resource, scope, type and
 * period. Pure. */
#pragma once
#include "base/buf.h"
#include "base/hash.h"
#include "store/store.h"

/* Initialized with zeros. One index belongs to one list. */
typedef struct series_index {
    hash_index by_identity;
    buf scratch;
    uint64_t n_compared; /* comparisons of one series with another */
} series_index;

#define SERIES_ABSENT UINT32_MAX

/* Sets *at to the position of the series in the list, or to SERIES_ABSENT. Returns false when out of
 * memory. */
NODISCARD bool series_index_find(series_index *x, const store_series_list *l, const store_series *s,
                                 uint32_t *at);
/* Adds the series at a position of the list, which does not have it yet. The memory of the index is
 * in the arena, whose seed it takes. Returns false when out of memory. */
NODISCARD bool series_index_add(series_index *x, arena *a, const store_series_list *l, uint32_t at);
void series_index_free(series_index *x);

/* Returns the series of a profile, without times and counts. Types and units of p are strings of
 * d. */
store_series series_of_profile(const dict *d, const resource *r, const scope *s, const profile *p);
