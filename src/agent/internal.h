/* agent/internal.h - state that the parts of the capture share: capture.c owns it, sampler.c is its
 * thread, drain.c fills the batch, lifecycle.c serves interposed calls, forks.c repairs it in a
 * child.
 *
 * Locks, in order:  registry_lock (registry and loader; only sampler and fork)  >  lock (batch and
 * counters) >  the table of threads  >  a thread record.  The handler takes no lock. */
#pragma once
#include "agent/capture.h"
#include "agent/cpu.h"
#include "agent/threads.h"
#include "agent/wall.h"

typedef struct capture {
    capture_opts o;
    char exclude[256];
    _Atomic int round, event; /* signals */
    /* signal that the program is about to handle; the thread that installs the handler waits on
     * this futex */
    _Atomic uint32_t yield;

    pthread_mutex_t registry_lock;
    unwind_registry *registry;
    uint32_t over_budget; /* value in registry_counts when last reported */
    uint32_t snapshots;   /* number of the registry's snapshot when spans were located */
    span_place places[2]; /* handlers use one; the other is spare */

    pthread_mutex_t lock;
    batch *current;
    capture_counts n;     /* totals, without those of the handlers and the table of threads */
    capture_counts taken; /* totals when the last batch was taken */
    uint64_t own_taken;
    uint32_t batch_number;
    bool flush_due; /* o.flush_due was called for this batch */

    wall *wall;
    uint32_t *tids; /* thread ids of the last scan; THREADS_MAX entries */
    pthread_t sampler;
    bool has_sampler;
    uint64_t delay_ns;      /* pause before the first work, in a child that may exec at once */
    _Atomic uint32_t ready; /* 1: new threads are armed when they start */
    _Atomic uint32_t stop;
    bool warned_no_proc, warned_tick, warned_lost, warned_closed, warned_moved, warned_tables,
        warned_over;
} capture;

extern capture the_capture;

void *sampler_run(void *c);

/* Moves samples from the ring to the batch.  The caller holds the lock. */
void drain_ring(capture *c);
/* Finds armed threads that run without samples because they block the signal, and adds their CPU
 * time.  The caller does not hold the lock. */
void drain_unsampled(capture *c, int dir);

/* Switches to other signals if the program handles one of the capture's, or is about to (`yield`).
 * Called by one thread at a time. */
void signals_check(capture *c);
/* Prints a message unless *done is set, and sets it. */
void capture_warn(const capture *c, bool *done, const char *text);
/* Finds the span records of the loaded objects after a refresh of the registry.  The caller holds
 * registry_lock. */
void capture_locate_spans(capture *c);

/* Returns all current totals.  The caller holds the lock. */
capture_counts capture_totals(capture *c);
void counts_add(capture_counts *to, const capture_counts *n);

/* Returns whether this process is captured; a vforked or cloned one with this memory is not. */
bool capture_here(void);

/* For forks.c. */
NODISCARD bool capture_start(capture *c, uint64_t delay_ns, err *e); /* starts the sampler thread */
NODISCARD bool capture_open_registry(capture *c, err *e);
void capture_forget_ring(void);
void capture_begin_outside(capture *c); /* arms the calling thread, the only one */
uint64_t capture_real_time(void);
