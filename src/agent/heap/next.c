/* Finds the next allocator: see next.h. */
#include "agent/heap/next.h"

#include "agent/heap/heap.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>

enum { STORE_BYTES = 32 << 10, ALIGN = 16, PAGE = 4096 };

static _Alignas(PAGE) char store[STORE_BYTES];
static _Atomic size_t store_used;
static _Thread_local bool finding __attribute__((tls_model("initial-exec")));

size_t next_own(const void *p)
{
    uintptr_t at = (uintptr_t)p - (uintptr_t)store;
    return at < STORE_BYTES ? STORE_BYTES - at : 0;
}

/* Returns zeroed memory that is never freed; NULL when the store is exhausted. */
static void *store_take(size_t align, size_t n)
{
    if (align < ALIGN) align = ALIGN;
    size_t old = atomic_load_explicit(&store_used, memory_order_relaxed), first;
    do {
        first = (old + align - 1) & ~(align - 1);
        if (align > PAGE || first > STORE_BYTES || n > STORE_BYTES - first) {
            errno = ENOMEM;
            return NULL;
        }
    } while (!atomic_compare_exchange_weak_explicit(&store_used, &old, first + n + !n,
                                                    memory_order_relaxed, memory_order_relaxed));
    live_mark(&heap_live, (uintptr_t)(store + first));
    return store + first;
}

/* Looks up the next allocator.  Returns false when the call comes from this thread's own lookup.
 * Two threads may look up at once; they find the same functions. */
static COLD bool find(void)
{
    if (finding) return false;
    finding = true;
    next_allocator found;
    *(void **)&found.malloc = dlsym(RTLD_NEXT, "malloc");
    *(void **)&found.free = dlsym(RTLD_NEXT, "free");
    *(void **)&found.calloc = dlsym(RTLD_NEXT, "calloc");
    *(void **)&found.realloc = dlsym(RTLD_NEXT, "realloc");
    *(void **)&found.posix_memalign = dlsym(RTLD_NEXT, "posix_memalign");
    *(void **)&found.aligned_alloc = dlsym(RTLD_NEXT, "aligned_alloc");
    *(void **)&found.memalign = dlsym(RTLD_NEXT, "memalign");
    *(void **)&found.valloc = dlsym(RTLD_NEXT, "valloc");
    *(void **)&found.pvalloc = dlsym(RTLD_NEXT, "pvalloc");
    next = found;
    finding = false;
    return true;
}

static void *first_malloc(size_t n) { return find() ? next.malloc(n) : store_take(ALIGN, n); }

static void *first_calloc(size_t n, size_t size)
{
    size_t all;
    if (find()) return next.calloc(n, size);
    return ckd_mul(&all, n, size) ? NULL : store_take(ALIGN, all);
}

static void *first_realloc(void *p, size_t n)
{
    if (find()) return next.realloc(p, n);
    return p ? NULL
             /* the slow path of realloc() has handled blocks of the store */
             : store_take(ALIGN, n);
}

static void first_free(void *p)
{
    if (find()) next.free(p);
}

static int first_posix_memalign(void **p, size_t align, size_t n)
{
    if (find()) return next.posix_memalign(p, align, n);
    void *q = store_take(align, n);
    if (!q) return ENOMEM;
    *p = q;
    return 0;
}

static void *first_aligned_alloc(size_t align, size_t n)
{
    return find() ? next.aligned_alloc(align, n) : store_take(align, n);
}

static void *first_memalign(size_t align, size_t n)
{
    return find() ? next.memalign(align, n) : store_take(align, n);
}

static void *first_valloc(size_t n) { return find() ? next.valloc(n) : store_take(PAGE, n); }
static void *first_pvalloc(size_t n) { return find() ? next.pvalloc(n) : store_take(PAGE, n); }

next_allocator next = {first_malloc,   first_free,           first_calloc,
                       first_realloc,  first_posix_memalign, first_aligned_alloc,
                       first_memalign, first_valloc,         first_pvalloc};

/* Looks up the allocator before the program has threads, in case nothing has allocated yet. */
__attribute__((constructor(101))) static void find_early(void)
{
    if (next.malloc == first_malloc) (void)find();
}
