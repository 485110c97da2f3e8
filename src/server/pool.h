/* server/pool.h - a thread pool for slow work: decoding of large payloads, queries. A job runs in a
 * thread of the pool; pool_reap then calls its `done` in the loop's thread. The queue is bounded.
 * Finished jobs use memory, so no job starts while as many finished jobs as threads wait for the
 * loop. */
#pragma once
#include "base/err.h"
#include "net/loop.h"

typedef struct pool pool;

typedef struct job {
    void (*work)(struct job *j); /* in a thread of the pool */
    void (*done)(struct job *j); /* in the loop's thread; frees the job, or submits it again */
    bool large;                  /* needs much memory: only one such job runs at a time */
    struct job *next;
} job;

/* `threads`: at least 1; `queue`: most jobs that wait. Returns NULL on failure. */
NODISCARD pool *pool_open(loop *l, unsigned threads, size_t queue, err *e);

/* Waits for running jobs and calls every `done`, also of jobs that never ran. */
void pool_close(pool *p);

/* Returns false when the queue is full. */
NODISCARD bool pool_submit(pool *p, job *j);

/* Removes a waiting job, so that neither `work` nor `done` is called. Returns false when the job
 * runs or is finished. */
NODISCARD bool pool_cancel(pool *p, job *j);

/* Calls `done` of all finished jobs. Called in the loop's thread, after loop_wake. */
void pool_reap(pool *p);

size_t pool_waiting(const pool *p);
