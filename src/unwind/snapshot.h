/* unwind/snapshot.h - the loaded objects as a handler sees them.
 *
 * Apart from its cache a snapshot never changes; the registry replaces it as a whole.  Handlers
 * count themselves as readers (enter, leave), and the registry frees replaced snapshots when there
 * are no readers:
 *
 *     handler    readers + 1  ->  load current  ->  ...  ->  readers - 1
 *     registry   store current  ->  readers = 0 seen  ->  free everything older
 *
 * All four operations are sequentially consistent: a handler that entered before the registry saw
 * 0 has left, and one that enters later loads the new snapshot.  Neither side waits.
 *
 * The cache maps an address to its rule in one word, so that handlers of all threads share it
 * without a lock:  |address >> 13 (35 bits)|rule (29 bits)|, at slot (address ^ address >> 13) %
 * 8192.  It contains only addresses below 2^48.  Zero is an empty slot, because no code is in the
 * first 8 KiB.  Wide rules are stored next to the cache, and the word contains their position.
 *
 * A handler that finds code of an object loaded after the snapshot was made adds the object to
 * `late` (late.c). */
#pragma once
#include "unwind/object.h"

enum {
    CACHE_BITS = 13,
    CACHE_SLOTS = 1 << CACHE_BITS,
    WIDE_SLOTS = 128,
    LATE_SLOTS = 64,
};

typedef struct wide_slot {
    _Atomic uint32_t ready; /* release: pairs with the comparison in store_wide() */
    wide_rule rule;
} wide_slot;

typedef struct late_slot {
    _Atomic uint32_t ready; /* release: pairs with late_object() */
    unwind_object o;
} late_slot;

typedef struct unwind_snapshot {
    _Atomic uint64_t cache[CACHE_SLOTS];
    _Atomic uint32_t missed; /* times a handler found code of no object, which a refresh may find */
    _Atomic uint32_t n_wide, n_late; /* number of slots claimed */
    _Atomic uint32_t searching;      /* a handler is reading the loader's list */
    _Atomic uint64_t search_after;   /* earliest time of the next search, CLOCK_MONOTONIC in ns */
    const void *loader; /* struct r_debug; NULL: handlers do not search for late objects */
    wide_slot wide[WIDE_SLOTS];
    late_slot late[LATE_SLOTS];
    /* Objects of another process: only their bytes and copies of stacks may be read. */
    bool foreign;
    uint32_t n_objects;
    size_t bytes;                    /* size of this block */
    struct unwind_snapshot *retired; /* next in the registry's list of replaced snapshots */
    unwind_object *objects[];        /* in order of address */
} unwind_snapshot;

/* The current snapshot and the number of handlers that read it.  The registry and the handlers
 * share it. */
typedef struct unwind_gate {
    _Atomic(unwind_snapshot *) current;
    _Atomic uint32_t readers;
} unwind_gate;

static inline unwind_snapshot *snapshot_enter(unwind_gate *d)
{
    atomic_fetch_add(&d->readers, 1);
    return atomic_load(&d->current);
}

static inline void snapshot_leave(unwind_gate *d) { atomic_fetch_sub(&d->readers, 1); }
