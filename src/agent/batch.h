/* agent/batch.h - what was captured between two flushes: columns of samples, and the tables they point into.
 *
 * The sampler's thread fills one, the shipper's thread reads it; it changes hands whole (capture_take), so
 * neither locks.  Memory is bounded by max_bytes: what does not fit is counted, never half of a round. */
#pragma once
#include "base/compiler.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/vec.h"
#include "unwind/unwind.h"

typedef enum sample_kind { SAMPLE_CPU, SAMPLE_WALL, SAMPLE_KINDS } sample_kind;

/* A thread as it was first seen in this batch; what changes from sample to sample stands in the sample. */
typedef struct agent_thread {
    uint32_t tid;
    uint32_t index;       /* counted from 1 at first sight of (tid, start), never used again */
    uint64_t start_ticks; /* stat field 22: since boot */
    uint64_t pthread;     /* pthread_t; 0: not known */
    int32_t os_prio;      /* nice, or the priority of a real-time policy */
    char name[64]; /* UTF-8, no controls, terminated (comm: at most 15 bytes; ? for bad ones) */
} agent_thread;

/* The addresses of a stack, leaf first: pcs[first .. first + n). */
typedef struct agent_stack {
    uint32_t first;
    uint16_t n;
    uint8_t end; /* unwind_end; UNWIND_CAPPED: truncated */
    uint8_t
        taken; /* 0: the thread could not be asked (its signal is blocked, or no answer in time) */
} agent_stack;

typedef struct agent_link {
    uint8_t trace_id[16], span_id[8];
} agent_link;

typedef struct agent_sample {
    uint64_t time; /* Unix ns, taken where the stack was */
    int64_t
        value; /* ns: CPU time (a timer's overruns included), or wall time (skipped rounds included) */
    uint64_t cpu_ns; /* WALL: CPU time of the thread so far; 0: not known */
    uint32_t stack;  /* of stacks[] */
    uint32_t thread; /* of threads[] */
    uint32_t link;   /* of links[], whose entry 0 is no span */
    uint32_t attrs;  /* WALL and CPU: of attrs[], the thread context's attributes; 0: none */
    uint32_t round;  /* WALL: samples of one round have the same number; emitted in order of tid */
    uint8_t kind;    /* sample_kind */
    char state;      /* WALL: as in stat field 3 (R S D T t I); CPU: R */
    uint8_t reused;  /* WALL: the thread had not run since its stack was taken */
    char wchan[21];  /* WALL: where the kernel has it wait; "": not known */
} agent_sample;

/* Attributes of a thread context as published: {u8 key, u8 length, text} each. */
typedef struct agent_attrs {
    uint32_t first, n; /* of attr_bytes[] */
} agent_attrs;

/* What did not get in.  Everything that the agent loses while it captures. */
#define CAPTURE_COUNTERS(X)                                                                        \
    X(cpu_samples, "CPU observations")                                                             \
    X(wall_samples, "wall-clock observations")                                                     \
    X(wall_rounds, "rounds of the wall clock")                                                     \
    X(wall_reused, "wall-clock observations of threads that had not run: the last stack holds")    \
    X(wall_walked, "wall-clock observations of waiting threads, made without a signal")            \
    X(wall_late, "rounds skipped because the one before had not ended: the next weighs more")      \
    X(wall_unanswered, "wall-clock observations without a stack: no answer in time")               \
    X(blocked, "observations of threads that block the signal: no stack")                          \
    X(ring_full, "CPU observations lost: the ring was full")                                       \
    X(batch_full, "observations lost: the batch was full")                                         \
    X(rounds_full, "rounds skipped: the batch was full")                                           \
    X(truncated, "stacks cut at the limit of frames")                                              \
    X(broken, "stacks that ended before the first function of their thread")                       \
    X(no_register, "stacks of waiting threads that ended at a register nobody knows")              \
    X(guessed, "frames crossed without an unwind rule")                                            \
    X(tables_over,                                                                                 \
      "objects whose unwind table did not fit KILN_UNWIND_MEMORY: whole stacks, more CPU")         \
    X(threads_lost, "threads not watched: too many, or the kernel gave no timer")                  \
    X(signal_moved, "times the program took our signal and we moved to another one")               \
    X(events_closed, "perf events that the program closed; reopened within a second")              \
    X(strangers, "signals that are not ours, or came after their thread had ended")

typedef struct capture_counts {
#define X(name, what) uint64_t name;
    CAPTURE_COUNTERS(X)
#undef X
} capture_counts;

typedef struct batch {
    uint64_t start, end; /* Unix ns */
    uint32_t pid;
    VEC(agent_sample) samples; /* in order of drain; wall rounds whole and in order of tid */
    VEC(agent_thread) threads;
    VEC(agent_stack) stacks;
    VEC(uintptr_t) pcs;
    VEC(agent_link) links;  /* [0] is none */
    VEC(agent_attrs) attrs; /* [0] is none */
    VEC(uint8_t) attr_bytes;
    capture_counts lost; /* counted since the batch before */
    uint64_t own_cpu_ns; /* CPU time of the agent's own threads since the batch before */
    arena mem;           /* all of it lies here; its budget is the limit */
    hash_index stack_index, thread_index, link_index, attrs_index; /* the sampler's own */
} batch;

/* An empty batch that may hold max_bytes.  NULL: no memory. */
NODISCARD batch *batch_open(size_t max_bytes, uint32_t pid);
void batch_close(batch *b);

/* Position of what is there already, or of what is added now.  false: the batch is full. */
NODISCARD bool batch_stack(batch *b, const uintptr_t *pcs, size_t n, uint8_t end, bool taken,
                           uint32_t *at);
NODISCARD bool batch_thread(batch *b, const agent_thread *t, uint32_t *at); /* by its index */
NODISCARD bool batch_link(batch *b, const agent_link *l, uint32_t *at);
NODISCARD bool batch_attrs(batch *b, const uint8_t *bytes, size_t n, uint32_t *at);

/* No sample is added when this says so: a whole round still finds room. */
static inline bool batch_full(const batch *b) { return b->mem.used > b->mem.budget / 4 * 3; }
