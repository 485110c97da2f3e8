/* model/graft.h - entries of one model's dictionary in a builder: index there, made on first use.  Pure.
 *
 * Only what somebody asks for is ever made, which is the garbage collection of merges.  Entries go by value, so a model whose
 * entry 0 is no zero value, or that holds duplicates, comes out right. */
#pragma once
#include "model/builder.h"

typedef struct graft {
    builder *to;
    builder *profiles; /* of graft_profile_head: `to`, unless its profiles are elsewhere */
    arena *work;       /* of the maps */
    const model *m;    /* checked; its profiles are not looked at */
    uint32_t *string, *mapping, *function, *location, *link, *attribute,
        *stack;   /* index + 1; 0 = not yet */
    u32s scratch; /* of graft_attrs */
    VEC(line) lines;
} graft;

/* The model and the builder must outlive it.  false at the budget of `work`. */
NODISCARD bool graft_init(graft *g, builder *to, const model *m, arena *work);

/* Index in the builder of entry i; 0 when out of memory (the builder has failed then). */
uint32_t graft_string(graft *g, uint32_t i);
uint32_t graft_attribute(graft *g, uint32_t i);
uint32_t graft_link(graft *g, uint32_t i);
uint32_t graft_mapping(graft *g, uint32_t i);
uint32_t graft_location(graft *g, uint32_t i);
uint32_t graft_stack(graft *g, uint32_t i);

/* A list of attributes into g->scratch, which any other call may use again; false when out of memory. */
NODISCARD bool graft_attrs(graft *g, const uint32_t *v, size_t n);

/* A new profile of g->profiles with everything of p but its samples. */
void graft_profile_head(graft *g, const profile *p);
