/* symbol/places.h - finds the module of each location of a model. */
#pragma once
#include "base/hash.h"
#include "symbol/symbolize.h"

typedef struct place {
    module m;
    symbolized s;
    binary_id id;
    str key;    /* identifies the module: the path of a perf map, otherwise name and build ids */
    bool keeps; /* the module may serve other profiles, although its addresses are absolute */
} place;

typedef struct places {
    const model *m;
    const symbolize_opts *o;
    arena *a;
    symbol_cache cache;
    VEC(place) v;
    hash_index by_key;
    uint32_t *of_mapping;  /* position + 1; 0: not yet */
    int64_t *pid_of_stack; /* built at the first location without a file */
    int64_t *pid_of_location;
    bool failed; /* the budget was reached */
} places;

NODISCARD bool places_begin(places *p, const model *m, const symbolize_opts *o, arena *a);
void places_end(places *p);

/* Returns the position of the place of location i; its module is opened on first use. */
uint32_t places_of(places *p, uint32_t i);
