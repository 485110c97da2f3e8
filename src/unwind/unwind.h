/* unwind/unwind.h - walks the stack of an interrupted thread, inside its signal handler.
 *
 * Each frame is left by the rule of its code (table.h): by the frame pointer where the function
 * keeps one, else by the offsets of the table.  Code without a rule (generated at run time, no
 * .eh_frame) is left by its frame pointer if that is sane, and counted as a guess.
 *
 * Safe in signal handlers: no locks, no allocation, no calls of libc or the loader.  The walk reads
 * tables, the context and the stack.  Of the stack it reads only words that are certainly readable:
 * those between the stack pointer and the end of the thread's stack, if the caller knows it.  On
 * other stacks (sigaltstack, makecontext, unregistered threads) the kernel checks each page once,
 * at most UNWIND_PROBES_MAX of them. */
#pragma once
#include "arch/context.h"
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
    UNWIND_WHOLE,       /* complete, up to the first function of the thread */
    UNWIND_CAPPED,      /* truncated: pcs[] is full */
    UNWIND_NO_RULE,     /* code without a rule, and no sane frame pointer */
    UNWIND_UNREADABLE,  /* the next frame is outside the stack */
    UNWIND_NO_PROGRESS, /* the next frame is not further up, or not aligned */
    UNWIND_NO_REGISTER, /* unwind_copy: the rule needs a register whose value is not known */
} unwind_end;

typedef struct unwind_result {
    size_t n; /* number of frames */
    unwind_end end;
    uint32_t guesses; /* frames left without a rule */
} unwind_result;

/* Fills pcs[] with up to max addresses, innermost first.  The first address, and any that another
 * signal interrupted, is the instruction that was about to run.  The others are the last byte of
 * the call (return address - 1), so that every address is in the function and line that was
 * active. */
unwind_result unwind(unwind_snapshot *s, const unwind_regs *from, const unwind_stack *stack,
                     uintptr_t *pcs, size_t max);

/* A copy of the words of a stack: bytes[0] was at address `base`. */
typedef struct stack_copy {
    uintptr_t base;
    const void *bytes;
    size_t n;
} stack_copy;

enum {
    UNWIND_KNOWN_FP = 1,
    UNWIND_KNOWN_THIRD = 2,
    UNWIND_RETURNED = 4, /* from->pc is a return address: another walk has stopped at this caller */
    UNWIND_KEEP_RETURNS = 8, /* pcs[] gets return addresses of callers unchanged, without - 1 */
};

/* Like unwind(), but reads stack words only from the copy.  `known` has the bits of the registers
 * in `from` that are valid: for a blocked thread, /proc/self/task/TID/syscall gives only pc and
 * sp.  A frame that saved a register makes it known in its caller.  If a rule needs an unknown
 * register, the walk ends with UNWIND_NO_REGISTER; a frame outside the copy ends it with
 * UNWIND_UNREADABLE.  from->context may be NULL, or a ucontext_t of which only the general registers
 * are read (arch_context_of).  Safe in handlers, and in any thread that has entered the snapshot
 * (snapshot_enter). */
unwind_result unwind_copy(unwind_snapshot *s, const unwind_regs *from, unsigned known,
                          const stack_copy *c, uintptr_t *pcs, size_t max);

/* Returns the registers of an interrupted thread; `context`: third argument of its handler. */
unwind_regs unwind_regs_of(const void *context);

/* Returns the registers of the calling function. */
ALWAYS_INLINE unwind_regs unwind_regs_here(void)
{
    unwind_regs r = {0};
    ARCH_REGS_HERE(r.pc, r.sp, r.fp, r.third);
    return r;
}
