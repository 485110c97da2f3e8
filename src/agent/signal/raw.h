/* agent/signal/raw.h - a sample as the handler leaves it.  Signal room. */
#pragma once
#include "span/peek.h"
#include "unwind/unwind.h"

typedef struct raw_sample {
    uint64_t time;    /* CLOCK_REALTIME, ns */
    uintptr_t pc, sp; /* where the thread was interrupted */
    uint64_t pthread; /* pthread_t; 0: not known */
    uint32_t thread;  /* CPU: position in the table of threads */
    uint32_t weight;  /* CPU: expirations of the timer that it stands for */
    uint32_t guesses; /* as in unwind_result */
    uint16_t n;       /* of pcs */
    uint8_t end;      /* unwind_end */
    bool in_context;  /* `span` says something */
    span_record span;
    uintptr_t pcs[]; /* handler_opts.max_frames */
} raw_sample;

static inline size_t raw_bytes(uint32_t max_frames)
{
    return (sizeof(raw_sample) + max_frames * sizeof(uintptr_t) + 63) & ~(size_t)63;
}
