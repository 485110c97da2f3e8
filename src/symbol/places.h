/* symbol/places.h - which module stands behind a location of a model. */
#pragma once
#include "base/hash.h"
#include "symbol/symbolize.h"

typedef struct place {
    module m;
    symbolized s;
    binary_id id;
    str key; /* what it was found by: perf maps by their path, the others by name and ids */
} place;

typedef struct places {
    const model *m;
    const symbolize_opts *o;
    arena *a;
    symbol_cache cache;
    VEC(place) v;
    hash_index by_key;
    uint32_t *of_mapping;  /* position + 1; 0: not yet */
    int64_t *pid_of_stack; /* made when code without a file is met */
    int64_t *pid_of_location;
    bool failed; /* the budget was reached */
} places;

NODISCARD bool places_begin(places *p, const model *m, const symbolize_opts *o, arena *a);
void places_end(places *p);

/* Position of the place behind location i; opened on first use. */
uint32_t places_of(places *p, uint32_t i);
