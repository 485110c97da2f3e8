/* store/workers.h - threads that help with compaction. Jobs start in the order in which they were
 * submitted.
 *
 * The caller that needs a result calls workers_finish, which runs the job itself when no thread has
 * started it. So the caller never waits for a thread that has no core to run on. workers_finish
 * makes the job's writes visible to its caller. */
#pragma once
#include "base/compiler.h"

typedef struct workers workers;

typedef struct worker_job {
    void (*run)(void *ctx);
    void *ctx;
    /* used by the workers */
    struct worker_job *next;
    int state;
} worker_job;

/* Starts n threads in addition to the caller, at most as many as the machine has cores. NULL is
 * valid and means no threads: workers_finish runs the jobs. */
NODISCARD workers *workers_open(unsigned n);
/* Waits for jobs that have started; other jobs do not start any more. */
void workers_close(workers *c);

/* Submits a job, which belongs to the workers until workers_finish. */
void workers_begin(workers *c, worker_job *j);
void workers_finish(workers *c, worker_job *j);
