/* agent/signal/delivered.h - counts the handlers that ran in the calling thread.  Signal room.
 *
 * An interposed blocking call compares the counts before and after the call.  If only the agent's
 * handler ran, the program would not have got EINTR without the agent, and the call is repeated
 * (agent/wait.h). */
#pragma once
#include "base/compiler.h"

typedef struct delivered {
    uint32_t ours;   /* calls of handler_run */
    uint32_t theirs; /* calls of the program's handlers (agent/trampoline.h) */
} delivered;

extern _Thread_local delivered signals_delivered; /* initial-exec: see meson.build */

/* Functions of the agent that stay on the stack while a thread waits in the kernel.  Stacks are
 * shown without them. */
enum { OWN_CALLS_MAX = 4 }; /* maximum in one stack */
#define OWN_CALL __attribute__((section("kiln_calls")))

extern const char __start_kiln_calls[] __attribute__((weak, visibility("hidden")));
extern const char __stop_kiln_calls[] __attribute__((weak, visibility("hidden")));

/* Address range of these functions, in this process or as another process has published it. */
typedef struct own_calls {
    uintptr_t lo, size;
} own_calls;

static inline own_calls own_calls_here(void)
{
    uintptr_t lo = (uintptr_t)__start_kiln_calls;
    return (own_calls){lo, (uintptr_t)__stop_kiln_calls - lo};
}

/* Removes the addresses of these functions from a stack.  Returns the new length. */
static inline size_t own_calls_drop(own_calls own, uintptr_t *pcs, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (pcs[i] - own.lo >= own.size) pcs[kept++] = pcs[i];
    return kept;
}
