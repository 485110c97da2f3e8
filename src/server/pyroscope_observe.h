/* server/pyroscope_observe.h - the single observations of a selection, by groups of labels: for heat
 * maps, exemplars, and amounts over time at a call site. */
#pragma once
#include "base/hash.h"
#include "server/pyroscope_points.h"

typedef struct pyro_observation {
    uint64_t time; /* Unix ns */
    int64_t value;
    size_t group; /* in pyro_groups */
    const uint8_t *profile_id;
    uint64_t profile;     /* number of the profile: identifies one without an id */
    const link_ids *link; /* all zero: none */
} pyro_observation;

typedef struct pyro_groups {
    VEC(pyro_labels) v;
    hash_index by_key;
} pyro_groups;

typedef bool pyro_each(void *ctx, const pyro_observation *o, err *e);

/* Passes each observation in [start, end) whose stack begins with the call site. */
NODISCARD bool pyro_observe(pyro_selection *s, uint64_t start, uint64_t end, const pyro_texts *by,
                            const pyro_texts *call_site, pyro_groups *groups, pyro_each *each,
                            void *ctx, err *e);

/* A profile or span with the sum of its observations in one group. */
typedef struct pyro_item {
    uint64_t time; /* of its first observation */
    int64_t value;
    size_t group;
    uint8_t profile_id[16];
    uint64_t profile; /* as in pyro_observation */
    link_ids link;
} pyro_item;

typedef struct pyro_items {
    query *k;
    bool spans; /* otherwise profiles */
    VEC(pyro_item) v;
    hash_index by_id;
} pyro_items;

/* Collects items; use it as the callback, with pyro_items as ctx. */
pyro_each pyro_collect;
/* Appends an Exemplar as field `number`. */
void pyro_put_exemplar(buf *b, uint32_t number, const pyro_item *x, uint64_t at_ms,
                       const pyro_labels *labels);
