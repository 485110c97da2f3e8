/* agent/threads.h - the table of the threads that are watched.
 *
 * A place in it belongs to one thread, from pthread_create (or from when a look at /proc finds the thread)
 * until it has ended and its last samples are drained.  The handler sees the first part of a record
 * (thread_face) by position, without a lock.
 *
 *     FREE -> STARTING (pthread_create) -> LIVE -> ENDED -> GONE (a drain has begun since) -> FREE
 *
 * The table's lock covers states, the hash by tid and the free places; a record's own lock covers its
 * timer or event, and `quiet`.  Both are held for a moment and never across a call of the program's. */
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

/* What the sampler knows of a thread from the round before; its alone. */
typedef struct thread_rest {
    uint64_t
        cpu; /* its CPU clock when its stack was taken; while it stands still the stack holds */
    uint64_t tick;     /* of the wall clock, when it was last in a round; 0: never */
    uint64_t switches; /* before it was asked while it waited */
    uint32_t book;     /* the number of the book that the next three are positions in */
    uint32_t stack, link, attrs;
    uint32_t slot; /* number + 1 of a slot that it has not answered; 0: none */
    char state;
    char wchan[TASK_WCHAN];
    bool settled; /* it waited: cpu, stack, state and wchan are known */
    bool asked;   /* in the last round, while it waited: the kernel did not tell where */
} thread_rest;

typedef struct thread_record {
    thread_face face; /* first: the handler's */
    thread_state state;
    uint32_t born, seen; /* numbers of roll calls */
    uint32_t in_batch;   /* number of the last batch that it was described for */
    uint32_t next;       /* in the chain of its hash, or of free places */
    pthread_mutex_t lock;
    bool own;            /* the agent's: not sampled */
    bool left_out;       /* by its name: not sampled */
    bool quiet;          /* about to exec: no signal may reach it */
    _Atomic bool hushed; /* waits for the agent: not in a round */
    bool asked;          /* arming was tried: armed, or counted as lost */
    bool described;
    int timer;           /* kernel's id + 1; 0: none */
    int event;           /* descriptor + 1; 0: none */
    uint64_t period;     /* ns of CPU time that one expiration stands for */
    uint64_t heard_cpu;  /* its CPU clock when it was last looked whether it can be heard */
    uint32_t drained;    /* CPU samples since then */
    uint64_t filter_cpu; /* its CPU clock when its filters were last looked at */
    uint64_t
        deaf_ns; /* CPU time told of without a stack, which a late signal must not tell again */
    agent_thread about;
    thread_rest rest;
    void *(*run)(void *); /* STARTING: what pthread_create was given */
    void *arg;
} thread_record;

/* Prepares handler.threads.  `gone` is told of threads that ended without saying so.  false: no memory. */
NODISCARD bool threads_open(void (*gone)(thread_record *t), err *e);
/* In the child of a fork: all are forgotten but the calling thread. */
void threads_forked(void);

thread_record *thread_at(uint32_t position);
uint32_t thread_position(const thread_record *t);

/* A place for a thread that pthread_create is about to start; NULL: the table is full (counted). */
thread_record *thread_prepare(void *(*run)(void *), void *arg, bool own);
void thread_cancel(thread_record *t); /* it was not started */

/* In the new thread: it is LIVE from here on.  Returns its record, another one if a look at /proc was
 * quicker. */
thread_record *thread_begin(thread_record *t);
/* In a thread that ends. */
void thread_finish(thread_record *t);

/* The live record of tid; NULL: none. */
thread_record *thread_find(uint32_t tid);
/* The same, added if there is none.  NULL: the table is full (counted).  `here`: the calling thread is tid
 * itself, so that its stack can be told. */
thread_record *thread_add(uint32_t tid, bool here);

/* The calling thread's record; NULL: none. */
thread_record *thread_self(void);
void thread_self_set(thread_record *t);

/* The calling thread's name, at its end: no descriptor of the program's is taken for it. */
void thread_name_self(thread_record *t);

/* Name, start and priority from /proc.  false: the thread is gone. */
bool thread_describe(thread_record *t, int dir);

/* The threads of the process by /proc in ascending order, at most THREADS_MAX; those that are not in the
 * table are added, those that are no more are ended.  false: /proc does not say. */
NODISCARD bool threads_call(int dir, uint32_t *tids, size_t *n);

/* Calls f for every LIVE record; f may end it. */
void threads_each(void (*f)(void *who, thread_record *t), void *who);
/* The same for those that are not the agent's, without the lock: at the end of the process, maybe in a signal handler. */
void threads_peek(void (*f)(void *who, const thread_face *t), void *who);
/* Before a drain: whoever has ended has put its last sample into the ring. */
void threads_retire(void);
/* Behind a drain that reached the end: frees the places of those. */
void threads_reap(void);

uint64_t threads_lost(void);
void threads_count_lost(void);
