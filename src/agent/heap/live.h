/* agent/heap/live.h - sampled blocks that have not been freed: address -> weight and stack.
 *
 * Every free() of the program checks this table, and very few free a sampled block, so a filter
 * comes first:
 *
 *   filter   one counter for each class of addresses.  Neighbours in memory are neighbours here, so that the
 *            program uses only a sixteenth as much of it as of its heap
 *   levels   buckets of LIVE_WAYS addresses, one cache line each, with their values in another array.  An
 *            address has two possible buckets in each level.  A level is used when the previous ones have no
 *            space, so that the memory used follows the number of blocks
 *
 * There is no lock: a slot changes 0 -> LIVE_BUSY -> address -> LIVE_BUSY -> 0, each step by the
 * thread that stored LIVE_BUSY.  A thread may stop permanently between two steps (a fork, a
 * signal); this costs one slot. */
#pragma once
#include "agent/heap/estimate.h"

#include <stdatomic.h>

enum {
    LIVE_FILTER = 1 << 17,
    LIVE_WAYS = 8,
    LIVE_LEVELS = 4,
    LIVE_FIRST =
        /* slots of the first level; each level has four times as many as the previous one */
    1 << 10,
    LIVE_MAX = LIVE_FIRST * (1 + 4 + 16 + 64),
    LIVE_BUSY = 1,
    LIVE_FILTER_FULL = 255 /* overflow: stays at this value */
};

typedef struct live_value {
    estimate stands_for;
    uint32_t stack;
} live_value;

typedef struct live {
    _Atomic uint8_t filter[LIVE_FILTER];
    _Atomic uintptr_t *address; /* [LIVE_MAX], level after level */
    live_value *value;          /* [LIVE_MAX] */
    _Atomic uint32_t levels;    /* number of levels in use */
} live;

/* Memory that live_open requires, zeroed and aligned to a page. */
enum { LIVE_BYTES = LIVE_MAX * (sizeof(uintptr_t) + sizeof(live_value)) };

void live_open(live *t, void *memory);

/* Returns false when there is no space. */
NODISCARD bool live_put(live *t, uintptr_t address, const live_value *v);

/* Removes the block and sets *v.  Returns false when it is not a sampled block. */
bool live_take(live *t, uintptr_t address, live_value *v);

/* Called in the child of a fork, without other threads: frees busy slots, and calls f for every
 * remaining block. */
void live_repair(live *t, void (*f)(void *ctx, const live_value *v), void *ctx);

/* Makes live_maybe return true for this address from now on. */
void live_mark(live *t, uintptr_t address);

static inline size_t live_class(uintptr_t address)
{
    return ((address >> 4) ^ (address >> 21) * 0x9e3779b1u) % LIVE_FILTER;
}

/* Returns false when the block was not sampled.  Costs one load and a few instructions. */
ALWAYS_INLINE bool live_maybe(const live *t, uintptr_t address)
{
    return atomic_load_explicit(&t->filter[live_class(address)], memory_order_relaxed);
}
