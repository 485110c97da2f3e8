/* agent/wall.h - rounds of the wall clock: the stack of every thread at one moment.
 *
 *   look    the threads in order of tid; state, clock, place in the kernel of each.  The stack of a thread that
 *           waits is taken here, without a signal (agent/blocked.h)
 *   send    to all that run, in the same order                                         (S-12, S-13, S-14)
 *   wait    once, until all have answered or time is over
 *   write   the whole round to the batch, in order of tid
 *
 * A thread that waits is never interrupted: sleeps and polls would end early.  As long as its CPU clock stands
 * still it has not run, and the stack that was taken holds.
 *
 * Stacks, links and attributes of a round are kept in the book, a batch of the sampler's own, from which
 * they are copied to the batch that leaves: so threads at rest find theirs. */
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

/* NULL: `e` says why. */
NODISCARD wall *wall_open(const wall_opts *o, err *e);
/* No round is under way.  NULL is allowed. */
void wall_close(wall *w);

/* Takes a round.  false: /proc could not be read (errno) and nothing was taken. */
NODISCARD bool wall_take(wall *w, capture_counts *n);

/* Writes the round that was taken. */
void wall_write(const wall *w, batch *b, capture_counts *n);

/* Rounds that were due and not taken: the next sample of each thread stands for them too. */
void wall_skip(wall *w, uint64_t rounds);

void wall_move(wall *w, int sig);
void wall_forked(wall *w);
