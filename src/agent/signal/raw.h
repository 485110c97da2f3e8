/* agent/signal/raw.h - a sample as the handler leaves it.  Signal room. */
#pragma once
#include "agent/signal/delivered.h"
#include "span/peek.h"
#include "unwind/unwind.h"

typedef enum raw_kind {
    RAW_SAMPLE,
    RAW_END,      /* probe: a thread that was sampled ends; `cpu` and `name` of it */
    RAW_FAREWELL, /* probe: the same, but the whole process ends, or tries an exec and may go on */
    RAW_HEAP,     /* probe: totals of one stack of the heap profile, in `heap` */
} raw_kind;

typedef struct raw_sample {
    uint64_t time;    /* CLOCK_REALTIME, ns */
    uintptr_t pc, sp; /* where the thread was interrupted */
    uint64_t pthread; /* pthread_t; 0: not known */
    uint32_t thread;  /* CPU: position in the table of threads */
    uint32_t weight;  /* CPU: expirations of the timer that it stands for */
    uint32_t tid;     /* CPU: the same thread, for a reader outside of the process */
    uint32_t desk;    /* probe: the process (probe/segment.h) */
    uint64_t cpu; /* CPU time of the thread: with its first sample and at its end; otherwise 0 */
    uint32_t guesses; /* as in unwind_result */
    uint16_t n;       /* of pcs */
    uint8_t end;      /* unwind_end */
    uint8_t kind;     /* raw_kind */
    bool in_context;  /* `span` says something */
    union {
        span_record span;
        char name[16];   /* RAW_END, RAW_FAREWELL */
        int64_t heap[4]; /* RAW_HEAP: objects and bytes allocated, objects and bytes in use */
    };
    uintptr_t pcs[]; /* raw_room(max_frames) */
} raw_sample;

/* Frames that a walk may fill: some of them are ours, and are left out. */
static inline uint32_t raw_room(uint32_t max_frames) { return max_frames + OWN_CALLS_MAX; }

static inline size_t raw_bytes(uint32_t max_frames)
{
    return (sizeof(raw_sample) + raw_room(max_frames) * sizeof(uintptr_t) + 63) & ~(size_t)63;
}

/* Behind a walk into raw->pcs: what is kept of it. */
static inline void raw_walked(raw_sample *raw, unwind_result u, own_calls own, uint32_t max_frames)
{
    size_t n = own_calls_drop(own, raw->pcs, u.n);
    bool cut = n > max_frames;
    raw->n = (uint16_t)(cut ? max_frames : n);
    raw->end = (uint8_t)(cut ? UNWIND_CAPPED : u.end);
    raw->guesses = u.guesses;
}
