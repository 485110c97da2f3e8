/* record/bpf.h - the BPF source of `kiln record`: CPU samples, off-CPU intervals and exits of
 * threads, from programs in the kernel (src/bpf).
 *
 *     bpf_source *s = bpf_open(&opts, &e);
 *     bpf_exclude(s, own pid), bpf_follow(s, pid, true, &e);
 *     table_of(bpf_tables(s), &key, elf, now, &handle, &e), bpf_space_put(s, pid, mappings, n, &place, &e);
 *     bpf_start(s, &e);
 *     epoll on bpf_fd(s), and at least every 100 ms: bpf_drain(s, on_event, ctx, &e);
 *     at each flush: bpf_dump(s, on_event, ctx, &e);
 *     bpf_end(s, time), bpf_drain, bpf_dump, bpf_stop(s), bpf_drain, bpf_close(s);
 *
 * The kernel walks user stacks with compiled unwind tables.  Where it cannot decide (no table yet,
 * code without a rule whose bytes must be read) it hands the walk over: the record then has the
 * frames so far, the registers and a copy of the stack, and bpf_opts.finish completes it.  So a
 * process needs neither tables nor mappings to be sampled.
 *
 * All times are CLOCK_MONOTONIC in ns.  One thread at a time may use a source. */
#pragma once
#include "base/err.h"
#include "base/str.h"
#include "bpf/shared.h"
#include "record/tables.h"
#include "span/peek.h"
#include "unwind/unwind.h"

/* In the kernel, allocated at once.  clang with its libraries needs 22 MiB, node 5 MiB. */
enum { BPF_TABLE_BYTES = 32 << 20 };

typedef enum bpf_filter { BPF_ALL, BPF_PIDS, BPF_CGROUP } bpf_filter;

/* The reason why the kernel did not finish a walk itself. */
typedef enum bpf_why {
    BPF_WHY_SHIPPED,  /* it did; bpf_opts.ship */
    BPF_WHY_NO_SPACE, /* bpf_space_put was not called for the process */
    BPF_WHY_NO_TABLE, /* the object has no table, or its table was evicted: call table_of again */
    BPF_WHY_CODE,     /* no rule, and the frame pointer does not lead to a caller */
    BPF_WHY_REGISTER, /* the rule needs a register that this frame does not have */
    BPF_WHYS,
} bpf_why;

/* A walk that the kernel handed over.  The frames before this one are already in `pcs`. */
typedef struct bpf_handover {
    uint32_t pid, tid;
    bpf_why why;
    unwind_regs regs; /* context: a ucontext_t with the general registers, or NULL */
    unsigned known;   /* for unwind_copy: UNWIND_KNOWN_*, UNWIND_RETURNED */
    stack_copy copy;
    const uintptr_t *pcs; /* frames before; BPF_WHY_SHIPPED: the whole stack */
    size_t n;
    unwind_end end; /* BPF_WHY_SHIPPED: how the kernel's walk ended */
    uint32_t guesses;
} bpf_handover;

/* Continues a walk: fills pcs[] with the remaining frames, of which the first is regs.pc (minus 1
 * with UNWIND_RETURNED).  unwind_copy() does this. */
typedef unwind_result bpf_finish(void *ctx, const bpf_handover *h, uintptr_t *pcs, size_t max);

