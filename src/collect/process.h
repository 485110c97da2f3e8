/* collect/process.h - one process as the collector knows it. */
#pragma once
#include "agent/images.h"
#include "agent/profiles.h"
#include "agent/resource.h"
#include "agent/task.h"
#include "collect/collector.h"
#include "collect/published.h"

/* A thread in rounds of the wall clock (collect/rounds.h). */
typedef struct wall_rest {
    uint64_t cpu;     /* its CPU time when its stack was taken; 0: it has run since */
    uint64_t pending; /* ns for which it was seen to run, and no CPU sample came yet */
    raw_sample *raw;  /* its stack */
    bool taken;
    char state;
    char wchan[TASK_WCHAN];
} wall_rest;

/* A thread of it. */
typedef struct process_thread {
    agent_thread about;
    uint64_t begin;  /* its CPU time when the probe began */
    uint64_t told;   /* CPU time that its samples stand for */
    uint64_t ahead;  /* of this, time that its end added and that its next sample counts too */
    size_t last;     /* its last sample in the batch + 1; 0: none */
    bool seen;       /* /proc told its name */
    bool fresh;      /* a sample came since its filters were looked at */
    uint32_t round;  /* number of the last round of the wall clock that met it */
    wall_rest *rest; /* NULL: it was in no round */
} process_thread;

typedef struct heap_total {
    uint32_t stack; /* of the batch `heap_book` */
    int64_t v[4];
} heap_total;

typedef struct process {
    uint32_t pid, desk, generation;
    bool forked; /* it came by a fork */
    bool apart; /* its numbers are of another pid namespace: our /proc has others for its threads */
    uint32_t proc;    /* its number in our /proc; 0: not known */
    uint64_t numbers; /* inode of its pid namespace; 0: not known */
    bool left;        /* the farewell was said */
    bool looked;      /* /proc/PID/maps was read */
    bool mapped;      /* the desk's mappings were taken */
    const desk *d;
    uint64_t start, cpu_begin, thread_begin, period;
    uint64_t met_at, looked_at, followed_at, flushed_at, sampled_at; /* CLOCK_MONOTONIC */
    uint64_t taken_ring_full;
    str program;
    arena mem; /* threads, program */
    VEC(process_thread) threads;
    uint32_t next_index;
    size_t hint, n_ended;    /* where the last one was found; entries of threads that ended */
    unwind_snapshot *tables; /* for rounds; made of so many images: */
    size_t tables_of;
    uint64_t
        rest_cpu; /* its CPU time when a round found all of its threads at rest; 0: one was not */
    uint32_t rest_round; /* the last such round */
    span_place span;
    batch *batch;
    images images;
    published published;
    bool spans;           /* a sample had a span, so there is or will be a process context */
    batch *heap_book;     /* stacks of the heap's totals */
    VEC(heap_total) heap; /* by stack */
    uint32_t *heap_of;    /* stack -> position in heap + 1 */
    size_t n_heap_of;
    resource_facts facts;
} process;

/* What all processes have in common. */
typedef struct process_world {
    const collector_opts *o;
    resource_facts facts; /* of this machine */
    collected *sums;
    uint64_t now;     /* CLOCK_MONOTONIC, of this round */
    uint64_t numbers; /* inode of our pid namespace */
} process_world;

/* From a desk that is ready.  NULL: no memory. */
NODISCARD process *process_open(const process_world *w, const desk *d, uint32_t at, uint64_t word);
void process_close(process *p);

/* A cell of the ring; false: nonsense. */
bool process_take(process_world *w, process *p, const raw_sample *raw);

/* Adds the span of a raw sample to `out`; false: no memory. */
NODISCARD bool process_put_context(const raw_sample *raw, batch *b, agent_sample *out);

/* The batch of now; NULL: no memory. */
batch *process_batch(process *p);

/* The thread, added if need be; NULL: no memory. */
process_thread *process_thread_of(process *p, uint32_t tid);
/* It has ended; its number may come again, for another thread. */
void process_thread_end(process *p, process_thread *t);

/* Makes profiles of what there is, and hands them on; `last`: with the heap.  */
void process_flush(process_world *w, process *p, bool last);

/* Looks at its mappings, unless that was a moment ago. */
void process_look(process_world *w, process *p);

/* Follows what the program publishes about itself.  Until it has published, its mappings are read again: at once when the
 * first sample with a span comes (urgent), otherwise whenever the time since it was met has doubled. */
void process_follow(process_world *w, process *p, bool urgent);
