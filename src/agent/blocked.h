/* agent/blocked.h - takes the stack of a thread that waits in the kernel, without a signal.
 *
 *   cpu      reads the CPU time of the thread
 *   syscall  reads TID/syscall: call, arguments, sp and pc; "running" if the thread does not wait
 *   copy     copies its stack from sp on, and its span record
 *   verify   reads CPU time and TID/syscall again; if either differs, discards the copy
 *   walk     unwinds the copy, from pc and sp alone (unwind_copy)
 *
 * The caller passes the task directory of the process and an accessor for its memory, so the thread
 * may belong to another process.  The unwind tables must be those of that process. */
#pragma once
#include "agent/signal/raw.h"
#include "agent/task.h"
#include "ctx/memory.h"

enum { BLOCKED_COPY = 1 << 20 }; /* maximum bytes of a stack to copy */

typedef struct blocked_process {
    int tasks; /* /proc/PID/task */
    const memory *memory;
    uint64_t (*cpu)(int tasks, uint32_t tid); /* one of the functions below */
    const span_place *span;                   /* NULL: spans are not read */
    own_calls own; /* functions of the agent, which are removed from the stack */
    void *copy;    /* BLOCKED_COPY bytes, owned by the caller */
} blocked_process;

typedef struct blocked_thread {
    uint32_t tid;
    unwind_stack stack; /* zero: not known */
    uintptr_t pointer;  /* the thread pointer; 0: not known, and no span is read */
} blocked_thread;

typedef enum blocked_how {
    BLOCKED_TAKEN,
    BLOCKED_MOVED,   /* the thread runs, or has run in the meantime */
    BLOCKED_UNKNOWN, /* the kernel provides neither pc nor sp */
} blocked_how;

/* Return the CPU time in ns; 0: not known.  _own: of a thread of this process.  _other: of a thread
 * of another process, from TID/schedstat.  _single: of a process with one thread, from the process
 * clock, which is ten times as fast. */
uint64_t blocked_cpu_own(int tasks, uint32_t tid);
uint64_t blocked_cpu_other(int tasks, uint32_t tid);
uint64_t blocked_cpu_single(int tasks, uint32_t pid);

/* Stores the stack of t in *out, which has raw_bytes(max_frames) bytes, and sets pc, sp, n, end,
 * guesses, span and in_context.  Sets *cpu to the thread's CPU time.  As long as that does not
 * change, the thread has not run and the stack is still valid. */
NODISCARD blocked_how blocked_walk(const blocked_process *p, const blocked_thread *t,
                                   unwind_snapshot *tables, uint32_t max_frames, raw_sample *out,
                                   uint64_t *cpu);
