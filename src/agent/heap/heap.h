/* agent/heap/heap.h - the sampler behind malloc and free.
 *
 *   malloc ─ heap_pass: one comparison ──────────────────────────► next.malloc
 *          └ heap_due: is it a sample? ─ heap_took: stack, totals, live block
 *   free   ─ live_maybe: one load ───────────────────────────────► next.free
 *          └ heap_forget
 *
 * One a process: interposed functions have no argument to hand a state through.  Nothing here allocates or
 * locks; all of it may run before constructors, in signal handlers and in the child of a fork. */
#pragma once
#include "agent/heap/live.h"

typedef struct heap_thread {
    size_t left;       /* bytes until heap_due has to be asked */
    uint64_t asked;    /* times it was */
    uint64_t chance;   /* estimate_distance */
    uint64_t interval; /* that `left` was drawn by; 0: it was not drawn */
    bool seeded;
    bool busy; /* inside of heap_took or heap_due: what allocates there is not sampled */
} heap_thread;

/* Initial-exec: an offset from the thread pointer, there from the first to the last moment of a thread. */
extern _Thread_local heap_thread heap_self __attribute__((tls_model("initial-exec")));
extern live heap_live;

/* True: the block is no sample.  Otherwise nothing has changed and heap_due decides. */
ALWAYS_INLINE bool heap_pass(size_t n)
{
    if (UNLIKELY(n >= heap_self.left)) return false;
    heap_self.left -= n;
    return true;
}

/* Where the thread is on the line of bytes.  Equal before and after: nothing was counted in between. */
typedef struct heap_place {
    size_t left;
    uint64_t asked;
} heap_place;

ALWAYS_INLINE heap_place heap_here(void) { return (heap_place){heap_self.left, heap_self.asked}; }

ALWAYS_INLINE bool heap_still(heap_place p)
{
    return heap_self.left == p.left && heap_self.asked == p.asked;
}

/* After heap_pass said false: whether the block is a sample; if so, heap_took has to follow when it was had. */
bool heap_due(size_t n);
void heap_took(const void *p, size_t n);

/* Before the block is given back: it is no longer in use. */
void heap_forget(const void *p);

/* The same in two steps, for what may fail in between: lift, then settle (it is gone) or restore. */
bool heap_lift(const void *p, live_value *v);
void heap_settle(const live_value *v);
void heap_restore(const void *p, const live_value *v);
