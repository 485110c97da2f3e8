/* agent/blocked.h - takes the stack of a thread that waits in the kernel, without a signal.
 *
 *   cpu      ns that the thread has run
 *   line     tid/syscall: the call, its arguments, sp, pc; "running" for a thread that does not wait
 *   copy     its stack from sp on; its span record
 *   line     again, and cpu: if either differs the thread has run, and everything is discarded
 *   walk     the copy, from pc and sp alone (unwind_copy)
 *
 * Everything comes through the arguments: a directory of tasks and a memory, so that the threads may be those of
 * another process.  The tables must be the tables of that process. */
#pragma once
#include "agent/signal/raw.h"
#include "agent/task.h"
#include "ctx/memory.h"

enum { BLOCKED_COPY = 1 << 20 }; /* bytes of a stack that are looked at, at most */

typedef struct blocked_process {
    int tasks; /* /proc/PID/task */
    const memory *memory;
    uint64_t (*cpu)(int tasks, uint32_t tid); /* one of the three below */
    const span_place *span;                   /* NULL: spans are not read */
    own_calls own;                            /* frames of ours, which are left out */
    void *copy;                               /* BLOCKED_COPY bytes, the caller's */
} blocked_process;

typedef struct blocked_thread {
    uint32_t tid;
    unwind_stack stack; /* zero: not known */
    uintptr_t pointer;  /* the thread pointer; 0: not known, and no span is read */
} blocked_thread;

typedef enum blocked_how {
    BLOCKED_TAKEN,
    BLOCKED_MOVED,   /* it has run in the meantime, or runs */
    BLOCKED_UNKNOWN, /* the kernel tells neither place nor stack */
} blocked_how;

/* CPU time: of a thread of this process; of a thread of another one, by tid/schedstat; of a whole process, by its clock, which takes a
 * tenth of the time and stands for the thread of a process that has one.  0: not known. */
uint64_t blocked_cpu_own(int tasks, uint32_t tid);
uint64_t blocked_cpu_other(int tasks, uint32_t tid);
uint64_t blocked_cpu_single(int tasks, uint32_t pid);

/* Takes the stack of t into out->pcs (raw_bytes(max_frames)), with pc, sp, n, end, guesses, span and in_context.  *cpu is the
 * thread's CPU time: as long as it stays the same the stack holds. */
NODISCARD blocked_how blocked_walk(const blocked_process *p, const blocked_thread *t,
                                   unwind_snapshot *tables, uint32_t max_frames, raw_sample *out,
                                   uint64_t *cpu);
