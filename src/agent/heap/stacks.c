/* The table of stacks: see stacks.h. */
#include "agent/heap/stacks.h"

#include "base/hash.h"

#include <string.h>

void stacks_open(stacks *t, void *memory)
{
    t->slot = memory;
    t->pcs = (uintptr_t *)((uint64_t *)memory + STACKS_SLOTS);
    t->entry = (stack_entry *)(t->pcs + STACKS_PCS);
    atomic_store_explicit(&t->entry[0].ready, true, memory_order_relaxed);
    atomic_store_explicit(&t->n, 1, memory_order_release);
}

/* Reserves `n` entries of a bounded pool and sets *first.  Returns false when it is exhausted.
 * Checks before it adds, so that the counter cannot overflow. */
static bool reserve(_Atomic uint32_t *used, uint32_t n, uint32_t max, uint32_t *first)
{
    uint32_t old = atomic_load_explicit(used, memory_order_relaxed);
    do {
        if (n > max - old) return false;
    } while (!atomic_compare_exchange_weak_explicit(used, &old, old + n, memory_order_relaxed,
                                                    memory_order_relaxed));
    *first = old;
    return true;
}

/* Creates an entry that no slot refers to yet.  Returns its index; 0 when the table is full. */
static uint32_t make(stacks *t, const uintptr_t *pcs, uint16_t n, uint8_t end)
{
    uint32_t at, first;
    if (!reserve(&t->n_pcs, n, STACKS_PCS, &first) || !reserve(&t->n, 1, STACKS_MAX, &at)) return 0;
    memcpy(t->pcs + first, pcs, n * sizeof *pcs);
    stack_entry *e = &t->entry[at];
    e->first = first;
    e->n = n;
    e->end = end;
    /* release: pairs with the acquire of stacks_at */
    atomic_store_explicit(&e->ready, true, memory_order_release);
    return at;
}

static bool same(const stacks *t, uint32_t at, const uintptr_t *pcs, uint16_t n, uint8_t end)
{
    const stack_entry *e = &t->entry[at];
    return e->n == n && e->end == end && !memcmp(t->pcs + e->first, pcs, n * sizeof *pcs);
}

uint32_t stacks_intern(stacks *t, const uintptr_t *pcs, uint16_t n, uint8_t end)
{
    if (!n) return 0;
    uint64_t h = hash_bytes(pcs, n * sizeof *pcs, end), tag = h & ~UINT64_C(0xffffffff);
    uint32_t made = 0;
    for (uint32_t i = 0; i < STACKS_PROBES; i++) {
        _Atomic uint64_t *slot = &t->slot[(h + i) % STACKS_SLOTS];
        uint64_t seen = atomic_load_explicit(slot, memory_order_acquire);
        if (!seen) {
            if (!made) made = make(t, pcs, n, end);
            if (!made) return 0;
            /* release: the entry is complete before another thread finds it; acquire: an entry that
             * another thread added is complete */
            if (atomic_compare_exchange_strong_explicit(slot, &seen, tag | made,
                                                        memory_order_acq_rel, memory_order_acquire))
                return made;
        }
        if ((seen & ~UINT64_C(0xffffffff)) == tag && same(t, (uint32_t)seen, pcs, n, end))
            return (uint32_t)seen;
    }
    return 0;
}

uint32_t stacks_count(const stacks *t) { return atomic_load_explicit(&t->n, memory_order_acquire); }

stack_entry *stacks_at(const stacks *t, uint32_t i)
{
    stack_entry *e = &t->entry[i];
    return atomic_load_explicit(&e->ready, memory_order_acquire) ? e : NULL;
}
