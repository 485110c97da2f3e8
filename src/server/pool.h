/* server/pool.h - work that takes a while, away from the loop: large payloads, questions.
 *
 * A job runs in some thread of the pool and comes back to the loop's: pool_reap, from the loop's knock, calls its `done`.  The queue is
 * bounded; who cannot be taken says so to its client.  What is finished holds memory: while as many as there are threads wait for
 * the loop, no other job begins. */
#pragma once
#include "base/err.h"
#include "net/loop.h"

typedef struct pool pool;

typedef struct job {
    void (*work)(struct job *j); /* in a thread of the pool */
    void (*done)(struct job *j); /* in the loop's thread; frees the job, or submits it again */
    bool large;                  /* needs much memory: one of these runs at a time */
    struct job *next;
} job;

/* `threads` at least 1; `queue`: jobs that may wait.  NULL: `e` says why. */
NODISCARD pool *pool_open(loop *l, unsigned threads, size_t queue, err *e);

/* Waits for running jobs and calls every `done`; those that had not begun have done no work. */
void pool_close(pool *p);

/* false: the queue is full. */
NODISCARD bool pool_submit(pool *p, job *j);

/* Takes a job back that waits.  true: neither its `work` nor its `done` is called; false: it began, or is finished. */
NODISCARD bool pool_cancel(pool *p, job *j);

/* Calls `done` of all that is finished.  In the loop's thread, after loop_wake. */
void pool_reap(pool *p);

size_t pool_waiting(const pool *p);
