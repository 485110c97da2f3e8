/* unwind/snapshot.h - the objects of the process as a handler sees them.
 *
 * A snapshot never changes but for its cache; the registry replaces it as a whole.  A handler says when
 * it looks (enter, leave), and what was replaced is freed once nobody looks:
 *
 *     handler    readers + 1  ->  load current  ->  ...  ->  readers - 1
 *     registry   store current  ->  readers = 0 seen  ->  free everything older
 *
 * All four are sequentially consistent: a handler that came before the registry saw 0 has left, one that
 * comes after it loads the new snapshot.  Nobody waits.
 *
 * The cache maps an address to its rule in one word, so that handlers of all threads share it without a
 * lock:  |address >> 13 (35 bits)|rule (29 bits)|, at slot (address ^ address >> 13) % 8192.  Only addresses
 * below 2^48 are kept.  Zero is an empty slot: no code lies in the first 8 KiB. */
#pragma once
#include "unwind/table.h"
#include <stdatomic.h>

enum { CACHE_BITS = 13, CACHE_SLOTS = 1 << CACHE_BITS };

typedef struct unwind_object {
    uintptr_t lo, hi; /* its code */
    unwind_table table;
} unwind_object;

typedef struct unwind_snapshot {
    _Atomic uint64_t cache[CACHE_SLOTS];
    _Atomic uint32_t missed; /* times a handler met code of no object: time to look again */
    uint32_t n_objects;
    size_t bytes;                    /* of this block */
    struct unwind_snapshot *retired; /* the registry's list of replaced ones */
    const unwind_object *objects[];  /* by address */
} unwind_snapshot;

/* What registry and handlers share. */
typedef struct unwind_door {
    _Atomic(unwind_snapshot *) current;
    _Atomic uint32_t readers;
} unwind_door;

static inline unwind_snapshot *snapshot_enter(unwind_door *d)
{
    atomic_fetch_add(&d->readers, 1);
    return atomic_load(&d->current);
}

static inline void snapshot_leave(unwind_door *d) { atomic_fetch_sub(&d->readers, 1); }
