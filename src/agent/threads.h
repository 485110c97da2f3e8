/* agent/threads.h - the table of watched threads.
 *
 * A record belongs to one thread, from pthread_create (or from the scan of /proc that finds the
 * thread) until the thread has ended and its last samples are drained.  The handler reads the first
 * part of a record (thread_public) by position, without a lock.
 *
 *     FREE -> STARTING (pthread_create) -> LIVE -> ENDED -> GONE (a drain has begun since) -> FREE
 *
 * The table's lock covers states, the hash by tid and the free records.  The lock of a record
 * covers its timer or event, and `no_signals`.  Both are held for a short time and never while the
 * program's code runs. */
#pragma once
#include "agent/batch.h"
#include "agent/signal/handler.h"
#include "agent/task.h"
#include <pthread.h>

enum { THREADS_MAX = 16384, NO_THREAD = UINT32_MAX };

typedef enum thread_state {
    THREAD_FREE,
    THREAD_STARTING,
    THREAD_LIVE,
    THREAD_ENDED,
    THREAD_GONE
} thread_state;

/* State of a thread from the previous round.  Used by the sampler only. */
typedef struct thread_history {
    /* its CPU time when its stack was taken; the stack is valid while this does not change */
    uint64_t cpu;
    uint64_t tick;     /* number of its last round; 0: none */
    uint64_t switches; /* its number of context switches just before it was signalled in a wait */
    uint32_t cache;    /* number of the cache that `stack`, `link` and `attrs` refer to */
    uint32_t stack, link, attrs;
    uint32_t slot; /* number + 1 of a slot that it has not filled yet; 0: none */
    char state;
    char wchan[TASK_WCHAN];
    bool settled;       /* it waited in the last round: cpu, stack, state and wchan are valid */
    bool was_signalled; /* it was signalled in its last wait, because the kernel gave no pc */
} thread_history;

typedef struct thread_record {
    thread_public pub; /* first: the handler reads it */
    thread_state state;
    uint32_t born, seen; /* numbers of the first and the latest /proc scan that found it */
    uint32_t in_batch;   /* number of the last batch for which its name was read */
    uint32_t next;       /* in the chain of its hash bucket, or of free records */
    pthread_mutex_t lock;
    bool own;               /* belongs to the agent: not sampled */
    bool left_out;          /* excluded by name: not sampled */
    bool no_signals;        /* about to exec: must not be signalled */
    _Atomic bool suspended; /* waits for the agent: skipped in rounds */
    bool arm_tried;         /* armed, or counted as lost */
    bool described;
    int timer;            /* the kernel's id + 1; 0: none */
    int event;            /* descriptor + 1; 0: none */
    uint64_t period;      /* ns of CPU time per expiration */
    uint64_t checked_cpu; /* its CPU time when its signal mask was last checked */
    uint32_t drained;     /* CPU samples since that check */
    uint64_t filter_cpu;  /* its CPU time when its seccomp filters were last checked */
    /* CPU time that was added without a stack; a late signal must not count it again */
    uint64_t unsampled_ns;
    agent_thread about;
    thread_history history;
    void *(*run)(void *); /* STARTING: the arguments of pthread_create */
    void *arg;
} thread_record;

/* Allocates handler.threads.  `gone` is called for threads that ended without notice.  Returns
 * false when out of memory. */
NODISCARD bool threads_open(void (*gone)(thread_record *t), err *e);
/* Called in the child of a fork: forgets all threads but the calling one. */
void threads_forked(void);

thread_record *thread_at(uint32_t position);
uint32_t thread_position(const thread_record *t);

/* Returns a record for a thread that pthread_create is about to start; NULL when the table is full
 * (counted). */
thread_record *thread_prepare(void *(*run)(void *), void *arg, bool own);
void thread_cancel(thread_record *t); /* the thread was not started */

/* Called in the new thread, which becomes LIVE.  Returns its record, which differs from t if a scan
 * of /proc found the thread first. */
thread_record *thread_begin(thread_record *t);
/* Called in the thread that ends. */
void thread_finish(thread_record *t);

/* Returns the live record of tid, or NULL. */
thread_record *thread_find(uint32_t tid);
/* Returns the live record of tid and adds one if there is none; NULL when the table is full
 * (counted).  `here`: tid is the calling thread, so that the bounds of its stack can be found. */
thread_record *thread_add(uint32_t tid, bool here);

/* Returns the calling thread's record, or NULL. */
thread_record *thread_self(void);
void thread_self_set(thread_record *t);

/* Called when the thread exits: stores its name without opening a descriptor. */
void thread_name_self(thread_record *t);

/* Reads name, start and priority from /proc.  Returns false when the thread has ended. */
bool thread_describe(thread_record *t, int dir);

/* Lists the threads of the process from /proc in ascending order, at most THREADS_MAX.  Adds
 * records of new threads and ends those of missing ones.  Returns false without /proc. */
NODISCARD bool threads_scan(int dir, uint32_t *tids, size_t *n);

/* Calls f for every LIVE record; f may end it. */
void threads_each(void (*f)(void *ctx, thread_record *t), void *ctx);
/* Calls f for every LIVE record of the program's threads, without the lock.  Used at the end of the
 * process, possibly in a signal handler. */
void threads_peek(void (*f)(void *ctx, const thread_public *t), void *ctx);
/* Called before a drain: marks ENDED threads GONE.  Their last samples are already in the ring. */
void threads_retire(void);
/* Called after a complete drain: frees the records of GONE threads. */
void threads_reap(void);

uint64_t threads_lost(void);
void threads_count_lost(void);
