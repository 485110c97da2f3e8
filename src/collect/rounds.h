/* collect/rounds.h - wall-clock rounds, taken from another process.
 *
 * No thread is signalled.  A waiting thread is unwound from the pc and sp that the kernel provides
 * (agent/blocked.h).  A running thread is sampled by its CPU timer: the wall-clock time of its
 * rounds is added to its next CPU sample.  A thread whose CPU time does not change keeps its last
 * stack. */
#pragma once
#include "collect/process.h"

typedef struct rounds rounds;

/* Returns NULL on failure; `e` has the reason. */
NODISCARD rounds *rounds_open(uint64_t interval, uint32_t max_frames, err *e);
void rounds_close(rounds *r);

/* Returns the CLOCK_MONOTONIC time of the next round. */
uint64_t rounds_due(const rounds *r);

/* Takes a round of all processes if one is due.  The round also represents missed rounds. */
void rounds_take(rounds *r, process_world *w, process *const *at, size_t n);

/* Called for a CPU sample of a thread: adds the wall-clock time during which the thread was seen
 * running. */
void rounds_settle(process_world *w, process *p, process_thread *t, const agent_sample *cpu);
/* Called when no CPU sample will come: adds the remaining wall-clock time without a stack. */
void rounds_settle_all(process_world *w, process *p);

/* Called when the process has ended. */
void rounds_forget(rounds *r, process *p);
