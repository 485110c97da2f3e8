/* store/crew.h - threads that help with a run of compaction: jobs begin in the order in which they were given.
 *
 * Whoever needs a result calls crew_finish, which does the job itself when nobody has begun it: nobody
 * waits for a thread that the machine has no core for.  What a job writes is seen by whoever finishes it. */
#pragma once
#include "base/compiler.h"

typedef struct crew crew;

typedef struct crew_job {
    void (*run)(void *who);
    void *who;
    /* the crew's */
    struct crew_job *next;
    int state;
} crew_job;

/* n threads beside the caller; fewer when the machine has no more.  NULL is a crew of nobody: crew_finish does the jobs. */
NODISCARD crew *crew_open(unsigned n);
/* Jobs that nobody finished are not begun any more; those that were begun end. */
void crew_close(crew *c);

/* The job belongs to the crew until crew_finish. */
void crew_begin(crew *c, crew_job *j);
void crew_finish(crew *c, crew_job *j);
