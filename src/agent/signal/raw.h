/* agent/signal/raw.h - a sample as the handler stores it.  Signal room. */
#pragma once
#include "agent/signal/delivered.h"
#include "span/peek.h"
#include "unwind/unwind.h"

typedef enum raw_kind {
    RAW_SAMPLE,
    RAW_THREAD_END,  /* probe: a sampled thread ends; `cpu` and `name` are set */
    RAW_PROCESS_END, /* probe: as RAW_THREAD_END, when the process exits or execs (may fail) */
    RAW_HEAP,        /* probe: totals of one stack of the heap profile, in `heap` */
} raw_kind;

typedef struct raw_sample {
    uint64_t time;      /* CLOCK_REALTIME, ns */
    uintptr_t pc, sp;   /* of the interrupted thread */
    uint64_t pthread;   /* pthread_t; 0: not known */
    uint32_t thread;    /* CPU: position in the table of threads */
    uint32_t weight;    /* CPU: number of expirations of the timer */
    uint32_t tid;       /* CPU: id of the thread, for a reader in another process */
    uint32_t proc_slot; /* probe: the slot of the process (probe/segment.h) */
    uint64_t cpu;     /* CPU time of the thread: in its first sample and at its end; otherwise 0 */
    uint32_t guesses; /* as in unwind_result */
    uint16_t n;       /* length of pcs */
    uint8_t end;      /* unwind_end */
    uint8_t kind;     /* raw_kind */
    bool in_context;  /* `span` is valid */
    union {
        span_record span;
        char name[16];   /* RAW_THREAD_END, RAW_PROCESS_END */
        int64_t heap[4]; /* RAW_HEAP: objects and bytes allocated, objects and bytes in use */
    };
    uintptr_t pcs[]; /* raw_room(max_frames) */
} raw_sample;

/* Returns the capacity of pcs: functions of the agent are removed after the unwind. */
static inline uint32_t raw_room(uint32_t max_frames) { return max_frames + OWN_CALLS_MAX; }

static inline size_t raw_bytes(uint32_t max_frames)
{
    return (sizeof(raw_sample) + raw_room(max_frames) * sizeof(uintptr_t) + 63) & ~(size_t)63;
}

/* Called after an unwind into raw->pcs: removes the agent's functions and truncates the stack. */
static inline void raw_walked(raw_sample *raw, unwind_result u, own_calls own, uint32_t max_frames)
{
    size_t n = own_calls_drop(own, raw->pcs, u.n);
    bool cut = n > max_frames;
    raw->n = (uint16_t)(cut ? max_frames : n);
    raw->end = (uint8_t)(cut ? UNWIND_CAPPED : u.end);
    raw->guesses = u.guesses;
}
