/* Interposes libc's allocation functions.  Each samples the block or jumps to the next
 * allocator. */
#include "agent/heap/heap.h"
#include "agent/heap/next.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* ---- allocation ---- */

/* The slow path of all allocation functions, when heap_pass has returned false. */
#define SAMPLED(n, call)                                                                           \
    do {                                                                                           \
        bool due = heap_due(n);                                                                    \
        void *p_ = (call);                                                                         \
        if (due && p_) heap_sampled(p_, (n));                                                      \
        return p_;                                                                                 \
    } while (0)

static COLD void *malloc_slow(size_t n) { SAMPLED(n, next.malloc(n)); }
static COLD void *calloc_slow(size_t n, size_t size) { SAMPLED(n * size, next.calloc(n, size)); }
static COLD void *memalign_slow(size_t align, size_t n) { SAMPLED(n, next.memalign(align, n)); }
static COLD void *aligned_slow(size_t a, size_t n) { SAMPLED(n, next.aligned_alloc(a, n)); }
static COLD void *valloc_slow(size_t n) { SAMPLED(n, next.valloc(n)); }
static COLD void *pvalloc_slow(size_t n) { SAMPLED(n, next.pvalloc(n)); }

EXPORT void *malloc(size_t n) { return LIKELY(heap_pass(n)) ? next.malloc(n) : malloc_slow(n); }

EXPORT void *calloc(size_t n, size_t size)
{
    size_t all;
    if (UNLIKELY(ckd_mul(&all, n, size)) || LIKELY(heap_pass(all))) return next.calloc(n, size);
    return calloc_slow(n, size);
}

EXPORT void *memalign(size_t align, size_t n)
{
    return LIKELY(heap_pass(n)) ? next.memalign(align, n) : memalign_slow(align, n);
}

EXPORT void *aligned_alloc(size_t align, size_t n)
{
    return LIKELY(heap_pass(n)) ? next.aligned_alloc(align, n) : aligned_slow(align, n);
}

EXPORT void *valloc(size_t n) { return LIKELY(heap_pass(n)) ? next.valloc(n) : valloc_slow(n); }
EXPORT void *pvalloc(size_t n) { return LIKELY(heap_pass(n)) ? next.pvalloc(n) : pvalloc_slow(n); }

EXPORT int posix_memalign(void **p, size_t align, size_t n)
{
    if (LIKELY(heap_pass(n))) return next.posix_memalign(p, align, n);
    bool due = heap_due(n);
    int error = next.posix_memalign(p, align, n);
    if (due && !error) heap_sampled(*p, n);
    return error;
}

/* ---- free ---- */

static COLD void free_slow(void *p)
{
    if (next_own(p)) return;
    heap_forget(p);
    next.free(p);
}

EXPORT void free(void *p)
{
    if (UNLIKELY(live_maybe(&heap_live, (uintptr_t)p)))
        free_slow(p);
    else
        next.free(p);
}

/* C23.  A libc with these functions does not call free() in them. */
EXPORT void free_sized(void *p, size_t n);
EXPORT void free_aligned_sized(void *p, size_t align, size_t n);

EXPORT void free_sized(void *p, size_t n)
{
    (void)n;
    free(p);
}

EXPORT void free_aligned_sized(void *p, size_t align, size_t n)
{
    (void)align, (void)n;
    free(p);
}

/* ---- realloc: frees one block and allocates another, even in place ---- */

static void *move_own(void *p, size_t own, size_t n)
{
    void *q = malloc(n);
    if (q) memcpy(q, p, n < own ? n : own);
    return q;
}

static COLD void *realloc_slow(void *p, size_t n)
{
    size_t own = next_own(p);
    if (own) return move_own(p, own, n);
    bool due = !heap_pass(n) && heap_due(n);
    live_value old;
    /* Before the call: afterwards another thread may already have the same address. */
    bool had = p && heap_lift(p, &old);
    void *q = next.realloc(p, n);
    if (had && !q && n)
        heap_restore(p, &old); /* it failed: the old block is unchanged */
    else if (had)
        heap_settle(&old);
    if (due && q) heap_sampled(q, n);
    return q;
}

EXPORT void *realloc(void *p, size_t n)
{
    if (LIKELY(!live_maybe(&heap_live, (uintptr_t)p) && heap_pass(n))) return next.realloc(p, n);
    return realloc_slow(p, n);
}

EXPORT void *reallocarray(void *p, size_t n, size_t size)
{
    size_t all;
    if (ckd_mul(&all, n, size)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(p, all);
}
