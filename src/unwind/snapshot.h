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
 * below 2^48 are kept.  Zero is an empty slot: no code lies in the first 8 KiB.  Wide rules are kept beside it, and the
 * word holds their position.
 *
 * Objects that came after the snapshot was made are found by a handler that meets their code (late.c), and join `late`. */
#pragma once
#include "unwind/object.h"

enum {
    CACHE_BITS = 13,
    CACHE_SLOTS = 1 << CACHE_BITS,
    WIDE_SLOTS = 128,
    LATE_SLOTS = 64,
};

typedef struct wide_slot {
    _Atomic uint32_t ready; /* release: pairs with whoever compares it with a rule of his own */
    wide_rule rule;
} wide_slot;

typedef struct late_slot {
    _Atomic uint32_t ready; /* release: pairs with late_object() */
    unwind_object o;
} late_slot;

typedef struct unwind_snapshot {
    _Atomic uint64_t cache[CACHE_SLOTS];
    _Atomic uint32_t missed;         /* times a handler met code of no object: time to look again */
    _Atomic uint32_t n_wide, n_late; /* slots claimed */
    _Atomic uint32_t looking;        /* a handler reads the loader's list */
    _Atomic uint64_t look_after;     /* CLOCK_MONOTONIC, ns: not before that */
    const void *loader; /* struct r_debug; NULL: handlers do not look for late objects */
    wide_slot wide[WIDE_SLOTS];
    late_slot late[LATE_SLOTS];
    bool
        foreign; /* the objects are another process's: nothing but their bytes and copies of stacks may be read */
    uint32_t n_objects;
    size_t bytes;                    /* of this block */
    struct unwind_snapshot *retired; /* the registry's list of replaced ones */
    unwind_object *objects[];        /* by address */
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