typedef struct bpf_opts {
    uint32_t hz;             /* CPU samples per second and CPU; 0: 99 */
    bool on_cpu;             /* CPU samples */
    bool off_cpu;            /* off-CPU intervals, and the clock of CPU time (bpf_event.on_ns) */
    bool kernel;             /* kernel stacks; also samples kernel threads */
    bool aggregate;          /* CPU samples without a span are counted by stack in the kernel */
    bool stats;              /* measure the run time of the programs (bpf_run_time) */
    bool ship;               /* every stack comes with registers and copy, for tests */
    bpf_filter filter;       /* BPF_PIDS: bpf_follow, and the children of followed processes */
    const char *cgroup;      /* BPF_CGROUP: a directory of cgroup2; includes its descendants */
    const char *comm;        /* only threads with this name; `*` at its end: any rest; NULL: all */
    uint64_t off_cpu_min_ns; /* shorter intervals are only counted and summed */
    uint32_t off_cpu_rate;   /* intervals per second above which short ones are sampled; 0: 20000 */
    uint32_t max_frames;     /* 0: 127, the maximum */
    uint32_t copy_bytes; /* of a stack that is handed over; 0: 16 KiB, at most 64 KiB.  CPU samples
                              * that lack mappings or a table always have 64 KiB */
    size_t ring_bytes;   /* 0: 4 MiB */
    size_t table_bytes;  /* budget of compiled tables; 0: BPF_TABLE_BYTES */
    uint32_t max_mappings; /* of all processes; 0: 65536 */
    bpf_finish *finish;    /* NULL: stacks that are handed over stay incomplete */
    void *finish_ctx;
} bpf_opts;

typedef enum bpf_kind {
    BPF_EVENT_CPU,     /* a CPU sample, or several equal ones (aggregate) */
    BPF_EVENT_OFF_CPU, /* an interval in which the thread did not run */
    BPF_EVENT_EXIT,    /* the thread has ended */
    BPF_EVENT_RUNNING, /* bpf_dump: the thread runs now */
} bpf_kind;

/* Valid during the callback.  id is equal for equal stacks; 0: no stack was taken. */
typedef struct bpf_stack {
    uint64_t id;
    const uintptr_t *user, *kernel; /* innermost first, as unwind() returns them */
    size_t n_user, n_kernel;
    unwind_end end;
    uint32_t guesses;
    bool lost; /* the stack was taken, but its record did not fit in the ring */
} bpf_stack;

typedef struct bpf_waker {
    uint32_t pid, tid; /* 0: not known */
    bool interrupt; /* an interrupt handler woke the thread; pid and tid are what it interrupted */
    char comm[16];
} bpf_waker;

typedef struct bpf_event {
    bpf_kind kind;
    uint32_t pid, tid;
    uint64_t time;    /* of the sample; start of the interval */
    uint64_t count;   /* CPU: number of samples, 1 unless aggregated */
    uint64_t value;   /* ns.  OFF_CPU: duration, or its estimate.  CPU: period x count, or with
                              * off_cpu the CPU time since the thread's last event */
    uint64_t on_ns;   /* CPU time since the thread was first seen; 0 without off_cpu, or for
                              * a count */
    uint64_t rest_ns; /* EXIT, RUNNING, still_open: CPU time after the last CPU event */
    bpf_stack stack;  /* CPU, OFF_CPU */
    const span_record *span; /* NULL: none */
    char comm[16];           /* CPU, EXIT */

    /* OFF_CPU */
    uint64_t duration_ns;    /* true duration; blocked for duration_ns - runnable_ns */
    uint64_t runnable_ns;    /* last part of it: ready to run, waiting for a CPU */
    uint64_t runnable_since; /* time; 0: runnable_ns is 0 */
    char state;              /* as in field 3 of /proc/PID/stat: R S D T t I */
    int32_t syscall;         /* number; -1: none (a page fault, a preempted thread) */
    bpf_waker waker;
    bool started_blocked; /* was already blocked when the recording began: no user stack */
    bool still_open;      /* bpf_dump: a piece; the interval continues */
    bool continued;       /* an earlier piece was reported by bpf_dump */
    bool estimate;        /* value is larger than duration_ns: it stands for intervals not kept */

    /* OFF_CPU, EXIT, RUNNING: intervals below off_cpu_min_ns since the thread was first seen */
    uint64_t short_count, short_ns;
    uint64_t since; /* time at which the thread was first seen */
    bool last;      /* EXIT: last thread of its process */
} bpf_event;

typedef void bpf_on_event(void *ctx, const bpf_event *ev);

