/* unwind/unwind.h - a stack as addresses, from inside a signal handler.
 *
 * Each frame is crossed by the rule of its code (table.h): a frame pointer is followed where the function
 * keeps one, the table's offsets where it does not.  Code without a rule (made at run time, no
 * .eh_frame) is crossed by its frame pointer if that is sane, and counted as a guess.
 *
 * Signal room: no lock, no allocation, no call of libc or loader; what is read is the table, the context,
 * and the stack.  Of the stack only words that are readable for sure are read: between the stack pointer
 * and the end of the thread's stack when the caller knows it, otherwise (other stacks: sigaltstack,
 * makecontext, threads nobody told us of) pages that the kernel was asked about, at most
 * UNWIND_PROBES_MAX of them, each once. */
#pragma once
#include "unwind/snapshot.h"

enum { UNWIND_PROBES_MAX = 64 };

typedef struct unwind_regs {
    uintptr_t pc, sp, fp, third; /* third: see table.h */
    const void *context; /* ucontext_t of the interruption; NULL: only these four are known */
} unwind_regs;

/* The stack of the thread: [lo, hi).  Zero: not known. */
typedef struct unwind_stack {
    uintptr_t lo, hi;
} unwind_stack;

typedef enum unwind_end {
    UNWIND_WHOLE,       /* up to the first function of the thread */
    UNWIND_CAPPED,      /* there was no more room: truncated */
    UNWIND_NO_RULE,     /* code that tells nothing, and no sane frame pointer */
    UNWIND_UNREADABLE,  /* the next frame is outside of the stack */
    UNWIND_NO_PROGRESS, /* the next frame is not further up, or not aligned */
    UNWIND_NO_REGISTER, /* unwind_copy: the rule needs a register whose value is not known */
} unwind_end;

typedef struct unwind_result {
    size_t n; /* frames */
    unwind_end end;
    uint32_t guesses; /* frames crossed by frame pointer because there was no rule */
} unwind_result;

/* Fills pcs[] with up to max addresses, innermost first.  The first one, and one interrupted by another
 * signal, is the instruction that was about to run; others are the last byte of the call: return address
 * - 1, so that every address lies in the function and line that was active. */
unwind_result unwind(unwind_snapshot *s, const unwind_regs *from, const unwind_stack *stack,
                     uintptr_t *pcs, size_t max);

/* The words of a stack, copied: bytes[0] was at address `base`. */
typedef struct stack_copy {
    uintptr_t base;
    const void *bytes;
    size_t n;
} stack_copy;

enum { UNWIND_KNOWN_FP = 1, UNWIND_KNOWN_THIRD = 2 };

/* Like unwind(), but reads stack words from the copy only.  `known` tells which of from->fp and from->third are valid:
 * of a blocked thread, /proc/self/task/TID/syscall gives pc and sp alone.  The walk tracks which registers are known: a
 * frame that saved one makes it known in its caller.  If a rule needs an unknown register the walk ends with
 * UNWIND_NO_REGISTER.  A frame outside the copy ends it with UNWIND_UNREADABLE.
 * from->context must be NULL.  Safe in handlers, and in any thread that holds the snapshot (snapshot_enter). */
unwind_result unwind_copy(unwind_snapshot *s, const unwind_regs *from, unsigned known,
                          const stack_copy *c, uintptr_t *pcs, size_t max);

/* Registers of an interrupted thread; `context` is the third argument of its handler. */
unwind_regs unwind_regs_of(const void *context);

/* Registers of the caller, here. */
ALWAYS_INLINE unwind_regs unwind_regs_here(void)
{
    unwind_regs r = {0};
#if defined(__x86_64__)
    __asm__ volatile("leaq 0(%%rip), %0\n\tmovq %%rsp, %1\n\tmovq %%rbp, %2\n\tmovq %%rbx, %3"
                     : "=&r"(r.pc), "=&r"(r.sp), "=&r"(r.fp), "=&r"(r.third));
#elif defined(__aarch64__)
    __asm__ volatile("adr %0, .\n\tmov %1, sp\n\tmov %2, x29\n\tmov %3, x30"
                     : "=&r"(r.pc), "=&r"(r.sp), "=&r"(r.fp), "=&r"(r.third));
#endif
    return r;
}
