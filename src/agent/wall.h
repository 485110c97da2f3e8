/* agent/wall.h - wall-clock rounds: the stack of every thread at one moment.
 *
 *   scan    lists the threads in order of tid, with state, clock and kernel function of each.  Takes the stack
 *           of a waiting thread here, without a signal (agent/blocked.h)
 *   signal  signals all running threads, in the same order                            (S-12, S-13, S-14)
 *   wait    waits once, until all have responded or SAMPLE_WAIT_NS has passed
 *   write   writes the whole round to the batch, in order of tid
 *
 * A waiting thread is never interrupted, because sleeps and polls would end early.  While its CPU
 * time does not change, it has not run, and its stack is still valid.
 *
 * The stacks, links and attributes of a round are stored in a cache, a batch of the sampler's own,
 * and copied from there to the batch that is delivered.  Later rounds find the stacks of unchanged
 * threads there. */
#pragma once
#include "agent/batch.h"
#include "agent/threads.h"

typedef struct wall wall;

typedef struct wall_opts {
    uint64_t interval; /* ns */
    uint32_t max_frames;
    int sig;
    const char *exclude;
} wall_opts;

/* Returns NULL on failure; `e` has the reason. */
NODISCARD wall *wall_open(const wall_opts *o, err *e);
/* Must not be called during a round.  w may be NULL. */
void wall_close(wall *w);

/* Takes a round.  Returns false, without a round, when /proc cannot be read (errno). */
NODISCARD bool wall_take(wall *w, capture_counts *n);

/* Writes the last round to the batch. */
void wall_write(const wall *w, batch *b, capture_counts *n);

/* Counts rounds that were due and not taken: the next sample of each thread also represents
 * them. */
void wall_skip(wall *w, uint64_t rounds);

void wall_move(wall *w, int sig);
void wall_forked(wall *w);
