/* collect/process.h - one process as the collector sees it. */
#pragma once
#include "agent/images.h"
#include "agent/profiles.h"
#include "agent/resource.h"
#include "agent/task.h"
#include "collect/collector.h"
#include "collect/published.h"

/* The state of a thread in wall-clock rounds (collect/rounds.h). */
typedef struct wall_history {
    uint64_t cpu;     /* its CPU time when its stack was taken; 0: it has run since */
    uint64_t pending; /* ns during which it was seen running since its last CPU sample */
    raw_sample *raw;  /* its stack */
    bool taken;
    char state;
    char wchan[TASK_WCHAN];
} wall_history;

/* A thread of the process. */
typedef struct process_thread {
    agent_thread about;
    uint64_t begin;     /* its CPU time when the probe began */
    uint64_t accounted; /* CPU time that its samples represent */
    uint64_t
        ahead;   /* part of `accounted` added at its end, which its next sample would count again */
    size_t last; /* index + 1 of its last sample in the batch; 0: none */
    bool seen;   /* its name was read from /proc */
    bool fresh;  /* a sample came since its filters were checked */
    uint32_t round;     /* number of the last wall-clock round with this thread */
    wall_history *rest; /* NULL: it was in no round */
} process_thread;

typedef struct heap_total {
    uint32_t stack; /* index in the batch `heap_stacks` */
    int64_t v[4];
} heap_total;

typedef struct process {
    uint32_t pid, proc_slot, generation;
    bool forked; /* started by fork */
    /* it belongs to another pid namespace: its threads have other ids in kiln's /proc */
    bool other_namespace;
    uint32_t proc;          /* its id in kiln's /proc; 0: not known */
    uint64_t pid_namespace; /* inode of its pid namespace; 0: not known */
    bool left;              /* the exit notice was sent */
    bool maps_read;         /* /proc/PID/maps was read */
    bool mapped;            /* the mappings of the process slot were read */
    const proc_slot *d;
    uint64_t start, cpu_begin, thread_begin, period;
    uint64_t opened_at, maps_read_at, followed_at, flushed_at, sampled_at; /* CLOCK_MONOTONIC */
    uint64_t taken_ring_full;
    str program;
    arena mem; /* holds `threads` and `program` */
    VEC(process_thread) threads;
    uint32_t next_index;
    size_t hint,
        n_ended; /* position of the last thread found; number of entries of ended threads */
    unwind_snapshot *tables; /* unwind tables for rounds, built from the first tables_of images */
    size_t tables_of;
    uint64_t
        unchanged_cpu; /* its CPU time when a round found all threads unchanged; 0: some changed */
    uint32_t unchanged_round; /* the last such round */
    span_place span;
    batch *batch;
    images images;
    published published;
    bool spans;           /* a sample had a span, so a process context exists or will exist */
    batch *heap_stacks;   /* stacks of the heap's totals */
    VEC(heap_total) heap; /* by stack */
    uint32_t *heap_of;    /* stack -> index in heap + 1 */
    size_t n_heap_of;
    resource_facts facts;
} process;

/* State that all processes share. */
typedef struct process_world {
    const collector_opts *o;
    resource_facts facts; /* about this machine */
    collected *sums;
    uint64_t now;           /* CLOCK_MONOTONIC time of this pass */
    uint64_t pid_namespace; /* inode of kiln's pid namespace */
} process_world;

/* Opens a process from a slot that is ready.  Returns NULL when out of memory. */
NODISCARD process *process_open(const process_world *w, const proc_slot *d, uint32_t at,
                                uint64_t word);
void process_close(process *p);

/* Adds a record of the ring.  Returns false when it is invalid. */
bool process_take(process_world *w, process *p, const raw_sample *raw);

/* Returns the current batch; NULL when out of memory. */
batch *process_batch(process *p);

/* Returns the thread, added if necessary; NULL when out of memory. */
process_thread *process_thread_of(process *p, uint32_t tid);
/* Called when the thread has ended; another thread may get its id. */
void process_thread_end(process *p, process_thread *t);

/* Builds and delivers the profiles of the current batch; `last`: including the heap. */
void process_flush(process_world *w, process *p, bool last);

/* Reads its mappings, unless they were read recently. */
void process_read_maps(process_world *w, process *p);

/* Reads the process context of the program.  Until it is published, reads the mappings again: at
 * once when the first sample with a span arrives (`urgent`), otherwise whenever the time since the
 * process was opened has doubled. */
void process_follow(process_world *w, process *p, bool urgent);
