/* store/series_ids.h - numbers for the series of a read: resource, scope, type and period. */
#pragma once
#include "store/block.h"

/* Initialized with an arena and zeros. */
typedef struct series_ids {
    arena *a;
    VEC(str) v; /* their identities, as bytes */
    hash_index by_identity;
    buf scratch;
} series_ids;

#define NO_SERIES UINT32_MAX

/* Returns the number of the series of a profile. Types and units of p are strings of d. Returns
 * NO_SERIES when out of memory. */
uint32_t series_id(series_ids *x, const dict *d, const resource *r, const scope *s,
                   const profile *p);
void series_ids_free(series_ids *x);
