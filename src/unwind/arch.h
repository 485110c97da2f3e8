/* unwind/arch.h - what differs between processors, for the unwinder and others that run in signal handlers. */
#pragma once
#include "base/compiler.h"
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>

#if defined(__x86_64__)

enum {
    ARCH_MACHINE = 62,
    /* e_machine */ ARCH_RED_ZONE = 128,
    ARCH_REG_SP = 7,
    ARCH_REG_FP = 6,
    ARCH_REG_THIRD = 3,
    ARCH_LINK = 0
};

/* Offsets in ucontext_t, which is what the kernel writes. */
enum {
    CONTEXT_PC = offsetof(ucontext_t, uc_mcontext.gregs) + 8 * REG_RIP,
    CONTEXT_SP = offsetof(ucontext_t, uc_mcontext.gregs) + 8 * REG_RSP,
    CONTEXT_FP = offsetof(ucontext_t, uc_mcontext.gregs) + 8 * REG_RBP,
    CONTEXT_THIRD = offsetof(ucontext_t, uc_mcontext.gregs) + 8 * REG_RBX,
    CONTEXT_FIRST = offsetof(ucontext_t, uc_mcontext.gregs),
    CONTEXT_LAST = CONTEXT_PC,
    SIGNAL_CONTEXT = 0, /* sp of the restorer + this: the handler's return popped its address */
};

/* Place of a register, by its DWARF number, in a context; 0: none. */
static inline size_t arch_context_of(uint8_t reg)
{
    static const uint8_t greg[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                   REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                   REG_R12, REG_R13, REG_R14, REG_R15};
    return reg < ARRAY_LEN(greg) ? CONTEXT_FIRST + 8u * greg[reg] : 0;
}

static inline uintptr_t arch_code(uintptr_t pc) { return pc; }

enum { ARCH_STUB = 16 };

/* Stubs of .plt to which lld gives no rule:  [endbr64] [bnd] jmp *slot(%rip)  and, until the loader filled
 * the slot in, push $n; jmp to the first one, which is push word(%rip); jmp *slot(%rip).
 * at[-16 .. 16) can be read.  Returns CFA - sp, 0: not in a stub. */
static inline uint32_t arch_stub(const volatile uint8_t *at)
{
    const volatile uint8_t *p = at;
    if (p[0] == 0xf3 && p[1] == 0x0f && p[2] == 0x1e && p[3] == 0xfa) p += 4;
    if (p[0] == 0x68 && (p[5] == 0xe9 || (p[5] == 0xf2 && p[6] == 0xe9))) return 8;
    if ((p[0] == 0xe9 || (p[0] == 0xf2 && p[1] == 0xe9)) && p[-5] == 0x68) return 16;
    if (p[0] == 0xff && p[1] == 0x35) return 16;
    bool second = p[-6] == 0xff && p[-5] == 0x35;
    if (p[0] == 0xf2) p++;
    return p[0] != 0xff || p[1] != 0x25 ? 0 : second ? 24 : 8;
}

static inline long arch_syscall4(long nr, long a, long b, long c, long d)
{
    long r;
    register long r10 __asm__("r10") = d;
    __asm__ volatile("syscall"
                     : "=a"(r)
                     : "0"(nr), "D"(a), "S"(b), "d"(c), "r"(r10)
                     : "rcx", "r11", "memory");
    return r;
}

#elif defined(__aarch64__)

enum {
    ARCH_MACHINE = 183,
    ARCH_RED_ZONE = 0,
    ARCH_REG_SP = 31,
    ARCH_REG_FP = 29,
    ARCH_REG_THIRD = 30,
    ARCH_LINK = 1
};

enum {
    CONTEXT_PC = offsetof(ucontext_t, uc_mcontext.pc),
    CONTEXT_SP = offsetof(ucontext_t, uc_mcontext.sp),
    CONTEXT_FP = offsetof(ucontext_t, uc_mcontext.regs) + 8 * 29,
    CONTEXT_THIRD = offsetof(ucontext_t, uc_mcontext.regs) + 8 * 30,
    CONTEXT_FIRST = offsetof(ucontext_t, uc_mcontext.regs),
    CONTEXT_LAST = CONTEXT_PC,
    SIGNAL_CONTEXT = sizeof(siginfo_t), /* the frame begins with the siginfo */
};

static inline size_t arch_context_of(uint8_t reg)
{
    return reg < 31 ? CONTEXT_FIRST + 8u * reg : reg == 31 ? CONTEXT_SP : 0;
}

/* Without the signature of pointer authentication. */
static inline uintptr_t arch_code(uintptr_t pc) { return pc & 0xffffffffffff; }

enum { ARCH_STUB = 16 };

static inline uint32_t arch_stub(const volatile uint8_t *at)
{
    (void)at;
    return 0;
}

static inline long arch_syscall4(long nr, long a, long b, long c, long d)
{
    register long x8 __asm__("x8") = nr;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
    return x0;
}

#else
#error "no unwinder for this processor yet: say here what its contexts look like"
#endif

/* The alternate stack of the thread when the signal came; size 0: it has none. */
enum {
    CONTEXT_ALTSTACK = offsetof(ucontext_t, uc_stack.ss_sp),
    CONTEXT_ALTSTACK_SIZE = offsetof(ucontext_t, uc_stack.ss_size),
};

/* May the 8 bytes at `at` be read?  rt_sigprocmask copies the set before it looks at `how`, and this `how` does not
 * exist: EFAULT or EINVAL, and nothing is changed.  Unlike mincore it also knows pages without permission to read. */
static inline bool arch_readable(uintptr_t at)
{
    enum { SIGSET_BYTES = 8, E_FAULT = 14 };
    return arch_syscall4(SYS_rt_sigprocmask, ~0L, (long)at, 0, SIGSET_BYTES) != -E_FAULT;
}
