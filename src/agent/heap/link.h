/* agent/heap/link.h - the interface between libkiln-agent.so and libkiln-heap.so.
 *
 * Each library exports one table and finds the other's with dlsym(RTLD_DEFAULT) when it starts.
 * Each works without the other: the agent then has no heap profile, and the heap library passes all
 * calls through.  The tables contain only functions and numbers, so libraries of different builds
 * work together if they have the same version here. */
#pragma once
#include "base/compiler.h"

enum { HEAP_LINK_VERSION = 1, HEAP_FRAMES = 64 };

/* libkiln-agent.so: `kiln_agent_for_heap`.  The functions may be called inside malloc: they do not
 * allocate or lock. */
typedef struct agent_for_heap {
    uint32_t version;
    size_t (*stack_here)(uintptr_t *pcs, size_t max, size_t skip, uint8_t *end);
    bool (*own_thread)(void); /* whether the calling thread is the agent's: not sampled */
} agent_for_heap;

typedef struct heap_entry { /* totals of one stack since the start */
    const uintptr_t *pcs;   /* leaf first */
    uint16_t n;
    uint8_t end;                                                    /* unwind_end */
    int64_t alloc_objects, alloc_space, inuse_objects, inuse_space; /* unbiased estimates */
} heap_entry;

typedef struct heap_counts {
    uint64_t samples;     /* allocations sampled */
    uint64_t stacks_lost; /* samples in the entry without frames: the table of stacks was full */
    uint64_t live_lost;   /* samples not counted as in use: the table of live blocks was full */
    uint64_t interval;    /* bytes between samples, on average */
} heap_counts;

/* libkiln-heap.so: `kiln_heap_for_agent`. */
typedef struct heap_for_agent {
    uint32_t version;
    bool (*start)(uint64_t interval); /* starts sampling; false: no memory, or no agent */
    void (*stop)(void);               /* stops sampling; frees are still noticed */
    void (*each)(void (*f)(void *ctx, const heap_entry *e),
                 void *ctx); /* calls f for every stack; takes no lock of malloc */
    heap_counts (*counts)(void);
    /* Called in the child of a fork, before other threads exist: sets alloc_* and counts to 0, and
     * inuse_* to the inherited blocks. */
    void (*forked)(void);
} heap_for_agent;
