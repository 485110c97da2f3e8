#include "agent/signo.h"

#include "agent/signal/handler.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/ban.h"

static bool install(int sig)
{
    struct sigaction old,
        ours = {.sa_sigaction = handler_run, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    sigfillset(&ours.sa_mask);
    if (sigaction(sig, NULL, &old) != 0 || old.sa_flags & SA_SIGINFO || old.sa_handler != SIG_DFL)
        return false;
    return sigaction(sig, &ours, NULL) == 0;
}

bool signo_ours(int sig)
{
    struct sigaction now;
    return sigaction(sig, NULL, &now) == 0 && now.sa_flags & SA_SIGINFO &&
           now.sa_sigaction == handler_run;
}

int signo_move(void)
{
    for (int sig = SIGRTMAX; sig >= SIGRTMIN; sig--)
        if (install(sig)) return sig;
    return 0;
}

bool signo_open(int *round, int *event, err *e)
{
    *round = signo_move();
    if (!*round)
        return err_set(e, ERR_LIMIT,
                       "the program uses all real-time signals: none is left to sample with");
    *event = install(SIGSTKFLT) ? SIGSTKFLT : 0;
    return true;
}

/* Not by libc's call, which the interposer would keep from seeing ours. */
void signo_drain(int round, int event)
{
    uint64_t ours =
        (round ? UINT64_C(1) << (round - 1) : 0) | (event ? UINT64_C(1) << (event - 1) : 0);
    struct timespec none = {0};
    while (syscall(SYS_rt_sigtimedwait, &ours, NULL, &none, sizeof ours) > 0 || errno == EINTR)
        continue;
}
