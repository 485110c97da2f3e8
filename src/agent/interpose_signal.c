/* Interposes calls by which a program would handle, reset, block or wait for a signal of the agent.
 *
 *   reset     a program that resets all signals to their default, as daemons and shells do, would be
 *             killed by the next sample: the calls report success, but the agent keeps its handler
 *   handlers  when the program installs a handler for the agent's signal, the agent first switches to
 *             another signal; if the program uses all of them (as Go does), the agent's handler stays
 *             and calls the program's handler for foreign signals
 *   masks     a thread that blocks all signals could not be sampled, and one that waits for all of
 *             them (sigwait, signalfd) would receive the agent's: the calls remove the agent's signals
 *             from the sets, as libc does for its own.  Masks set by other means (inherited, direct
 *             system calls) are respected
 *
 * A handler of the program is installed behind a stub that counts its calls (agent/trampoline.h);
 * sigaction returns the program's own handler. */
#include "agent/lifecycle.h"
#include "agent/trampoline.h"
#include "agent/wait.h"

#include <dlfcn.h>
#include <sys/signalfd.h>
#include "base/ban.h"

#define EXPORT __attribute__((visibility("default")))

int __sigaction(int sig, const struct sigaction *act, struct sigaction *old);
sighandler_t bsd_signal(int sig, sighandler_t h);
sighandler_t __sysv_signal(int sig, sighandler_t h);

typedef struct real_calls {
    int (*sigaction)(int, const struct sigaction *, struct sigaction *);
    sighandler_t (*signal)(int, sighandler_t);
    sighandler_t (*sysv_signal)(int, sighandler_t);
    sighandler_t (*sigset)(int, sighandler_t);
    int (*sigignore)(int);
    int (*pthread_sigmask)(int, const sigset_t *, sigset_t *);
    int (*sigprocmask)(int, const sigset_t *, sigset_t *);
    int (*sigwait)(const sigset_t *, int *);
    int (*sigwaitinfo)(const sigset_t *, siginfo_t *);
    int (*sigtimedwait)(const sigset_t *, siginfo_t *, const struct timespec *);
    int (*signalfd)(int, const sigset_t *, int);
} real_calls;

static real_calls real;

#define FIND(name) *(void **)&real.name = dlsym(RTLD_NEXT, #name)

__attribute__((constructor(101))) static void find_real(void)
{
    if (real.sigaction) return;
    FIND(signal);
    FIND(sysv_signal);
    FIND(sigset);
    FIND(sigignore);
    FIND(pthread_sigmask);
    FIND(sigprocmask);
    FIND(sigwait);
    FIND(sigwaitinfo);
    FIND(sigtimedwait);
    FIND(signalfd);
    FIND(sigaction);
}

/* ---- dispositions ---- */

static bool is_handler(sighandler_t h) { return h != SIG_DFL && h != SIG_IGN; }

static sighandler_t stub_of(sighandler_t h)
{
    return (sighandler_t)(void *)trampoline_of((trampoline_handler)(void *)h);
}

static sighandler_t behind(sighandler_t h)
{
    return (sighandler_t)(void *)trampoline_behind((trampoline_handler)(void *)h);
}

static const struct sigaction *with_stub(const struct sigaction *act, struct sigaction *copy)
{
    if (!act || act->sa_sigaction == handler_run) return act;
    *copy = *act;
    copy->sa_handler = stub_of(act->sa_handler);
    return copy;
}

/* Hides the agent's handler from the program in *old.  After the capture has ended, the handler
 * stays installed for late signals. */
static int hide(int result, struct sigaction *old)
{
    if (result != 0 || !old) return result;
    if (lifecycle_is_handler(old)) *old = (struct sigaction){.sa_handler = SIG_DFL};
    old->sa_handler = behind(old->sa_handler);
    return 0;
}

EXPORT int sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
    struct sigaction copy;
    find_real();
    if (!lifecycle_owns_signal(sig))
        return hide(real.sigaction(sig, with_stub(act, &copy), old), old);
    if (act && ((act->sa_flags & SA_SIGINFO) || is_handler(act->sa_handler))) {
        lifecycle_yield_signal(sig);
        if (!lifecycle_owns_signal(sig)) {
            int r = real.sigaction(sig, with_stub(act, &copy), old);
            if (r == 0 && old) *old = (struct sigaction){.sa_handler = SIG_DFL};
            return r;
        }
    }
    lifecycle_share_signal(sig, act, old);
    return 0;
}

EXPORT int __sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
    return sigaction(sig, act, old);
}

