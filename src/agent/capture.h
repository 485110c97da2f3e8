/* agent/capture.h - takes the stacks of the own process: one sampler thread, one signal.
 *
 *   sampler thread ─ rounds of the wall clock (slots) ──────────────┐
 *                  ─ timers or perf events of each thread ─ signal ─┼─► ring ─► batch ─ capture_take ─► shipper
 *                                                                   └ handler: unwind, span_peek
 *
 * One a process.  Everything but the handler runs outside of signals. */
#pragma once
#include "agent/batch.h"
#include "agent/signal/handler.h"
#include "span/peek.h"
#include "unwind/registry.h"

enum { CAPTURE_FRAMES = 128, CAPTURE_FRAMES_MAX = 1024 };

typedef enum cpu_source { CPU_AUTO, CPU_PERF, CPU_TIMER } cpu_source;

/* Where samples go when a collector in another process takes them (probe/segment.h). */
typedef struct capture_outlet {
    ring ring;
    handler_counts *counts;
    _Atomic uint32_t *wake;
    uint32_t desk;
} capture_outlet;

typedef struct capture_opts {
    size_t size;         /* sizeof(capture_opts) */
    uint32_t cpu_hz;     /* 0: no CPU samples */
    cpu_source source;   /* AUTO: timers up to half of the tick's rate, perf events above it */
    uint64_t wall_ns;    /* 0: no rounds; at least 1 ms */
    uint32_t max_frames; /* 0: CAPTURE_FRAMES */
    size_t max_batch;    /* bytes; 0: 4 MiB */
    size_t max_tables;   /* bytes of compiled unwind tables; 0: none */
    bool
        at_once; /* for the heap object; stacks can be taken when capture_open returns in any case */
    const char *exclude; /* prefixes of names of threads to leave out, by commas; NULL: none */
    /* One sentence for people, at most once each; from the sampler's thread, whose descriptors may be its own
     * (agent/descriptors.h). */
    void (*say)(void *who, const char *sentence);
    /* The batch is half full, or has press_at samples: take it soon.  From the sampler's thread, after a
     * whole round; may be NULL. */
    void (*pressed)(void *who);
    uint32_t press_at; /* 0: by its bytes alone */
    /* The loader mapped or unmapped something: look at the mappings while they are there.  From the
     * sampler's thread; may be NULL. */
    void (*mapped)(void *who);
    /* The program is about to leave without the destructors: exec, _exit, _Exit, quick_exit.  From the
     * calling thread, before; an exec may fail and the program go on.  May be NULL.  That thread may be in
     * a signal handler with any lock of the program held: ask the shipper's thread, wait for it with a
     * deadline, and do nothing else. */
    void (*leaving)(void *who, bool exec);
    /* The exec of `leaving` has failed: the program goes on.  May be NULL. */
    void (*staying)(void *who);
    /* NULL: a sampler thread drains the ring into batches.  Otherwise nobody in this process does, and no thread is
     * started: rounds of the wall clock, batches and the refresh of objects are the collector's. */
    const capture_outlet *outlet;
    /* With an outlet: a watched thread ends.  From that thread; may be NULL. */
    void (*ended)(void *who, const thread_face *t);
    /* In the sampler's thread: the program has installed a filter of system calls, so nothing more is captured, and no thread of
     * the program may be made to wait. */
    void (*retired)(void *who);
    void *who;
} capture_opts;

/* Starts the sampler.  false: nothing was started and nothing changed, `e` says why. */
NODISCARD bool capture_open(const capture_opts *o, err *e);

/* What was captured since the last call; the caller's own.  NULL: no memory (counted).  With `final` the
 * rings are drained and a last look is taken; nothing is captured afterwards. */
batch *capture_take(bool final);

/* Puts the threads' timers away and ends the sampler; the handler stays (a late signal must find it). */
void capture_close(void);

/* In the child of a fork: forgets the parent's threads and samples, starts again; `outlet` is the child's own, or NULL. */
NODISCARD bool capture_forked(const capture_outlet *outlet, err *e);

/* With an outlet: samples go to another one from here on. */
void capture_use_outlet(const capture_outlet *o);
/* Threads that could not be watched. */
uint64_t capture_threads_lost(void);
/* With an outlet: every thread that was watched and lives, for the end of the process.  Async-signal-safe. */
void capture_each_thread(void (*f)(void *who, const thread_face *t), void *who);
/* Looks at the loaded objects again; for a process without a sampler.  Not in handlers. */
void capture_look(void);

/* The calling thread is one of ours: never sampled, its CPU time counted as the agent's, all signals
 * blocked; threads that it creates too.  name may be NULL. */
void capture_own_thread(const char *name);
/* Threads that the calling thread creates from here on are ours, from their first instant. */
void capture_own_births(bool on);
/* The calling thread waits for the agent until it exits or execs: it is in no round any more.  For signal handlers. */
void capture_hush(void);
/* Is the calling thread one of ours?  Callable from inside malloc, before capture_open too. */
bool capture_is_own(void);

/* What the sampler uses, for the report: "perf", "timer", "". */
const char *capture_source(void);

/* Totals since the start. */
capture_counts capture_count(void);
uint64_t capture_own_cpu(void);

/* The stack of the calling thread by the agent's registry, leaf first, without the frames of the caller up to
 * `skip`; for the heap object.  No lock, no allocation. */
size_t capture_stack_here(uintptr_t *pcs, size_t max, size_t skip, uint8_t *end);
