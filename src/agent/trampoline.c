#include "agent/trampoline.h"

#include "agent/signal/delivered.h"
#include "agent/signal/handler.h"
#include "sys/kernel_action.h"
#include "unwind/arch.h"
#include "base/ban.h"

static _Atomic(trampoline_handler) behind[TRAMPOLINES]; /* filled from the front, never changed */
static _Atomic bool on;

/* The call is the last thing, so that it becomes a jump: the handler finds the frame that the kernel made. */
#define STUB(n)                                                                                    \
    static void stub_##n(int sig, siginfo_t *si, void *context)                                    \
    {                                                                                              \
        signals_delivered.theirs++;                                                                \
        atomic_load_explicit(&behind[0x##n], memory_order_acquire)(sig, si, context);              \
    }
#define STUBS(X) ROW(X, 0) ROW(X, 1) ROW(X, 2) ROW(X, 3) ROW(X, 4) ROW(X, 5) ROW(X, 6) ROW(X, 7)
#define ROW(X, r)                                                                                  \
    X(r##0)                                                                                        \
    X(r##1)                                                                                        \
    X(r##2)                                                                                        \
    X(r##3)                                                                                        \
    X(r##4) X(r##5) X(r##6) X(r##7) X(r##8) X(r##9) X(r##a) X(r##b) X(r##c) X(r##d) X(r##e) X(r##f)
STUBS(STUB)

static const trampoline_handler stubs[TRAMPOLINES] = {
#define NAME(n) stub_##n,
    STUBS(NAME)
#undef NAME
};

static bool is_handler(trampoline_handler h)
{
    static const sighandler_t words[] = {SIG_DFL, SIG_IGN, SIG_ERR, SIG_HOLD};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if ((uintptr_t)h == (uintptr_t)words[i]) return false;
    return h != handler_run;
}

static size_t number_of(trampoline_handler stub)
{
    size_t i = 0;
    while (i < TRAMPOLINES && stubs[i] != stub) i++;
    return i;
}

trampoline_handler trampoline_of(trampoline_handler h)
{
    if (!atomic_load(&on) || !is_handler(h) || number_of(h) < TRAMPOLINES) return h;
    for (size_t i = 0; i < TRAMPOLINES; i++) {
        trampoline_handler there = NULL;
        if (atomic_compare_exchange_strong(&behind[i], &there, h) || there == h) return stubs[i];
    }
    return h;
}

trampoline_handler trampoline_behind(trampoline_handler stub)
{
    size_t i = number_of(stub);
    trampoline_handler h = i < TRAMPOLINES ? atomic_load(&behind[i]) : NULL;
    return h ? h : stub;
}

/* ---- what the kernel has ---- */

/* false: not a handler of the program's. */
static bool installed(int sig, kernel_action *a)
{
    if (sig == LIBC_CANCEL || sig == LIBC_SETXID) return false;
    long r = arch_syscall4(SYS_rt_sigaction, sig, 0, (long)(uintptr_t)a, sizeof a->mask);
    return r == 0 && is_handler(a->action);
}

bool trampoline_bypassed(void)
{
    kernel_action a;
    for (int sig = 1; sig < NSIG; sig++)
        if (installed(sig, &a) && number_of(a.action) == TRAMPOLINES) return true;
    return false;
}

void trampoline_start(void)
{
    kernel_action a;
    if (atomic_exchange(&on, true)) return;
    for (int sig = 1; sig < NSIG; sig++) {
        if (!installed(sig, &a)) continue;
        a.action = trampoline_of(a.action);
        arch_syscall4(SYS_rt_sigaction, sig, (long)(uintptr_t)&a, 0, sizeof a.mask);
    }
}
