/* agent/heap/link.h - what libkiln-agent.so and libkiln-heap.so know of each other.
 *
 * Each exports one table; each finds the other's with dlsym(RTLD_DEFAULT) when it starts, and works without
 * it: the agent then has no heap profile, the heap object passes everything through.  Only functions and
 * plain numbers cross, so the two may be of different builds with the same version here. */
#pragma once
#include "base/compiler.h"

enum { HEAP_LINK_VERSION = 1, HEAP_FRAMES = 64 };

/* libkiln-agent.so: `kiln_agent_for_heap`.  Callable from inside malloc: no allocation, no lock. */
typedef struct agent_for_heap {
    uint32_t version;
    size_t (*stack_here)(uintptr_t *pcs, size_t max, size_t skip, uint8_t *end);
    bool (*own_thread)(void); /* the calling thread is the agent's: do not sample */
} agent_for_heap;

typedef struct heap_entry { /* totals since the start of one stack */
    const uintptr_t *pcs;   /* leaf first */
    uint16_t n;
    uint8_t end;                                                    /* unwind_end */
    int64_t alloc_objects, alloc_space, inuse_objects, inuse_space; /* unbiased estimates */
} heap_entry;

typedef struct heap_counts {
    uint64_t samples;     /* allocations sampled */
    uint64_t stacks_lost; /* the table of stacks was full: counted under one entry without frames */
    uint64_t live_lost; /* the table of live blocks was full: counted as allocated, not as in use */
    uint64_t interval;  /* bytes between samples, on average */
} heap_counts;

/* libkiln-heap.so: `kiln_heap_for_agent`. */
typedef struct heap_for_agent {
    uint32_t version;
    bool (*start)(
        uint64_t interval); /* from here on samples are taken; false: no memory, or no agent */
    void (*stop)(void);     /* no more samples; what is freed is still seen */
    void (*each)(void (*f)(void *who, const heap_entry *e),
                 void *who); /* takes no lock of malloc's */
    heap_counts (*counts)(void);
    /* In the child of a fork, before anybody else runs: alloc_* and counts begin at 0, inuse_* is what the
     * child was left with. */
    void (*forked)(void);
} heap_for_agent;
