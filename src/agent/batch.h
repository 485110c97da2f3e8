/* agent/batch.h - the samples captured between two flushes: columns of samples and the tables they
 * refer to.
 *
 * The sampler thread fills a batch and the shipper thread reads it.  capture_take transfers the
 * whole batch, so neither thread locks.  max_bytes limits the memory.  Samples that do not fit are
 * counted; a wall-clock round is stored completely or not at all. */
#pragma once
#include "agent/signal/raw.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/vec.h"
#include "unwind/unwind.h"

typedef enum sample_kind { SAMPLE_CPU, SAMPLE_WALL, SAMPLE_OFF_CPU, SAMPLE_KINDS } sample_kind;

/* A thread as first seen in this batch.  Values that change between samples are in the sample. */
typedef struct agent_thread {
    uint32_t tid;
    uint32_t index;       /* number of the thread in order of appearance, from 1; never reused */
    uint64_t start_ticks; /* start time in ticks since boot (field 22 of stat) */
    uint64_t pthread;     /* pthread_t; 0: not known */
    int32_t os_prio;      /* nice, or the priority of a real-time policy */
    /* UTF-8 without control characters, terminated (comm: at most 15 bytes; ? replaces invalid
     * bytes) */
    char name[64];
} agent_thread;

/* The addresses of a stack, leaf first: pcs[first .. first + n). */
typedef struct agent_stack {
    uint32_t first;
    uint16_t n;
    uint8_t end;   /* unwind_end; UNWIND_CAPPED: truncated */
    uint8_t taken; /* 0: no stack (the thread blocks the signal, or did not respond in time) */
} agent_stack;

typedef struct agent_link {
    uint8_t trace_id[16], span_id[8];
} agent_link;

typedef struct agent_sample {
    uint64_t time; /* Unix ns when the stack was taken */
    /* ns: CPU time (with the overruns of a timer), wall-clock time (with skipped rounds), or the
     * duration of a wait */
    int64_t value;
    uint64_t cpu_ns; /* WALL: CPU time of the thread so far; 0: not known */
    uint32_t stack;  /* index in stacks[] */
    uint32_t thread; /* index in threads[] */
    uint32_t link;   /* index in links[]; 0: no span */
    /* WALL and CPU: index in attrs[], the attributes of the thread context; 0: none */
    uint32_t attrs;
    uint32_t round; /* WALL: number of the round; the samples of a round are in order of tid */
    uint8_t kind;   /* sample_kind */
    /* WALL, OFF_CPU: state as in field 3 of stat (R S D T t I); CPU: R */
    char state;
    uint8_t reused;   /* WALL: stack of an earlier round: the thread had not run since */
    char wchan[21];   /* WALL: kernel function in which the thread waits; "": not known */
    uint16_t syscall; /* OFF_CPU: number of the system call + 1; 0: none */
    uint32_t waker;   /* OFF_CPU: thread that ended the wait; 0: an interrupt, or not known */
} agent_sample;

/* Attributes of a thread context as published: entries {u8 key, u8 length, text}. */
typedef struct agent_attrs {
    uint32_t first, n; /* range of attr_bytes[] */
} agent_attrs;

/* Counters of captured and lost observations: name and description.  The names are keys in the JSON
 * reports; `strangers` counts foreign signals. */
#define CAPTURE_COUNTERS(X)                                                                        \
    X(cpu_samples, "CPU observations")                                                             \
    X(wall_samples, "wall-clock observations")                                                     \
    X(wall_rounds, "rounds of the wall clock")                                                     \
    X(wall_reused,                                                                                 \
      "wall-clock observations that reuse the last stack: the thread had not run since")           \
    X(wall_walked, "wall-clock observations of waiting threads, taken without a signal")           \
    X(wall_late,                                                                                   \
      "rounds skipped because the previous one had not ended: the next one has more weight")       \
    X(wall_unanswered,                                                                             \
      "wall-clock observations without a stack: the thread did not respond in time")               \
    X(blocked, "observations without a stack: the thread blocks the signal")                       \
    X(ring_full, "CPU observations lost: the ring was full")                                       \
    X(batch_full, "observations lost: the batch was full")                                         \
    X(rounds_full, "rounds skipped: the batch was full")                                           \
    X(truncated, "stacks truncated at the frame limit")                                            \
    X(broken, "stacks that ended before the first function of their thread")                       \
    X(no_register, "stacks of waiting threads that ended early: a register that the unwinder "     \
                   "needs was not saved")                                                          \
    X(guessed, "frames unwound without an unwind rule")                                            \
    X(tables_over, "objects whose unwind table exceeds KILN_UNWIND_MEMORY: stacks are complete "   \
                   "but cost more CPU")                                                            \
    X(threads_lost, "threads not profiled: too many threads, or the kernel created no timer")      \
    X(signal_moved, "times the program installed a handler for the agent's signal and the agent "  \
                    "switched to another")                                                         \
    X(events_closed,                                                                               \
      "perf events that the program closed; the agent reopens them within a second")               \
    X(strangers,                                                                                   \
      "foreign signals: not sent by the agent, or delivered after their thread had ended")

typedef struct capture_counts {
#define X(name, what) uint64_t name;
    CAPTURE_COUNTERS(X)
#undef X
} capture_counts;

typedef struct batch {
    uint64_t start, end; /* Unix ns */
    uint32_t pid;
    VEC(agent_sample) samples; /* in order of drain; rounds are complete and in order of tid */
    VEC(agent_thread) threads;
    VEC(agent_stack) stacks;
    VEC(uintptr_t) pcs;
    VEC(agent_link) links;  /* entry 0: no link */
    VEC(agent_attrs) attrs; /* entry 0: no attributes */
    VEC(uint8_t) attr_bytes;
    capture_counts lost; /* counted since the previous batch */
    uint64_t own_cpu_ns; /* CPU time of the agent's own threads since the previous batch */
    arena mem;           /* holds all of the above; its budget is the limit */
    hash_index stack_index, thread_index, link_index, attrs_index; /* used by the sampler only */
} batch;

/* Returns an empty batch with a limit of max_bytes; NULL when out of memory. */
NODISCARD batch *batch_open(size_t max_bytes, uint32_t pid);
void batch_close(batch *b);

/* Set *at to the index of an equal or a new entry; return false when the batch is full. */
NODISCARD bool batch_stack(batch *b, const uintptr_t *pcs, size_t n, uint8_t end, bool taken,
                           uint32_t *at);
NODISCARD bool batch_thread(batch *b, const agent_thread *t, uint32_t *at); /* compares t->index */
NODISCARD bool batch_link(batch *b, const agent_link *l, uint32_t *at);
NODISCARD bool batch_attrs(batch *b, const uint8_t *bytes, size_t n, uint32_t *at);
/* Interns the span and the attributes of a raw sample, and sets link and attrs of `out`.  Returns
 * false when the batch is full. */
NODISCARD bool batch_context(const raw_sample *raw, batch *b, agent_sample *out);

/* Returns true when no more samples should be added.  The remaining quarter of the memory is for
 * the rest of a round. */
static inline bool batch_full(const batch *b) { return b->mem.used > b->mem.budget / 4 * 3; }
