/* arch/context.h - the registers that the unwinder follows: their DWARF numbers and their offsets
 * in the context of a signal.  Safe in signal handlers.
 *
 * The walk follows pc, sp, the frame pointer and a third register: rbx on x86-64 (the loader's
 * lazy binding keeps its CFA there), the link register on aarch64. */
#pragma once
#include "arch/machine.h"
#include "base/compiler.h"
#include <signal.h>
#include <ucontext.h>

#if defined(__x86_64__)

enum {
    ARCH_RED_ZONE = 128, /* bytes below sp that a function may use */
    ARCH_REG_SP = 7,     /* DWARF numbers */
    ARCH_REG_FP = 6,
    ARCH_REG_THIRD = 3,
    ARCH_LINK = 0, /* 1: a call leaves the return address in the third register, not on the stack */
};

/* Offsets in ucontext_t, as the kernel writes it. */
enum {
    CONTEXT_PC = offsetof(ucontext_t, uc_mcontext.gregs) + 8 * REG_RIP,
    CONTEXT_SP = offsetof(ucontext_t, uc_mcontext.gregs) + 8 * REG_RSP,
    CONTEXT_FP = offsetof(ucontext_t, uc_mcontext.gregs) + 8 * REG_RBP,
    CONTEXT_THIRD = offsetof(ucontext_t, uc_mcontext.gregs) + 8 * REG_RBX,
    CONTEXT_FIRST = offsetof(ucontext_t, uc_mcontext.gregs),
    CONTEXT_LAST = CONTEXT_PC,
    /* Distance from sp in the signal restorer to the ucontext_t.  The handler's return has popped
     * the restorer's address. */
    SIGNAL_CONTEXT = 0,
};

/* Returns the offset of a register in ucontext_t by its DWARF number; 0: not stored there. */
static inline size_t arch_context_of(uint8_t reg)
{
    static const uint8_t greg[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                   REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                   REG_R12, REG_R13, REG_R14, REG_R15};
    return reg < ARRAY_LEN(greg) ? CONTEXT_FIRST + 8u * greg[reg] : 0;
}

/* Returns the address of code that a return address refers to. */
static inline uintptr_t arch_code(uintptr_t pc) { return pc; }

/* Stores the registers of the calling function in the four variables. */
#define ARCH_REGS_HERE(pc, sp, fp, third)                                                          \
    __asm__ volatile("leaq 0(%%rip), %0\n\tmovq %%rsp, %1\n\tmovq %%rbp, %2\n\tmovq %%rbx, %3"     \
                     : "=&r"(pc), "=&r"(sp), "=&r"(fp), "=&r"(third))

#elif defined(__aarch64__)

enum {
    ARCH_RED_ZONE = 0,
    ARCH_REG_SP = 31,
    ARCH_REG_FP = 29,
    ARCH_REG_THIRD = 30,
    ARCH_LINK = 1,
};

enum {
    CONTEXT_PC = offsetof(ucontext_t, uc_mcontext.pc),
    CONTEXT_SP = offsetof(ucontext_t, uc_mcontext.sp),
    CONTEXT_FP = offsetof(ucontext_t, uc_mcontext.regs) + 8 * 29,
    CONTEXT_THIRD = offsetof(ucontext_t, uc_mcontext.regs) + 8 * 30,
    CONTEXT_FIRST = offsetof(ucontext_t, uc_mcontext.regs),
    CONTEXT_LAST = CONTEXT_PC,
    SIGNAL_CONTEXT = sizeof(siginfo_t), /* the signal frame begins with the siginfo */
};

static inline size_t arch_context_of(uint8_t reg)
{
    return reg < 31 ? CONTEXT_FIRST + 8u * reg : reg == 31 ? CONTEXT_SP : 0;
}

/* Removes the signature of pointer authentication. */
static inline uintptr_t arch_code(uintptr_t pc) { return pc & 0xffffffffffff; }

#define ARCH_REGS_HERE(pc, sp, fp, third)                                                          \
    __asm__ volatile("adr %0, .\n\tmov %1, sp\n\tmov %2, x29\n\tmov %3, x30"                       \
                     : "=&r"(pc), "=&r"(sp), "=&r"(fp), "=&r"(third))

#endif

/* Makes the enclosing function save the frame pointer and the third register and record that in its
 * unwind table.  Without optimization the compiler rejects a clobber of the frame pointer. */
#if defined(__x86_64__) && defined(__OPTIMIZE__)
#define ARCH_SAVE_REGISTERS() __asm__ volatile("" : : : "rbx", "rbp")
#else
#define ARCH_SAVE_REGISTERS() ((void)0)
#endif

/* The alternate stack of the thread when the signal was delivered; size 0: the thread has none. */
enum {
    CONTEXT_ALTSTACK = offsetof(ucontext_t, uc_stack.ss_sp),
    CONTEXT_ALTSTACK_SIZE = offsetof(ucontext_t, uc_stack.ss_size),
};
