/* record/internal.h - the recorder, shared by record.c (thread and sources), processes.c (records
 * about processes) and samples.c. */
#pragma once
#include "record/perf.h"
#include "record/record.h"
#include "record/space.h"
#include <pthread.h>
#include <stdatomic.h>

struct recorder {
    record_opts o;
    agent_config config; /* used if the caller has none */
    perf_source *perf;   /* samples, or in BPF mode only the records about processes */
    struct feed *feed;   /* NULL: perf mode */
    arena mem;
    VEC(space *) spaces; /* NULL entries are free */
    hash_index by_pid;
    VEC(uint32_t) followed; /* RECORD_PIDS: processes and their descendants that still run */
    space_world world;
    char kernel_id[2 * BUILD_ID_BYTES_MAX + 1];
    uint64_t clock_offset; /* Unix time - CLOCK_MONOTONIC */
    uintptr_t *pcs;        /* scratch: frames of the kernel, then of the user */
    size_t n_pcs;
    ucontext_t context;  /* scratch: registers of a sample */
    uint64_t flushed_at; /* Unix ns */
    recorded stated;     /* losses up to here are stated by delivered profiles */
    uint64_t swept_at, released_at;
    size_t next_look; /* the process to begin with in the next pass */
    uint64_t began;   /* CLOCK_MONOTONIC */
    space *gated;     /* a child of kiln that has not called exec yet; NULL: none */
    pthread_t thread;
    int wake; /* eventfd: ends the wait of the thread */
    bool running;
    atomic_bool stopping;
    atomic_bool done;
    pthread_mutex_t lock; /* guards the rest against recorder_progress and recorder_attach */
    recorded n;
};

/* Sets the begin of the recording to now. */
void recorder_began(recorder *r);

/* ---- processes.c ---- */

/* Returns the process, added if necessary; NULL when out of memory. */
space *recorder_space(recorder *r, uint32_t pid, uint64_t time);
space *recorder_find(const recorder *r, uint32_t pid);
/* Returns whether records about this process matter. */
bool recorder_follows(const recorder *r, uint32_t pid);
bool recorder_follow(recorder *r, uint32_t pid);
/* Discards what this process does before its next exec.  Returns false when out of memory. */
NODISCARD bool recorder_gate(recorder *r, uint32_t pid);
/* Fills the callbacks for records about processes and for samples. */
perf_events recorder_events(recorder *r);
/* Ends the processes that do not run any more: a process may end before kiln receives records about
 * it. */
void recorder_sweep(recorder *r);
/* Delivers and frees the processes that ended some time ago. */
void recorder_reap(recorder *r, bool all);

/* ---- samples.c ---- */

static inline uint64_t recorder_unix(const recorder *r, uint64_t monotonic)
{
    return monotonic + r->clock_offset;
}

/* One observation with its stack, before it is stored. */
typedef struct observation {
    sample_kind kind;
    uint64_t time; /* Unix ns */
    int64_t value;
    char state;
    uint16_t syscall; /* + 1 */
    uint32_t waker;
    const uintptr_t *kernel, *user;
    size_t n_kernel, n_user;
    unwind_end end;
    bool has_stack;
    const span_record *span;
} observation;

/* Stores an observation in the batch of its process and counts it. */
void recorder_put(recorder *r, space *s, space_thread *t, const observation *x);
void recorder_take_perf(recorder *r, const perf_sample *x);
/* Builds and delivers the profiles of one process. */
void recorder_flush(recorder *r, space *s);
