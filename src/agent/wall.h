/* agent/wall.h - rounds of the wall clock: every thread is asked for its stack at one moment.
 *
 *   look    the threads in order of tid; state, clock, place in the kernel of each     (before: asked, all are R)
 *   send    to all that ran since they were asked last, in the same order              (S-12, S-13, S-14)
 *   wait    once, until all have answered or time is over
 *   write   the whole round to the batch, in order of tid
 *
 * A thread that has not run since its stack was taken is not interrupted again: sleeps and polls would
 * end early each time.  Its CPU clock tells: one that stands still has not run.  After an interruption the
 * thread goes back to sleep and its clock moved; that it went straight back is seen from its count of
 * voluntary switches (one more) and from its line in /proc (the same call, arguments and stack), and that
 * the stack was taken there, from where it was interrupted.
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

void wall_move(wall *w, int sig);
void wall_forked(wall *w);
