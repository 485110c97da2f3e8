/* arch/syscall.h - system calls without libc: they do not set errno, and interposers do not see
 * them.  Safe in signal handlers. */
#pragma once
#include "arch/machine.h"
#include "base/compiler.h"
#include <sys/syscall.h>

/* Returns the kernel's result: a negative errno on failure. */
static inline long arch_syscall4(long nr, long a, long b, long c, long d)
{
#if defined(__x86_64__)
    long r;
    register long r10 __asm__("r10") = d;
    __asm__ volatile("syscall"
                     : "=a"(r)
                     : "0"(nr), "D"(a), "S"(b), "d"(c), "r"(r10)
                     : "rcx", "r11", "memory");
    return r;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = nr;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
    return x0;
#endif
}

/* Returns whether the 8 bytes at `at` can be read.  rt_sigprocmask copies the set before it checks
 * `how`.  This `how` is invalid, so the result is EFAULT or EINVAL and the mask does not change.
 * Unlike mincore, the call also detects pages without read permission. */
static inline bool arch_readable(uintptr_t at)
{
    enum { SIGSET_BYTES = 8, E_FAULT = 14 };
    return arch_syscall4(SYS_rt_sigprocmask, ~0L, (long)at, 0, SIGSET_BYTES) != -E_FAULT;
}

/* Defines the function syscall(2) of an interposer.  A number below 512 whose two-byte entry in
 * `syscall_rules` begins with a byte other than 0 goes to syscall_ours(nr, a .. f), any other to
 * *syscall_real.  On x86-64 the function jumps with registers and stack unchanged, so that a clone
 * or vfork returns to the caller.  Elsewhere it is a C function with these attributes. */
#if defined(__x86_64__)
#define ARCH_SYSCALL_ENTRY(attributes)                                                             \
    __asm__(".pushsection .text.syscall, \"ax\", @progbits\n"                                      \
            ".globl syscall\n"                                                                     \
            ".type syscall, @function\n"                                                           \
            "syscall:\n"                                                                           \
            "    .cfi_startproc\n"                                                                 \
            "    endbr64\n"                                                                        \
            "    cmpq $512, %rdi\n"                                                                \
            "    jae 1f\n"                                                                         \
            "    leaq syscall_rules(%rip), %rax\n"                                                 \
            "    cmpb $0, (%rax, %rdi, 2)\n"                                                       \
            "    jne 2f\n"                                                                         \
            "1:  jmp *syscall_real(%rip)\n"                                                        \
            "2:  jmp syscall_ours\n"                                                               \
            "    .cfi_endproc\n"                                                                   \
            ".size syscall, . - syscall\n"                                                         \
            ".popsection\n")
#elif defined(__aarch64__)
#include <stdarg.h>
#define ARCH_SYSCALL_ENTRY(attributes)                                                             \
    __attribute__((visibility("default"))) attributes long syscall(long nr, ...)                   \
    {                                                                                              \
        va_list list;                                                                              \
        long a[6];                                                                                 \
        va_start(list, nr);                                                                        \
        for (int i = 0; i < 6; i++) a[i] = va_arg(list, long); /* all six registers, as in libc */ \
        va_end(list);                                                                              \
        bool ours = (unsigned long)nr < 512 && *(const uint8_t *)&syscall_rules[nr];               \
        return ours ? syscall_ours(nr, a[0], a[1], a[2], a[3], a[4], a[5])                         \
                    : syscall_real(nr, a[0], a[1], a[2], a[3], a[4], a[5]);                        \
    }                                                                                              \
    _Static_assert(1, "takes the semicolon")
#endif
