/* agent/heap/live.h - sampled blocks that have not been freed: address -> what it stands for, and where.
 *
 * Every free() of the program asks here, and nearly none is of a sampled block, so a filter answers first:
 *
 *   filter   one counter for each class of addresses; neighbours in memory are neighbours here, so that what
 *            is touched of it is a sixteenth of what the program touches of its heap
 *   levels   of buckets of LIVE_WAYS addresses, one cache line each, and their values beside them; an address
 *            may stand in two buckets of each level.  A level is used when those before it have no room, so
 *            that the memory that is touched follows what is remembered.
 *
 * No lock: a slot goes 0 -> LIVE_BUSY -> address -> LIVE_BUSY -> 0, each step by whoever swapped it in.  Any
 * thread may be stopped for good between two of them (a fork, a signal): one slot stays busy, no more. */
#pragma once
#include "agent/heap/estimate.h"

#include <stdatomic.h>

enum {
    LIVE_FILTER = 1 << 17,
    LIVE_WAYS = 8,
    LIVE_LEVELS = 4,
    LIVE_FIRST =
        1 << 10, /* slots of the first level; each has four times those of the one before */
    LIVE_MAX = LIVE_FIRST * (1 + 4 + 16 + 64),
    LIVE_BUSY = 1,
    LIVE_FILTER_FULL = 255 /* too many to count: stays for good */
};

typedef struct live_value {
    estimate stands_for;
    uint32_t stack;
} live_value;

typedef struct live {
    _Atomic uint8_t filter[LIVE_FILTER];
    _Atomic uintptr_t *address; /* [LIVE_MAX], level after level */
    live_value *value;          /* [LIVE_MAX] */
    _Atomic uint32_t levels;    /* in use */
} live;

/* Memory that live_open wants, zeroed and aligned to a page. */
enum { LIVE_BYTES = LIVE_MAX * (sizeof(uintptr_t) + sizeof(live_value)) };

void live_open(live *t, void *memory);

/* False: there is no room. */
NODISCARD bool live_put(live *t, uintptr_t address, const live_value *v);

/* Forgets the block.  False: it is not one of ours. */
bool live_take(live *t, uintptr_t address, live_value *v);

/* In the child of a fork, where nobody else runs: gives up busy slots, and shows every block that is left. */
void live_mend(live *t, void (*f)(void *who, const live_value *v), void *who);

/* Blocks at this address always go the slow way, sampled or not. */
void live_mark(live *t, uintptr_t address);

static inline size_t live_class(uintptr_t address)
{
    return ((address >> 4) ^ (address >> 21) * 0x9e3779b1u) % LIVE_FILTER;
}

/* False: the block was not sampled.  A load and a few instructions. */
ALWAYS_INLINE bool live_maybe(const live *t, uintptr_t address)
{
    return atomic_load_explicit(&t->filter[live_class(address)], memory_order_relaxed);
}
