/* agent/heap/stacks.h - the table of allocating stacks, each stored once, with its totals.
 *
 *   slot[]    { high half of the hash, entry }: open addressing, entries are never removed
 *   entry[]   in order of appearance; entry 0 has no frames and counts everything that did not fit
 *   pcs[]     the addresses, one stack after the other
 *
 * There is no lock: an entry is filled before a slot refers to it.  If two threads add the same new
 * stack at once, one entry is wasted. */
#pragma once
#include "agent/heap/estimate.h"

#include <stdatomic.h>

enum {
    STACKS_MAX = 1 << 14,
    STACKS_SLOTS = 2 * STACKS_MAX,
    STACKS_PCS = 24 * STACKS_MAX,
    STACKS_PROBES = 64
};

typedef struct stack_entry {
    uint32_t first; /* index in pcs[] */
    uint16_t n;
    uint8_t end; /* unwind_end */
    _Atomic bool ready;
    _Atomic int64_t alloc_objects, alloc_space, inuse_objects, inuse_space; /* estimate.h */
} stack_entry;

typedef struct stacks {
    _Atomic uint64_t *slot;
    stack_entry *entry;
    uintptr_t *pcs;
    _Atomic uint32_t n, n_pcs;
} stacks;

/* Memory that stacks_open requires, zeroed and aligned to a page. */
enum {
    STACKS_BYTES = STACKS_SLOTS * sizeof(uint64_t) + STACKS_MAX * sizeof(stack_entry) +
                   STACKS_PCS * sizeof(uintptr_t)
};

void stacks_open(stacks *t, void *memory);

/* Returns the entry of the stack; 0 when there is no space or the stack has no frames. */
uint32_t stacks_intern(stacks *t, const uintptr_t *pcs, uint16_t n, uint8_t end);

/* stacks_at accepts indexes below stacks_count, and returns NULL for an entry that is not ready. */
uint32_t stacks_count(const stacks *t);
stack_entry *stacks_at(const stacks *t, uint32_t i);
