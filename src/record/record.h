/* record/record.h - records processes from outside: what already runs, a command, a cgroup or the
 * whole machine.
 *
 *   perf events ─ copies of stacks ─► recorder thread ─ space: walk, batch ─► profiles as OTLP ─► the caller
 *   BPF programs ─ whole stacks ────►        │
 *   perf events ─ mappings, names, births ───┘
 *
 * The source is BPF where the kernel and the privileges permit it, otherwise perf events (record_mode).
 * Off-CPU time needs BPF.  Nothing runs inside the recorded processes. */
#pragma once
#include "agent/config.h"
#include "agent/profiles.h"
#include "base/buf.h"

typedef struct recorder recorder;

typedef enum record_target { RECORD_PIDS, RECORD_ALL, RECORD_CGROUP } record_target;
typedef enum record_mode { RECORD_BEST, RECORD_PERF, RECORD_BPF } record_mode;

typedef struct record_opts {
    size_t size; /* sizeof(record_opts) */
    record_target target;
    const uint32_t *pids; /* RECORD_PIDS; empty: recorder_attach follows */
    size_t n_pids;
    const char *cgroup; /* RECORD_CGROUP: a directory of cgroup2 */
    const char *comm;   /* only threads with this name; `*` at its end: any rest; NULL: all */
    record_mode mode;
    uint32_t hz, max_frames;
    bool off_cpu, kernel;
    bool aggregate;          /* BPF: equal CPU samples are counted in the kernel, without times */
    uint64_t off_cpu_min_ns; /* shorter waits are only counted */
    uint64_t flush_ns;       /* interval of deliveries; 0: at the end, or when memory is full */
    const agent_config *config;
    /* Adds names to a model before it is encoded.  root: the root directory of the process, NULL if
     * it is kiln's; perf_map: its perf map below that root, NULL for the default name. */
    bool (*name)(void *ctx, model *m, const char *root, const char *perf_map, arena *a, err *e);
    /* Receives the profiles of a process as OTLP, in the recorder thread; owns *bytes. */
    void (*profile)(void *ctx, uint32_t pid, buf *bytes);
    /* Receives one sentence for the user; may be called in the recorder thread. */
    void (*note)(void *ctx, const char *text);
    void *ctx;
} record_opts;

/* Losses: name and description, in which {…} is left out for one.  The names are keys of the JSON
 * summary, and of the attributes kiln.lost.NAME of a profile.  The value of a name in _ns is a
 * time. */
#define RECORD_LOST_SAMPLES(X)                                                                     \
    X(ring_full, "observation{s} lost: the ring was full")                                         \
    X(batch_full, "observation{s} lost: not enough memory")
#define RECORD_OTHER_LOSSES(X)                                                                     \
    X(lost_cpu_ns, "of CPU time are not in the profile, because the ring was full")                \
    X(lost_wait_ns, "of waits are not in the profile, because the ring was full")                  \
    X(stacks_lost, "observation{s} without a stack: the ring was full")                            \
    X(attributes_lost, "set{s} of span attributes lost: the ring was full")                        \
    X(records_lost, "record{s} about mappings and processes lost: the ring was full")              \
    X(reads_failed, "time{s} that the records of the BPF programs could not be read")              \
    X(throttled, "time{s} that the kernel paused sampling, because it took too long")              \
    X(stacks_cut, "stack{s} of waits cut short: too many required a copy of the stack")            \
    X(waits_sampled_out,                                                                           \
      "wait{s} left out above the rate limit; those that were kept stand for all without bias")    \
    X(threads_lost, "thread{s} not recorded: too many for the limit of open files")                \
    X(processes_lost, "child process{es} not recorded: too many")                                  \
    X(switches_lost, "switch{es} of threads not recorded: the kernel had no memory")               \
    X(truncated, "stack{s} truncated at the frame limit")                                          \
    X(broken, "stack{s} that ended before the first function of the thread")                       \
    X(tables_over, "unwind table{s} or mapping{s} left out to stay within the memory limit")       \
    X(mappings_lost, "mapping{s} forgotten early, so that code has no names: too many at once")    \
    X(failed, "profile{s} that could not be built: no memory")

#define RECORD_COUNTERS(X) RECORD_LOST_SAMPLES(X) RECORD_OTHER_LOSSES(X)

typedef struct recorded {
#define X(name, what) uint64_t name;
    RECORD_COUNTERS(X)
#undef X
    uint64_t cpu_samples, waits;    /* observations */
    uint64_t cpu_ns, wait_ns;       /* their sums */
    uint64_t short_waits, short_ns; /* below off_cpu_min_ns */
    uint64_t whole;                 /* user stacks up to the first function of their thread */
    uint64_t guessed;               /* frames unwound without a rule */
    uint64_t kernel_finished;       /* BPF: user stacks that were completed outside of the kernel */
    uint64_t spans;                 /* observations with a span */
    uint64_t repeated;              /* perf: dropped samples of threads that were found twice */
    uint64_t spans_torn;            /* spans that were discarded: the thread was changing them */
    uint32_t processes, threads, ended;
    uint64_t ran_ns;  /* recorder_stop: duration of the recording */
    uint64_t own_cpu; /* CPU time of the recorder thread, ns */
    uint64_t bpf_ns;  /* run time of the BPF programs, ns */
    bool bpf, user_only;
    char why_perf[192]; /* reason for perf events although BPF was not excluded; "": none */
} recorded;

/* Opens the sources and attaches to the processes.  Returns NULL on failure. */
NODISCARD recorder *recorder_open(const record_opts *o, err *e);
/* RECORD_PIDS: attaches to a process that is about to call exec.  Before recorder_start. */
NODISCARD bool recorder_attach(recorder *r, uint32_t pid, err *e);
/* Starts the thread and the sources. */
NODISCARD bool recorder_start(recorder *r, err *e);
/* Returns counters of a running recorder, for a progress line. */
void recorder_progress(recorder *r, recorded *out);
/* Returns whether all processes of RECORD_PIDS have ended. */
bool recorder_is_done(recorder *r);
/* Ends the recording and delivers everything. */
void recorder_stop(recorder *r, recorded *out);
void recorder_close(recorder *r);