/* Counters of the programs (bpf/shared.h) and of the source: name and description. */
#define BPF_COUNTERS(X)                                                                            \
    BPF_KERNEL_COUNTERS(X)                                                                         \
    X(stacks_unknown, "events whose stack was lost")                                               \
    X(finished, "stacks completed outside of the kernel")                                          \
    X(ring_bytes, "bytes of records read from the ring")

typedef struct bpf_counts {
#define X(name, what) uint64_t name;
    BPF_COUNTERS(X)
#undef X
} bpf_counts;

typedef struct bpf_source bpf_source;

/* Loads the programs.  Returns NULL and sets *e on failure: ERR_UNSUPPORTED when kiln was built
 * without BPF or the kernel is older than 5.19, ERR_SYS with EPERM when privileges are missing. */
NODISCARD bpf_source *bpf_open(const bpf_opts *o, err *e);
void bpf_close(bpf_source *s);

/* BPF_PIDS: adds a process to the filter, or removes it.  Call it before bpf_start for the first
 * ones: threads that exist then are found by bpf_start. */
NODISCARD bool bpf_follow(bpf_source *s, uint32_t pid, bool on, err *e);
/* Never records this process. */
NODISCARD bool bpf_exclude(bpf_source *s, uint32_t pid, err *e);

/* Attaches the programs, then lists the threads that exist. */
NODISCARD bool bpf_start(bpf_source *s, err *e);
/* Ends the recording: later events are not recorded.  Any thread may call it. */
void bpf_end(bpf_source *s, uint64_t time);
/* Detaches the programs. */
void bpf_stop(bpf_source *s);

/* Readable when the ring is a quarter full. */
int bpf_fd(const bpf_source *s);

/* Reports the events that are in the ring at the call and, with `aggregate`, the counts. */
NODISCARD bool bpf_drain(bpf_source *s, bpf_on_event *f, void *ctx, err *e);

/* Drains, then reports for every thread that is off-CPU the interval so far (the next piece begins
 * where it ends), and BPF_EVENT_RUNNING for the others.  Forgets stacks that were not used since the call
 * before the last. */
NODISCARD bool bpf_dump(bpf_source *s, bpf_on_event *f, void *ctx, err *e);

/* Returns the memory of the stacks that were sent.  Call bpf_dump when it is large. */
size_t bpf_stack_bytes(const bpf_source *s);

bpf_counts bpf_count(bpf_source *s);

typedef struct bpf_cost {
    const char *program;
    uint64_t runs, ns; /* opts.stats */
    uint32_t insns;    /* instructions that the verifier processed; 0: not known */
} bpf_cost;

enum { BPF_PROGRAMS = 11 };

/* Fills v[] with the programs that are loaded and returns their number. */
size_t bpf_run_time(bpf_source *s, bpf_cost v[BPF_PROGRAMS]);

/* ---- address spaces ---- */

/* An executable mapping that belongs to an object.  Code outside of all mappings counts as
 * generated at run time. */
typedef struct bpf_mapping {
    uint64_t start, end;
    uint64_t bias;  /* run-time address - address in the file's program headers */
    uint32_t table; /* from table_of, or TABLE_NONE */
} bpf_mapping;

/* The place of the thread context, from ctx/tls.h. */
typedef struct bpf_span_place {
    span_place at;
    bool musl; /* SPAN_DYNAMIC: layout of the table of blocks */
} bpf_span_place;

/* Publishes the mappings of a process, in ascending order and without overlap, and replaces earlier
 * ones.  `place` may be NULL.  Fails with ERR_LIMIT when max_mappings is reached; the process then
 * has none. */
NODISCARD bool bpf_space_put(bpf_source *s, uint32_t pid, const bpf_mapping *v, size_t n,
                             const bpf_span_place *place, err *e);
void bpf_space_drop(bpf_source *s, uint32_t pid);

/* The store of compiled tables: call table_of() on it (record/tables.h). */
table_store *bpf_tables(bpf_source *s);
