/* agent/capture.h - takes stacks of this process: one sampler thread, one signal handler.
 *
 *   sampler thread ─ wall-clock rounds (slots) ────────────────────┐
 *                  ─ timers or perf events of each thread ─ signal ─┼─► ring ─► batch ─ capture_take ─► shipper
 *                                                                   └ handler: unwind, span_peek
 *
 * A process has at most one capture.  Only the handler runs in signal context. */
#pragma once
#include "agent/batch.h"
#include "agent/signal/handler.h"
#include "span/peek.h"
#include "unwind/registry.h"

enum { CAPTURE_FRAMES = 128, CAPTURE_FRAMES_MAX = 1024 };

typedef enum cpu_source { CPU_AUTO, CPU_PERF, CPU_TIMER } cpu_source;

/* Destination of samples when a collector in another process reads them (probe/segment.h). */
typedef struct capture_sink {
    ring ring;
    handler_counts *counts;
    _Atomic uint32_t *wake;
    uint32_t proc_slot;
} capture_sink;

typedef struct capture_opts {
    size_t size;         /* sizeof(capture_opts) */
    uint32_t cpu_hz;     /* 0: no CPU samples */
    cpu_source source;   /* CPU_AUTO: timers up to half of the tick rate, perf events above it */
    uint64_t wall_ns;    /* interval of wall-clock rounds, at least 1 ms; 0: none */
    uint32_t max_frames; /* 0: CAPTURE_FRAMES */
    size_t max_batch;    /* bytes; 0: 4 MiB */
    size_t max_tables;   /* limit of compiled unwind tables; 0: none */
    /* comma-separated prefixes of thread names to exclude; NULL: none */
    const char *exclude;
    /* Prints a message, at most once each.  Called from the sampler thread, which may have its own
     * descriptor table (agent/descriptors.h). */
    void (*warn)(void *ctx, const char *text);
    /* Called from the sampler thread, after a whole round, when the batch is half full or has
     * flush_at samples and should be taken soon.  May be NULL. */
    void (*flush_due)(void *ctx);
    uint32_t flush_at; /* 0: flush_due depends on the bytes only */
    /* Called from the sampler thread when the loader has mapped or unmapped an object, so that the
     * callback can read the mappings while they exist.  May be NULL. */
    void (*mapped)(void *ctx);
    /* Called before the program ends without destructors (_exit, _Exit, quick_exit) or execs, from
     * the thread that does so.  The exec may still fail.  The thread may be in a signal handler
     * while it holds any lock of the program, so the callback may only send a request to the
     * shipper thread and wait for it with a deadline.  May be NULL. */
    void (*leaving)(void *ctx, bool exec);
    /* Called when the exec announced by `leaving` has failed.  May be NULL. */
    void (*exec_failed)(void *ctx);
    /* NULL: a sampler thread drains the ring into batches.  Otherwise no thread is started, and the
     * collector drains the ring, takes wall-clock rounds and builds batches. */
    const capture_sink *sink;
    /* With a sink: called from a watched thread that ends.  May be NULL. */
    void (*ended)(void *ctx, const thread_public *t);
    /* Called from the sampler thread when the capture has stopped because the program has installed
     * a seccomp filter.  Must not make a thread of the program wait. */
    void (*retired)(void *ctx);
    void *ctx;
} capture_opts;

/* Starts the sampler.  Returns false, without any change, on failure; `e` has the reason. */
NODISCARD bool capture_open(const capture_opts *o, err *e);

/* Returns the samples since the last call; the caller owns the batch.  Returns NULL when out of
 * memory, which is counted.  With `final`, stops the capture first. */
batch *capture_take(bool final);

/* Disarms the timers of all threads and ends the sampler.  The handler stays installed for late
 * signals. */
void capture_close(void);

/* Called in the child of a fork: discards the parent's threads and samples and starts again.
 * `sink` is the child's own, or NULL. */
NODISCARD bool capture_forked(const capture_sink *sink, err *e);

/* With a sink: writes later samples to `o`. */
void capture_use_sink(const capture_sink *o);
/* Returns the number of threads that could not be watched. */
uint64_t capture_threads_lost(void);
/* With a sink: calls f for every watched live thread.  Used at the end of the process.
 * Async-signal-safe. */
void capture_each_thread(void (*f)(void *ctx, const thread_public *t), void *ctx);
/* Refreshes the list of loaded objects, in a process without a sampler.  Not async-signal-safe. */
void capture_refresh(void);

/* Marks the calling thread, and the threads that it creates, as the agent's own: they are never
 * sampled, their CPU time counts as the agent's, and all signals are blocked.  `name` may be
 * NULL. */
void capture_own_thread(const char *name);
/* While on, threads that the calling thread creates belong to the agent from their first
 * instruction. */
void capture_own_new_threads(bool on);
/* Takes the calling thread out of rounds while it waits for the agent before an exit or exec.
 * Async-signal-safe. */
void capture_suspend_thread(void);
/* Returns whether the calling thread belongs to the agent.  May be called from malloc and before
 * capture_open. */
bool capture_is_own(void);

/* Returns the source of CPU samples, for the report: "perf", "timer", or "" for none. */
const char *capture_source(void);

/* Return the totals since the start. */
capture_counts capture_count(void);
uint64_t capture_own_cpu(void);

/* Unwinds the calling thread with the agent's registry, for the heap library.  Stores the addresses
 * leaf first, without the first `skip` frames.  Returns their number.  Takes no lock and does not
 * allocate. */
size_t capture_stack_here(uintptr_t *pcs, size_t max, size_t skip, uint8_t *end);
