/* Finds unused signals and installs the handler. */
#include "agent/signo.h"

#include "agent/signal/handler.h"
#include "agent/trampoline.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/ban.h"

static bool is_free(int sig)
{
    struct sigaction now;
    return sigaction(sig, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
           now.sa_handler == SIG_DFL;
}

int signo_free(void)
{
    for (int sig = SIGRTMAX; sig >= SIGRTMIN; sig--)
        if (is_free(sig)) return sig;
    return 0;
}

int signo_free_event(void) { return is_free(SIGSTKFLT) ? SIGSTKFLT : 0; }

bool signo_take(int sig)
{
    struct sigaction ours = {.sa_sigaction = handler_run,
                             .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    sigfillset(&ours.sa_mask);
    struct sigaction old;
    trampoline_start(); /* first, before a signal of the agent can interrupt a call */
    if (sigaction(sig, &ours, &old) != 0) return false;
    bool theirs =
        old.sa_flags & SA_SIGINFO ? old.sa_sigaction != handler_run : old.sa_handler != SIG_DFL;
    if (theirs)
        (void)sigaction(sig, &old, NULL); /* the program installed its handler after signo_free */
    return !theirs;
}

bool signo_ours(int sig)
{
    struct sigaction now;
    return sigaction(sig, NULL, &now) == 0 && now.sa_flags & SA_SIGINFO &&
           now.sa_sigaction == handler_run;
}

/* Calls the kernel directly, because the interposed function would hide the agent's signals. */
void signo_drain(int round, int event)
{
    uint64_t ours =
        (round ? UINT64_C(1) << (round - 1) : 0) | (event ? UINT64_C(1) << (event - 1) : 0);
    struct timespec none = {0};
    while (syscall(SYS_rt_sigtimedwait, &ours, NULL, &none, sizeof ours) > 0 || errno == EINTR)
        continue;
}
