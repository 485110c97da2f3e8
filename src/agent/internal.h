/* agent/internal.h - between the parts of the capture: capture.c owns it, sampler.c is its thread, drain.c fills
 * the batch, life.c does what interposed calls ask for, forks.c makes it good in a child.
 *
 * Locks, in order:  gate (registry and loader, the sampler alone and fork)  >  lock (batch and counters)  >
 * the table of threads  >  a thread's.  The handler takes none. */
#pragma once
#include "agent/capture.h"
#include "agent/cpu.h"
#include "agent/threads.h"
#include "agent/wall.h"

typedef struct capture {
    capture_opts o;
    char exclude[256];
    _Atomic int round, event; /* signals */
    _Atomic uint32_t yield;   /* the program wants this one: a futex of who waits for it */

    pthread_mutex_t gate;
    unwind_registry *registry;
    uint32_t over_budget; /* as in registry_counts, when it was reported */
    uint32_t snapshots;   /* of the registry, when spans were located */
    span_place places[2]; /* one is shown to handlers, the other is spare */

    pthread_mutex_t lock;
    batch *current;
    capture_counts n;     /* since the start, but for what handlers and the table count */
    capture_counts taken; /* the totals when the last batch was taken */
    uint64_t own_taken;
    uint32_t batch_number;
    bool pressed; /* said of this batch */

    wall *wall;
    uint32_t *tids; /* of the last look, THREADS_MAX */
    pthread_t sampler;
    bool has_sampler;
    uint64_t delay_ns;      /* before its first work: a child that is about to exec */
    _Atomic uint32_t ready; /* tables are there: threads may be armed at birth */
    _Atomic uint32_t stop;
    bool said_no_proc, said_tick, said_lost, said_closed, said_moved, said_tables, said_over;
} capture;

extern capture the_capture;

void *sampler_run(void *c);

/* With the lock held: what handlers left goes to the batch. */
void drain_ring(capture *c);
/* Looks which of the armed threads run without being heard; without the lock. */
void drain_deaf(capture *c, int dir);

/* Moves the capture to other signals if the program took one, or asked for one (`yield`).  One thread at a time. */
void signals_check(capture *c);
/* A sentence for people, once. */
void capture_say(const capture *c, bool *said, const char *sentence);
/* Behind a refresh of the registry, with the gate held. */
void capture_locate_spans(capture *c);

/* All counters now; with the lock held. */
capture_counts capture_totals(capture *c);
void counts_add(capture_counts *to, const capture_counts *n);

/* For life.c: this very process is captured (not one that vforked or cloned itself from it). */
bool capture_here(void);

/* For forks.c. */
NODISCARD bool capture_start(capture *c, uint64_t delay_ns, err *e); /* the sampler's thread */
NODISCARD bool capture_open_registry(capture *c, err *e);
void capture_forget_ring(void);
void capture_begin_outside(capture *c); /* arms the calling thread, the only one */
uint64_t capture_real_time(void);
