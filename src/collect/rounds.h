/* collect/rounds.h - rounds of the wall clock, from outside of the processes.
 *
 * Nobody is signalled.  A thread that waits is walked from what the kernel says of it (agent/blocked.h).  A thread that
 * runs is sampled by its CPU timer anyway: the wall time of its rounds goes to the stack of its next CPU sample.  A
 * thread whose CPU clock stands still keeps its last stack. */
#pragma once
#include "collect/process.h"

typedef struct rounds rounds;

/* NULL: `e` says why. */
NODISCARD rounds *rounds_open(uint64_t interval, uint32_t max_frames, err *e);
void rounds_close(rounds *r);

/* CLOCK_MONOTONIC of the next one. */
uint64_t rounds_due(const rounds *r);

/* Takes a round of all processes if one is due.  Rounds that were missed count to this one. */
void rounds_take(rounds *r, process_world *w, process *const *at, size_t n);

/* A CPU sample of a thread: its stack takes the wall time for which the thread was seen to run. */
void rounds_settle(process_world *w, process *p, process_thread *t, const agent_sample *cpu);
/* No CPU sample will come: wall time that waits for one has no stack. */
void rounds_settle_all(process_world *w, process *p);

/* The process is gone. */
void rounds_forget(rounds *r, process *p);
