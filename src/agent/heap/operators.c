/* Interposes operator new and delete of the C++ runtime or of another allocator.
 *
 * libstdc++ and libc++ call malloc and free, which are already interposed.  jemalloc, tcmalloc and
 * others have operators that use their internal functions.  So each operator checks after the call
 * whether the bytes were already counted (the thread's countdown has changed), and counts them if
 * not.
 *
 * A C++ runtime may be loaded late with dlopen, as part of a plugin, and RTLD_NEXT does not find
 * it. */
#include "agent/heap/heap.h"
#include "agent/heap/next.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* The next operators, by their mangled names. */
#define OPERATORS(X)                                                                               \
    X(_Znwm)                                                                                       \
    X(_Znam)                                                                                       \
    X(_ZnwmRKSt9nothrow_t)                                                                         \
    X(_ZnamRKSt9nothrow_t)                                                                         \
    X(_ZnwmSt11align_val_t)                                                                        \
    X(_ZnamSt11align_val_t)                                                                        \
    X(_ZnwmSt11align_val_tRKSt9nothrow_t)                                                          \
    X(_ZnamSt11align_val_tRKSt9nothrow_t)                                                          \
    X(_ZdlPv)                                                                                      \
    X(_ZdaPv)                                                                                      \
    X(_ZdlPvm)                                                                                     \
    X(_ZdaPvm)                                                                                     \
    X(_ZdlPvRKSt9nothrow_t)                                                                        \
    X(_ZdaPvRKSt9nothrow_t)                                                                        \
    X(_ZdlPvSt11align_val_t)                                                                       \
    X(_ZdaPvSt11align_val_t)                                                                       \
    X(_ZdlPvmSt11align_val_t)                                                                      \
    X(_ZdaPvmSt11align_val_t)                                                                      \
    X(_ZdlPvSt11align_val_tRKSt9nothrow_t)                                                         \
    X(_ZdaPvSt11align_val_tRKSt9nothrow_t)

enum {
#define X(name) OF_##name,
    OPERATORS(X)
#undef X
        N_OPERATORS
};
static const char *const name_of[] = {
#define X(name) #name,
    OPERATORS(X)
#undef X
};

typedef void any_function(void);
static any_function *_Atomic behind[N_OPERATORS];

/* Looks up all operators at once, because the loader must not be called while the program exits (a
 * dlopen would run constructors again).  If some are missing, the program's dlerror state is
 * cleared. */
static void take_from(void *runtime)
{
    bool missed = false;
    for (int i = 0; i < N_OPERATORS; i++) {
        any_function *f;
        *(void **)&f = dlsym(runtime, name_of[i]);
        if (f) atomic_store_explicit(&behind[i], f, memory_order_relaxed);
        missed |= !f;
        if (!i && missed) break; /* no C++ runtime */
    }
    if (missed) (void)dlerror();
}

static int is_runtime(struct dl_phdr_info *o, size_t size, void *unused)
{
    (void)size, (void)unused;
    return strstr(o->dlpi_name, "libstdc++") || strstr(o->dlpi_name, "libc++");
}

/* Looks up the operators before the program has threads.  Skips programs without C++, because a
 * failed lookup allocates. */
__attribute__((constructor(101))) static void find_early(void)
{
    if (dl_iterate_phdr(is_runtime, NULL)) take_from(RTLD_NEXT);
}

static COLD any_function *find(int which)
{
    static const char *const late[] = {"libstdc++.so.6", "libc++.so.1", "libc++abi.so.1"};
    take_from(RTLD_NEXT);
    for (size_t i = 0;
         i < ARRAY_LEN(late) && !atomic_load_explicit(&behind[which], memory_order_relaxed); i++) {
        void *runtime = dlopen(late[i], RTLD_LAZY | RTLD_NOLOAD);
        /* the runtime stays loaded, because its operators are used */
        if (runtime) take_from(runtime);
    }
    return atomic_load_explicit(&behind[which], memory_order_relaxed);
}

ALWAYS_INLINE any_function *operator_behind(int which)
{
    any_function *f = atomic_load_explicit(&behind[which], memory_order_relaxed);
    return LIKELY(f) ? f : find(which);
}

/* ---- new ---- */

static COLD void count_here(const void *p, size_t n)
{
    if (p && !heap_pass(n) && heap_due(n)) heap_sampled(p, n);
}

/* Used when no runtime was found: it is linked into a plugin and hidden, and its operators are
 * bound to these.  Behaves like the runtime's operator but cannot throw when memory is
 * exhausted. */
static COLD void *new_without(size_t n, size_t align)
{
    if (!n) n = 1;
    return align ? aligned_alloc(align, (n + align - 1) & ~(align - 1)) : malloc(n);
}

#define NEW(name, params, args, align)                                                             \
    EXPORT void *name params;                                                                      \
    EXPORT void *name params                                                                       \
    {                                                                                              \
        void *(*f)params = (void *(*)params)operator_behind(OF_##name);                            \
        if (UNLIKELY(!f)) return new_without(n, align);                                            \
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

/* ---- delete ---- */

#define DELETE(name, params, args)                                                                 \
    EXPORT void name params;                                                                       \
    EXPORT void name params                                                                        \
    {                                                                                              \
        void(*f) params = (void(*) params)operator_behind(OF_##name);                              \
        if (UNLIKELY(live_maybe(&heap_live, (uintptr_t)p))) heap_forget(p);                        \
        if (LIKELY(f))                                                                             \
            f args;                                                                                \
        else                                                                                       \
            free(p);                                                                               \
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
