/* record/perf.h - the perf-event source of `kiln record`: samples with a copy of the stack, and
 * records about processes.
 *
 * Without privileges it records processes of the same user.  In BPF mode it delivers only the
 * records about processes (perf_opts.side_band).
 *
 * An event belongs to one thread, so a process needs one event for each thread and CPU.  Threads
 * and processes that these start inherit the events.  All events of a CPU write to one ring. */
#pragma once
#include "base/err.h"
#include "base/str.h"

typedef struct perf_source perf_source;

typedef enum perf_target { PERF_PIDS, PERF_ALL, PERF_CGROUP } perf_target;

typedef struct perf_opts {
    perf_target target;
    const char *cgroup; /* PERF_CGROUP: a directory of cgroup2 */
    uint32_t hz;
    bool kernel;         /* kernel stacks */
    bool side_band;      /* no samples */
    uint32_t copy_bytes; /* of the stack; 0: 64 KiB if a ring holds those of 100 ms, else 32 KiB */
    size_t ring_bytes;   /* per CPU; 0: as large as permitted */
} perf_opts;

enum { PERF_EVENTS_MAX = 16384 };

/* A sample.  Pointers are valid during the callback. */
typedef struct perf_sample {
    uint32_t pid, tid;
    uint64_t time;          /* CLOCK_MONOTONIC, ns */
    uint64_t value;         /* ns of CPU time */
    const uint64_t *kernel; /* innermost first */
    size_t n_kernel;
    const uint64_t *regs; /* in the order of arch/perf.h; NULL: a kernel thread or a 32-bit one */
    const uint8_t *stack; /* bytes from the stack pointer up */
    size_t n_stack;
} perf_sample;

typedef struct perf_mapping {
    uint64_t start, end, offset, inode;
    str path;
    uint8_t build_id[20];
    uint8_t n_build_id; /* 0: none */
} perf_mapping;

/* Callbacks.  The records about processes come first in each pass. */
typedef struct perf_events {
    void (*mapped)(void *ctx, uint32_t pid, uint64_t time, const perf_mapping *m);
    /* A thread got a name; `exec`: the process runs another program. */
    void (*named)(void *ctx, uint32_t pid, uint32_t tid, uint64_t time, str name, bool exec);
    /* pid != parent: a process was forked; otherwise a thread was started. */
    void (*born)(void *ctx, uint32_t pid, uint32_t parent, uint32_t tid, uint64_t time);
    void (*ended)(void *ctx, uint32_t pid, uint32_t tid, uint64_t time);
    void (*sampled)(void *ctx, const perf_sample *s);
    void *ctx;
} perf_events;

typedef struct perf_counts {
    uint64_t samples;
    uint64_t lost;         /* records that did not fit into a ring */
    uint64_t throttled;    /* times the kernel paused an event */
    uint64_t threads_lost; /* threads without events: a limit was reached */
    uint64_t repeated;     /* samples of a thread that was found twice while it started; dropped */
    uint32_t events;       /* open events */
    bool user_only; /* the kernel permits samples of user code only: its own time is not sampled */
} perf_counts;

/* Opens the rings, and for PERF_ALL and PERF_CGROUP the events.  Returns NULL on failure; the
 * error text names the missing privilege. */
NODISCARD perf_source *perf_open(const perf_opts *o, err *e);
void perf_close(perf_source *s);

/* PERF_PIDS: opens the events of all threads of a process.  With `at_exec` the events start when
 * the process calls exec.  Fails with ERR_SYS: ESRCH, EACCES, EMFILE. */
NODISCARD bool perf_attach(perf_source *s, uint32_t pid, bool at_exec, err *e);

/* Starts all events. */
NODISCARD bool perf_start(perf_source *s, err *e);
/* Ends the recording; any thread may call it, before perf_stop. */
void perf_end(perf_source *s);
void perf_stop(perf_source *s);

/* Returns a descriptor for epoll: readable when a ring is half full. */
int perf_fd(const perf_source *s);

/* Reports the records of all rings. */
void perf_drain(perf_source *s, const perf_events *on);

perf_counts perf_count(const perf_source *s);