static sighandler_t set(int sig, sighandler_t h, sighandler_t (*really)(int, sighandler_t))
{
    if (!lifecycle_owns_signal(sig)) {
        sighandler_t old = really(sig, stub_of(h));
        return lifecycle_is_handler(&(struct sigaction){.sa_handler = old, .sa_flags = SA_SIGINFO})
                   ? SIG_DFL
                   : behind(old);
    }
    if (is_handler(h)) lifecycle_yield_signal(sig);
    if (!lifecycle_owns_signal(sig)) return really(sig, stub_of(h)) == SIG_ERR ? SIG_ERR : SIG_DFL;
    struct sigaction act = {.sa_handler = h, .sa_flags = SA_RESTART}, old;
    lifecycle_share_signal(sig, &act, &old);
    return old.sa_handler;
}

EXPORT sighandler_t signal(int sig, sighandler_t h)
{
    find_real();
    return set(sig, h, real.signal);
}

/* Other names of the same function, used by macros and old objects. */
EXPORT sighandler_t ssignal(int sig, sighandler_t h) { return signal(sig, h); }
EXPORT sighandler_t bsd_signal(int sig, sighandler_t h) { return signal(sig, h); }

EXPORT sighandler_t sysv_signal(int sig, sighandler_t h)
{
    find_real();
    return set(sig, h, real.sysv_signal);
}

EXPORT sighandler_t __sysv_signal(int sig, sighandler_t h) { return sysv_signal(sig, h); }

EXPORT sighandler_t sigset(int sig, sighandler_t h)
{
    find_real();
    if (h == SIG_HOLD) return real.sigset(sig, h); /* does not change the handler */
    return set(sig, h, real.sigset);
}

EXPORT int sigignore(int sig)
{
    find_real();
    return lifecycle_owns_signal(sig) ? 0 : real.sigignore(sig);
}

/* ---- masks and waits ---- */

static const sigset_t *without_ours(const sigset_t *set, sigset_t *copy)
{
    uint64_t ours = lifecycle_owned_signals(set);
    if (!ours) return set;
    *copy = *set;
    for (int sig = 1; sig < NSIG; sig++)
        if (ours >> (sig - 1) & 1) sigdelset(copy, sig);
    return copy;
}

/* The agent's signals that the thread believes to have blocked: it must read back the mask that it
 * has set. */
static _Thread_local uint64_t believed;

static void show(uint64_t before, sigset_t *old)
{
    for (int sig = 1; old && before && sig < NSIG; sig++)
        if (before >> (sig - 1) & 1) sigaddset(old, sig);
}

static int change(int how, const sigset_t *set, sigset_t *old,
                  int (*really)(int, const sigset_t *, sigset_t *))
{
    sigset_t copy;
    uint64_t before = believed, ours = lifecycle_owned_signals(set);
    int r = really(how, how == SIG_UNBLOCK ? set : without_ours(set, &copy), old);
    if (r != 0) return r;
    if (set) /* `set` may be the same as `old`, so lifecycle_owned_signals has already read it */
        believed = how == SIG_SETMASK ? ours : how == SIG_BLOCK ? before | ours : before & ~ours;
    show(before, old);
    return 0;
}

EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    find_real();
    return change(how, set, old, real.pthread_sigmask);
}

EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
    find_real();
    return change(how, set, old, real.sigprocmask);
}

EXPORT OWN_CALL int sigwait(const sigset_t *set, int *sig)
{
    sigset_t copy;
    find_real();
    WAIT_SAVE_REGISTERS();
    return real.sigwait(without_ours(set, &copy), sig);
}

/* sigwaitinfo and sigtimedwait return EINTR after the agent's handler (agent/wait.h); libc repeats
 * sigwait. */
EXPORT OWN_CALL int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
    sigset_t copy;
    int r;
    find_real();
    WAIT_SAVE_REGISTERS();
    const sigset_t *rest = without_ours(set, &copy);
    wait_mark m = wait_begin();
    do r = real.sigwaitinfo(rest, info);
    while (r == -1 && wait_again(&m));
    return r;
}

EXPORT OWN_CALL int sigtimedwait(const sigset_t *set, siginfo_t *info,
                                 const struct timespec *timeout)
{
    sigset_t copy;
    struct timespec left;
    uint64_t start = timeout ? wait_now() : 0, deadline = 0;
    int r;
    find_real();
    WAIT_SAVE_REGISTERS();
    const sigset_t *rest = without_ours(set, &copy);
    wait_mark m = wait_begin();
    while ((r = real.sigtimedwait(rest, info, timeout)) == -1 && wait_again(&m)) {
        if (!timeout) continue;
        if (!deadline) deadline = wait_until(start, timeout);
        left = wait_left(deadline);
        timeout = &left;
    }
    return r;
}

EXPORT int signalfd(int fd, const sigset_t *set, int flags)
{
    sigset_t copy;
    find_real();
    return real.signalfd(fd, without_ours(set, &copy), flags);
}
