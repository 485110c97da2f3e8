/* operator new and delete in front of the C++ runtime's, or of another allocator's.
 *
 * libstdc++ and libc++ call malloc and free, which are ours already; jemalloc, tcmalloc and others bring operators
 * that go straight to their insides.  So each call asks afterwards whether the bytes were counted on the way
 * (the thread's countdown moved), and counts them here if they were not.
 *
 * A C++ runtime may come late and out of the view of RTLD_NEXT: by dlopen, with a plugin. */
#include "agent/heap/heap.h"
#include "agent/heap/next.h"

#include <dlfcn.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

typedef void any_function(void);

static bool runtime_at_start; /* there was one when the program started: RTLD_NEXT sees it */

__attribute__((constructor(101))) static void look_for_runtime(void)
{
    runtime_at_start = dlsym(RTLD_NEXT, "_Znwm");
    if (!runtime_at_start) (void)dlerror(); /* not the program's error */
}

/* Asks only where there is an answer: a failed dlsym would be the program's next dlerror. */
static COLD any_function *find(const char *name)
{
    static const char *const late[] = {"libstdc++.so.6", "libc++.so.1", "libc++abi.so.1"};
    any_function *f = NULL;
    if (runtime_at_start) *(void **)&f = dlsym(RTLD_NEXT, name);
    for (size_t i = 0; !f && i < ARRAY_LEN(late); i++) {
        void *runtime = dlopen(late[i], RTLD_LAZY | RTLD_NOLOAD);
        if (runtime)
            *(void **)&f = dlsym(runtime, name); /* and it stays loaded: we hold its operators */
    }
    return f;
}

/* ---- new */

static COLD void count_here(const void *p, size_t n)
{
    if (p && !heap_pass(n) && heap_due(n)) heap_took(p, n);
}

/* No runtime to be found (linked into a plugin, hidden, its operators bound to ours): as theirs would do it,
 * but nobody to throw when memory is out. */
static COLD void *new_without(size_t n, size_t align)
{
    if (!n) n = 1;
    return align ? aligned_alloc(align, (n + align - 1) & ~(align - 1)) : malloc(n);
}

#define NEW(name, params, args, align)                                                             \
    EXPORT void *name params;                                                                      \
    EXPORT void *name params                                                                       \
    {                                                                                              \
        static void *(*_Atomic next_)params;                                                       \
        void *(*f)params = atomic_load_explicit(&next_, memory_order_relaxed);                     \
        if (UNLIKELY(!f)) {                                                                        \
            f = (void *(*)params)find(#name);                                                      \
            if (!f) return new_without(n, align);                                                  \
            atomic_store_explicit(&next_, f, memory_order_relaxed);                                \
        }                                                                                          \
        heap_place here = heap_here();                                                             \
        void *p = f args;                                                                          \
        if (UNLIKELY(heap_still(here))) count_here(p, n);                                          \
        return p;                                                                                  \
    }

NEW(_Znwm, (size_t n), (n), 0)
NEW(_Znam, (size_t n), (n), 0)
NEW(_ZnwmRKSt9nothrow_t, (size_t n, const void *t), (n, t), 0)
NEW(_ZnamRKSt9nothrow_t, (size_t n, const void *t), (n, t), 0)
NEW(_ZnwmSt11align_val_t, (size_t n, size_t a), (n, a), a)
NEW(_ZnamSt11align_val_t, (size_t n, size_t a), (n, a), a)
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t n, size_t a, const void *t), (n, a, t), a)
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, (size_t n, size_t a, const void *t), (n, a, t), a)

/* ---- delete */

#define DELETE(name, params, args)                                                                 \
    EXPORT void name params;                                                                       \
    EXPORT void name params                                                                        \
    {                                                                                              \
        static void(*_Atomic next_) params;                                                        \
        void(*f) params = atomic_load_explicit(&next_, memory_order_relaxed);                      \
        if (UNLIKELY(live_maybe(&heap_live, (uintptr_t)p))) heap_forget(p);                        \
        if (UNLIKELY(!f)) {                                                                        \
            f = (void(*) params)find(#name);                                                       \
            if (!f) {                                                                              \
                free(p);                                                                           \
                return;                                                                            \
            }                                                                                      \
            atomic_store_explicit(&next_, f, memory_order_relaxed);                                \
        }                                                                                          \
        f args;                                                                                    \
    }

DELETE(_ZdlPv, (void *p), (p))
DELETE(_ZdaPv, (void *p), (p))
DELETE(_ZdlPvm, (void *p, size_t n), (p, n))
DELETE(_ZdaPvm, (void *p, size_t n), (p, n))
DELETE(_ZdlPvRKSt9nothrow_t, (void *p, const void *t), (p, t))
DELETE(_ZdaPvRKSt9nothrow_t, (void *p, const void *t), (p, t))
DELETE(_ZdlPvSt11align_val_t, (void *p, size_t a), (p, a))
DELETE(_ZdaPvSt11align_val_t, (void *p, size_t a), (p, a))
DELETE(_ZdlPvmSt11align_val_t, (void *p, size_t n, size_t a), (p, n, a))
DELETE(_ZdaPvmSt11align_val_t, (void *p, size_t n, size_t a), (p, n, a))
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, (void *p, size_t a, const void *t), (p, a, t))
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, (void *p, size_t a, const void *t), (p, a, t))
