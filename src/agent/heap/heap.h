/* agent/heap/heap.h - sampling behind malloc and free.
 *
 *   malloc ─ heap_pass: one comparison ──────────────────────────► next.malloc
 *          └ heap_due: is it a sample? ─ heap_sampled: stack, totals, live block
 *   free   ─ live_maybe: one load ───────────────────────────────► next.free
 *          └ heap_forget
 *
 * The state is global, because interposed functions have no argument for it.  Nothing here
 * allocates or locks; all functions may run before constructors, in signal handlers and in the
 * child of a fork. */
#pragma once
#include "agent/heap/live.h"

typedef struct heap_thread {
    size_t left;       /* bytes until heap_due has to be called */
    uint64_t checks;   /* number of calls of heap_due */
    uint64_t random;   /* state of estimate_distance */
    uint64_t interval; /* interval with which `left` was drawn; 0: not drawn yet */
    bool seeded;
    bool busy; /* inside heap_sampled or heap_due, where allocations are not sampled */
} heap_thread;

/* initial-exec: at a fixed offset from the thread pointer, so valid from the start of a thread to
 * its end */
extern _Thread_local heap_thread heap_self __attribute__((tls_model("initial-exec")));
extern live heap_live;

/* Returns true when the block is not a sample; otherwise changes nothing, and heap_due decides. */
ALWAYS_INLINE bool heap_pass(size_t n)
{
    if (UNLIKELY(n >= heap_self.left)) return false;
    heap_self.left -= n;
    return true;
}

/* The position of the thread on the line of bytes (estimate.h).  If a call does not change it, no
 * bytes were counted. */
typedef struct heap_place {
    size_t left;
    uint64_t checks;
} heap_place;

ALWAYS_INLINE heap_place heap_here(void) { return (heap_place){heap_self.left, heap_self.checks}; }

ALWAYS_INLINE bool heap_still(heap_place p)
{
    return heap_self.left == p.left && heap_self.checks == p.checks;
}

/* Called after heap_pass returned false.  Returns whether the block is a sample; if so, the caller
 * calls heap_sampled when the allocation has succeeded. */
bool heap_due(size_t n);
void heap_sampled(const void *p, size_t n);

/* Called before a block is freed: no longer counts it as in use. */
void heap_forget(const void *p);

/* heap_forget in two steps, for an operation that may fail: heap_lift returns whether the block was
 * sampled; then heap_settle if it was freed, otherwise heap_restore. */
bool heap_lift(const void *p, live_value *v);
void heap_settle(const live_value *v);
void heap_restore(const void *p, const live_value *v);
