/* sys/kernel_action.h - the argument of the system call rt_sigaction.  libc's struct sigaction has
 * another layout, and libc rejects the two signals that it uses itself. */
#pragma once
#include <signal.h>
#include <stdint.h>

enum { KERNEL_SIGNALS = 64, LIBC_CANCEL = 32, LIBC_SETXID = 33, KERNEL_SA_RESTORER = 0x04000000 };

typedef struct kernel_action {
    union {
        void (*handler)(int);
        void (*action)(int, siginfo_t *, void *);
    };
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask; /* bit N - 1 is signal N */
} kernel_action;
